"""Writing so that a crash leaves the old file or the new one, never half of one."""

import contextlib
import os
import secrets
from collections.abc import Callable, Iterator
from pathlib import Path

from homeport.errors import CannotWrite


@contextlib.contextmanager
def writing(path: Path) -> Iterator[None]:
    """Turn a refusal of the disk (full, read-only, not ours) into CannotWrite that names it."""
    try:
        yield
    except OSError as refused:
        raise CannotWrite(str(path), refused.strerror or str(refused)) from refused


def write_atomically(path: Path, write: Callable[[Path], None]) -> None:
    """Let `write` fill a temporary file in the same folder, then move it to `path`.

    The file and its folder are synced, so a power cut after the return loses nothing. When
    anything fails (disk full, read-only), the temporary file is removed, `path` is as before, and
    CannotWrite says why.
    """
    temporary = path.with_name(f".{path.name}.{secrets.token_hex(4)}.tmp")
    with writing(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        try:
            write(temporary)
            _sync(temporary)
            temporary.replace(path)
        finally:
            temporary.unlink(missing_ok=True)
        _sync(path.parent)


def write_text(path: Path, text: str) -> None:
    """Write UTF-8 text atomically."""
    write_atomically(path, lambda temporary: temporary.write_text(text, encoding="utf-8"))


def append_line(path: Path, line: str) -> None:
    """Add one line to a journal and sync it.

    A last line torn by a crash stays torn, for the reader to skip; the new one begins afresh.
    """
    with writing(path), path.open("ab+") as journal:
        end = journal.seek(0, os.SEEK_END)
        if end:
            journal.seek(end - 1)
        torn = end and journal.read(1) != b"\n"
        journal.write((b"\n" if torn else b"") + line.encode() + b"\n")
        journal.flush()
        os.fsync(journal.fileno())


def _sync(path: Path) -> None:
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
