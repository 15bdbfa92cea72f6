"""From a recorded session to the decision: what is said in which world."""

import subprocess
import sys
import time

import pytest
from decide.planted import NEAR

from homeport import store
from homeport.decide import decide, words


def names(choice):
    return choice.host, choice.strategy.topology


def of(decision, host):
    return next(c for c in decision.candidates if c.host == host)


def standings(decision):
    return {names(option.choice): option.verdict for option in decision.options}


def test_the_only_host_within_the_target_is_chosen_with_its_faster_strategy(usual):
    assert usual.verdict == "INDICATIVE"
    assert names(usual.choice) == ("hk", "local") and names(usual.runner_up) == ("hk", "star")
    assert [c.sla.verdict for c in usual.candidates] == ["PASS", "FAIL", "FAIL"]
    rate = words.number(usual.options[0].throughput_steps_s.value)
    rent = f"Rent Hong Kong (hk) and synchronise with local: {rate} usable steps/s at USD 0.00"
    assert usual.recommendation.startswith(rent)
    assert "the only candidate that keeps 99 % of loaded steps within 50 ms" in usual.recommendation
    assert "INDICATIVE for the measured window of 6 rounds" in usual.recommendation


def test_the_planted_truth_is_found(usual):
    hk = of(usual, "hk")
    star, local = hk.by_strategy
    assert star.throughput_steps_s.low < 900 < star.throughput_steps_s.high
    assert local.throughput_steps_s.low < 4000 < local.throughput_steps_s.high
    assert star.wire_ms.p50.value == pytest.approx(34, abs=0.5)
    assert star.wait_ms.p50.low < 2 < star.wait_ms.p50.high
    usd = hk.usd_per_hour.value / 3600 / local.throughput_steps_s.value * 1e6
    assert local.usd_per_million_steps.value == pytest.approx(usd)
    assert local.usd_per_million_steps.low < usd < local.usd_per_million_steps.high


def test_each_site_is_shown_on_the_label_that_binds(usual):
    (site,) = of(usual, "tokyo").by_site
    assert site.site == "guangdong" and site.sla == "FAIL"
    assert site.rtt_ms.p50.value == pytest.approx(143.3, abs=0.2)
    assert site.step_ms.p50.value == pytest.approx(143.7, abs=0.2)
    assert site.rtt_ms.p50.n == of(usual, "tokyo").sla.share_within.n == 360
    assert site.loss.low < 0.006 < site.loss.high


def test_the_leader_meets_every_other_option_that_passed_the_gate(usual):
    assert [(names(c.leader), names(c.other)) for c in usual.comparisons] == [
        (("hk", "local"), ("hk", "star"))
    ]
    (pair,) = usual.comparisons
    assert pair.ratio.low < 4000 / 900 < pair.ratio.high and pair.ratio.n == 6
    assert pair.p == pair.p_holm == 0.03125 and pair.beyond_noise


def test_options_stand_in_order_with_excluded_ones_last(usual):
    assert [names(option.choice) for option in usual.options[:2]] == [
        ("hk", "local"),
        ("hk", "star"),
    ]
    assert [option.sla for option in usual.options] == ["PASS"] * 2 + ["FAIL"] * 4
    assert [option.verdict for option in usual.options] == ["LEADER", "WORSE"] + 4 * [
        "NOT_COMPARED"
    ]


def test_the_twin_is_the_noise_floor_and_nothing_else(usual):
    floor = usual.noise_floor
    assert (floor.twin, floor.twin_of) == ("hk-twin", "hk")
    assert set(floor.ratio) == {"star", "local"}
    worst = max(max(r.high, 1 / r.low) for r in floor.ratio.values())
    assert floor.floor_percent == pytest.approx(100 * (worst - 1)) and 0 < worst - 1 < 0.2
    said = usual.model_copy(update={"noise_floor": None, "warnings": [], "provenance": {}})
    assert "hk-twin" not in repr(said)


def test_reasons_carry_the_figures(usual):
    told = "\n".join(usual.reasons)
    assert "Hong Kong (hk) keeps the target (PASS, INDICATIVE): 100 % of 720 loaded steps" in told
    assert "Los Angeles (la) misses the target (FAIL, INDICATIVE): 0 % of 360" in told
    ratio = usual.comparisons[0].ratio
    times, low, high = (words.number(x) for x in (ratio.value, ratio.low, ratio.high))
    assert f"hk with local makes {times} times the steps of hk with star ({low} to {high})" in told
    assert "exact p 0.0312" in told and "Noise floor: hk measured twice" in told
    assert "Profile demo may say INDICATIVE at most" in told
    assert "impossible by arithmetic" not in told  # one comparison: six rounds would do


