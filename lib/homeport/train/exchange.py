"""Who sends what to whom, so that all ranks end with the same mean.

One short interface: `mean(vector, weight)` gives the weighted mean over all ranks. `Alone` is its
null member. `Star` sends every vector to the learner (rank 0) and its answer back, in one round
trip, over torch.distributed (gloo) point-to-point messages whose receives are always posted one
ahead: gloo starts to send only when it knows of a posted receive, so a late one costs a round trip.

A message is a header of four float64 and the vector in float32:
    to the learner    sequence number, weight, 0, 0
    to a worker       sequence number, seconds this worker's payload lay waiting for the slowest
                      rank, seconds the learner took to average, 1 to stop after this update
The learner's own clock measures how long it held a payload, the worker's the whole round trip;
the difference is time on the wire, and no two clocks need agree (as in NTP, RFC 5905).
"""

import concurrent.futures
import contextlib
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import torch
from torch.distributed import ProcessGroup, Work

from homeport.errors import GangFailed

_HEADER = 4  # float64 values
_TAG = 1


@dataclass(frozen=True)
class Times:
    """Where the time of one synchronisation went, in seconds.

    At a worker the round trip is wait (held for the slowest rank) + average (at the learner) +
    wire. At the learner wait is until the last payload came in and wire the handing over of the
    answers.
    """

    wait_s: float = 0.0
    average_s: float = 0.0
    wire_s: float = 0.0


@dataclass(frozen=True)
class Synced:
    """The outcome of one synchronisation: the mean, and whether this update is the last."""

    mean: torch.Tensor
    stop: bool
    times: Times = Times()


class Exchange(Protocol):
    """How ranks agree on the mean of a vector."""

    payload_bytes: tuple[int, int]  # sent and received by this rank in one `mean`, by theory

    def mean(self, vector: torch.Tensor, weight: float, over: Callable[[], bool]) -> Synced:
        """The mean of all ranks' vectors by weight; everyone gets the same bits.

        `over` is asked at the learner alone, once all payloads are in; its answer is everyone's
        `stop`. The mean may be written to, and is valid until the next but one call.
        """


class Alone:
    """One rank: the mean is what it brought."""

    payload_bytes = (0, 0)

    def mean(self, vector: torch.Tensor, weight: float, over: Callable[[], bool]) -> Synced:
        return Synced(vector, over())


class Message:
    """A header and a vector in one buffer that gloo can send."""

    def __init__(self, size: int):
        self.bytes = torch.zeros(_HEADER * 8 + size * 4, dtype=torch.uint8)
        self.header = self.bytes[: _HEADER * 8].numpy().view(np.float64)
        self.vector = torch.from_numpy(self.bytes[_HEADER * 8 :].numpy().view(np.float32))


def star(group: ProcessGroup, rank: int, places: list[str], size: int) -> Exchange:
    """This rank's end of a star over `group` for vectors of `size` float32.

    `places` names the ranks in errors. A rank alone needs no star.
    """
    if len(places) == 1:
        return Alone()
    return StarWorker(group, places, size) if rank else StarLearner(group, places, size)


class _Star:
    """What both ends of a star share: messages to and from a named peer."""

    def __init__(self, group: ProcessGroup, places: list[str]):
        self._group, self._places = group, places

    def _send(self, message: Message, rank: int) -> Work:
        with self._peer(rank):
            return self._group.send([message.bytes], rank, _TAG)

    def _post(self, message: Message, rank: int) -> Work:
        """Make ready to receive; the message may be on its way before anyone waits for it."""
        with self._peer(rank):
            return self._group.recv([message.bytes], rank, _TAG)

    @contextlib.contextmanager
    def _peer(self, rank: int):
        """What goes wrong here is the loss of that rank."""
        try:
            yield
        except RuntimeError as broken:
            text = " ".join(str(broken).split())
            silent = "timed out" in text.lower() or "timeout" in text.lower()
            cause = "silent for longer than the timeout" if silent else "closed its connection"
            raise GangFailed(rank, self._places[rank], f"{cause} ({text[-120:]})") from broken

    def _check_number(self, rank: int, seen: float, expected: int) -> None:
        if seen != expected:
            cause = f"sent message {seen:g} where {expected} was due"
            raise GangFailed(rank, self._places[rank], cause)


