"""What a session was to measure, what of that it lacks, and the command that repeats it."""

import shlex

from homeport.decide.decision import Decision
from homeport.decide.evidence import NOT_PLANNED
from homeport.decide.words import rounds
from homeport.report import words
from homeport.store import Recorded

_OPTIONS = ("only", "region", "rounds")
_MOST_GAPS = 12

Part = tuple[str, int, str]  # host, round, page


def asked_for(decision: Decision, host: str) -> bool:
    """Whether the session was to measure this host; every host where it does not say."""
    hosts = _selection(decision).get("hosts")
    return hosts is None or host in hosts


def command(decision: Decision) -> str:
    """The command line that measures the same again, quoted for a POSIX shell."""
    asked = [(key, _selection(decision).get(key)) for key in _OPTIONS]
    options = [w for key, value in asked if value is not None for w in (f"--{key}", value)]
    told = ["homeport", "run", decision.study, *options]
    return shlex.join(words.clean(word) for word in told)


def gaps(recorded: Recorded, decision: Decision, any_failure: bool) -> list[str]:
    """In sentences: whether every planned part was measured, and which hosts were not planned."""
    planned = _planned(recorded, decision)
    done = {
        (part.slot.host, part.slot.round, part.slot.notebook)
        for part in recorded.parts
        if part.complete
    }
    left = [part for part in planned if part not in done]
    if left:
        found = [f"{len(left)} of {len(planned)} planned parts were not measured: {_listed(left)}."]
    elif any_failure:
        found = ["Every part that was planned is complete; what failed on the way stands below."]
    else:
        found = ["None: every part that was planned was measured."]
    return [*found, *_unplanned(recorded, decision)]


def _selection(decision: Decision) -> dict:
    return decision.provenance.get("selection") or {}


def _planned(recorded: Recorded, decision: Decision) -> list[Part]:
    study = recorded.study
    return [
        (host, round, page)
        for host in study.measured
        if asked_for(decision, host)
        for page in study.notebooks
        for round in range(1, study.rounds + 1)
        if study.in_round(page, round)
    ]


def _listed(left: list[Part]) -> str:
    """Parts by host and page: `tokyo 20_training in rounds 2 and 4`."""
    by: dict[tuple[str, str], list[int]] = {}
    for host, round, page in left:
        by.setdefault((host, page), []).append(round)
    told = [f"{host} {page} in {rounds(which)}" for (host, page), which in by.items()]
    rest = len(told) - _MOST_GAPS
    return "; ".join([*told[:_MOST_GAPS], *([f"and {rest} more"] if rest > 0 else [])])


def _unplanned(recorded: Recorded, decision: Decision) -> list[str]:
    study = recorded.study
    absent = [host for host in study.candidates if not asked_for(decision, host)]
    if not absent:
        return []
    names = ", ".join(f"{words.name(study.region_of(host))} ({host})" for host in absent)
    return [f"Not measured, as {NOT_PLANNED} ({command(decision)}): {names}."]
