"""A forked rank: a process that is ready at once, dies with its agent, and reports by a pipe."""

import ctypes
import json
import os
import signal
import socket
import time
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Literal

from pydantic import Field

from homeport.errors import GangFailed
from homeport.params.model import Model
from homeport.train.spec import Job

_PR_SET_PDEATHSIG = 1
_REPORT_S = 0.25
_PIPE_BUFFER = 1 << 20
_libc = ctypes.CDLL(None, use_errno=True)


class Spawn(Model):
    """The request to start one rank of a run; `id` is the run's."""

    do: Literal["spawn"]
    id: Annotated[str, Field(min_length=1)]
    rank: Annotated[int, Field(ge=0)]
    master: str
    port: Annotated[int, Field(ge=1, le=65535)]
    deadline_s: Annotated[float, Field(gt=0)]
    job: Job


@dataclass
class Child:
    """What an agent knows of one rank it forked. `ends_at` is on the monotonic clock."""

    run: str
    rank: int
    pid: int
    pidfd: int
    events: int
    ends_at: float
    unread: bytes = b""

    def read(self) -> list[bytes]:
        """Whole lines the rank has written since the last call; never waits."""
        try:
            while part := os.read(self.events, 65536):
                self.unread += part
        except BlockingIOError:
            pass
        *lines, self.unread = self.unread.split(b"\n")
        return lines

    def kill(self) -> None:
        """End it for good; a stopped process dies of this too."""
        signal.pidfd_send_signal(self.pidfd, signal.SIGKILL)

    def reap(self) -> dict:
        """How it ended: `code`, or `signal` by name."""
        _, status = os.waitpid(self.pid, 0)
        os.close(self.pidfd)
        os.close(self.events)
        if os.WIFSIGNALED(status):
            return {"code": None, "signal": signal.Signals(os.WTERMSIG(status)).name}
        return {"code": os.WEXITSTATUS(status), "signal": None}


def fork(
    request: Spawn, address: str, listener: socket.socket | None, foreign: Callable[[], None]
) -> Child:
    """Start a rank. `listener` (rank 0) listens at master and port.

    `foreign` closes in the child what belongs to the agent alone. Call from the main thread: the
    child is told to die with the thread that forked it.
    """
    events, writing = os.pipe()
    agent = os.getpid()
    pid = os.fork()
    if pid == 0:
        code = 1
        try:
            _die_with(agent, request.deadline_s)
            foreign()
            os.close(events)
            code = _run(request, address, listener, writing)
        finally:
            os._exit(code)  # never back into the agent's code
    os.close(writing)
    os.set_blocking(events, False)
    ends_at = time.monotonic() + request.deadline_s
    return Child(request.id, request.rank, pid, os.pidfd_open(pid), events, ends_at)


def _die_with(agent: int, deadline_s: float) -> None:
    """End this process with its agent, and at its deadline even if it hangs outside Python."""
    _libc.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    if os.getppid() != agent:
        os._exit(1)
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    signal.setitimer(signal.ITIMER_REAL, deadline_s)


class _Pipe:
    """Events to the agent. Those of updates are sent a few times a second, others at once.

    A line an update would wake agent and launcher at every one, on the machine that is measured.
    """

    def __init__(self, writing: int, tag: dict):
        self._file, self._tag = os.fdopen(writing, "wb", buffering=_PIPE_BUFFER), tag
        self._sent_at = 0.0

    def __call__(self, event: str, **facts) -> None:
        self._file.write(json.dumps({"event": event, **self._tag, **facts}).encode() + b"\n")
        now = time.monotonic()
        if event != "update" or now - self._sent_at >= _REPORT_S:
            self._file.flush()
            self._sent_at = now


def _run(request: Spawn, address: str, listener: socket.socket | None, writing: int) -> int:
    """The child's whole life; its exit code."""
    from homeport.train import rank

    emit = _Pipe(writing, {"id": request.id, "rank": request.rank})
    os.environ.update(
        MASTER_ADDR=request.master,
        MASTER_PORT=str(request.port),
        RANK=str(request.rank),
        WORLD_SIZE=str(len(request.job.places)),
    )
    try:
        rank.live(request.job, address, listener and listener.detach(), emit)
    except GangFailed as lost:
        emit("failed", blames=lost.rank, cause=lost.cause)
        return 1
    except BaseException as own:
        emit("failed", blames=request.rank, cause=f"{type(own).__name__}: {own}"[:500])
        traceback.print_exc()
        raise
    emit("left")
    return 0
