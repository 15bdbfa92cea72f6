"""What would change the decision: computed from the data, not guessed."""

import math
from collections.abc import Iterator

from homeport import stats, targets
from homeport.cost import usd_per_hour_at
from homeport.decide import words
from homeport.decide.case import Case
from homeport.decide.evidence import NOT_PLANNED
from homeport.decide.figures import steps_s, usd
from homeport.decide.profiles import ALPHA, COMPLETE, PROFILES
from homeport.decide.uncompared import uncompared

_MOST_ROUNDS = 100  # beyond this nobody will go on measuring


def changes(case: Case) -> list[str]:
    """Every change of target, price or effort that would give another answer."""
    found = [*_targets(case), *_price(case), *_unproven(case), *_noise(case), *_rounds(case)]
    return [*found, *_unmeasured(case)]


def _targets(case) -> Iterator[str]:
    """The latency at which the choice would no longer pass, and at which the next one would."""
    sla, name = case.study.sla, _percentile(case.study.sla.share)
    if case.choice:
        own = targets.passing_target(case.evidence.steps[case.choice.host], sla)
        if own is not None:
            chosen = words.host(case.study, case.choice.host)
            yield (
                f"A target below {words.number(own)} ms: {chosen} is shown to keep targets down to "
                "there, not tighter ones."
            )
    failed = sorted((case.sla[h].at_share_ms.value, h) for h in case.failed)
    for _, host in failed[:1]:
        next_ms = targets.passing_target(case.evidence.steps[host], sla)
        seen = case.sla[host].at_share_ms
        who = words.host(case.study, host)
        if next_ms is not None:
            yield f"A target of {words.number(next_ms)} ms or more: {who} would keep it too."
        elif math.isfinite(seen.value):
            yield (
                f"A target above {words.number(seen.value)} ms, the {name} of {who}; {seen.n} "
                "steps are too few to say from which target on it would pass."
            )
        else:
            beyond = f"its {name} is beyond the deadline of {sla.deadline_ms:g} ms"
            yield f"No target would let {who} pass: {beyond}."


def _percentile(share):
    return f"p{100 * share:g}"


def _price(case) -> Iterator[str]:
    """The hourly price of the choice at which the best option elsewhere costs as much a step."""
    if not case.choice:
        return
    passing = {h for h, one in case.sla.items() if one.verdict == "PASS"}
    elsewhere = [
        pair.other
        for pair in case.ranking.pairs
        if pair.complete and pair.other.host != case.choice.host and pair.other.host in passing
    ]
    chosen = words.host(case.study, case.choice.host)
    if not elsewhere:
        yield f"No price of {chosen} would: no other candidate was shown to keep the target."
        return
    rival = min(elsewhere, key=lambda label: usd(case.evidence, label).value)
    tie = usd_per_hour_at(
        usd(case.evidence, rival).value, steps_s(case.evidence, case.choice).value
    )
    now = case.study.prices[case.choice.host].usd_per_hour
    yield (
        f"A price of USD {words.number(tie)} an hour for {chosen} (now {words.number(now)}): there "
        f"a million usable steps cost as much as on {words.option(rival)}."
    )


def _unproven(case) -> Iterator[str]:
    """A leader whose target is undecided, and a rival's that might be settled the other way."""
    for host, judged in case.sla.items():
        if judged.verdict == "UNDECIDED" and host in case.evidence.planned:
            yield f"More steps of {words.host(case.study, host)}: {judged.reason}."


def _noise(case) -> Iterator[str]:
    for pair in case.ranking.pairs:
        if pair.complete and pair.within_noise:
            floor, lead = (100 * (times - 1) for times in (case.floor.times, pair.ratio.value))
            yield (
                f"A quieter machine: the noise floor of {words.number(floor)} % exceeds the lead "
                f"of {words.number(lead)} % over {words.option(pair.other)}."
            )
    if case.leader and case.floor.times is None and case.ranking.pairs:
        yield "A complete measurement of the twin: without it no lead is shown to exceed the noise."


def _rounds(case) -> Iterator[str]:
    """How many rounds a CLEAR verdict needs: by arithmetic, and by the spread seen."""
    pairs = [pair for pair in case.ranking.pairs if pair.complete]
    if not pairs or case.verdict == "CLEAR":
        return
    every = len(case.ranking.pairs)  # also those still to be compared: Holm counts them
    needed = _least_rounds(ALPHA / every)
    standard = PROFILES["standard"].rounds
    needed = max(needed, standard, *(_rounds_for(pair) for pair in pairs))
    about = f"about {needed}" if needed <= _MOST_ROUNDS else f"more than {_MOST_ROUNDS}"
    spread = " with this spread" if any(pair.compared for pair in pairs) else ""
    yield (
        f"CLEAR needs profile standard ({standard} rounds) or better; for "
        f"{words.counted(every, 'comparison')}{spread} {about} rounds."
    )


def _least_rounds(alpha):
    return next(n for n in range(2, 99) if stats.smallest_p(n) <= alpha)


def _rounds_for(pair):
    """Rounds after which the interval, shrinking with their root, would end beyond 1."""
    centre, low = math.log(pair.ratio.value), pair.ratio.low
    if low <= 0:
        return 0  # no interval to go by
    if centre <= 0:
        return _MOST_ROUNDS + 1
    return math.ceil(pair.ratio.n * ((centre - math.log(low)) / centre) ** 2)


def _unmeasured(case) -> Iterator[str]:
    """What to measure of the options that were not compared."""
    left = uncompared(case)
    rounds = max(_least_rounds(ALPHA), math.ceil(COMPLETE * case.study.rounds))
    for one in left:
        if one.planned:
            yield (
                f"A complete measurement of {words.host(case.study, one.host)} with "
                f"{words.listed(list(one.strategies))}: {rounds} rounds with the leader, or more."
            )
    if absent := [words.host(case.study, one.host) for one in left if not one.planned]:
        were = "was" if len(absent) == 1 else "were"
        yield f"A run with {words.listed(absent)}, which {were} {NOT_PLANNED}."