def test_no_candidate_within_the_target_is_an_answer(judged):
    got = judged(hk={"rtt_ms": 80.0})
    assert got.verdict == "NONE_MEETS_SLA"
    assert got.choice is got.runner_up is None and got.comparisons == []
    assert "no candidate keeps 99 % of loaded steps within 50 ms" in got.recommendation
    assert set(standings(got).values()) == {"NOT_COMPARED"}
    assert any("Hong Kong (hk) would keep it too" in s for s in got.what_would_change_it)


def test_several_within_the_target_are_all_compared(judged):
    got = judged(tokyo=NEAR | {"steps_s": {"star": 800.0, "local": 3000.0}}, la=NEAR)
    assert got.verdict == "INDICATIVE" and names(got.choice) == ("hk", "local")
    assert names(got.runner_up) == ("tokyo", "local")
    assert len(got.comparisons) == 5
    assert all(c.p == 0.03125 and c.p_holm == pytest.approx(0.15625) for c in got.comparisons)
    told = "\n".join(got.reasons)
    assert "CLEAR is impossible by arithmetic: 6 rounds give p = 0.0312 at best" in told
    assert "Holm over 5 comparisons asks for 0.01" in told
    assert "times the runner-up tokyo with local; INDICATIVE" in got.recommendation


def test_a_faster_host_beats_the_twins_host(judged):
    got = judged(tokyo=NEAR | {"steps_s": {"star": 1500.0, "local": 9000.0}})
    assert got.verdict == "INDICATIVE" and names(got.choice) == ("tokyo", "local")
    assert names(got.runner_up) == ("hk", "local")


def test_equal_hosts_in_noise_have_no_winner(judged):
    equal = {"steps_s": {"star": 900.0, "local": 910.0}, "round_spread": 0.2, **NEAR}
    got = judged(hk=equal, tokyo=equal, la=equal)
    assert got.verdict == "UNDECIDED" and got.choice is got.runner_up is None
    assert got.recommendation.startswith("No recommendation yet: ")
    assert "cannot be told apart" in got.recommendation
    assert got.options[0].verdict == "LEADER"
    assert "INDISTINGUISHABLE" in standings(got).values()
    assert len(got.comparisons) == 5


def test_a_lead_within_the_noise_floor_is_none(judged):
    # The twin, the same machine, comes out a third slower: no lead below that means anything.
    near = NEAR | {"round_spread": 0.002}
    got = judged(
        hk=near,
        tokyo=near | {"steps_s": {"star": 900.0, "local": 3500.0}},
        hk_twin=near | {"steps_s": {"star": 900.0, "local": 3000.0}},
    )
    pair = next(c for c in got.comparisons if names(c.other) == ("tokyo", "local"))
    assert pair.ratio.low > 1 and pair.p == 0.03125 and not pair.beyond_noise
    assert got.verdict == "UNDECIDED" and standings(got)["tokyo", "local"] == "INDISTINGUISHABLE"
    floor = words.number(got.noise_floor.floor_percent)
    assert got.noise_floor.floor_percent == pytest.approx(100 / 3, abs=2)
    assert any(f"the noise floor of {floor} %" in s for s in got.what_would_change_it)


def test_where_the_gate_leaves_one_host_its_strategies_need_not_be_told_apart(judged):
    got = judged(hk={"steps_s": {"star": 900.0, "local": 905.0}, "round_spread": 0.1})
    assert got.verdict == "INDICATIVE" and got.choice.host == "hk"
    assert "INDISTINGUISHABLE" in standings(got).values()
    assert any("not told apart" in reason for reason in got.reasons)


def test_a_leader_whose_target_is_undecided_leaves_all_undecided(judged):
    got = judged(hk={"loss": 0.01})  # as many steps are late as the target allows
    assert of(got, "hk").sla.verdict == "UNDECIDED"
    assert got.verdict == "UNDECIDED" and got.choice is None
    assert "its latency target is undecided" in got.recommendation
    assert any(s.startswith("More steps of Hong Kong (hk)") for s in got.what_would_change_it)


def test_judging_takes_less_than_a_second(usual_recorded):
    began = time.process_time()
    decide(usual_recorded)
    assert time.process_time() - began < 1.0


def test_judging_loads_neither_torch_nor_seaborn(usual_recorded):
    code = (
        "import sys; from homeport import store; from homeport.decide import decide; "
        "decide(store.read(sys.argv[1])); "
        "print(*{'torch', 'seaborn', 'matplotlib'} & set(sys.modules))"
    )
    run = [sys.executable, "-c", code, str(usual_recorded.folder.path)]
    done = subprocess.run(run, capture_output=True, text=True)
    assert (done.returncode, done.stdout.strip(), done.stderr) == (0, "", "")


def test_the_same_session_is_judged_the_same_twice(usual, usual_recorded):
    again = decide(store.read(usual_recorded.folder.path))
    assert again.to_json() == usual.to_json()
