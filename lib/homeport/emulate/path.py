"""The way of one packet from host to host, as arithmetic on clock times: no clock, no sockets.

All times are seconds; what a Path needs per packet is held in plain attributes, since this runs
tens of thousands of times a second.
"""

import math
import random

from homeport.emulate.profile import COUNTED, Access, Bursts, Profile

MEMORY_S = 0.020  # after so long, jitter has forgotten 63 % of what it was
PACKETS, BYTES, DELIVERED, LOST, OVERFLOWED, REFUSED, EXPIRED, UNWRITTEN, LATE = range(len(COUNTED))


class Queue:
    """A rate with a queue before it, kept as the time at which the line is free again."""

    __slots__ = ("_bit_s", "_free_s", "_limit_s", "limited")

    def __init__(self):
        self._free_s = 0.0
        self.set(None, 0.0)

    def set(self, rate_mbit_s: float | None, queue_ms: float) -> None:
        """Change the rate (None: unlimited) and how much may wait; what waits keeps its time."""
        self.limited = rate_mbit_s is not None
        self._bit_s = (rate_mbit_s or math.inf) * 1e6
        self._limit_s = queue_ms / 1000

    def through(self, now: float, size: int) -> float | None:
        """When a packet of `size` bytes has left, or None if it finds the queue full."""
        free = self._free_s
        if free < now:
            free = now
        elif free - now > self._limit_s:
            return None
        free += size * 8 / self._bit_s
        self._free_s = free
        return free


class Path:
    """One ordered pair of hosts: its queues, loss, delay and jitter.

    `words` and `at` say where its counters are; `up` is the queue of the source's access link,
    which all paths of that source share. Equal seeds give equal draws.
    """

    __slots__ = (
        "_at",
        "_bad",
        "_bursts",
        "_chance",
        "_gauss",
        "_jitter",
        "_last",
        "_queues",
        "_rate",
        "_uniform",
        "_up",
        "_wander_at",
        "_wandered",
        "_words",
        "delay_s",
        "hops",
        "is_open",
    )

    def __init__(self, words: memoryview, at: int, up: Queue, seed: str):
        self._words, self._at, self._up = words, at, up
        # Two generators: turning jitter on must not change which packets are lost.
        self._uniform = random.Random(f"{seed}/loss").random
        self._gauss = random.Random(f"{seed}/jitter").gauss
        self._rate = Queue()
        self._last = self._wander_at = self._wandered = 0.0
        self._bad = False
        self.set(None, False)

    def set(self, profile: Profile | None, is_up: bool) -> None:
        """Follow a profile from now on; None, or a link that is not up, refuses every packet."""
        self.is_open = is_up and profile is not None
        profile = profile or Profile()
        self.delay_s = profile.delay_ms / 1000
        self._jitter = profile.jitter_ms / 1000
        self._bursts = profile.loss if isinstance(profile.loss, Bursts) else None
        self._chance = 0.0 if self._bursts else profile.loss
        self.hops = profile.hops
        self._rate.set(profile.rate_mbit_s, profile.queue_ms)
        self.join()

    def join(self) -> None:
        """Take note of which queues limit anything; to be called when the access link changes."""
        self._queues = [queue for queue in (self._up, self._rate) if queue.limited]

    def count(self, what: int) -> None:
        """Add one to a counter."""
        self._words[self._at + what] += 1

    def depart(self, now: float, size: int) -> float | None:
        """When a packet read at `now` has passed the queues, or None if it went no further."""
        words, at = self._words, self._at
        words[at] += 1
        words[at + BYTES] += size
        if not self.is_open:
            words[at + REFUSED] += 1
            return None
        for queue in self._queues:
            now = queue.through(now, size)
            if now is None:
                words[at + OVERFLOWED] += 1
                return None
        if (self._chance and self._uniform() < self._chance) or (self._bursts and self._burst()):
            words[at + LOST] += 1
            return None
        return now

    def _burst(self) -> bool:
        bursts = self._bursts
        if self._uniform() < (bursts.leave if self._bad else bursts.enter):
            self._bad = not self._bad
        return self._uniform() < (bursts.bad if self._bad else bursts.good)

    def arrive(self, left: float) -> float:
        """When a packet that left the queues at `left` is at its target, never before others."""
        due = left + self.delay_s
        if self._jitter:
            due = max(left, due + self._jitter * self._wander(left))
        if due < self._last:
            return self._last
        self._last = due
        return due

    def _wander(self, now: float) -> float:
        """One step of an Ornstein-Uhlenbeck process in time, of unit variance.

        Independent draws, released in order, would delay a busy link more than an idle one.
        """
        passed = max(0.0, now - self._wander_at)  # less than 0 once, when a rate is taken away
        keep = math.exp(-passed / MEMORY_S)
        self._wandered = keep * self._wandered + math.sqrt(1 - keep * keep) * self._gauss(0.0, 1.0)
        self._wander_at = now
        return self._wandered


class Doors:
    """One host's access link: the queues its packets pass on the way out and in."""

    def __init__(self):
        self.up, self.down = Queue(), Queue()

    def set(self, access: Access) -> None:
        """Follow an access link from now on."""
        self.up.set(access.up_mbit_s, access.queue_ms)
        self.down.set(access.down_mbit_s, access.queue_ms)
