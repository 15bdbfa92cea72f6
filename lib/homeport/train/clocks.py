"""Where the time of an update goes, how many bytes it took, and when a strategy is over."""

import time
from dataclasses import dataclass, field

from homeport.train import interfaces
from homeport.train.exchange import Times


def _ms(seconds: float) -> float:
    return seconds * 1000


@dataclass
class UpdateClock:
    """One update of one rank, from the end of the last one to its own end.

    `collecting`, `collected` and `learned` are called once each, in this order; the times of every
    synchronisation in between are added to `syncs`. Durations are perf_counter's, `time_s` is an
    epoch second.
    """

    began: float
    time_s: float = field(default_factory=time.time)
    syncs: list[Times] = field(default_factory=list)

    def collecting(self) -> None:
        """The environments are about to be stepped; reporting the last update is behind us."""
        self._collecting = time.perf_counter()

    def collected(self) -> None:
        """The environments have been stepped."""
        self._collected = time.perf_counter()

    def learned(self) -> None:
        """Gradients, synchronisations and optimiser steps are done."""
        self._learned = time.perf_counter()

    def stages_ms(self, ended: float) -> dict[str, float]:
        """The whole update up to `ended` and its four stages, from clock readings of their own.

        The learner's averaging belongs to update_ms at every rank, as gradients do; so does
        reporting the update before.
        """
        reporting = self._collecting - self.began
        wait = sum(one.wait_s for one in self.syncs)
        wire = sum(one.wire_s for one in self.syncs)
        return {
            "wall_ms": _ms(ended - self.began),
            "collect_ms": _ms(self._collected - self._collecting),
            "wait_ms": _ms(wait),
            "wire_ms": _ms(wire),
            "update_ms": _ms(reporting + self._learned - self._collected - wait - wire),
        }


class WireCounter:
    """Bytes the interface of a place carried since the last look.

    All ranks of a place share its interface, so only the first of them counts; the sum over a
    gang's places holds every byte once at its sender and once at its receiver. Payload, headers,
    acknowledgements, what was sent again and the background streams are all in it. What is still
    under way when an update ends, such as the learner's last answers, counts in the next one.

    Look between updates only: reading /proc/net/dev must not pass for time on the wire.
    """

    def __init__(self, interface: str):
        self._interface = interface
        self._seen = interfaces.read_bytes(interface)

    def since(self) -> dict[str, int]:
        """Bytes sent and received since the last call (or since the counter was made)."""
        sent, received = interfaces.read_bytes(self._interface)
        counted = {
            "counted_tx_bytes": sent - self._seen[0],
            "counted_rx_bytes": received - self._seen[1],
        }
        self._seen = sent, received
        return counted


@dataclass
class Budget:
    """How long a strategy trains; only the learner's counts.

    training_s starts once warmup_updates are done, and at least two updates follow them.
    max_updates ends it by count instead.
    """

    training_s: float
    warmup_updates: int
    max_updates: int | None = None
    done: int = 0
    warm_updates: int = 0
    _warm_at: float | None = None
    _ended_at: float | None = None

    def __post_init__(self):
        if not self.warmup_updates:
            self._warm_at = time.perf_counter()

    def over(self) -> bool:
        """Whether the update in progress (number `done`) shall be the last."""
        now_done = self.done + 1
        if self.max_updates is not None:
            return now_done >= self.max_updates
        enough = now_done >= self.warmup_updates + 2
        warm = self._warm_at is not None
        return enough and warm and time.perf_counter() - self._warm_at >= self.training_s

    def update_done(self) -> None:
        """One more update has ended."""
        self.done += 1
        self._ended_at = time.perf_counter()
        if self._warm_at is None and self.done >= self.warmup_updates:
            self._warm_at, self.warm_updates = self._ended_at, self.done

    def rate(self, steps_per_update: int) -> float | None:
        """Usable environment steps a second after the warm-up; None where nothing followed it."""
        updates = self.done - self.warm_updates
        if self._warm_at is None or updates <= 0:
            return None
        return updates * steps_per_update / (self._ended_at - self._warm_at)
