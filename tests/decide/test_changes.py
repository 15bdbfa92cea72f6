"""What is said to change the decision does change it, and the warnings that go with every one."""

import dataclasses
import re

import numpy as np
import pytest
from decide import planted
from decide.planted import NEAR

from homeport import store
from homeport.decide import decide

RIVAL = NEAR | {"steps_s": {"star": 800.0, "local": 3000.0}}


def only(lines, pattern):
    """The groups of the one line that matches."""
    found = [match for line in lines if (match := re.search(pattern, line))]
    assert len(found) == 1, lines
    return [float(group.replace(",", "")) for group in found[0].groups()]


def with_study(recorded, **changed):
    """The same measurements under a study that differs."""
    study = recorded.study.model_copy(update=changed)
    return dataclasses.replace(recorded, folder=dataclasses.replace(recorded.folder, study=study))


def with_target(recorded, step_ms):
    return with_study(recorded, sla=recorded.study.sla.model_copy(update={"step_ms": step_ms}))


def verdicts(decision):
    return {c.host: c.sla.verdict for c in decision.candidates}


def test_below_the_named_target_the_choice_would_not_pass(usual, usual_recorded):
    (ms,) = only(usual.what_would_change_it, r"A target below ([\d.]+) ms.*\(hk\)")
    assert verdicts(decide(with_target(usual_recorded, ms * 1.005)))["hk"] == "PASS"
    assert verdicts(decide(with_target(usual_recorded, ms * 0.99)))["hk"] != "PASS"


def test_from_the_named_target_on_the_next_candidate_would_pass(usual, usual_recorded):
    (ms,) = only(usual.what_would_change_it, r"A target of ([\d.]+) ms or more: .*\(tokyo\)")
    assert verdicts(decide(with_target(usual_recorded, ms * 1.005)))["tokyo"] == "PASS"
    assert verdicts(decide(with_target(usual_recorded, ms * 0.99)))["tokyo"] != "PASS"


def test_a_candidate_with_unanswered_steps_passes_no_target(judged):
    got = judged(tokyo={"loss": 0.4}, la={"loss": 0.4})
    (ms,) = only(got.what_would_change_it, r"No target would let .* deadline of ([\d.]+) ms")
    assert ms == 1000


def test_too_few_steps_for_an_upper_bound_are_said_to_be_too_few(judged):
    def two_rounds(folder):
        planted.remove(folder, "tokyo", notebook="background", rounds=(3, 4, 5, 6))

    got = judged(two_rounds)
    ms, n = only(got.what_would_change_it, r"above (\d+) ms, the p99 of Tokyo .*; (\d+) steps")
    assert ms > 142 and n == 120


def test_at_the_named_price_a_step_costs_the_same_as_elsewhere(measured):
    recorded = store.read(measured(tokyo=RIVAL))
    got = decide(recorded)
    assert verdicts(got)["tokyo"] == "PASS"
    usd, now = only(got.what_would_change_it, r"USD ([\d.]+) an hour for .*\(now ([\d.]+)\)")
    assert now == pytest.approx(0.0938)
    prices = dict(recorded.study.prices)
    prices["hk"] = prices["hk"].model_copy(update={"usd_per_hour": usd})
    again = decide(with_study(recorded, prices=prices))
    cost = {
        (o.choice.host, o.choice.strategy.topology): o.usd_per_million_steps.value
        for o in again.options
        if o.usd_per_million_steps
    }
    assert cost["hk", "local"] == pytest.approx(cost["tokyo", "local"], rel=0.005)


def test_where_nobody_else_passes_no_price_matters(usual):
    assert any(line.startswith("No price of Hong Kong (hk)") for line in usual.what_would_change_it)


def test_a_clear_verdict_is_said_to_need_the_standard_profile(usual, judged):
    asked = r"profile standard \((12) rounds\) .* 1 comparison with .* about (12) rounds"
    only(usual.what_would_change_it, asked)
    close = NEAR | {"steps_s": {"star": 900.0, "local": 3900.0}, "round_spread": 0.1}
    got = judged(hk={"round_spread": 0.1}, tokyo=close)
    _, rounds = only(
        got.what_would_change_it, r"profile standard \((12) rounds\) .*(?:about|than) (\d+)"
    )
    assert rounds > 12


def test_warnings_name_what_no_measurement_here_can_tell(usual):
    told = "\n".join(usual.warnings)
    assert "`local` and a step with `star` are not worth the same to the learner" in told
    assert "Link guangdong to hk: Public records disagree tenfold on this path" in told
    assert "4 of the 38 probes behind the Hong Kong figure timed out" in told
    assert "different days: guangdong to hk 2018-08-04, guangdong to tokyo 2018-09-18" in told
    assert "without a source: hops, jitter_ms, queue_ms and rate_mbit_s" in told
    assert "hk: price of gcp, 2026-07-30, latency of 2018-08-04" in told
    assert "its traffic and the sites are not in it" in told
    assert not re.search("failure|not measured|outside|drifted|Only", told)


def test_warnings_that_do_not_apply_are_not_given(usual_recorded):
    study = usual_recorded.study
    day = study.prices["hk"].valid_on
    links = [
        link.model_copy(
            update={"source": "gcp ping", "measured_on": day, "assumed": [], "cautions": []}
        )
        for link in study.links
    ]
    got = decide(with_study(usual_recorded, links=links, strategies=study.strategies[:1]))
    assert len(got.warnings) == 2 and "its traffic" in got.warnings[1]
    assert "All hosts ran on the CPU of one machine" in got.warnings[0]
    assert got.runner_up is None and got.comparisons == []
    assert got.verdict == "INDICATIVE" and got.choice.strategy.topology == "star"


def test_a_lead_that_drifts_round_by_round_is_told(judged, demo):
    def drifting(folder):
        for round in range(1, demo.rounds + 1):
            planted.scale(folder, "hk", round, "local", 1.2**round)

    assert any("over hk with star drifted steadily" in w for w in judged(drifting).warnings)


def test_scope_names_window_rounds_and_world(usual):
    window = "The measured window only: 6 of 6 rounds, 2026-09-21 14:13 to 14:18 UTC"
    assert usual.scope.startswith(f"{window} over emulated links; site guangdong.")
    assert "nothing of other hours or days" in usual.scope


def test_every_sentence_is_one_line_of_finite_figures(usual):
    lines = [*usual.reasons, *usual.what_would_change_it, *usual.warnings, usual.recommendation]
    for line in lines:
        assert "\n" not in line and not re.search(r"\b(nan|inf)\b", line), line
        assert line.endswith(".")
    assert np.unique(lines).size == len(lines)
