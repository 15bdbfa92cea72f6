"""The recommendation, its scope, and the evidence for it, in short sentences with figures."""

import datetime
import math
from collections.abc import Iterator

from homeport import stats
from homeport.decide import words
from homeport.decide.case import Case
from homeport.decide.compare import Pair
from homeport.decide.figures import steps_s, usd
from homeport.decide.profiles import ALPHA, CLEAR_ROUNDS, COMPLETE
from homeport.decide.uncompared import told, uncompared
from homeport.targets import Judged


def recommendation(case: Case) -> str:
    """One sentence: what to do, on what grounds, how sure, for which window.

    Whoever was not compared is named in it: who reads no further must not take silence for defeat.
    """
    window = f"{case.verdict} for the measured window of {words.counted(_rounds(case), 'round')}"
    left = told(uncompared(case))
    if case.verdict == "NONE_MEETS_SLA":
        return f"Rent none of these: no candidate keeps {words.target(case.study)}; {window}."
    if case.leader is None:
        found = ["no option was measured in enough rounds", *left, window]
        return f"No recommendation: {'; '.join(found)}."
    label, host = case.leader, words.host(case.study, case.leader.host)
    if case.choice is None:
        leads = f"{host} with {label.strategy} leads"
        return f"No recommendation yet: {leads}, but {'; '.join([*_doubts(case), *left, window])}."
    grounds = "".join([_earnings(case), _lead(case)])
    what = f"Rent {host} and synchronise with {label.strategy}"
    return f"{what}: {'; '.join([grounds, *left, window])}."


def _rounds(case):
    return len(case.evidence.rounds)


def _earnings(case):
    rate, price = steps_s(case.evidence, case.leader), usd(case.evidence, case.leader)
    return (
        f"{words.number(rate.value)} usable steps/s at USD {words.number(price.value)} per million"
    )


def _lead(case):
    others = [h for h in case.study.candidates if h != case.leader.host]
    if others and all(h in case.failed for h in others):
        return f", the only candidate that keeps {words.target(case.study)}"
    if case.runner_up is None:
        return ""
    ratio = case.pair(case.runner_up).ratio.value
    return f", {words.number(ratio)} times the runner-up {words.option(case.runner_up)}"


def _doubts(case) -> Iterator[str]:
    """What speaks against the leader, other than options that were not compared with it."""
    judged = case.sla[case.leader.host]
    if judged.verdict != "PASS":
        yield f"its latency target is undecided ({judged.reason})"
    for pair in case.ranking.pairs:
        if pair.compared and not pair.told_apart:
            yield f"it cannot be told apart from {words.option(pair.other)}"
            return


def scope(case: Case) -> str:
    """Of what the verdict speaks, and of what it does not."""
    study, done, span = case.study, case.evidence.rounds, case.evidence.span_s
    when = f", {_between(*span)} UTC" if span else ""
    world = " over emulated links" if study.world == "emulated" else ""
    sites = f"site{'s' if len(study.sites) > 1 else ''} {words.listed(sorted(study.sites))}"
    return (
        f"The measured window only: {len(done)} of {study.rounds} rounds{when}{world}; {sites}. "
        "It says nothing of other hours or days."
    )


def _between(*span_s):
    """Two moments to the minute; the day of the second only where it is another."""
    began, ended = (datetime.datetime.fromtimestamp(s, datetime.UTC) for s in span_s)
    day = "" if began.date() == ended.date() else f"{ended:%Y-%m-%d} "
    return f"{began:%Y-%m-%d %H:%M} to {day}{ended:%H:%M}"


def reasons(case: Case) -> list[str]:
    """The evidence behind the verdict, in the order in which it was weighed."""
    found = [_target_kept(case, host, judged) for host, judged in case.sla.items()]
    if case.leader:
        found.append(_figures(case))
        found += [_against(case, pair) for pair in case.ranking.pairs if pair.complete]
        found.append(_floor(case))
    return [*found, *_ceiling(case)]


def _target_kept(case: Case, host: str, judged: Judged) -> str:
    name, within = words.host(case.study, host), judged.share_within
    if host not in case.evidence.planned:
        return f"{name}: {judged.reason}."
    if within is None:
        return f"{name}: target UNDECIDED, {judged.reason}."
    mark = ", INDICATIVE" if case.profile.sla == "INDICATIVE" else ""
    seen = _steps_seen(case, judged)
    if judged.verdict == "PASS":
        bound = f"at least {words.percent(within.low)} with 95 % confidence"
        return f"{name} keeps the target (PASS{mark}): {seen}; {bound}."
    if judged.verdict == "FAIL":
        bound = f"at most {words.percent(within.high)} with 95 % confidence"
        return f"{name} misses the target (FAIL{mark}): {seen}; {bound}."
    return f"{name}: target UNDECIDED: {seen}; {judged.reason}."


def _steps_seen(case, judged):
    sla, within, p99 = case.study.sla, judged.share_within, judged.p99_ms.value
    at = f" from {judged.site}" if len(case.study.sites) > 1 else ""
    tail = f"p99 {words.number(p99)} ms" if math.isfinite(p99) else "p99 beyond the deadline"
    share = words.percent(within.value)
    return f"{share} of {within.n} {sla.label} steps{at} within {sla.step_ms:g} ms, {tail}"


def _figures(case):
    rate, price = steps_s(case.evidence, case.leader), usd(case.evidence, case.leader)
    return (
        f"{words.option(case.leader)} makes {words.number(rate.value)} usable steps/s "
        f"{words.span(rate)} in {rate.n} rounds, a million for USD {words.number(price.value)} "
        f"{words.span(price)}."
    )


def _against(case: Case, pair: Pair) -> str:
    told = "" if pair.told_apart else ": not told apart"
    holm = "" if pair.p_holm is None else f", {pair.p_holm:.3g} after Holm's correction"
    return (
        f"{words.option(case.leader)} makes {words.number(pair.ratio.value)} times the steps of "
        f"{words.option(pair.other)} {words.span(pair.ratio)} over {pair.ratio.n} rounds "
        f"(exact p {pair.p:.3g}{holm}){told}."
    )


def _floor(case):
    study = case.study
    if case.floor.times is None:
        return (
            f"The noise floor is unknown: {study.twin} could not be compared with {study.twin_of}."
        )
    up_to = words.number(100 * (case.floor.times - 1))
    return f"Noise floor: {study.twin_of} measured twice differs from itself by up to {up_to} %."


def _ceiling(case) -> Iterator[str]:
    """What keeps the verdict from being stronger, whatever the figures."""
    if case.profile.strongest != "CLEAR":
        yield f"Profile {case.study.profile} may say INDICATIVE at most."
    compared, count = len(case.ranking.pairs), _rounds(case)
    if case.profile.strongest == "CLEAR" and count < COMPLETE * CLEAR_ROUNDS:
        few = words.counted(count, "round")
        yield f"{few} may say INDICATIVE at most: CLEAR needs a session of {CLEAR_ROUNDS}."
    least = stats.smallest_p(count)
    if compared and least > ALPHA / compared:
        yield (
            f"CLEAR is impossible by arithmetic: {count} rounds give p = {least:.3g} at best, Holm "
            f"over {compared} comparisons asks for {ALPHA / compared:.3g}."
        )
