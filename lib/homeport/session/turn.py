"""One measurement at a time on this machine: two would load the same links and the same cores."""

import contextlib
import os
import time
from collections.abc import Iterator

import filelock

from homeport import emulate
from homeport.errors import Busy
from homeport.store import writing


@contextlib.contextmanager
def turn(what: str, *, wait_s: float = 0.0) -> Iterator[None]:
    """Hold this user's turn on this machine; it ends with the block, or with the process.

    `what` tells others who holds it. Raises Busy if another holds it for longer than `wait_s`,
    CannotWrite if the folder of the lock cannot be written.
    """
    folder = emulate.runtime_folder()
    holder, lock = folder / "turn.holder", filelock.FileLock(folder / "turn.lock")
    try:
        lock.acquire(timeout=wait_s)
    except filelock.Timeout:
        told = holder.read_text(encoding="utf-8") if holder.exists() else "another process"
        raise Busy("this machine", told) from None
    try:
        with writing(holder):
            holder.write_text(f"{what} (process {os.getpid()}, since {time.ctime()})", "utf-8")
        yield
    finally:
        lock.release()
