"""What stands in a report, as text in tables: the same for HTML, Markdown and the terminal."""

from dataclasses import dataclass
from typing import Any

from homeport.decide.decision import (
    BySite,
    Candidate,
    Choice,
    Comparison,
    Decision,
    NoiseFloor,
    Option,
    SlaResult,
)
from homeport.decide.evidence import NOT_PLANNED
from homeport.report import words
from homeport.report.coverage import asked_for
from homeport.report.numbers import NOT_MEASURED, Shown, p_value, percent, plain, show

_MOST_FAILURES = 40


@dataclass(frozen=True)
class Row:
    """One option as the table shows it."""

    choice: Choice
    host: str
    region: str
    strategy: str
    tag: str
    sla: str
    within: Shown
    p99: Shown
    rtt: Shown
    throughput: Shown
    usd: Shown
    verdict: str


def rows(decision: Decision) -> list[Row]:
    """The options, best first."""
    candidates = {candidate.host: candidate for candidate in decision.candidates}
    return [_row(decision, option, candidates[option.choice.host]) for option in decision.options]


def _row(decision: Decision, option: Option, candidate: Candidate) -> Row:
    choice, sla = option.choice, candidate.sla
    tags = {"recommended": decision.choice, "runner-up": decision.runner_up}
    if not asked_for(decision, choice.host):
        tags[NOT_PLANNED] = choice
    return Row(
        choice=choice,
        host=words.name(choice.host),
        region=words.name(choice.region),
        strategy=words.strategy(choice.strategy),
        tag=next((tag for tag, tagged in tags.items() if tagged == choice), ""),
        sla=option.sla,
        within=show(sla.share_within, percent, units="steps"),
        p99=show(sla.p99_ms, unit="ms", units="steps"),
        rtt=_rtt(candidate),
        throughput=show(option.throughput_steps_s, unit="steps/s", units="rounds"),
        usd=show(option.usd_per_million_steps, unit="USD", units="rounds"),
        verdict=option.verdict,
    )


def _rtt(candidate: Candidate) -> Shown:
    """The median round trip at the site that decides the target (the first where none does)."""
    sites = sorted(candidate.by_site, key=lambda by: by.site != candidate.sla.site)
    return show(sites[0].rtt_ms.p50, unit="ms", units="echoes") if sites else Shown(NOT_MEASURED)


def target(sla: SlaResult) -> str:
    """The latency target in words."""
    return f"{100 * sla.target_share:g} % of steps within {sla.target_ms:g} ms, link {sla.label}"


def facts(decision: Decision) -> list[tuple[str, Shown, str]]:
    """The four numbers about the chosen option that answer most questions."""
    chosen = [row for row in rows(decision) if row.choice == decision.choice]
    if not chosen:
        return []
    row = chosen[0]
    sla = next(c.sla for c in decision.candidates if c.host == row.choice.host)
    return [
        (
            "steps in time",
            row.within,
            f"target {100 * sla.target_share:g} % in {sla.target_ms:g} ms",
        ),
        ("step latency, p99", row.p99, f"link {sla.label}"),
        ("training throughput", row.throughput, f"strategy {row.strategy}"),
        ("cost of a million usable steps", row.usd, "compute only"),
    ]


def floor(noise: NoiseFloor) -> str:
    """The noise floor in words, with the intervals it comes from."""
    pair = f"{noise.twin_of} measured twice (as itself and as {noise.twin})"
    if noise.floor_percent is None:
        return f"Noise floor: {NOT_MEASURED}; {pair} could not be compared with itself."
    seen = ", ".join(f"{strategy} {show(ratio)}" for strategy, ratio in noise.ratio.items())
    return (
        f"Noise floor: {noise.floor_percent:.2g} %. {pair} differs from itself by up to that "
        f"much, so smaller differences cannot be told apart. {noise.twin} over {noise.twin_of}: "
        f"{seen}."
    )


def by_site(decision: Decision) -> list[dict[str, Any]]:
    """What each site sees of each candidate."""
    return [_at(candidate, by) for candidate in decision.candidates for by in candidate.by_site]


def _at(candidate: Candidate, by: BySite) -> dict[str, Any]:
    return {
        "host": words.name(candidate.host),
        "site": words.name(by.site),
        "sla": by.sla,
        "rtt_p50": show(by.rtt_ms.p50, unit="ms"),
        "rtt_p99": show(by.rtt_ms.p99, unit="ms"),
        "step_p50": show(by.step_ms.p50, unit="ms"),
        "step_p99": show(by.step_ms.p99, unit="ms"),
        "loss": show(by.loss, percent, units="echoes"),
    }


def by_strategy(decision: Decision) -> list[dict[str, Any]]:
    """What synchronising costs with each option: payload time and waiting, per synchronisation."""
    return [
        {
            "host": words.name(candidate.host),
            "strategy": words.strategy(by.strategy),
            "wire_p50": show(by.wire_ms.p50, unit="ms"),
            "wire_p95": show(by.wire_ms.p95, unit="ms"),
            "wait_p50": show(by.wait_ms.p50, unit="ms"),
            "wait_p95": show(by.wait_ms.p95, unit="ms"),
        }
        for candidate in decision.candidates
        for by in candidate.by_strategy
    ]


def by_target(decision: Decision) -> list[dict[str, Any]]:
    """How each candidate stands to the latency target, on the label that binds and the other."""
    return [_standing(candidate) for candidate in decision.candidates]


def _standing(candidate: Candidate) -> dict[str, Any]:
    sla, effect = candidate.sla, candidate.sla.design_effect
    return {
        "host": words.name(candidate.host),
        "verdict": sla.verdict,
        "site": NOT_MEASURED if sla.site is None else words.name(sla.site),
        "binding": show(sla.share_within, percent, units="steps"),
        "other": show(sla.other_label, percent, units="steps"),
        "effect": NOT_MEASURED if effect is None else plain(effect),
        "reason": words.clean(sla.reason, 300),
    }


def comparisons(decision: Decision) -> list[dict[str, Any]]:
    """The leader over each other option, with what chance could do."""
    return [
        {
            "other": words.option(comparison.other),
            "ratio": show(comparison.ratio, units="rounds"),
            "p": p_value(comparison.p),
            "p_holm": p_value(comparison.p_holm),
            "beyond": _beyond(comparison),
        }
        for comparison in decision.comparisons
    ]


def _beyond(comparison: Comparison) -> str:
    if comparison.p is None:
        return "not compared"
    return "yes" if comparison.beyond_noise else "no"


def failures(frame) -> tuple[list[dict[str, str]], int]:
    """The first failures of a session as text, and how many more there are."""
    keys = ("round", "host", "notebook", "strategy", "place", "failure", "reason")
    found = frame.astype(object).where(frame.notna(), "")
    told = [
        {key: words.clean(row[key], 300 if key == "reason" else 60) for key in keys}
        for row in found[list(keys)].to_dict("records")
    ]
    told.sort(key=lambda row: (int(row["round"] or 0), row["host"], row["notebook"]))
    return told[:_MOST_FAILURES], max(0, len(told) - _MOST_FAILURES)
