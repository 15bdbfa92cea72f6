"""What a link of the emulated world does to the packets that take it, one way."""

import dataclasses
import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from homeport.params import Link

MAX_HOPS = 30


@dataclass(frozen=True, kw_only=True)
class Bursts:
    """Loss that comes in bursts (Gilbert-Elliott): two states, drawn anew for each packet.

    `enter` is the chance that a packet finds the link turned bad, `leave` that it finds it good
    again; a packet is lost with chance `bad` in the one and `good` in the other state.
    """

    enter: float
    leave: float
    bad: float = 1.0
    good: float = 0.0

    def __post_init__(self):
        for name in ("enter", "leave", "bad", "good"):
            _check(name, getattr(self, name), 0, 1)


@dataclass(frozen=True, kw_only=True)
class Profile:
    """One direction of a link.

    delay_ms: on the way, beside queues. jitter_ms: standard deviation of the delay; it wanders
    (20 ms memory) and never reorders. loss: the share of packets lost each for itself, or Bursts.
    rate_mbit_s: of IP packets; None is unlimited. queue_ms: a packet that finds more than this
    waiting before the rate is dropped. hops: routers on the way, as traceroute sees them.
    """

    delay_ms: float = 0.0
    jitter_ms: float = 0.0
    loss: float | Bursts = 0.0
    rate_mbit_s: float | None = None
    queue_ms: float = 100.0
    hops: int = 0

    def __post_init__(self):
        _check("delay_ms", self.delay_ms, 0, 60_000)
        _check("jitter_ms", self.jitter_ms, 0, 60_000)
        _check("queue_ms", self.queue_ms, 0, 60_000)
        _check("hops", self.hops, 0, MAX_HOPS)
        if not isinstance(self.loss, Bursts):
            _check("loss", self.loss, 0, 1)
        if self.rate_mbit_s is not None:
            _check("rate_mbit_s", self.rate_mbit_s, 0.001, 100_000)

    @classmethod
    def of(cls, link: "Link") -> "Profile":
        """One direction of a study's link, both being alike.

        A round trip is lost when either direction loses its packet: per direction the loss is
        the p with 1 - (1 - p)² = the link's loss.
        """
        return cls(
            delay_ms=link.rtt_ms / 2,
            jitter_ms=link.jitter_ms,
            loss=1 - math.sqrt(1 - link.loss_percent / 100),
            rate_mbit_s=link.rate_mbit_s,
            queue_ms=link.queue_ms,
            hops=link.hops,
        )

    def as_dict(self) -> dict:
        """Plain values, for provenance; Bursts become a dict too."""
        return dataclasses.asdict(self)


@dataclass(frozen=True, kw_only=True)
class Access:
    """What joins one host to the world, shared by all its links; None is unlimited."""

    up_mbit_s: float | None = None
    down_mbit_s: float | None = None
    queue_ms: float = 100.0

    def __post_init__(self):
        _check("queue_ms", self.queue_ms, 0, 60_000)
        for name in ("up_mbit_s", "down_mbit_s"):
            if getattr(self, name) is not None:
                _check(name, getattr(self, name), 0.001, 100_000)


@dataclass(frozen=True)
class Counters:
    """What became of the packets of one ordered pair, counted by the relay.

    packets and bytes (of IP) are what the source sent. Each packet is then delivered, lost (the
    link's loss), overflowed (a queue was full), refused (no link, or it is down), expired (its
    TTL ended at a router), unwritten (the relay could not hand it over), or still on its way.
    late counts delivered ones that came more than LATE_S after their time.
    """

    packets: int = 0
    bytes: int = 0
    delivered: int = 0
    lost: int = 0
    overflowed: int = 0
    refused: int = 0
    expired: int = 0
    unwritten: int = 0
    late: int = 0

    @property
    def relay_drops(self) -> int:
        """Packets the relay itself failed: not handed over, or too late to be believed."""
        return self.unwritten + self.late


COUNTED = tuple(field.name for field in dataclasses.fields(Counters))
LATE_S = 0.005


def _check(name: str, value: float, low: float, high: float) -> None:
    if not low <= value <= high:  # refuses NaN too
        raise ValueError(f"{name} must lie within {low}..{high}, got {value!r}")
