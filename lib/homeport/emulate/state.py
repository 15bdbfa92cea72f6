"""What is known of each world outside its processes: one small JSON file, for cleaning up.

The files lie in HOMEPORT_RUNTIME, or in /run/homeport for root, or in homeport under
XDG_RUNTIME_DIR. A process is told by its id and start time together, since ids come back; who is
inside a world is told by the mark in its mount table, or by the inode of its network namespace
as long as the relay holds that (inodes come back too).
"""

import contextlib
import dataclasses
import fcntl
import json
import os
import signal
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from homeport.errors import NoEmulation

_KILL_S = 5.0


@dataclass(frozen=True)
class Process:
    """One process for good: `started` is its start in clock ticks since the machine came up."""

    pid: int
    started: int

    @classmethod
    def of(cls, pid: int) -> "Process | None":
        """The process that has this id now, or None; one that ended but lingers is none."""
        try:
            text = Path(f"/proc/{pid}/stat").read_text()
        except OSError:
            return None
        fields = text.rsplit(")", 1)[1].split()
        return None if fields[0] in "ZX" else cls(pid, int(fields[19]))

    @property
    def alive(self) -> bool:
        """Whether this very process still runs."""
        return Process.of(self.pid) == self

    def command(self) -> str:
        """Its command line, or "" if it is gone."""
        try:
            text = Path(f"/proc/{self.pid}/cmdline").read_text("utf-8", "replace")
        except OSError:
            return ""
        return text.replace("\0", " ").strip()

    def kill(self) -> None:
        """End this process, and no other that may have got its id meanwhile."""
        with contextlib.suppress(ProcessLookupError):
            handle = os.pidfd_open(self.pid)
            try:
                if self.alive:
                    signal.pidfd_send_signal(handle, signal.SIGKILL)
            finally:
                os.close(handle)


@dataclass(frozen=True)
class Ended:
    """A process that cleaning up has ended."""

    pid: int
    command: str
    world: str

    def __str__(self) -> str:
        return f"{self.command} (process {self.pid})"


@dataclass(frozen=True, kw_only=True)
class State:
    """One world: who runs it, who holds it, and where its hosts are.

    `facts` has one dict per host, as `namespaces.Built.facts` makes them; `began_s` is when it
    was ready, on the monotonic clock, and `spent_s` the CPU seconds its relay took until then;
    `boot` is the id of the machine's boot: no process of a world from before can be left.
    """

    id: str
    kind: Literal["run", "lab"]
    study: str
    relay: Process
    owner: Process
    aliases: dict[str, str]
    facts: list[dict]
    table: int
    priority: str
    seed: int
    began_s: float
    spent_s: float
    boot: str

    @property
    def orphaned(self) -> bool:
        """Whether nobody will clean up after this world; a lab's relay is its own owner."""
        return not self.owner.alive

    @property
    def hosts(self) -> list[str]:
        """The names of the hosts, in the order of their numbers."""
        return [fact["name"] for fact in self.facts]

    @property
    def inodes(self) -> dict[int, str]:
        """The hosts by inode of their network namespace; true only while the relay lives."""
        return {fact["inode"]: fact["name"] for fact in self.facts}


def mark(world: str) -> str:
    """The name of the file system that every process inside this world has mounted."""
    return f"homeport-{world}"


def boot_id() -> str:
    """Differs after every start of the machine."""
    return Path("/proc/sys/kernel/random/boot_id").read_text().strip()


def runtime_folder() -> Path:
    """Where the state files lie; made if missing, and refused if others could write to it."""
    for folder in _runtime_folders():
        try:
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        except OSError:
            continue
        status = folder.lstat()
        if status.st_uid == os.geteuid() and not status.st_mode & 0o022:
            return folder
    raise NoEmulation(
        f"{folder} is not a folder that only you can write to",
        "Remove it, or name another in HOMEPORT_RUNTIME.",
    )


