"""Where everything of a session lies: data/runs/STUDY/SESSION/REGION/HOST/ROUND/."""

import datetime
import json
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import Field

from homeport.errors import Damaged, NotFound
from homeport.params import Study, data_folder
from homeport.params.model import Model
from homeport.store.atomic import append_line, write_text
from homeport.store.journals import read_note

SESSION_SCHEMA = 1
_SINGLE = "single-"


def new_session_name(kind: str = "run") -> str:
    """A name that sorts by time; that of a page run alone says `single`."""
    now = datetime.datetime.now(datetime.UTC).strftime("%Y%m%dT%H%M%S.%f")[:-3] + "Z"
    return now if kind == "run" else f"{_SINGLE}{now}"


def _folder_name(region: str) -> str:
    """A region as a folder name: letters and digits of any script stay, at most 60 of them."""
    return re.sub(r"[\W_]+", "-", region.strip().lower())[:60].strip("-") or "region"


def _segment_name(site: str, number: int) -> str:
    return f"background-{site}{f'.{number}' if number > 1 else ''}.parquet"


def _everything(study: Study) -> dict:
    return {"only": None, "region": None, "rounds": None, "hosts": study.measured}


@dataclass(frozen=True)
class SessionFolder:
    """One session of one study on disk."""

    path: Path
    study: Study
    session: str
    kind: str

    @classmethod
    def create(
        cls, study: Study, *, kind: str = "run", provenance: dict, selection: dict | None = None
    ) -> "SessionFolder":
        """Make the folder of a new session and write its session.json.

        `selection` says what of the study was asked for; see the property of that name.
        """
        name = new_session_name(kind)
        folder = cls(data_folder() / study.name / name, study, name, kind)
        content = {
            "schema": SESSION_SCHEMA,
            "session": name,
            "kind": kind,
            "study": json.loads(study.model_dump_json()),
            "selection": selection or _everything(study),
            "provenance": provenance,
        }
        write_text(folder.path / "session.json", json.dumps(content, indent=1, ensure_ascii=False))
        return folder

    @classmethod
    def open(cls, path: Path) -> "SessionFolder":
        """Open an existing session; Damaged if its session.json cannot be read."""
        file = path / "session.json"
        if not file.is_file():
            raise NotFound("session folder (one with a session.json)", str(path), [])
        content, study = _session_in(file)
        return cls(path, study, content["session"], content["kind"])

    def _content(self) -> dict:
        return _session_in(self.path / "session.json")[0]

    def provenance(self) -> dict:
        """What was written about the controller when the session began."""
        return self._content()["provenance"]

    @property
    def selection(self) -> dict:
        """What of the study this session was to measure, as asked for on the command line.

        Keys: `only`, `region`, `rounds` (None where not given) and `hosts`, those planned.
        """
        return self._content().get("selection") or _everything(self.study)

    def sitting_facts(self) -> list[dict]:
        """What each sitting ran on: world, agents, tools, controller; oldest first.

        Damaged if one of the files cannot be read.
        """
        numbered = sorted((_sitting_number(p), p) for p in self.path.glob("sitting-*.json"))
        return [_mapping_in(path, "what a sitting ran on") for _, path in numbered]

    def host_folder(self, host: str) -> Path:
        """Where everything of one host lies."""
        return self.path / _folder_name(self.study.region_of(host)) / host

    def round_folder(self, host: str, round: int) -> Path:
        """Where the parts and executed pages of one host and round lie."""
        return self.host_folder(host) / f"{round:02d}"

    def part_file(self, host: str, round: int, notebook: str) -> Path:
        """The Parquet file of one complete part."""
        return self.round_folder(host, round) / f"{notebook}.parquet"

    def failure_file(self, host: str, round: int, notebook: str) -> Path:
        """A fresh name for the record of an attempt that failed."""
        number = self.attempts(host, round, notebook) + 1
        return self.round_folder(host, round) / f"{notebook}.failure-{number}.parquet"

    def segment_files(self, site: str, host: str, round: int) -> list[Path]:
        """The background segments of one site, host and round; a resumed round has several."""
        folder = self.round_folder(host, round)
        found = []
        while (path := folder / _segment_name(site, len(found) + 1)).exists():
            found.append(path)
        return found

    def next_segment_file(self, site: str, host: str, round: int) -> Path:
        """Where the next background segment of one site, host and round goes."""
        number = len(self.segment_files(site, host, round)) + 1
        return self.round_folder(host, round) / _segment_name(site, number)

    def raw_folder(self, host: str) -> Path:
        """Tool output as it was printed, all rounds of a host."""
        return self.host_folder(host) / "raw"

    def sittings(self) -> int:
        """How many stretches of measuring there were; sitting-N.json tells of the N-th."""
        return len(list(self.path.glob("sitting-*.json")))

    def attempts(self, host: str, round: int, notebook: str) -> int:
        """How many attempts at this part have failed so far."""
        return len(list(self.round_folder(host, round).glob(f"{notebook}.failure-*.parquet")))

    def note(self, journal: str, **facts: object) -> None:
        """Append one line of JSON to a journal of the session."""
        append_line(self.path / f"{journal}.jsonl", json.dumps(facts, ensure_ascii=False))

    def notes(self, journal: str) -> list[dict]:
        """Read a journal; what a crash tore, or a line without what is needed, is left out."""
        file = self.path / f"{journal}.jsonl"
        if not file.exists():
            return []
        try:
            lines = file.read_bytes().split(b"\n")
        except OSError as refused:
            raise Damaged(str(file), refused.strerror or str(refused), "a journal") from refused
        return [note for line in lines if (note := read_note(journal, line)) is not None]


