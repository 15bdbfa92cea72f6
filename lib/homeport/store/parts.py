"""One part: what one notebook measured in one slot, as one immutable Parquet file."""

import dataclasses
import hashlib
import json
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import pyarrow as pa
import pyarrow.parquet as pq
from pydantic import Field, ValidationError

from homeport.errors import Damaged
from homeport.metrics import Failure, Record
from homeport.params import Study
from homeport.params.model import Model
from homeport.store.atomic import write_atomically

SCHEMA = 1

COLUMNS = pa.schema(
    [
        ("metric", pa.string()),  # null in a failure
        ("value", pa.float64()),  # null in a failure
        ("source", pa.string()),
        ("target", pa.string()),
        ("sequence", pa.int64()),
        ("time_s", pa.float64()),
        ("strategy", pa.string()),
        ("phase", pa.string()),
        ("rank", pa.int32()),
        ("failure", pa.string()),  # null in a measurement
        ("reason", pa.string()),
        ("place", pa.string()),
        ("study", pa.string()),
        ("session", pa.string()),
        ("round", pa.int32()),
        ("host", pa.string()),
        ("region", pa.string()),
        ("site", pa.string()),  # "" where a number belongs to no single site
        ("notebook", pa.string()),
    ]
)


# A session has many small parts: half of a file would be statistics and a second schema.
_COMPACT = {
    "compression": "zstd",
    "compression_level": 6,
    "write_statistics": False,
    "store_schema": False,
    "use_dictionary": [name for name in COLUMNS.names if name != "value"],
    "use_byte_stream_split": ["value"],
}


@dataclass(frozen=True)
class Slot:
    """Which part of which session: the key under which numbers are stored and compared."""

    study: str
    session: str
    round: int
    host: str
    region: str
    notebook: str
    sites: tuple[str, ...]

    @classmethod
    def of(cls, study: Study, session: str, host: str, round: int, notebook: str) -> "Slot":
        """The slot of one notebook on one host in one round of a study's session."""
        sites = tuple(sorted(study.sites))
        return cls(study.name, session, round, host, study.region_of(host), notebook, sites)


@dataclass(frozen=True)
class Part:
    """The header of a stored part: its slot, its key, and how it came about."""

    slot: Slot
    key: str
    complete: bool
    provenance: dict


def part_key(study: Study, slot: Slot) -> str:
    """SHA-256 over canonical parameters, slot and schema: equal keys mean the same measurement."""
    return part_keys(study)(slot)


def part_keys(study: Study) -> Callable[[Slot], str]:
    """`part_key` for many slots of one study, whose parameters are written out once.

    Keys left at their default do not enter, so that a later version may add one and still find
    its parts. A default that changes its value is another schema.
    """
    told = json.loads(study.model_dump_json(exclude_defaults=True))

    def key(slot: Slot) -> str:
        facts = {"schema": SCHEMA, "slot": dataclasses.asdict(slot), "study": told}
        return hashlib.sha256(json.dumps(facts, sort_keys=True).encode()).hexdigest()

    return key


def write_part(
    path: Path,
    study: Study,
    slot: Slot,
    records: Iterable[Record],
    *,
    complete: bool = True,
    provenance: dict,
) -> None:
    """Write measurements and failures of one part, atomically; an existing part is refused.

    Raises Damaged if `path` exists (a part is written once), CannotWrite if the disk refuses.
    """
    if path.exists():
        raise Damaged(str(path), "a part that is already there", "an empty place (parts are final)")
    header = {
        "schema": SCHEMA,
        "slot": dataclasses.asdict(slot),
        "key": part_key(study, slot),
        "complete": complete,
        "provenance": provenance,
    }
    table = pa.Table.from_pylist([_row(record, slot) for record in records], schema=COLUMNS)
    told = {"homeport": json.dumps(header, ensure_ascii=False)}
    write_atomically(path, lambda file: _write(file, table, told))


def _write(path: Path, table: pa.Table, metadata: dict[str, str]) -> None:
    with pq.ParquetWriter(path, COLUMNS, **_COMPACT) as writer:
        writer.write_table(table)
        writer.add_key_value_metadata(metadata)


def _row(record: Record, slot: Slot) -> dict:
    row = dataclasses.asdict(record)
    if isinstance(record, Failure):
        row["failure"] = row.pop("kind")
    site = next((n for n in (record.source, record.target) if n in slot.sites), "")
    where = {"study": slot.study, "session": slot.session, "round": slot.round}
    what = {"host": slot.host, "region": slot.region, "notebook": slot.notebook}
    return {**row, **where, **what, "site": site}


def read_part_header(path: Path) -> Part:
    """Read the header of one part; Damaged if the file is torn or of another schema."""
    try:
        file = pq.read_metadata(path)
        columns = file.schema.to_arrow_schema().remove_metadata()
    except (OSError, ValueError, pa.ArrowException) as torn:
        raise Damaged(str(path), _first_line(torn), "a whole Parquet file") from torn
    part = _part_of(str(path), (file.metadata or {}).get(b"homeport"))
    if not columns.equals(COLUMNS):
        raise Damaged(str(path), f"the columns {columns.names}", f"those of schema {SCHEMA}")
    return part


def reasons_in(path: Path) -> list[str]:
    """The reasons of the failures in one file, each once; Damaged if it cannot be read."""
    try:
        column = pq.read_table(path, columns=["reason"])["reason"].to_pylist()
    except (OSError, ValueError, KeyError, pa.ArrowException) as torn:
        raise Damaged(str(path), _first_line(torn), "a whole Parquet file") from torn
    return list(dict.fromkeys(reason for reason in column if reason))


def _first_line(error: Exception) -> str:
    return (str(error).splitlines() or [type(error).__name__])[0]


class _Slot(Model):
    study: str
    session: str
    round: Annotated[int, Field(ge=1)]
    host: str
    region: str
    notebook: str
    sites: tuple[str, ...]


class _Header(Model):
    schema_: int = Field(alias="schema")
    slot: _Slot
    key: str
    complete: bool
    provenance: dict[str, Any]


def _part_of(path: str, text: bytes | None) -> Part:
    """Turn a part's stored header text into a Part; Damaged names file and schema."""
    if text is None:
        raise Damaged(path, "no homeport header", f"a part of schema {SCHEMA}")
    try:
        content = json.loads(text)
        schema = content.get("schema") if isinstance(content, dict) else SCHEMA
        if schema != SCHEMA:
            hint = f"schema {SCHEMA} (read it with the homeport that wrote it)"
            raise Damaged(path, f"schema {schema}", hint)
        header = _Header.model_validate_json(text)
    except ValidationError as wrong:
        first = wrong.errors(include_url=False)[0]
        what = ".".join(map(str, first["loc"])) or "whole"
        raise Damaged(path, f"header, {what}: {first['msg']}", "a readable header") from wrong
    except (ValueError, RecursionError) as wrong:
        raise Damaged(path, f"header: {_first_line(wrong)}", "a readable header") from wrong
    slot = Slot(**dict(header.slot))
    return Part(slot, header.key, header.complete, header.provenance)