class StarWorker(_Star):
    """Any rank but 0: sends its vector, gets the mean."""

    def __init__(self, group: ProcessGroup, places: list[str], size: int):
        super().__init__(group, places)
        self._out, self._in = _pair(size), _pair(size)
        self._sent = 0
        self._posted = self._post(self._in[0], 0)
        self.payload_bytes = (self._out[0].bytes.nbytes, self._in[0].bytes.nbytes)

    def mean(self, vector: torch.Tensor, weight: float, over: Callable[[], bool]) -> Synced:
        began = time.perf_counter()
        out, answer = self._out[self._sent % 2], self._in[self._sent % 2]
        expected = self._posted
        self._posted = self._post(self._in[(self._sent + 1) % 2], 0)
        out.header[:2] = self._sent, weight
        out.vector.copy_(vector)
        sending = self._send(out, 0)
        with self._peer(0):
            expected.wait()
            took = time.perf_counter() - began
            sending.wait()
        number, wait, average, stop = answer.header.tolist()
        self._check_number(0, number, self._sent)
        self._sent += 1
        times = Times(wait, average, took - wait - average)
        return Synced(answer.vector, bool(stop), times)


class StarLearner(_Star):
    """Rank 0: waits for every worker's vector, averages, answers each.

    One thread per worker waits for its payload (gloo lets go of the interpreter lock meanwhile),
    because a receive does not say when it was completed: the thread that wakes does.
    """

    def __init__(self, group: ProcessGroup, places: list[str], size: int):
        super().__init__(group, places)
        self._workers = range(1, len(places))
        self._in = {rank: _pair(size) for rank in self._workers}
        self._out = {rank: _pair(size) for rank in self._workers}
        self._mean = torch.zeros(2, size)
        self._answered = 0
        self._sending = [[], []]
        self._pool = concurrent.futures.ThreadPoolExecutor(len(self._workers))
        self._arrivals = {}
        self._listen({rank: self._post(self._in[rank][0], rank) for rank in self._workers})
        each = self._in[1][0].bytes.nbytes * len(self._workers)
        self.payload_bytes = (each, each)

    def mean(self, vector: torch.Tensor, weight: float, over: Callable[[], bool]) -> Synced:
        began = time.perf_counter()
        turn = self._answered % 2
        arrived = self._gather()
        last = max(began, *arrived.values()) if weight else max(arrived.values())
        self._settle(turn)
        expected = {rank: self._post(self._in[rank][1 - turn], rank) for rank in self._workers}
        mean = self._average(vector, weight, turn)
        stop = over()
        self._listen(expected)
        answering = time.perf_counter()
        for rank in self._workers:
            self._answer(rank, turn, last - arrived[rank], last, stop)
        done = time.perf_counter()
        self._answered += 1
        wait, wire = max(last - began, 0.0), done - answering
        return Synced(mean, stop, Times(wait, done - began - wait - wire, wire))

    def _listen(self, expected: dict[int, Work]) -> None:
        """Begin to wait for the next payloads; a peer's time to be silent starts here."""
        for rank, receive in expected.items():
            self._arrivals[self._pool.submit(_arrival, receive)] = rank

    def _gather(self) -> dict[int, float]:
        """When each worker's payload was complete (perf_counter); the first loss is raised."""
        arrived = {}
        for future in concurrent.futures.as_completed(self._arrivals):
            rank = self._arrivals[future]
            with self._peer(rank):
                arrived[rank] = future.result()
        self._arrivals = {}
        return arrived

    def _settle(self, turn: int) -> None:
        """Make sure the answers that lay in this turn's buffers have left them."""
        for rank, sending in self._sending[turn]:
            with self._peer(rank):
                sending.wait()
        self._sending[turn] = []

    def _average(self, vector: torch.Tensor, weight: float, turn: int) -> torch.Tensor:
        mean = self._mean[turn]
        given = [(weight, vector)] if weight else []
        for rank in self._workers:
            message = self._in[rank][turn]
            number, share = message.header[:2].tolist()
            self._check_number(rank, number, self._answered)
            given.append((share, message.vector))
        total = sum(share for share, _ in given)
        mean.zero_()
        for share, one in given:
            mean.add_(one, alpha=share / total)
        return mean

    def _answer(self, rank: int, turn: int, wait: float, last: float, stop: bool) -> None:
        out = self._out[rank][turn]
        out.vector.copy_(self._mean[turn])
        out.header[:] = self._answered, wait, time.perf_counter() - last, stop
        self._sending[turn].append((rank, self._send(out, rank)))


def _pair(size: int) -> tuple[Message, Message]:
    return Message(size), Message(size)


def _arrival(receive: Work) -> float:
    receive.wait()
    return time.perf_counter()
