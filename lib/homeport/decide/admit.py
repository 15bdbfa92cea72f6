"""Which data may be compared at all: measured in turn, every host once a round."""

import itertools
from bisect import bisect_right

from homeport import store
from homeport.decide.profiles import COMPLETE
from homeport.errors import NotComparable

TRAINING = "20_training"
_CLOCK_S = 1.0  # how far two time stamps of one clock may disagree

Turn = tuple[str, int]  # (host, round)


def admit(recorded: store.Recorded) -> frozenset[Turn]:
    """Check that a session was interleaved; return the turns to leave out of the comparison.

    Hosts measured one after another look different when only the hour was (two identical hosts
    in 17 to 33 % of simulated sessions). So every part of a round must lie before every part of
    the next. A few that do not, such as parts repeated after the run, are left out; raises
    NotComparable if they are more than a quarter, and for pages that were run alone.
    """
    folder = recorded.folder
    if folder.kind != "run":
        raise NotComparable(
            f"{folder.session} holds pages that were run alone ({folder.kind}); hosts are compared "
            "only within one run of all of them: homeport run"
        )
    parts = sorted((_times(part, folder.session) for part in _trained(recorded)), key=_began)
    kept = _in_order([part[2][1] for part in parts])
    strays = frozenset(turn for k, (_, _, turn) in enumerate(parts) if k not in kept)
    if len(strays) > (1 - COMPLETE) * len(parts):
        raise NotComparable(
            f"{folder.session} was not interleaved: {len(strays)} of {len(parts)} training parts "
            "lie outside of their round; measure every host once in each round"
        )
    _refuse_overlap([parts[k] for k in sorted(kept)], folder.session)
    return strays


def _trained(recorded):
    """The training part of each turn that its figures come from: the complete one, else the last.

    An attempt that left nothing but a failure has no time, and no figure to be in order.
    """
    chosen = {}
    timed = (p for p in recorded.parts if p.complete or "started_s" in p.provenance)
    for part in (p for p in timed if p.slot.notebook == TRAINING):
        turn = part.slot.host, part.slot.round
        chosen[turn] = max(chosen.get(turn, part), part, key=_worth)
    return list(chosen.values())


def _worth(part):
    return part.complete, part.provenance.get("started_s", 0.0)


def _times(part, session):
    try:
        times = float(part.provenance["started_s"]), float(part.provenance["ended_s"])
    except (KeyError, TypeError) as absent:
        where = f"{part.slot.host}, round {part.slot.round}"
        raise NotComparable(
            f"{session}: nothing tells when the training of {where} began and ended, "
            "so it cannot be shown to be interleaved"
        ) from absent
    return (*times, (part.slot.host, part.slot.round))


def _began(part):
    return part[0]


def _in_order(rounds: list[int]) -> set[int]:
    """Indices of a longest part of the sequence that never steps back to an earlier round."""
    ends, last, before = [], [], []  # per length: smallest last round, and where it stands
    for k, round in enumerate(rounds):
        length = bisect_right(ends, round)
        ends[length : length + 1] = [round]
        last[length : length + 1] = [k]
        before.append(last[length - 1] if length else None)
    found, k = set(), last[-1] if last else None
    while k is not None:
        found.add(k)
        k = before[k]
    return found


def _refuse_overlap(parts, session):
    for (_, ended, one), (began, _, two) in itertools.pairwise(parts):
        if ended > began + _CLOCK_S:
            raise NotComparable(
                f"{session}: the training of {two[0]} (round {two[1]}) began before that of "
                f"{one[0]} (round {one[1]}) had ended; they loaded the same sites"
            )