def _mapping_in(file: Path, what: str) -> dict:
    try:
        content = json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as wrong:
        raise Damaged(str(file), str(wrong).splitlines()[0], what) from wrong
    if not isinstance(content, dict):
        raise Damaged(str(file), f"a {type(content).__name__}", what)
    return content


def _sitting_number(file: Path) -> int:
    number = file.stem.removeprefix("sitting-")
    if not number.isdecimal():
        raise Damaged(str(file), f"the name {file.name}", "sitting-NUMBER.json")
    return int(number)


def _session_in(file: Path) -> tuple[dict, Study]:
    """The content of a session.json, and the study in it; Damaged if anything of it is amiss."""
    content = _mapping_in(file, "a readable session")
    if content.get("schema") != SESSION_SCHEMA:
        seen = f"schema {content.get('schema')}"
        raise Damaged(str(file), seen, f"schema {SESSION_SCHEMA}")
    try:
        facts = _Session.model_validate(content)
        study = Study.model_validate_json(json.dumps(facts.study))
    except (ValueError, KeyError, TypeError, RecursionError) as wrong:
        raise Damaged(str(file), "; ".join(str(wrong).split("\n")[:3]), "a session") from wrong
    return content, study


class _Selection(Model):
    only: str | None
    region: str | None
    rounds: int | None
    hosts: list[str]


class _Session(Model):
    schema_: int = Field(alias="schema")
    session: str
    kind: str
    study: dict[str, Any]
    selection: _Selection | None = None
    provenance: dict[str, Any]


def session_names(study: str, *, kind: str | None = None) -> list[str]:
    """The sessions of a study by name, oldest first; none of them is opened."""
    folder = data_folder() / study
    names = sorted(p.parent.name for p in folder.glob("*/session.json")) if folder.is_dir() else []
    return [n for n in names if kind is None or (kind == "single") == n.startswith(_SINGLE)]


def studies() -> list[str]:
    """The studies of which something was recorded, by name."""
    return sorted({path.parent.parent.name for path in data_folder().glob("*/*/session.json")})


def open_session(study: str, name: str) -> SessionFolder:
    """Open a session of a study by its name; NotFound if there is none, Damaged if it is."""
    known = session_names(study)
    if name not in known:
        raise NotFound(f"session of {study}", name, known)
    return SessionFolder.open(data_folder() / study / name)
