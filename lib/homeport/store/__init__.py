"""What was measured, on disk: immutable Parquet parts, written atomically, read as one frame."""

from homeport.store.atomic import writing
from homeport.store.layout import SessionFolder, open_session, session_names
from homeport.store.parts import (
    SCHEMA,
    Part,
    Slot,
    part_key,
    read_part_header,
    reasons_in,
    write_part,
)
from homeport.store.provenance import controller_provenance
from homeport.store.recorded import Recorded, find, read
from homeport.store.sound import BACKGROUND

__all__ = [
    "BACKGROUND",
    "SCHEMA",
    "Part",
    "Recorded",
    "SessionFolder",
    "Slot",
    "controller_provenance",
    "find",
    "open_session",
    "part_key",
    "read",
    "read_part_header",
    "reasons_in",
    "session_names",
    "write_part",
    "writing",
]
