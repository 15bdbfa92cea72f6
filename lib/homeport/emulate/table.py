"""The memory a world's owner and its relay share: profiles in, counters and stamps out.

It is an unnamed file (memfd), so it vanishes with the last process that holds it. Everything is
a 64-bit word. The owner edits profiles while packets flow: it makes the generation odd, writes,
and makes it even again; the relay takes a row over only between two equal even generations.
"""

import fcntl
import mmap
import os
import struct
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from homeport.emulate.profile import COUNTED, Access, Bursts, Counters, Profile

NO_LINK, UP, DOWN = 0.0, 1.0, 2.0

_GENERATION, _STAMPING, _STAMPED, _HEADER = 0, 1, 2, 8
_ACCESS = 4  # words of one host's access link
_PROFILE = 12  # words of one pair's profile
_COUNTS = len(COUNTED)
_STAMP = struct.Struct("<ddHHHHHxxI")  # in, out, source, target, protocol, two of key, length
_STAMP_WORDS = _STAMP.size // 8
STAMPS_KEPT = 1 << 17


@dataclass(frozen=True)
class Stamp:
    """When the relay read one packet from its source and wrote it to its target.

    Seconds of the monotonic clock; `out_s` is None for a packet that was dropped. `key` is
    (source port, target port) of TCP and UDP, (id, sequence) of an ICMP echo.
    """

    in_s: float
    out_s: float | None
    source: str
    target: str
    protocol: int
    key: tuple[int, int]
    length: int


