"""Read a session back: one tidy frame, the headers of its parts, the study behind it."""

import re
from dataclasses import dataclass
from pathlib import Path

import duckdb
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from homeport.errors import Damaged, NotFound, NothingRecorded
from homeport.params import Study, data_folder, root
from homeport.store.layout import SessionFolder, open_session, session_names, studies
from homeport.store.parts import Part, Slot, read_part_header
from homeport.store.sound import BACKGROUND, Heads, check_places, check_rows

_PARTS = "*/*/*/[!.]*.parquet"  # REGION/HOST/ROUND of a session


@dataclass(frozen=True)
class Recorded:
    """One session as it lies in the store.

    `frame` has one row per number or failure and the columns of store.parts.COLUMNS; a row is a
    failure exactly where `failure` is not null. `parts` holds the header of every file read.
    """

    folder: SessionFolder
    frame: pd.DataFrame
    parts: tuple[Part, ...]

    @property
    def study(self) -> Study:
        """The study as it was when the session began."""
        return self.folder.study

    def values(self, metric: str) -> pd.DataFrame:
        """The measurements of one metric."""
        return self.frame[self.frame["metric"] == metric]

    def failures(self) -> pd.DataFrame:
        """Everything that should have been measured and was not."""
        return self.frame[self.frame["failure"].notna()]


def find(what: str | Path, session: str = "newest") -> SessionFolder:
    """A session by study name and session name, or by the folder it lies in.

    "newest" is the newest run of the study that holds a part; pages run alone (`single`) are
    found by name only. The recorded sample lies in data/sample and is found by that path.
    Raises NotFound, which tells what there is.
    """
    path = Path(what)
    for candidate in (path, root() / path):
        if _holds_session(candidate):
            folder = SessionFolder.open(candidate)
            if session not in ("newest", folder.session):
                raise NotFound(f"session in {candidate}", session, [folder.session])
            return folder
    try:
        names = session_names(str(what), kind="run" if session == "newest" else None)
    except OSError:  # no folder can have such a name
        names = []
    if session != "newest" and names:
        return open_session(str(what), session)
    if not names:
        raise NotFound("study with a recorded run, or session folder", str(what), studies())
    measured = [n for n in names if any((data_folder() / str(what) / n).glob(_PARTS))]
    return open_session(str(what), (measured or names)[-1])


def _holds_session(path: Path) -> bool:
    try:
        return (path / "session.json").is_file()
    except OSError:  # a name longer than the file system takes, or a folder of somebody else
        return False


def read(what: str | Path | SessionFolder) -> Recorded:
    """Read a session (see `find`) as one tidy frame.

    Raises NotFound if nothing was recorded there, Damaged if a file is torn, of another schema,
    or not what its place says: a comparison on half of the data, or on somebody else's, would
    look like one on all of it.
    """
    folder = what if isinstance(what, SessionFolder) else find(what)
    files = sorted(str(p) for p in folder.path.glob(_PARTS))
    if not files:
        raise NothingRecorded(str(folder.path))
    heads = [(file, read_part_header(Path(file))) for file in files]
    check_places(folder, heads)
    try:
        with duckdb.connect() as db:
            db.execute(_ALL, [files])
            check_rows(db, heads)
            frame = db.execute(_ROWS, [_superseded(heads)]).df()
    except duckdb.Error as torn:
        file = _torn(files) or str(folder.path)
        raise Damaged(file, str(torn).splitlines()[0], "a whole Parquet file") from torn
    return Recorded(folder, frame, tuple(part for _, part in heads))


def _torn(files: list[str]) -> str | None:
    """The first file that cannot be read to its end: the error of many does not always say."""
    for file in files:
        try:
            pq.read_table(file)
        except (OSError, ValueError, pa.ArrowException):
            return file
    return None


_ALL = "CREATE TEMP TABLE rows AS SELECT * FROM read_parquet($1, filename = true)"

# Every failure stays; the numbers of an attempt count only until its slot was measured again.
_ROWS = """
    SELECT * EXCLUDE (filename) FROM rows
    WHERE failure IS NOT NULL OR NOT list_contains($1, filename)
    ORDER BY round, host, time_s, sequence
"""


def _superseded(heads: Heads) -> list[str]:
    """Attempts that a complete part, or a later attempt, of the same slot has replaced."""
    best: dict[Slot, tuple[bool, int, str]] = {}
    for name, part in heads:
        attempt = re.search(r"\.failure-(\d+)\.parquet$", name)
        rank = (part.complete, int(attempt[1]) if attempt else 0, name)
        if part.slot.notebook != BACKGROUND:
            best[part.slot] = max(best.get(part.slot, rank), rank)
    kept = {name for _, _, name in best.values()}
    return [n for n, part in heads if n not in kept and part.slot.notebook != BACKGROUND]
