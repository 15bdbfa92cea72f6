"""The site's end: sends an observation on a fixed beat and times the answers.

Run as `python -m homeport.probes.interaction.client`; prints one JSON line per step, in the
order in which steps are settled. Steps leave on the beat whether or not earlier ones were
answered: waiting for them would hide exactly the slow moments (coordinated omission).
"""

import argparse
import json
import select
import socket
import sys
import time

from homeport.probes.interaction.wire import REPLY, request

_CONNECT_TIMEOUT_S = 5.0
_RETRY_S = 1.0
_GIVE_UP_AFTER_DEADLINES = 5  # of silence on a connection before a new one is tried


class Client:
    """One stream of steps to one server."""

    def __init__(self, peer: tuple[str, int], *, size: int, interval_s: float, deadline_s: float):
        self.peer, self.interval_s, self.deadline_s = peer, interval_s, deadline_s
        self.observation = tuple(0.01 * (i % 7) for i in range(size))
        self.sequence = 0
        self.pending: dict[int, tuple[float, float]] = {}  # sequence: (epoch, monotonic) seconds
        self.connection: socket.socket | None = None
        self.buffer = bytearray()
        self.heard_s = 0.0
        self.retry_s = 0.0

    def run(self, offset_s: float) -> None:
        """Send on the beat, read in between, until killed."""
        self._connect()
        due = time.monotonic() + offset_s
        while True:
            self._read_until(due)
            self._send(due)
            due += self.interval_s

    def _read_until(self, due: float) -> None:
        while (left := due - time.monotonic()) > 0:
            self._expire()
            if self.connection is None:
                self._connect()
                if self.connection is None:
                    time.sleep(max(0.0, min(due - time.monotonic(), 0.05)))
                continue
            self._receive(left)

    def _connect(self) -> None:
        if time.monotonic() < self.retry_s:
            return
        try:
            self.connection = socket.create_connection(self.peer, timeout=_CONNECT_TIMEOUT_S)
        except OSError as refused:
            say(trouble=f"connect: {refused}", time_s=time.time())
            self.retry_s = time.monotonic() + _RETRY_S
            return
        self.connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.buffer.clear()
        self.heard_s = time.monotonic()

    def _drop(self, why: str) -> None:
        say(trouble=why, time_s=time.time())
        self.connection.close()
        self.connection = None

    def _send(self, due: float) -> None:
        self.sequence += 1
        now = time.monotonic()
        # A step held up by more than a beat (no connection, a blocked site) is timed from when
        # it was due; one that cannot leave at all is due all the same and will be overdue.
        start = due if self.connection is None or now - due > self.interval_s else now
        self.pending[self.sequence] = (time.time() - (now - start), start)
        if self.connection is None:
            return
        try:
            self.connection.settimeout(0.0)
            self.connection.sendall(request(self.sequence, self.observation))
        except OSError as broken:
            self._drop(f"send: {broken}")

    def _receive(self, wait_s: float) -> None:
        if not select.select([self.connection], [], [], wait_s)[0]:
            return
        now = time.monotonic()
        try:
            piece = self.connection.recv(65536)
        except OSError as broken:
            self._drop(f"receive: {broken}")
            return
        if not piece:
            self._drop("the server closed the connection")
            return
        self.heard_s = now
        self.buffer += piece
        while len(self.buffer) >= REPLY.size:
            self._settle(*REPLY.unpack(self.buffer[: REPLY.size]), now)
            del self.buffer[: REPLY.size]

    def _settle(self, sequence: int, _action: int, server_ns: int, policy_ns: int, now: float):
        sent = self.pending.pop(sequence, None)
        if sent is None:
            return  # it came after its deadline and has been counted already
        sent_s, start = sent
        if now - start >= self.deadline_s:
            self._overdue(sequence, sent_s)
            return
        say(
            seq=sequence,
            sent_s=round(sent_s, 6),
            step_ms=round(1000 * (now - start), 4),
            server_ms=server_ns / 1e6,
            inference_ms=policy_ns / 1e6,
        )

    def _overdue(self, sequence: int, sent_s: float) -> None:
        say(seq=sequence, sent_s=round(sent_s, 6), overdue_ms=1000 * self.deadline_s)

    def _expire(self) -> None:
        now = time.monotonic()
        overdue = [s for s, (_, at) in self.pending.items() if now - at >= self.deadline_s]
        for sequence in overdue:
            self._overdue(sequence, self.pending.pop(sequence)[0])
        silent_s = now - self.heard_s
        if overdue and self.connection and silent_s > _GIVE_UP_AFTER_DEADLINES * self.deadline_s:
            self._drop(f"silent for {silent_s:.1f} s")


def say(**facts: object) -> None:
    """Print one JSON line at once, so that a kill loses at most the line under way."""
    sys.stdout.write(json.dumps(facts) + "\n")
    sys.stdout.flush()


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--address", required=True)
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument("--interval-s", type=float, required=True)
    parser.add_argument("--deadline-s", type=float, required=True)
    parser.add_argument("--offset-s", type=float, default=0.0)
    parser.add_argument("--observation-size", type=int, required=True)
    args = parser.parse_args()
    peer = (args.address, args.port)
    size, beat = args.observation_size, args.interval_s
    client = Client(peer, size=size, interval_s=beat, deadline_s=args.deadline_s)
    client.run(args.offset_s)


if __name__ == "__main__":
    main()
