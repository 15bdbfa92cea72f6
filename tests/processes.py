"""Counting processes, to show that none is left behind."""

import contextlib
import os
from pathlib import Path


def table():
    """{pid: (parent, command line)} of every process that is not a zombie."""
    found = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            with contextlib.suppress(OSError):
                state, parent = (entry / "stat").read_text().rsplit(")", 1)[1].split()[:2]
                command = (entry / "cmdline").read_bytes().replace(b"\0", b" ").decode()
                if state != "Z":
                    found[int(entry.name)] = (int(parent), command.strip())
    return found


def children():
    """Processes started by this one that still run."""
    return {pid for pid, (parent, _) in table().items() if parent == os.getpid()}


def mentioning(text):
    """Command lines, by pid, that contain `text`; this process is left out."""
    return {p: c for p, (_, c) in table().items() if text in c and p != os.getpid()}


def of_environment(text):
    """Command lines, by pid, of processes whose environment holds `text` (a data folder)."""
    found = {}
    for pid, (_, command) in table().items():
        with contextlib.suppress(OSError):
            if text.encode() in Path(f"/proc/{pid}/environ").read_bytes():
                found[pid] = command
    return found
