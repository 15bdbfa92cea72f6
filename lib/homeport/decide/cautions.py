"""Warnings: what is missing, what was assumed, and what this session does not measure."""

from collections.abc import Iterator

import numpy as np

from homeport import stats
from homeport.decide import words
from homeport.decide.case import Case
from homeport.decide.profiles import ALPHA
from homeport.decide.soundness import soundness
from homeport.decide.uncompared import told, uncompared

_WORTH = (
    "A step with `local` and a step with `star` are not worth the same to the learner: `local` "
    "averages more rarely. This profile measures usable steps a second, not learning."
)
_PRICE = (
    "Cost is the hourly price of the candidate host alone: its traffic and the sites are not in it."
)


def cautions(case: Case) -> list[str]:
    """Every warning, what was not measured first."""
    found = [*_not_compared(case), *_gaps(case), *_cut_short(case), *_failures(case)]
    found += [*_strays(case), *soundness(case), *_drift(case), *_strategies(case)]
    found += [*_sources(case), _PRICE]
    return found


def _not_compared(case) -> Iterator[str]:
    """Candidates the gate let through of which nothing, or not all, could be compared."""
    for clause in told(uncompared(case)):
        yield f"{clause}."


def _gaps(case) -> Iterator[str]:
    """Every option's rounds without a figure, with the reasons, the same ones once."""
    planned = case.evidence.planned
    for label, why in case.evidence.missing.items():
        if label.host not in planned:
            continue
        by_reason: dict[str, list[int]] = {}
        for round, reason in why.items():
            by_reason.setdefault(reason, []).append(round)
        told = "; ".join(f"{words.rounds(r)}: {reason}" for reason, r in by_reason.items())
        name, every = words.option(label), len(case.evidence.rounds)
        tail = "" if case.standing(label) != "NOT_COMPARED" else "; not compared"
        if label.host in (*case.failed, case.study.twin):
            tail = ""
        yield f"{name} was not measured in {len(why)} of {every} rounds ({told}){tail}."


def _cut_short(case) -> Iterator[str]:
    done, planned = len(case.evidence.rounds), case.study.rounds
    if done < planned:
        yield f"Only {done} of {planned} rounds were measured; judged on these."


def _failures(case) -> Iterator[str]:
    for host, count in case.evidence.failures.items():
        if count:
            yield f"{host}: {words.counted(count, 'failure')} recorded during the session."


def _strays(case) -> Iterator[str]:
    for host, round in sorted(case.evidence.strays):
        yield (
            f"{host}, round {round}: measured again outside of its round, so left out of the "
            "comparison (hosts are compared only when measured in turn)."
        )


def _drift(case) -> Iterator[str]:
    """Leads that grew or shrank steadily: then rounds are not repetitions of one thing."""
    pairs = [pair for pair in case.ranking.pairs if pair.complete]
    for pair in pairs:
        ours, theirs = (case.evidence.steps_s[k] for k in (case.leader, pair.other))
        lead = np.log(ours / theirs)
        if stats.trend_p(lead[~np.isnan(lead)]) <= ALPHA / len(pairs):
            yield (
                f"The lead over {words.option(pair.other)} drifted steadily from round to round: "
                "the interval takes rounds as repetitions, so it may be too narrow."
            )


def _strategies(case) -> Iterator[str]:
    if len({strategy.name for strategy in case.study.strategies}) > 1:
        yield _WORTH


def _sources(case) -> Iterator[str]:
    """What is known of the figures that were not measured here."""
    study = case.study
    links = [link for link in study.links if link.host in study.candidates]
    for link in links:
        for caution in link.cautions:
            yield f"Link {link.site} to {link.host}: {caution}"
    dates = {link.measured_on for link in links}
    if len(dates) > 1:
        told = words.listed([f"{link.site} to {link.host} {link.measured_on}" for link in links])
        yield f"The links' figures were taken on different days: {told}."
    assumed = sorted({key for link in links for key in link.assumed})
    if assumed:
        yield f"Assumed for the links, without a source: {words.listed(assumed)}."
    yield from _prices_apart(study)


def _prices_apart(study) -> Iterator[str]:
    """Prices of one provider or day beside latencies of another."""
    apart = []
    for host in study.candidates:
        price, links = study.prices[host], [k for k in study.links if k.host == host]
        named = all(price.provider.lower() in link.source.lower() for link in links)
        if not named or any(link.measured_on != price.valid_on for link in links):
            taken = words.listed(sorted({str(link.measured_on) for link in links}))
            apart.append(f"{host}: price of {price.provider}, {price.valid_on}, latency of {taken}")
    if apart:
        yield f"Price and latency of a host differ in provider or day ({'; '.join(apart)})."
