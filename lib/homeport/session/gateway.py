"""How a page in its own kernel reaches the session that the runner holds.

One abstract Unix socket (no file that a kill could leave), open to processes of the same user;
one JSON line asks, one JSON line answers. The agents, the world and the streams stay with the
runner: a kernel that dies takes nothing with it.
"""

import contextlib
import dataclasses
import json
import os
import secrets
import socket
import struct
import threading

from homeport import errors
from homeport.errors import HomeportError
from homeport.metrics import Record
from homeport.session.live import Live, revived

VARIABLE = "HOMEPORT_GATEWAY"
_PEER = (socket.SOL_SOCKET, socket.SO_PEERCRED)


class Gateway:
    """Serves pages from the runner. Use it as a context manager around the parts of a run."""

    def __init__(self, live: Live):
        self.live = live
        self.about: dict = {}  # what the runner knows of the part under way, for its provenance
        self._stack = contextlib.ExitStack()

    def __enter__(self) -> "Gateway":
        name = f"homeport-gateway-{secrets.token_hex(8)}"
        self._listener = self._stack.enter_context(
            socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        )
        self._listener.bind(f"\0{name}")
        self._listener.listen(4)
        before = os.environ.get(VARIABLE)
        os.environ[VARIABLE] = name
        self._stack.callback(_restore, before)
        threading.Thread(target=self._serve, daemon=True).start()
        return self

    def __exit__(self, *_exc) -> None:
        with contextlib.suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._stack.close()

    def _serve(self) -> None:
        while True:
            try:
                connection, _ = self._listener.accept()
            except OSError:
                return  # closed: the run is over
            if _user_of(connection) != os.getuid():
                connection.close()
                continue
            threading.Thread(target=self._answer, args=(connection,), daemon=True).start()

    def _answer(self, connection: socket.socket) -> None:
        with connection, connection.makefile("rw", encoding="utf-8") as stream:
            asked = json.loads(stream.readline())
            try:
                answer = {"answer": self._do(**asked)}
            except HomeportError as wrong:
                answer = {"error": type(wrong).__name__, "text": str(wrong)}
            except Exception as wrong:  # noqa: BLE001 - the page shows it; the runner goes on
                answer = {"error": "RuntimeError", "text": repr(wrong)}
            with contextlib.suppress(BrokenPipeError):
                stream.write(json.dumps(answer) + "\n")
                stream.flush()

    def _do(self, *, session: str, ask: str, host: str, round: int) -> list[dict] | dict:
        if session != self.live.folder.session:
            raise errors.NotFound("running session", session, [self.live.folder.session])
        if ask == "about":
            return self.about
        if ask == "train":
            records = self.live.train(host, round).records
        elif ask == "relay":
            records = self.live.relay(host)
        else:
            raise errors.NotFound("request", ask, ["about", "train", "relay"])
        return [dataclasses.asdict(record) for record in records]


def _user_of(connection: socket.socket) -> int:
    """The user id of the process at the other end, as the kernel knows it."""
    _pid, uid, _gid = struct.unpack("3i", connection.getsockopt(*_PEER, struct.calcsize("3i")))
    return uid


def _restore(before: str | None) -> None:
    os.environ.pop(VARIABLE, None)
    if before is not None:
        os.environ[VARIABLE] = before


class RunnerSaid(HomeportError):
    """The runner could not do what a page asked for; its own error, told again."""


def ask_records(gateway: str, *, timeout_s: float, **request: object) -> list[Record]:
    """Ask the runner behind `gateway` to measure; its error is raised again here."""
    return [revived(row) for row in ask(gateway, timeout_s=timeout_s, **request)]


def ask(gateway: str, *, timeout_s: float, **request: object) -> list | dict:
    """Ask the runner behind `gateway`; its error is raised again here."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
        connection.settimeout(timeout_s)
        connection.connect(f"\0{gateway}")
        with connection.makefile("rw", encoding="utf-8") as stream:
            stream.write(json.dumps(request) + "\n")
            stream.flush()
            line = stream.readline()
    if not line:
        raise RunnerSaid("the runner went away before it answered")
    answer = json.loads(line)
    if "error" in answer:
        raise RunnerSaid(f"{answer['error']}: {answer['text']}")
    return answer["answer"]
