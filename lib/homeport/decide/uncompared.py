"""Who was not compared with the leader, and why: never passed over in silence."""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from homeport.decide import words
from homeport.decide.case import Case
from homeport.decide.evidence import NOT_PLANNED


@dataclass(frozen=True)
class Uncompared:
    """Options of one host that the gate let through, and that nothing was concluded about.

    `who` is the host where none of its options was compared, else the options.
    """

    host: str
    strategies: tuple[str, ...]
    who: str
    why: str

    @property
    def planned(self) -> bool:
        """Whether this run was to measure it."""
        return self.why != NOT_PLANNED


def uncompared(case: Case) -> list[Uncompared]:
    """All of them, in the study's order of hosts."""
    hosts = [host for host in case.study.candidates if host not in case.failed]
    found = (_of_host(case, host) for host in hosts)
    return [one for one in found if one is not None]


def told(found: Iterable[Uncompared]) -> list[str]:
    """Clauses that name them, those with the same reason together."""
    by_reason: dict[str, list[str]] = {}
    for one in found:
        by_reason.setdefault(one.why, []).append(one.who)
    return [
        f"{words.listed(who)} {'were' if len(who) > 1 else 'was'} not compared: {why}"
        for why, who in by_reason.items()
    ]


def _of_host(case, host):
    every = list(case.evidence.of_host(host))
    left = [label for label in every if case.standing(label) == "NOT_COMPARED"]
    if not left:
        return None
    names = tuple(label.strategy for label in left)
    whole = len(left) == len(every)
    who = words.host(case.study, host) if whole else f"{host} with {words.listed(list(names))}"
    return Uncompared(host, names, who, _reason(case, left))


def _reason(case, labels):
    reasons = {label.strategy: _why(case, label) for label in labels}
    if len(set(reasons.values())) == 1:
        return next(iter(reasons.values()))
    return ", ".join(f"{name} {why}" for name, why in reasons.items())


def _why(case, label):
    if label.host not in case.evidence.planned:
        return NOT_PLANNED
    every = len(case.evidence.rounds)
    own = int(np.sum(~np.isnan(case.evidence.steps_s[label])))
    pair = case.pair(label)
    if not own:
        return "not measured"
    if pair is None:
        return f"measured in {own} of {every} rounds"
    if not pair.complete:
        return f"measured together with the leader in {pair.ratio.n} of {every} rounds only"
    return f"{pair.ratio.n} rounds with both are too few"
