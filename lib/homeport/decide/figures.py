"""The figures of every candidate, as the decision shows them."""

import dataclasses
import math

import numpy as np

from homeport import cost, stats, targets
from homeport.decide.compare import Label
from homeport.decide.decision import (
    BySite,
    ByStrategy,
    Candidate,
    Choice,
    Interval,
    Quantiles,
    SlaResult,
    Spread,
    StrategyName,
)
from homeport.decide.evidence import NOT_PLANNED, Evidence
from homeport.decide.profiles import COMPLETE, PROFILES
from homeport.params import Study
from homeport.stats import Estimate
from homeport.targets import Judged, Replies

ECHOES = 300  # fewer without a loss cannot exclude a loss of 1 %
_MIN_ROUNDS = 6  # as blocks of synchronisations


def interval(estimate: Estimate | None) -> Interval | None:
    """An estimate as the decision writes it: what is not finite is None."""
    if estimate is None or estimate.n == 0:
        return None
    value, low, high = (_finite(x) for x in (estimate.value, estimate.low, estimate.high))
    return Interval(value=value, low=low, high=high, n=estimate.n)


def choice(study: Study, label: Label) -> Choice:
    """An option spelt out."""
    host = label.host
    return Choice(host=host, region=study.region_of(host), strategy=_spelt(study, label.strategy))


def judged(evidence: Evidence) -> dict[str, Judged]:
    """The SLA verdict of every candidate, as far as its rounds and the profile carry it.

    A PASS seen in too few rounds is withdrawn, and so is a FAIL that the profile may not say.
    """
    return {host: _judged(host, sites, evidence) for host, sites in evidence.steps.items()}


def _judged(host, by_site, evidence):
    found = targets.judge(by_site, evidence.study.sla)
    if host not in evidence.planned:
        return dataclasses.replace(found, site=None, reason=f"not measured ({NOT_PLANNED})")
    return _as_allowed(_in_every_round(found, host, evidence), evidence.study)


def _as_allowed(judged, study):
    """Some profiles have too few steps to say FAIL of a host that comes near its target."""
    least = PROFILES[study.profile].fail_below
    if judged.verdict != "FAIL" or judged.share_within.high < least:
        return judged
    reason = (
        f"{100 * judged.share_within.value:.4g} % of steps kept it, and profile {study.profile} "
        f"says FAIL only where fewer than {100 * least:g} % are shown to"
    )
    return dataclasses.replace(judged, verdict="UNDECIDED", reason=reason)


def _in_every_round(judged, host, evidence):
    """Rounds without a step are rounds of which nobody knows whether the target was kept."""
    every = {r for sites in evidence.step_rounds.values() for seen in sites.values() for r in seen}
    for site, seen in evidence.step_rounds[host].items():
        if judged.verdict == "PASS" and len(seen) < COMPLETE * len(every):
            reason = f"steps from {site} were measured in {len(seen)} of {len(every)} rounds only"
            return dataclasses.replace(judged, verdict="UNDECIDED", site=site, reason=reason)
    return judged


def candidate(evidence: Evidence, host: str, sla: Judged, verdicts: dict[Label, str]) -> Candidate:
    """Everything measured on one candidate; None where nothing was."""
    study = evidence.study
    labels = [Label(host, strategy.name) for strategy in study.strategies]
    price = study.prices[host].usd_per_hour
    return Candidate(
        host=host,
        region=study.region_of(host),
        sla=_sla(study, sla),
        by_site=[_by_site(evidence, host, site) for site in sorted(study.sites)],
        by_strategy=[_by_strategy(evidence, label, verdicts[label]) for label in labels],
        usd_per_hour=Interval(value=price, low=price, high=price, n=1),
        failures=evidence.failures[host],
    )


def steps_s(evidence: Evidence, label: Label) -> Estimate | None:
    """Typical usable steps/s of an option over the rounds it was measured in."""
    rounds = evidence.steps_s[label]
    seen = rounds[~np.isnan(rounds)]
    return stats.typical(seen) if len(seen) else None


def usd(evidence: Evidence, label: Label) -> Estimate | None:
    """USD per million usable steps of an option."""
    typical = steps_s(evidence, label)
    if typical is None:
        return None
    return cost.usd_per_million_steps(evidence.study.prices[label.host].usd_per_hour, typical)


def _sla(study, judged):
    target, within = study.sla, judged.share_within
    return SlaResult(
        verdict=judged.verdict,
        label=target.label,
        target_ms=target.step_ms,
        target_share=target.share,
        share_within=interval(within),
        p99_ms=interval(_at_least(judged.p99_ms, target.deadline_ms)),
        other_label=interval(judged.other_label),
        site=judged.site,
        design_effect=None if within is None else within.design_effect,
        reason=judged.reason,
    )


def _by_site(evidence, host, site):
    sla = evidence.study.sla
    steps, echoes = evidence.steps[host][site], evidence.echoes[host][site]
    return BySite(
        site=site,
        rtt_ms=_quantiles(echoes, sla.label, echoes.slowest_ms),
        step_ms=_quantiles(steps, sla.label, sla.deadline_ms),
        loss=_loss(echoes, sla.label),
        sla=_as_allowed(targets.judge_site(site, steps, sla), evidence.study).verdict,
    )


def _quantiles(replies, label, waited_ms):
    ms, blocks = replies.labelled(label)
    found = (_at_least(stats.block_quantile(ms, blocks, q), waited_ms) for q in (0.5, 0.99))
    p50, p99 = (interval(estimate) for estimate in found)
    return Quantiles(p50=p50, p99=p99)


def _at_least(estimate, waited_ms):
    """A percentile of which even the lower end went unanswered is known to exceed the wait."""
    if estimate is None or estimate.low != math.inf:
        return estimate
    return dataclasses.replace(estimate, low=waited_ms)


def _loss(echoes, label):
    ms, blocks = echoes.labelled(label)
    if len(ms) < ECHOES:
        every = Replies(echoes.ms, echoes.time_s, np.full(len(echoes.ms), label))
        ms, blocks = every.labelled(label)
    return interval(stats.block_share(np.isinf(ms), blocks))


def _by_strategy(evidence, label, verdict):
    return ByStrategy(
        strategy=_spelt(evidence.study, label.strategy),
        throughput_steps_s=interval(steps_s(evidence, label)),
        wire_ms=_spread(evidence, label, "sync_wire_ms"),
        wait_ms=_spread(evidence, label, "sync_wait_ms"),
        usd_per_million_steps=interval(usd(evidence, label)),
        verdict=verdict,
    )


def _spread(evidence, label, metric):
    rows = evidence.syncs
    own = (rows["host"] == label.host) & (rows["strategy"] == label.strategy)
    rows = rows[own & (rows["metric"] == metric)]
    values, rounds = rows["value"].to_numpy(dtype=float), rows["round"].to_numpy(dtype=int)
    p50, p95 = (
        interval(stats.block_quantile(values, rounds, q, min_blocks=_MIN_ROUNDS))
        for q in (0.5, 0.95)
    )
    return Spread(p50=p50, p95=p95)


def _spelt(study, name):
    strategy = next(s for s in study.strategies if s.name == name)
    return StrategyName(
        topology=strategy.topology, codec=strategy.codec, sync_every=strategy.sync_every
    )


def _finite(x):
    return float(x) if math.isfinite(x) else None
