"""A rival that was not compared is no rival beaten: nothing is recommended until it is."""

import pytest
from decide import planted
from decide.planted import NEAR

FAST = {"steps_s": {"star": 2e3, "local": 9e3}}  # twice the leader's
HALF = {(r, "20_training"): "agent died" for r in (2, 4)}
OURS = ["hk", "hk-twin"]


def of(decision, host):
    return next(c for c in decision.candidates if c.host == host)


def standing(decision, host, topology):
    found = {(o.choice.host, o.choice.strategy.topology): o for o in decision.options}
    return found[host, topology].verdict


def said(lines, part):
    return any(part in line for line in lines)


@pytest.mark.parametrize(
    ("target", "sla"), [(NEAR, "PASS"), ({"rtt_ms": 31.0, "loss": 0.01}, "UNDECIDED")]
)
def test_a_faster_rival_that_failed_too_often_leaves_all_undecided(judged, target, sla):
    got = judged(tokyo={**target, **FAST, "failing": HALF})
    assert of(got, "tokyo").sla.verdict == sla and of(got, "la").sla.verdict == "FAIL"
    assert got.verdict == "UNDECIDED" and got.choice is got.runner_up is None
    why = "measured together with the leader in 4 of 6 rounds only"
    assert f"leads, but Tokyo (tokyo) was not compared: {why};" in got.recommendation
    assert said(got.warnings, f"Tokyo (tokyo) was not compared: {why}.")
    wanted = "A complete measurement of Tokyo (tokyo) with star and local: 6 rounds with the leader"
    assert said(got.what_would_change_it, wanted)
    assert standing(got, "tokyo", "local") == "NOT_COMPARED"
    pair = next(c for c in got.comparisons if c.other.host == "tokyo")
    assert pair.p is pair.p_holm is None and not pair.beyond_noise
    assert of(got, "tokyo").by_strategy[0].throughput_steps_s.n == 4


def test_rounds_count_only_where_both_were_measured(judged):
    ours, theirs = ({(r, "20_training"): "agent died"} for r in (1, 2))
    got = judged(hk={"failing": ours}, tokyo=NEAR | {"failing": theirs})
    assert [b.throughput_steps_s.n for b in of(got, "tokyo").by_strategy] == [5, 5]
    assert "Tokyo (tokyo) was not compared: measured together with the leader in 4 of 6 rounds" in (
        got.recommendation
    )


def test_a_rival_that_the_gate_excluded_need_not_be_compared(judged):
    got = judged(tokyo=FAST | {"failing": HALF})
    assert of(got, "tokyo").sla.verdict == "FAIL"
    assert got.verdict == "INDICATIVE" and got.choice.host == "hk"
    assert "was not compared" not in got.recommendation


def test_every_rival_is_named_with_its_own_reason(judged):
    def gone(folder):
        planted.remove(folder, "la")

    got = judged(gone, tokyo=NEAR | {"failing": HALF})
    assert "Tokyo (tokyo) was not compared: measured together" in got.recommendation
    assert "Los Angeles (la) was not compared: not measured;" in got.recommendation


def test_a_rivals_strategy_is_named_where_only_it_was_not_compared(judged):
    def local_failed(folder):
        for round in (2, 4):
            planted.fail(folder, "tokyo", round, time_s=planted.LATE_S, strategy="local")

    got = judged(local_failed, tokyo=NEAR)
    assert got.verdict == "UNDECIDED"
    assert "tokyo with local was not compared: measured together" in got.recommendation
    assert "Tokyo (tokyo) was not compared" not in got.recommendation
    assert said(got.what_would_change_it, "of Tokyo (tokyo) with local: 6 rounds")


def test_where_the_gate_leaves_one_host_an_uncompared_strategy_of_it_is_told(judged):
    def star_failed(folder):
        for round in (2, 4):
            planted.fail(folder, "hk", round, time_s=planted.LATE_S, strategy="star")

    got = judged(star_failed)
    assert got.verdict == "INDICATIVE" and got.choice.strategy.topology == "local"
    assert "hk with star was not compared: measured together" in got.recommendation


def test_hosts_that_the_run_was_not_to_measure_are_told_as_that(judged):
    got = judged(lambda s: planted.limit(s, OURS, only="hk"))
    assert got.verdict == "UNDECIDED" and got.choice is None
    both = "Tokyo (tokyo) and Los Angeles (la)"
    assert f"but {both} were not compared: not part of this run;" in got.recommendation
    assert said(got.reasons, "Tokyo (tokyo): not measured (not part of this run).")
    assert said(got.warnings, f"{both} were not compared: not part of this run.")
    assert not said(got.warnings, "tokyo with")  # nothing was missed that was never asked for
    assert said(got.what_would_change_it, f"A run with {both}, which were not part of this run.")
    assert not said(got.what_would_change_it, "More steps of Tokyo")
    assert not said(got.what_would_change_it, "A complete measurement of Tokyo")
    tokyo = of(got, "tokyo").sla
    assert (tokyo.reason, tokyo.site) == ("not measured (not part of this run)", None)
    assert got.provenance["selection"]["only"] == "hk"


def test_a_target_missed_by_the_only_host_measured_says_nothing_of_the_others(judged):
    got = judged(lambda s: planted.limit(s, OURS, only="hk"), hk={"rtt_ms": 80.0})
    assert of(got, "hk").sla.verdict == "FAIL" and got.verdict == "UNDECIDED"
    assert "no option was measured in enough rounds" in got.recommendation
    assert "were not compared: not part of this run" in got.recommendation


def test_with_no_leader_every_host_is_told_with_its_rounds(judged, demo):
    def three_rounds(folder):
        for host in demo.measured:
            for strategy in ("star", "local"):
                for round in (1, 2, 3):
                    at = planted.LATE_S
                    planted.fail(folder, host, round, time_s=at, strategy=strategy)

    got = judged(three_rounds, tokyo=NEAR)
    hosts = "Hong Kong (hk) and Tokyo (tokyo)"
    assert f"{hosts} were not compared: measured in 3 of 6 rounds" in got.recommendation
    assert said(got.what_would_change_it, "A complete measurement of Hong Kong (hk)")
