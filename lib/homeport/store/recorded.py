"""Read a session back: one tidy frame, the headers of its parts, the study behind it."""

import re
from dataclasses import dataclass
from pathlib import Path

import duckdb
import pandas as pd

from homeport.errors import Damaged, NotFound, NothingRecorded
from homeport.params import Study, data_folder, root
from homeport.store.layout import SessionFolder, open_session, session_names, studies
from homeport.store.parts import Part, Slot, header_of

_PARTS = "*/*/*/[!.]*.parquet"  # REGION/HOST/ROUND of a session
BACKGROUND = "background"  # the notebook name under which background segments are stored


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
        if (candidate / "session.json").is_file():
            return SessionFolder.open(candidate)
    if session != "newest":
        return open_session(str(what), session)
    names = session_names(str(what), kind="run")
    if not names:
        raise NotFound("study with a recorded run, or session folder", str(what), studies())
    measured = [n for n in names if any((data_folder() / str(what) / n).glob(_PARTS))]
    return open_session(str(what), (measured or names)[-1])


def read(what: str | Path | SessionFolder) -> Recorded:
    """Read a session (see `find`) as one tidy frame.

    Raises NotFound if nothing was recorded there, Damaged if a file is torn or of another
    schema: a comparison on half of the data would look like one on all of it.
    """
    folder = what if isinstance(what, SessionFolder) else find(what)
    files = sorted(str(p) for p in folder.path.glob(_PARTS))
    if not files:
        raise NothingRecorded(str(folder.path))
    try:
        with duckdb.connect() as db:
            headers = db.execute(
                "SELECT file_name, value FROM parquet_kv_metadata($1) WHERE key = 'homeport'",
                [files],
            ).fetchall()
            heads = [(name, header_of(name, text)) for name, text in headers]
            frame = db.execute(_ROWS, [files, _superseded(heads)]).df()
    except duckdb.Error as torn:
        raise Damaged(str(folder.path), str(torn).splitlines()[0], "whole Parquet files") from torn
    if unheaded := sorted(set(files) - {name for name, _ in headers}):
        header_of(unheaded[0], None)
    return Recorded(folder, frame, tuple(part for _, part in heads))


# Every failure stays; the numbers of an attempt count only until its slot was measured again.
_ROWS = """
    SELECT * EXCLUDE (filename) FROM read_parquet($1, filename = true)
    WHERE failure IS NOT NULL OR NOT list_contains($2, filename)
    ORDER BY round, host, time_s, sequence
"""


def _superseded(heads: list[tuple[str, Part]]) -> list[str]:
    """Attempts that a complete part, or a later attempt, of the same slot has replaced."""
    best: dict[Slot, tuple[bool, int, str]] = {}
    for name, part in heads:
        attempt = re.search(r"\.failure-(\d+)\.parquet$", name)
        rank = (part.complete, int(attempt[1]) if attempt else 0, name)
        if part.slot.notebook != BACKGROUND:
            best[part.slot] = max(best.get(part.slot, rank), rank)
    kept = {name for _, _, name in best.values()}
    return [n for n, part in heads if n not in kept and part.slot.notebook != BACKGROUND]