def _runtime_folders() -> list[Path]:
    named, session = os.environ.get("HOMEPORT_RUNTIME"), os.environ.get("XDG_RUNTIME_DIR")
    if named:
        return [Path(named)]
    folders = [Path("/run/homeport")] if os.geteuid() == 0 else []
    if session:
        folders.append(Path(session, "homeport"))
    return [*folders, Path(tempfile.gettempdir(), f"homeport-{os.geteuid()}")]


@contextmanager
def alone() -> Iterator[None]:
    """Hold the runtime folder, so that two cannot bring up a lab at once."""
    fd = os.open(runtime_folder(), os.O_RDONLY)
    try:
        fcntl.flock(fd, fcntl.LOCK_EX)
        yield
    finally:
        os.close(fd)


def write(state: State) -> None:
    """Put the state of a world on file."""
    path = runtime_folder() / f"{state.id}.json"
    draft = path.with_suffix(".draft")
    draft.write_text(json.dumps(dataclasses.asdict(state)))
    draft.replace(path)


def remove(world: str) -> None:
    """Forget a world."""
    (runtime_folder() / f"{world}.json").unlink(missing_ok=True)


def read_all() -> dict[str, State | None]:
    """Every world on file by its id; None for a file that cannot be read."""
    found: dict[str, State | None] = {}
    for path in sorted(runtime_folder().glob("*.json")):
        try:
            content = json.loads(path.read_text())
            for who in ("relay", "owner"):
                content[who] = Process(**content[who])
            found[path.stem] = State(**content)
        except FileNotFoundError:
            continue
        except (OSError, ValueError, TypeError, KeyError):
            found[path.stem] = None
    return found


def running_lab() -> State | None:
    """The lab that is up, if any."""
    here = boot_id()
    known = (one for one in read_all().values() if one is not None)
    labs = (one for one in known if one.kind == "lab" and one.boot == here and one.relay.alive)
    return next(labs, None)


def inside(world: str, inodes: dict[int, str]) -> dict[Process, str]:
    """Who lives inside a world, with the host (or "" if it left that host's network).

    `inodes` maps its network namespaces to hosts, and must be empty once the relay is dead. As
    whoever is found may be killed, our own namespace never counts, nor does this process.
    """
    ours = _network_inode(Path("/proc/self"))
    found = {}
    for entry in Path("/proc").glob("[0-9]*"):
        if int(entry.name) == os.getpid():
            continue
        inode = _network_inode(entry)
        if (inode in inodes and inode != ours) or _is_marked(entry, mark(world)):
            process = Process.of(int(entry.name))
            if process is not None:
                found[process] = inodes.get(inode, "")
    return found


def _network_inode(entry: Path) -> int | None:
    try:
        return (entry / "ns" / "net").stat().st_ino
    except OSError:
        return None


def _is_marked(entry: Path, name: str) -> bool:
    try:
        text = (entry / "mountinfo").read_text("utf-8", "replace")
    except OSError:
        return False
    return f" tmpfs {name} " in text


def clear(world: str, state: State | None) -> list[Ended]:
    """End the relay of a world and whoever is inside, until nobody is left; then forget it."""
    ended: dict[Process, Ended] = {}
    deadline = time.monotonic() + _KILL_S
    while True:
        running = state is not None and state.relay.alive
        doomed = list(inside(world, state.inodes if running else {}))
        if running:
            doomed.append(state.relay)
        if not doomed:
            remove(world)
            break
        if time.monotonic() > deadline:
            break  # someone does not die (yet); the file stays, for the next sweep
        for process in doomed:
            ended.setdefault(process, Ended(process.pid, process.command(), world))
            process.kill()
        time.sleep(0.01)
    return list(ended.values())


def sweep() -> list[Ended]:
    """End what is left of worlds whose owner died, and of labs whose relay died.

    Touches nothing else: worlds in use, a running lab, and every process that is not provably
    of such a world.
    """
    ended: list[Ended] = []
    for world, state in read_all().items():
        if state is None:
            ended += clear(world, None)
        elif state.boot != boot_id():
            remove(world)
        elif state.orphaned:
            ended += clear(world, state)
    return ended
