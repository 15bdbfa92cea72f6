"""Where a command runs: this machine, or a host of the emulated world."""

import contextlib
import os
import shutil
import signal
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Protocol

from homeport.errors import CommandFailed, DeadlinePassed, MissingTool

# setpriv makes the kernel end the command when the thread that started it is gone, so that a
# killed runner leaves nothing behind. Hence: start long-lived commands from the main thread.
_DIES_WITH_US = ["setpriv", "--pdeathsig", "KILL", "--"]
_PACKAGES = {
    "ping": "iputils-ping",
    "traceroute": "traceroute",
    "ip": "iproute2",
    "setpriv": "util-linux",
    "nsenter": "util-linux",
    "iperf3": "iperf3",
}


@dataclass(frozen=True)
class Done:
    """What a finished command left behind."""

    code: int
    stdout: str
    stderr: str


class Place(Protocol):
    """A machine, real or emulated, that can run a command and be reached at `address`."""

    name: str
    address: str

    def run(self, command: list[str], *, timeout_s: float, ok: tuple[int, ...] = (0,)) -> Done:
        """Run `command` to its end, and raise unless it exits with a code in `ok`.

        Raises CommandFailed, MissingTool, or DeadlinePassed once `timeout_s` is over and the
        command with its whole process group has been killed.
        """

    def start(
        self, command: list[str], *, stdout: IO | int | None = None, stderr: IO | int | None = None
    ) -> subprocess.Popen:
        """Start a long-lived command in its own process group, with pipes for its streams.

        `stdout` and `stderr` may be open files for the output. The command dies with the thread
        that started it; end it with `stop`.
        """


class _Here:
    """What Local and Namespace share: a prefix that leads a command to its place."""

    name: str

    def _prefix(self) -> list[str]:
        return []

    def _full(self, command: list[str]) -> list[str]:
        tool = command[0]
        if shutil.which(tool) is None:
            package = _PACKAGES.get(Path(tool).name, tool)
            raise MissingTool(self.name, tool, f"install it with: apt-get install {package}")
        return [*_DIES_WITH_US, *self._prefix(), *command]

    def run(self, command: list[str], *, timeout_s: float, ok: tuple[int, ...] = (0,)) -> Done:
        child = self.start(command)
        try:
            stdout, stderr = child.communicate(timeout=timeout_s)
        except subprocess.TimeoutExpired as late:
            raise DeadlinePassed(self.name, command, timeout_s) from late
        finally:
            stop(child)
        if child.returncode not in ok:
            raise CommandFailed(self.name, command, child.returncode, stderr or stdout)
        return Done(child.returncode, stdout, stderr)

    def start(
        self, command: list[str], *, stdout: IO | int | None = None, stderr: IO | int | None = None
    ) -> subprocess.Popen:
        if stderr is None:  # without a reader for stdout there is none for a pipe of stderr
            stderr = subprocess.PIPE if stdout is None else subprocess.DEVNULL
        return subprocess.Popen(
            self._full(command),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE if stdout is None else stdout,
            stderr=stderr,
            text=True,
            start_new_session=True,
            env={**os.environ, "LC_ALL": "C"},
        )


@dataclass(frozen=True)
class Local(_Here):
    """This machine."""

    name: str
    address: str = "127.0.0.1"


@dataclass(frozen=True)
class Namespace(_Here):
    """A host of the emulated world: its own network, and its own /etc/hosts.

    `network` and `mounts` are paths of namespace files (under /proc/PID/fd of the relay).
    """

    name: str
    address: str
    network: str
    mounts: str

    def _prefix(self) -> list[str]:
        # Entering mounts leads to their root; commands expect the folder they were started in.
        here = f"--wdns={Path.cwd()}"
        return ["nsenter", f"--net={self.network}", f"--mount={self.mounts}", here, "--"]


def stop(child: subprocess.Popen, *, grace_s: float = 0.0) -> None:
    """End a started command and everything in its process group; safe to call twice.

    With `grace_s` it is asked first (SIGTERM) and given that long.
    """
    if grace_s and child.poll() is None:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(child.pid, signal.SIGTERM)
        with contextlib.suppress(subprocess.TimeoutExpired):
            child.wait(grace_s)
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(child.pid, signal.SIGKILL)
    child.wait()
    for stream in (child.stdin, child.stdout, child.stderr):
        if stream is not None:
            with contextlib.suppress(BrokenPipeError):
                stream.close()
