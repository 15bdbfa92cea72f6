"""The warm agent of a place: loads torch and SB3 once, then forks ranks that are ready at once.

    python -m homeport.train.agent --name PLACE --address ADDRESS

It reads one JSON object a line on stdin and writes the same on stdout; `id` ties answers to
requests. It and every rank die when stdin closes.

    {"do": "ping", "id"}                   -> {"event": "pong", "id"}
    {"do": "port", "id"}                   -> {"event": "port", "id", "port"}: listening from now on
    {"do": "spawn", "id", "rank", "master", "port", "deadline_s", "job"}
                                           -> {"event": "spawned", "id", "rank", "pid"}
    {"do": "kill", "id"}                   -> {"event": "killed", "id", "ranks"}
    anything else                          -> {"event": "refused", "id", "reason"}

Unasked: {"event": "hello", ...} once it is warm; whatever a rank emits, tagged with id and rank;
{"event": "exit", "id", "rank", "code", "signal"} when a rank has ended.
"""

import argparse
import json
import os
import selectors
import socket
import sys
import time
from pathlib import Path

from homeport.errors import HomeportError
from homeport.params.model import build
from homeport.train import child, interfaces

_ENVIRONMENT = {
    # One thread a rank, and none that a fork would lose.
    "OMP_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
    "MKL_NUM_THREADS": "1",
    # gloo would connect all ranks with each other; workers of two sites often cannot, nor need to.
    "TORCH_GLOO_LAZY_INIT": "1",
}
_LONGEST_LINE = 1 << 20
_BAD_REQUEST = (HomeportError, LookupError, TypeError, ValueError, RecursionError, OSError)


def main() -> None:
    """Warm up, say hello, serve until stdin closes."""
    parser = argparse.ArgumentParser(prog="homeport.train.agent")
    parser.add_argument("--name", required=True)
    parser.add_argument("--address", required=True)
    asked = parser.parse_args()
    # What libraries print must not get between the protocol's lines.
    answers = os.dup(1)
    os.dup2(2, 1)
    hello = warm_up(asked.address)
    server = Server(asked.address, answers)
    server.say("hello", place=asked.name, address=asked.address, **hello)
    try:
        server.serve()
    except BrokenPipeError:
        pass  # nobody listens any more
    finally:
        server.end()


def warm_up(address: str) -> dict:
    """Load everything a rank needs, by training once; facts about this place."""
    began = time.perf_counter()
    interface = interfaces.interface_of(address)
    os.environ.update(_ENVIRONMENT, GLOO_SOCKET_IFNAME=interface)
    from homeport.train import guards, rehearsal

    rehearsal.train_once()
    return {
        "pid": os.getpid(),
        "warmup_s": time.perf_counter() - began,
        "interface": interface,
        "versions": guards.versions(),
        "cpu": cpu_facts(),
    }


def cpu_facts() -> dict:
    """The processor as this place sees it: model, cores, and how many this process may use."""
    lines = Path("/proc/cpuinfo").read_text().splitlines()
    models = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    usable = len(os.sched_getaffinity(0))
    return {"model": models[0] if models else "", "cores": os.cpu_count(), "usable": usable}


class Server:
    """The agent's loop over requests, events of ranks, their ends and their deadlines."""

    def __init__(self, address: str, answers: int):
        self._address, self._answers = address, answers
        self._children = {}
        self._listeners = {}
        self._unread = b""
        self._selector = selectors.DefaultSelector()
        self._selector.register(0, selectors.EVENT_READ, self._on_requests)
        self._open = True

    def say(self, event: str, **facts) -> None:
        """Write one line."""
        self._write(json.dumps({"event": event, **facts}).encode())

    def _write(self, line: bytes) -> None:
        rest = line + b"\n"
        while rest:
            rest = rest[os.write(self._answers, rest) :]

    def serve(self) -> None:
        """Serve until stdin closes."""
        while self._open:
            for key, _ in self._selector.select(self._patience()):
                if self._selector.get_map().get(key.fd) is key:  # not closed a moment ago
                    key.data()
            for one in self._children.values():
                if time.monotonic() >= one.ends_at:
                    one.kill()

    def end(self) -> None:
        """Kill every rank and wait for its end."""
        for one in self._children.values():
            one.kill()
            one.reap()

    def _patience(self) -> float | None:
        ends = [one.ends_at for one in self._children.values()]
        return max(0.01, min(ends) - time.monotonic()) if ends else None

    def _on_requests(self) -> None:
        part = os.read(0, 65536)
        self._open = bool(part)
        *lines, self._unread = (self._unread + part).split(b"\n")
        for line in lines:
            self._handle(line)
        if len(self._unread) > _LONGEST_LINE:
            self._unread = b""
            self.say("refused", id="", reason=f"a line longer than {_LONGEST_LINE} bytes")

    def _handle(self, line: bytes) -> None:
        """Answer one request; whatever is wrong with it, the agent lives on."""
        request = {}
        try:
            request = json.loads(line)
            self._do(request)
        except _BAD_REQUEST as bad:
            run = request.get("id", "") if isinstance(request, dict) else ""
            self.say("refused", id=str(run), reason=f"{type(bad).__name__}: {bad}"[:500])

    def _do(self, request: dict) -> None:
        actions = {
            "ping": self._ping,
            "port": self._port,
            "spawn": self._spawn,
            "kill": self._kill,
        }
        actions[request["do"]](request)

    def _ping(self, request: dict) -> None:
        self.say("pong", id=request["id"])

    def _port(self, request: dict) -> None:
        """Listen on a free port of this place's address; rank 0 of the run takes it over."""
        self._forget_listener(request["id"])
        listener = socket.create_server((self._address, 0), backlog=128)
        self._listeners[request["id"]] = listener
        self.say("port", id=request["id"], port=listener.getsockname()[1])

    def _forget_listener(self, run: str) -> None:
        if listener := self._listeners.pop(run, None):
            listener.close()

    def _spawn(self, content: dict) -> None:
        request = build(child.Spawn, content, "the request", "spawn")
        listener = self._listeners.get(request.id) if request.rank == 0 else None
        born = child.fork(request, self._address, listener, lambda: self._become_child(listener))
        if listener is not None:
            self._forget_listener(request.id)
        self._children[born.pid] = born
        self._selector.register(born.events, selectors.EVENT_READ, lambda: self._forward(born))
        self._selector.register(born.pidfd, selectors.EVENT_READ, lambda: self._ended(born))
        self.say("spawned", id=born.run, rank=born.rank, pid=born.pid)

    def _become_child(self, listener: socket.socket | None) -> None:
        """In a forked rank: let go of everything that is the agent's."""
        self._selector.close()
        os.close(self._answers)
        nothing = os.open(os.devnull, os.O_RDONLY)
        os.dup2(nothing, 0)
        os.close(nothing)
        for other in self._children.values():
            os.close(other.pidfd)
            os.close(other.events)
        for other in self._listeners.values():
            if other is not listener:
                other.close()

    def _forward(self, one: child.Child) -> None:
        for line in one.read():
            self._write(line)

    def _ended(self, one: child.Child) -> None:
        self._forward(one)
        for fd in (one.events, one.pidfd):
            self._selector.unregister(fd)
        del self._children[one.pid]
        self.say("exit", id=one.run, rank=one.rank, **one.reap())

    def _kill(self, request: dict) -> None:
        ranks = [one for one in self._children.values() if one.run == request["id"]]
        for one in ranks:
            one.kill()
        self._forget_listener(request["id"])
        self.say("killed", id=request["id"], ranks=sorted(one.rank for one in ranks))


if __name__ == "__main__":
    sys.exit(main())
