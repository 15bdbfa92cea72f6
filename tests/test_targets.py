import dataclasses

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from homeport.params import Sla
from homeport.targets import Replies, judge, judge_site, passing_target

SLA = Sla(step_ms=50.0, share=0.99, label="loaded", deadline_ms=1000.0)
INF = np.inf


def replies(ms, *, spans=12, label="loaded", hz=5, every_s=60.0):
    """Steps of one label in so many spans of load, a pause between them."""
    ms = np.asarray(ms, dtype=float)
    parts = np.array_split(np.arange(len(ms)), spans)
    time_s = np.concatenate([k * every_s + np.arange(len(p)) / hz for k, p in enumerate(parts)])
    return Replies(ms, time_s, np.full(len(ms), label))


def both(one, other):
    fields = [f.name for f in dataclasses.fields(Replies)]
    return Replies(*(np.concatenate([getattr(x, f) for x in (one, other)]) for f in fields))


def quiet(n, *, seed=1, centre=31.0):
    return centre + np.abs(np.random.default_rng(seed).normal(0, 0.5, n))


@pytest.mark.parametrize("seed", range(10))
def test_a_host_that_never_exceeds_passes_with_600_steps(seed):
    got = judge_site("gd", replies(quiet(600, seed=seed)), SLA)
    assert got.verdict == "PASS" and got.share_within.value == 1.0
    assert 0.99 <= got.share_within.low < 1.0
    assert got.p99_ms.value < 50 and got.reason == ""


def test_a_host_whose_steps_stay_slow_for_long_passes_with_600_too_if_none_exceeds():
    slow = np.repeat(np.random.default_rng(2).uniform(31, 45, 60), 10)
    got = judge_site("gd", replies(slow), SLA)
    assert got.verdict == "PASS" and got.share_within.design_effect == 2.0


def test_the_same_with_400_steps_is_undecided_and_says_how_many_it_takes():
    slow = np.repeat(np.random.default_rng(2).uniform(31, 45, 40), 10)
    got = judge_site("gd", replies(slow), SLA)
    assert got.verdict == "UNDECIDED" and "none of 400 loaded steps exceeded" in got.reason
    assert "597" in got.reason


@pytest.mark.parametrize("n", [60, 200])
def test_a_host_far_beyond_fails_with_few(n):
    got = judge_site("gd", replies(quiet(n, centre=142.0), spans=6), SLA)
    assert got.verdict == "FAIL" and got.share_within.value == 0.0
    assert 0 < got.share_within.high < 0.99


@pytest.mark.parametrize("centre", [31.0, 142.0])
def test_too_few_steps_decide_nothing(centre):
    got = judge_site("gd", replies(quiet(40, centre=centre), spans=4), SLA)
    assert got.verdict == "UNDECIDED" and "only 40 loaded steps" in got.reason


def test_no_step_at_all_is_undecided_not_zero():
    nothing = Replies(np.empty(0), np.empty(0), np.empty(0, dtype=str))
    got = judge_site("gd", nothing, SLA)
    assert got.verdict == "UNDECIDED" and got.share_within is None and got.p99_ms is None
    assert got.reason == "no loaded step was measured"


def test_unanswered_steps_exceed():
    ms = quiet(700)
    ms[::20] = INF
    got = judge_site("gd", replies(ms), SLA)
    assert got.verdict == "FAIL" and got.share_within.value == pytest.approx(0.95)
    assert got.p99_ms.value == INF


def test_a_step_at_the_target_keeps_it():
    assert judge_site("gd", replies(np.full(700, 50.0)), SLA).verdict == "PASS"
    assert judge_site("gd", replies(np.full(700, 50.001)), SLA).verdict == "FAIL"


@pytest.mark.parametrize(("late", "told"), [(7, "99 %"), (10, "98.57 %"), (4, "99.43 %")])
def test_a_share_near_the_target_is_undecided_with_figures(late, told):
    ms = quiet(700)
    ms[:: 700 // late] = 80.0
    got = judge_site("gd", replies(ms), SLA)
    assert got.verdict == "UNDECIDED" and got.share_within.low < 0.99 < got.share_within.high
    assert f"{told} of 700 loaded steps kept it" in got.reason and "design effect" in got.reason


def test_one_late_step_in_many_does_not_undo_a_pass_but_a_burst_does():
    single, burst = quiet(700), quiet(700)
    single[350] = 80.0
    burst[350:354] = 80.0
    assert judge_site("gd", replies(single), SLA).verdict == "PASS"
    assert judge_site("gd", replies(burst), SLA).verdict == "UNDECIDED"


def test_only_the_label_that_binds_decides_and_the_other_is_shown():
    mixed = both(replies(quiet(700)), replies(quiet(300, centre=60.0), label="idle", every_s=70.0))
    got = judge_site("gd", mixed, SLA)
    assert got.verdict == "PASS" and got.share_within.n == 700
    assert got.other_label.value == 0.0 and got.other_label.n == 300
    idle = judge_site("gd", mixed, SLA.model_copy(update={"label": "idle"}))
    assert idle.verdict == "FAIL" and idle.other_label.value == 1.0


def test_warm_up_is_neither_label():
    mixed = both(replies(quiet(700)), replies(quiet(300, centre=600.0), label="warmup"))
    assert judge_site("gd", mixed, SLA).share_within.n == 700


def test_a_candidate_is_as_good_as_its_worst_site():
    good, bad = replies(quiet(700)), replies(quiet(200, centre=142.0))
    got = judge({"gd": good, "sz": bad}, SLA)
    assert (got.verdict, got.site) == ("FAIL", "sz")


def test_one_site_undecided_leaves_the_candidate_undecided():
    got = judge({"gd": replies(quiet(40), spans=4), "sz": replies(quiet(700))}, SLA)
    assert (got.verdict, got.site) == ("UNDECIDED", "gd")


def test_among_sites_that_pass_the_one_with_the_smaller_share_speaks():
    late = quiet(3000)
    late[::1000] = 80.0
    got = judge({"gd": replies(quiet(3000)), "sz": replies(late)}, SLA)
    assert (got.verdict, got.site) == ("PASS", "sz")


def test_without_sites_nothing_is_known():
    assert judge({}, SLA).verdict == "UNDECIDED"


def test_the_passing_target_is_the_smallest_that_passes():
    sites = {"gd": replies(quiet(700)), "sz": replies(quiet(700, seed=2, centre=142.0))}
    got = passing_target(sites, SLA)
    at, below = (SLA.model_copy(update={"step_ms": x}) for x in (got, got - 1e-3))
    assert 142 < got < 145
    assert judge(sites, at).verdict == "PASS" and judge(sites, below).verdict != "PASS"


def test_no_target_passes_where_steps_go_unanswered_or_are_too_few():
    late = quiet(700)
    late[::50] = INF
    assert passing_target({"gd": replies(late)}, SLA) is None
    assert passing_target({"gd": replies(quiet(60))}, SLA) is None
    assert passing_target({}, SLA) is None


@settings(max_examples=60, deadline=None, derandomize=True)
@given(st.integers(0, 2**32 - 1), st.integers(50, 400), st.floats(20, 60), st.floats(20, 60))
def test_a_looser_target_is_never_judged_worse(seed, n, one, other):
    ms = np.random.default_rng(seed).lognormal(np.log(35), 0.2, n)
    order = {"FAIL": 0, "UNDECIDED": 1, "PASS": 2}
    steps = replies(ms, spans=6)
    tight, loose = (
        judge_site("gd", steps, SLA.model_copy(update={"step_ms": x})).verdict
        for x in sorted((one, other))
    )
    assert order[tight] <= order[loose]