class Table:
    """The shared memory of a world of `hosts` hosts, numbered from 0."""

    def __init__(self, fd: int, hosts: int):
        """Map the table behind `fd`, which the table then owns."""
        self.fd, self.hosts = fd, hosts
        self._memory = mmap.mmap(fd, _size(hosts))
        self._words = memoryview(self._memory).cast("Q")
        self._reals = memoryview(self._memory).cast("d")
        self._profiles = _HEADER + hosts * _ACCESS
        self._counts = self._profiles + hosts * hosts * _PROFILE
        self._stamps = self._counts + hosts * hosts * _COUNTS
        self._lock = threading.Lock()

    @classmethod
    def new(cls, hosts: int) -> "Table":
        """An empty table: no links, all counters 0."""
        fd = os.memfd_create("homeport-table", os.MFD_CLOEXEC)
        os.ftruncate(fd, _size(hosts))
        return cls(fd, hosts)

    def close(self) -> None:
        """Let go of the memory; safe to call twice."""
        if self.fd >= 0:
            self._words.release()
            self._reals.release()
            self._memory.close()
            os.close(self.fd)
            self.fd = -1

    @property
    def generation(self) -> int:
        """Changes with every edit; odd while one is under way."""
        return self._words[_GENERATION]

    @contextmanager
    def _editing(self) -> Iterator[None]:
        with self._lock:
            fcntl.flock(self.fd, fcntl.LOCK_EX)  # against other processes at the same lab
            try:
                odd = self._words[_GENERATION] | 1
                self._words[_GENERATION] = odd
                yield
                self._words[_GENERATION] = odd + 1
            finally:
                fcntl.flock(self.fd, fcntl.LOCK_UN)

    def _pair(self, source: int, target: int) -> int:
        return self._profiles + (source * self.hosts + target) * _PROFILE

    def set_profile(self, source: int, target: int, profile: Profile) -> None:
        """Link an ordered pair, or change its link; it is up from now on."""
        row = encode(profile)
        with self._editing():
            at = self._pair(source, target)
            self._reals[at] = UP
            for offset, value in enumerate(row, start=1):
                self._reals[at + offset] = value

    def profile(self, source: int, target: int) -> Profile | None:
        """The profile of an ordered pair, up or down; None where there is no link."""
        at = self._pair(source, target)
        if self._reals[at] == NO_LINK:
            return None
        return decode(tuple(self._reals[at + 1 : at + _PROFILE]))

    def set_state(self, source: int, target: int, state: float) -> None:
        """Take a link UP or DOWN; its profile stays."""
        with self._editing():
            self._reals[self._pair(source, target)] = state

    def state(self, source: int, target: int) -> float:
        """NO_LINK, UP or DOWN."""
        return self._reals[self._pair(source, target)]

    def set_access(self, host: int, access: Access) -> None:
        """Set what joins a host to the world."""
        at = _HEADER + host * _ACCESS
        with self._editing():
            self._reals[at] = access.up_mbit_s or 0.0
            self._reals[at + 1] = access.down_mbit_s or 0.0
            self._reals[at + 2] = access.queue_ms

    def access(self, host: int) -> Access:
        """What joins a host to the world."""
        at = _HEADER + host * _ACCESS
        up, down, queue_ms = self._reals[at : at + 3]
        return Access(up_mbit_s=up or None, down_mbit_s=down or None, queue_ms=queue_ms)

    def counts_at(self, source: int, target: int) -> int:
        """Where in `words` the counters of an ordered pair begin, in the order of COUNTED."""
        return self._counts + (source * self.hosts + target) * _COUNTS

    @property
    def words(self) -> memoryview:
        """The whole table as unsigned 64-bit words."""
        return self._words

    def counters(self, source: int, target: int) -> Counters:
        """The counters of an ordered pair, as they stand."""
        at = self.counts_at(source, target)
        return Counters(*self._words[at : at + _COUNTS])

    @property
    def stamping(self) -> bool:
        """Whether the relay keeps stamps."""
        return bool(self._words[_STAMPING])

    def set_stamping(self, on: bool) -> None:
        """Have the relay keep stamps from now on, or stop; the ring starts anew when turned on."""
        with self._editing():
            self._words[_STAMPING] = on
            if on:
                self._words[_STAMPED] = 0

    def stamp(self, *facts: float | int) -> None:
        """Keep one stamp, in the order of the packed fields; the oldest one gives way."""
        count = self._words[_STAMPED]
        at = self._stamps + count % STAMPS_KEPT * _STAMP_WORDS
        _STAMP.pack_into(self._memory, at * 8, *facts)
        self._words[_STAMPED] = count + 1

    def stamps(self, names: list[str]) -> list[Stamp]:
        """The stamps kept, oldest first; at most the newest STAMPS_KEPT."""
        begin = self._stamps * 8
        count = self._words[_STAMPED]
        ring = self._memory[begin : begin + min(count, STAMPS_KEPT) * _STAMP.size]
        over = self._words[_STAMPED] - STAMPS_KEPT  # those written over while we copied
        found = []
        for number in range(max(0, over), count):
            at = number % STAMPS_KEPT * _STAMP.size
            in_s, out_s, source, target, protocol, *key, length = _STAMP.unpack_from(ring, at)
            gone = None if out_s < 0 else out_s
            pair = names[source], names[target]
            found.append(Stamp(in_s, gone, *pair, protocol, tuple(key), length))
        return found


def _size(hosts: int) -> int:
    pair = _PROFILE + _COUNTS
    words = _HEADER + hosts * _ACCESS + hosts * hosts * pair + STAMPS_KEPT * _STAMP_WORDS
    return words * 8


def encode(profile: Profile) -> tuple[float, ...]:
    """A profile as the numbers of its row, in its own units (so that decoding is exact)."""
    if isinstance(profile.loss, Bursts):
        loss = profile.loss
        losses = (1.0, loss.enter, loss.leave, loss.bad, loss.good)
    else:
        losses = (0.0, profile.loss, 0.0, 0.0, 0.0)
    times = (profile.delay_ms, profile.jitter_ms, profile.queue_ms)
    return (*times, profile.rate_mbit_s or 0.0, *losses, float(profile.hops))


def decode(row: tuple[float, ...]) -> Profile:
    """The profile that `encode` made the row of."""
    delay_ms, jitter_ms, queue_ms, rate, in_bursts, first, leave, bad, good, hops = row[:10]
    loss = Bursts(enter=first, leave=leave, bad=bad, good=good) if in_bursts else first
    return Profile(
        delay_ms=delay_ms,
        jitter_ms=jitter_ms,
        loss=loss,
        rate_mbit_s=rate or None,
        queue_ms=queue_ms,
        hops=int(hops),
    )
