"""Was the measuring itself sound? Where it may not have been, the reader is warned."""

from collections.abc import Iterator

from homeport.decide import words
from homeport.decide.case import Case
from homeport.decide.evidence import Evidence

_ONE_MACHINE = (
    "All hosts ran on the CPU of one machine: steps/s and cost per step compare the options with "
    "each other, and do not tell what the priced instances reach."
)
_BUSY = 0.5  # of a core: beyond that packets may wait for the relay rather than on the path


def relay(evidence: Evidence) -> dict | None:
    """What the emulating relay failed and used during the session; None where nothing tells.

    `drops` are packets unread, unsent or late, counted until `until_round`; `cpu_share` is the
    largest share of a core that was seen (shares are those since the sitting began). The session's
    own journal tells it to the end; where it has none, what pages saw is taken.
    """
    folder = evidence.recorded.folder
    if noted := folder.notes("relay"):
        first, *rest = (note["drops"] for note in noted)
        return {
            "drops": _rises(rest, first),
            "cpu_share": max(note["cpu_share"] for note in noted),
            "until_round": max(evidence.rounds, default=0),
        }
    drops, shares = (evidence.recorded.values(f"relay_{k}") for k in ("drops", "cpu_share"))
    if drops.empty and shares.empty:
        return None
    seen = drops.sort_values("time_s")["value"].to_numpy(dtype=float)
    return {
        "drops": _rises(seen, _when_the_session_began(evidence)) if len(seen) else None,
        "cpu_share": float(shares["value"].max()) if len(shares) else None,
        "until_round": int(max([*drops["round"], *shares["round"]])),
    }


def soundness(case: Case) -> Iterator[str]:
    """Warnings about the emulation, and about code that changed while the session lasted."""
    if case.study.world == "emulated":
        yield _ONE_MACHINE
    yield from _relay(relay(case.evidence) or {})
    yield from _code(case.evidence.recorded.folder)


def _relay(seen):
    doubt = "the emulation itself may have shaped latency and throughput"
    until = f"seen until round {seen.get('until_round')}"
    if drops := seen.get("drops"):
        yield (
            f"The relay that emulates the links failed {words.counted(drops, 'packet')} (unread, "
            f"unsent or late; {until}): {doubt}."
        )
    if (share := seen.get("cpu_share") or 0.0) > _BUSY:
        yield (
            f"The relay that emulates the links used {100 * share:.0f} % of a core ({until}; above "
            f"{100 * _BUSY:.0f} % packets may wait for it): {doubt}."
        )


def _rises(seen, began):
    """How much a counter that never falls has counted: the sum of its rises.

    A world that was up before has a start of its own, and one that was brought up again begins
    at zero.
    """
    steps = zip([began, *seen[:-1]], seen, strict=True)
    return round(sum(b - a if b >= a else b for a, b in steps))


def _when_the_session_began(evidence):
    for facts in evidence.recorded.folder.sitting_facts()[:1]:
        return float(facts.get("world", {}).get("relay", {}).get("drops", 0))
    return 0.0


def _code(folder):
    """A resumed session may have been measured with two versions of the code."""
    first = folder.provenance()
    for number, facts in enumerate(folder.sitting_facts(), start=1):
        now = facts.get("controller", {})
        other = [
            name
            for key, name in (("git_sha", "commit"), ("lock_sha256", "lock file"))
            if key in first and now.get(key) != first[key]
        ]
        if other:
            yield (
                f"Sitting {number} was measured with another {' and '.join(other)} than the "
                "session began with: rounds may differ for that alone."
            )
