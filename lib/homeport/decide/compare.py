"""Options against each other: who leads, by how much, and whether that can be told apart.

Works on arrays alone, so that simulations can try it on thousands of sessions.
"""

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from homeport import stats
from homeport.decide.decision import SlaVerdict, Verdict
from homeport.decide.profiles import ALPHA, CLEAR_ROUNDS, COMPLETE, Profile
from homeport.stats import Estimate


class Label(NamedTuple):
    """Names an option: a host with a strategy."""

    host: str
    strategy: str


Rounds = Mapping[Label, np.ndarray]  # usable steps/s, one a round; nan where not measured


@dataclass(frozen=True)
class Floor:
    """How far a host seems to be from itself: `ratio` is the twin's throughput over its own.

    `times` is the largest ratio, either way, inside those intervals; None if unbounded.
    """

    ratio: dict[str, Estimate | None]
    times: float | None


@dataclass(frozen=True)
class Pair:
    """The leader against one other option.

    `ratio` is the leader's throughput over the other's; `complete` says that enough rounds have
    both. `ahead`: the whole interval is beyond 1. `beyond_noise`: the ratio exceeds the noise
    floor, which is known; `within_noise`: it is known and does not.
    """

    other: Label
    ratio: Estimate
    complete: bool
    p: float | None
    p_holm: float | None = None
    ahead: bool = False
    beyond_noise: bool = False
    within_noise: bool = False

    @property
    def compared(self) -> bool:
        """Whether there is an interval to compare by: fewer than 6 rounds have none."""
        return self.complete and bool(np.isfinite(self.ratio.low))

    @property
    def told_apart(self) -> bool:
        """Whether the leader is ahead as far as one pair can show, Holm left out."""
        return self.complete and self.ahead and not self.within_noise

    @property
    def clear(self) -> bool:
        """Whether the leader is ahead with every correction."""
        corrected = self.p_holm is not None and self.p_holm <= ALPHA
        return self.told_apart and corrected and self.beyond_noise


@dataclass(frozen=True)
class Ranking:
    """Options that were measured in enough rounds, best first, and the leader's comparisons."""

    typical: dict[Label, Estimate]
    pairs: tuple[Pair, ...]

    @property
    def leader(self) -> Label | None:
        """The option with the highest typical throughput; None if none was measured enough."""
        return next(iter(self.typical), None)


def noise_floor(host: Rounds, twin: Rounds) -> Floor:
    """Compare a host with itself, strategy by strategy, in the rounds that have both."""
    names = {label.strategy: label for label in host}
    twins = {label.strategy: label for label in twin}
    ratios = {n: _twin_ratio(host[names[n]], twin[twins[n]]) for n in names if n in twins}
    if not ratios or None in ratios.values():
        return Floor(ratios, None)
    times = max(max(ratio.high, 1 / ratio.low) for ratio in ratios.values())
    return Floor(ratios, times if np.isfinite(times) else None)


def rank(steps_s: Rounds, floor: Floor) -> Ranking:
    """Order the options and compare the leader with EVERY other one, Holm over all of them.

    `steps_s` holds the options that passed the gate, with one array of equal length each.
    """
    typical = {k: stats.typical(_seen(v)) for k, v in steps_s.items() if enough(v)}
    order = sorted(typical, key=lambda label: -typical[label].value)
    if not order:
        return Ranking({}, ())
    leader = steps_s[order[0]]
    pairs = [_pair(leader, k, v, floor) for k, v in steps_s.items() if k != order[0]]
    pairs.sort(key=lambda pair: (not pair.complete, pair.ratio.value if pair.complete else 0))
    return Ranking({label: typical[label] for label in order}, tuple(_corrected(pairs)))


def verdict(
    ranking: Ranking, sla: SlaVerdict, profile: Profile, failed: Collection[str] = ()
) -> Verdict:
    """What may be said of the leader, whose SLA verdict is `sla`, in the protocol's order.

    CLEAR if every comparison is beyond chance, with Holm's correction, and beyond the noise
    floor; INDICATIVE if the intervals say so but the correction, an unknown noise floor, too few
    rounds, or the profile forbid more; else UNDECIDED, which it also is while an option that the
    gate let through was not compared: it might be the better one. `failed` names the hosts that
    the gate excluded. Where it left one host only, the host is chosen by the gate, and its
    strategies need be neither compared nor told apart for an INDICATIVE choice.
    """
    leader = ranking.leader
    if leader is None or sla != "PASS":
        return "UNDECIDED"
    by_gate = bool(failed) and all(pair.other.host == leader.host for pair in ranking.pairs)
    if not by_gate and not all(pair.told_apart for pair in ranking.pairs):
        return "UNDECIDED"  # EQUIVALENT will be asked for here, before giving up
    rounds = min([ranking.typical[leader].n, *(pair.ratio.n for pair in ranking.pairs)])
    clear = rounds >= COMPLETE * CLEAR_ROUNDS and all(pair.clear for pair in ranking.pairs)
    return "CLEAR" if clear and profile.strongest == "CLEAR" else "INDICATIVE"


def enough(rounds: np.ndarray) -> bool:
    """Whether enough rounds were measured to compare at all."""
    return len(rounds) > 0 and bool(np.mean(~np.isnan(rounds)) >= COMPLETE)


def _pair(leader, label, other, floor):
    both = ~np.isnan(leader) & ~np.isnan(other)
    ratio, p = stats.ratio(leader[both], other[both])
    pair = Pair(label, ratio, bool(np.mean(both) >= COMPLETE), p if both.any() else None)
    if not pair.complete:
        return replace(pair, p=None)
    within = floor.times is not None and ratio.value <= floor.times
    beyond = floor.times is not None and not within
    return replace(pair, ahead=ratio.low > 1, beyond_noise=beyond, within_noise=within)


def _corrected(pairs) -> Iterator[Pair]:
    """Holm over all pairs; one that could not be compared stays in the family, with p = 1."""
    corrected = stats.holm([1.0 if pair.p is None else pair.p for pair in pairs])
    for pair, p_holm in zip(pairs, corrected, strict=True):
        yield pair if pair.p is None else replace(pair, p_holm=float(p_holm))


def _twin_ratio(host, twin):
    both = ~np.isnan(host) & ~np.isnan(twin)
    if not both.any() or np.mean(both) < COMPLETE:
        return None
    return stats.ratio(twin[both], host[both])[0]


def _seen(rounds):
    return rounds[~np.isnan(rounds)]
