"""The vocabulary: which metrics exist, in which unit, and what one measured number is."""

import math
from dataclasses import dataclass
from typing import Literal

Better = Literal["lower", "higher", "neither"]
PHASES = ("", "idle", "loaded", "warmup")


@dataclass(frozen=True)
class Metric:
    """One thing we measure, and which direction of it is good."""

    name: str
    unit: str
    better: Better
    meaning: str


METRICS = {
    m.name: m
    for m in (
        Metric("rtt_ms", "ms", "lower", "round trip of one ICMP echo"),
        Metric("lost_echo", "1", "lower", "1 for an ICMP echo that got no reply"),
        Metric("step_ms", "ms", "lower", "one interaction step answered within its deadline"),
        Metric("step_overdue_ms", "ms", "lower", "a step still unanswered after so long"),
        Metric("step_network_ms", "ms", "lower", "of step_ms: on the way there and back"),
        Metric("step_inference_ms", "ms", "lower", "of step_ms: policy forward at the candidate"),
        Metric("step_rest_ms", "ms", "lower", "of step_ms: reading, packing, writing, scheduling"),
        Metric("throughput_steps_s", "steps/s", "higher", "usable environment steps a second"),
        Metric("steps_generated", "steps", "higher", "environment steps taken in one update"),
        Metric("steps_used", "steps", "higher", "of these, the steps that trained the policy"),
        Metric("wall_ms", "ms", "lower", "one whole update at one rank"),
        Metric("collect_ms", "ms", "lower", "of wall_ms: stepping the environments"),
        Metric(
            "update_ms", "ms", "lower", "of wall_ms: gradients, averaging, optimiser, reporting"
        ),
        Metric("wait_ms", "ms", "lower", "of wall_ms: waiting for the slowest rank to arrive"),
        Metric("wire_ms", "ms", "lower", "of wall_ms: payload on its way there and back"),
        Metric("sync_wait_ms", "ms", "lower", "one synchronisation: waiting for the slowest rank"),
        Metric("sync_wire_ms", "ms", "lower", "one synchronisation: payload there and back"),
        Metric("syncs", "1", "neither", "synchronisations in one update"),
        Metric("payload_tx_bytes", "B", "lower", "payload a rank sent in one update, by theory"),
        Metric("payload_rx_bytes", "B", "lower", "payload a rank got in one update, by theory"),
        # Counted by the first rank of a place for all of them, who share its interface.
        Metric(
            "counted_tx_bytes",
            "B",
            "lower",
            "bytes a place sent in one update: all its ranks, headers, repeats, background",
        ),
        Metric(
            "counted_rx_bytes",
            "B",
            "lower",
            "bytes a place got in one update: all its ranks, headers, repeats, background",
        ),
        Metric("parameter_checksum", "1", "neither", "CRC-32 of the parameters after a sync"),
        Metric("episode_return", "1", "higher", "return of one finished episode"),
        Metric("ready_ms", "ms", "lower", "from asking for the gang to all ranks in their group"),
        Metric("load_s", "s", "neither", "how long training kept this link under load"),
        Metric("relay_cpu_share", "1", "lower", "share of one core the emulating relay used"),
        Metric(
            "relay_drops", "packets", "lower", "packets the relay lost or delivered over 5 ms late"
        ),
    )
}


@dataclass(frozen=True, kw_only=True)
class Measurement:
    """One number: what it is, and between whom it was taken.

    `source` acted, `target` answered: for a ping from a site, `source` is the site and `target`
    the candidate host. `sequence` counts within its kind (echo, step, update). `time_s` is the
    epoch second at which it was taken, on the source's clock; None where no moment applies.
    `rank` is set for what one training rank measured. Session, round, host and region are
    added by whoever writes the part.
    """

    metric: str
    value: float
    source: str
    target: str
    sequence: int = 0
    time_s: float | None = None
    strategy: str = ""
    phase: str = ""
    rank: int | None = None

    def __post_init__(self):
        if self.metric not in METRICS:
            raise ValueError(f"unknown metric {self.metric!r}; known: {sorted(METRICS)}")
        if not math.isfinite(self.value):
            raise ValueError(f"{self.metric} must be finite, got {self.value}")
        if self.phase not in PHASES:
            raise ValueError(f"unknown phase {self.phase!r}; known: {PHASES}")


@dataclass(frozen=True, kw_only=True)
class Failure:
    """Something that should have been measured and was not: stored, shown, never a winner.

    `kind` is the name of the error class, `reason` its text, `place` where it arose.
    """

    kind: str
    reason: str
    source: str = ""
    target: str = ""
    place: str = ""
    strategy: str = ""
    time_s: float | None = None


Record = Measurement | Failure
