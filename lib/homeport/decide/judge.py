"""From a recorded session to the decision."""

import math

from homeport.decide.case import Case, conclude
from homeport.decide.cautions import cautions
from homeport.decide.changes import changes
from homeport.decide.compare import Label
from homeport.decide.decision import Comparison, Decision, Interval, NoiseFloor, Option
from homeport.decide.evidence import gather
from homeport.decide.figures import candidate, choice, interval, steps_s, usd
from homeport.decide.provenance import provenance
from homeport.decide.reasons import reasons, recommendation, scope
from homeport.store import Recorded

_NO_RATIO = Interval(value=None, n=0)


def decide(recorded: Recorded) -> Decision:
    """Judge one recorded session: what to rent, how sure, and what would change it.

    Raises NotComparable for pages run alone and for data that was not interleaved.
    """
    case = conclude(gather(recorded))
    evidence, study = case.evidence, case.study
    standing = {label: case.standing(label) for label in evidence.steps_s}
    return Decision(
        study=study.name,
        session=recorded.folder.session,
        profile=study.profile,
        verdict=case.verdict,
        choice=_spelt(case, case.choice),
        runner_up=_spelt(case, case.runner_up),
        recommendation=recommendation(case),
        scope=scope(case),
        noise_floor=_noise_floor(case),
        candidates=[candidate(evidence, h, case.sla[h], standing) for h in study.candidates],
        comparisons=[_comparison(case, pair) for pair in case.ranking.pairs],
        options=[_option(case, label) for label in _best_first(case)],
        reasons=reasons(case),
        what_would_change_it=changes(case),
        warnings=cautions(case),
        provenance=provenance(evidence),
    )


def _spelt(case: Case, label: Label | None):
    return None if label is None else choice(case.study, label)


def _noise_floor(case):
    study, times = case.study, case.floor.times
    return NoiseFloor(
        twin=study.twin,
        twin_of=study.twin_of,
        metric="throughput_steps_s",
        ratio={name: interval(ratio) for name, ratio in case.floor.ratio.items()},
        floor_percent=None if times is None else 100 * (times - 1),
    )


def _comparison(case, pair):
    return Comparison(
        leader=choice(case.study, case.leader),
        other=choice(case.study, pair.other),
        ratio=interval(pair.ratio) or _NO_RATIO,
        p=pair.p,
        p_holm=pair.p_holm,
        beyond_noise=pair.beyond_noise,
    )


def _option(case, label):
    return Option(
        choice=choice(case.study, label),
        sla=case.sla[label.host].verdict,
        throughput_steps_s=interval(steps_s(case.evidence, label)),
        usd_per_million_steps=interval(usd(case.evidence, label)),
        verdict=case.standing(label),
    )


def _best_first(case):
    """Options in the race by rank, then those not compared, then those that missed the target."""
    labels = [k for host in case.study.candidates for k in case.evidence.of_host(host)]
    return sorted(labels, key=lambda label: _place(case, label))


def _place(case, label):
    rate = steps_s(case.evidence, label)
    missed = label.host in case.failed
    ranked = label in case.ranking.typical
    return missed, not ranked, math.inf if rate is None else -rate.value, label
