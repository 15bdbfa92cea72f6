"""What was not measured is never a winner, never a zero, and never silently dropped."""

import pytest
from decide import planted
from decide.planted import LATE_S, NEAR

from homeport import store
from homeport.decide import decide
from homeport.errors import NotComparable
from homeport.metrics import Measurement


def of(decision, host):
    return next(c for c in decision.candidates if c.host == host)


def standing(decision, host, topology):
    found = {(o.choice.host, o.choice.strategy.topology): o for o in decision.options}
    return found[host, topology].verdict


def test_one_failed_slot_is_told_and_the_rest_is_compared(judged):
    failing = {(3, "20_training"): "rank 2 at guangdong died"}
    got = judged(tokyo=NEAR | {"failing": failing})
    assert of(got, "tokyo").failures == 1 and of(got, "hk").failures == 0
    assert any(
        "tokyo with local was not measured in 1 of 6 rounds (round 3: GangFailed: rank 2 at" in w
        for w in got.warnings
    )
    pair = next(c for c in got.comparisons if c.other.host == "tokyo")
    assert pair.ratio.n == 5 and pair.ratio.low is None and pair.p == 0.0625
    assert got.verdict == "UNDECIDED"  # five rounds bound nothing at 95 %
    assert standing(got, "tokyo", "local") == "NOT_COMPARED"
    assert "Tokyo (tokyo) was not compared: 5 rounds with both are too few" in got.recommendation
    assert any("A complete measurement of Tokyo (tokyo)" in s for s in got.what_would_change_it)


def test_a_candidate_never_measured_is_listed_with_nulls_and_not_compared(judged):
    got = judged(after=lambda folder: planted.remove(folder, "tokyo"))
    tokyo = of(got, "tokyo")
    assert tokyo.sla.verdict == "UNDECIDED" and tokyo.sla.share_within is None
    assert tokyo.sla.reason == "no loaded step was measured"
    assert all(
        by.throughput_steps_s is by.usd_per_million_steps is None for by in tokyo.by_strategy
    )
    assert all(by.wire_ms.p50 is None for by in tokyo.by_strategy)
    assert tokyo.by_site[0].loss is tokyo.by_site[0].rtt_ms.p50 is None
    assert any("Tokyo (tokyo) was not compared" in w for w in got.warnings)
    assert any("nothing was recorded" in w for w in got.warnings)
    assert got.verdict == "UNDECIDED"  # la was excluded and hk passes, but so may tokyo
    assert "Tokyo (tokyo) was not compared: not measured" in got.recommendation
    assert [o.choice.host for o in got.options] == ["hk", "hk", "tokyo", "tokyo", "la", "la"]


def test_nothing_trained_at_all_is_undecided_not_an_error(judged, demo):
    def no_training(folder):
        for host in demo.measured:
            planted.remove(folder, host, notebook="20_training")

    got = judged(after=no_training)
    assert got.verdict == "UNDECIDED" and got.comparisons == []
    assert "no option was measured in enough rounds" in got.recommendation
    assert {option.verdict for option in got.options} == {"NOT_COMPARED"}
    assert got.noise_floor.floor_percent is None


def test_without_a_twin_the_floor_is_unknown_and_said_to_be(judged, demo):
    got = judged(tokyo=NEAR, after=lambda folder: planted.remove(folder, demo.twin))
    assert got.noise_floor.floor_percent is None
    assert got.noise_floor.ratio == {"star": None, "local": None}
    assert not any(c.beyond_noise for c in got.comparisons)
    assert got.verdict == "INDICATIVE"
    assert any("noise floor is unknown" in reason for reason in got.reasons)
    assert any("of the twin" in s for s in got.what_would_change_it)


def test_a_run_cut_short_is_judged_on_what_is_there(judged, demo):
    def cut(folder):
        for host in demo.measured:
            planted.remove(folder, host, rounds=range(4, 7))

    got = judged(tokyo=NEAR, after=cut)
    assert any("Only 3 of 6 rounds were measured" in w for w in got.warnings)
    assert "window of 3 rounds" in got.recommendation
    assert got.verdict == "UNDECIDED" and all(c.ratio.n == 3 for c in got.comparisons)
    assert not any("with this spread" in line for line in got.what_would_change_it)


@pytest.mark.parametrize(("lost", "verdict"), [((1,), "PASS"), ((1, 2), "UNDECIDED")])
def test_a_pass_is_withdrawn_where_too_many_rounds_have_no_steps(judged, lost, verdict):
    got = judged(lambda s: planted.remove(s, "hk", notebook="background", rounds=lost))
    sla = of(got, "hk").sla
    assert sla.verdict == verdict and sla.share_within.value == 1.0
    told = "steps from guangdong were measured in 4 of 6 rounds only"
    assert sla.reason == (told if verdict == "UNDECIDED" else "")


def test_a_failed_attempt_that_was_repeated_counts_as_a_failure_only(judged):
    def first_failed(folder):
        planted.fail(folder, "hk", 2, time_s=1_790_000_000.0)

    got = judged(after=first_failed)
    assert of(got, "hk").failures == 1
    assert of(got, "hk").by_strategy[0].throughput_steps_s.n == 6
    assert any("hk: 1 failure recorded" in w for w in got.warnings)


def test_an_attempt_of_which_only_the_runner_tells_has_no_place_in_time(judged):
    def killed(folder):
        planted.remove(folder, "hk", notebook="20_training", rounds=(2,))
        planted.fail(folder, "hk", 2, time_s=None)

    got = judged(killed)
    assert of(got, "hk").failures == 1
    assert of(got, "hk").by_strategy[0].throughput_steps_s.n == 5


def throughput(host, strategy, value, time_s):
    return Measurement(
        metric="throughput_steps_s",
        value=value,
        source=host,
        target=host,
        strategy=strategy,
        phase="loaded",
        time_s=time_s,
    )


def test_an_attempt_that_failed_with_one_strategy_keeps_the_other(judged):
    def local_failed(folder):
        began = store.read_part_header(folder.part_file("hk", 2, "20_training")).provenance
        planted.remove(folder, "hk", notebook="20_training", rounds=(2,))
        at = began["started_s"]
        done = [throughput("hk", s, 900.0, at + 1) for s in ("star", "local")]
        planted.fail(folder, "hk", 2, time_s=at + 6, strategy="local", measured=done)

    got = judged(after=local_failed)
    counts = {b.strategy.topology: b.throughput_steps_s.n for b in of(got, "hk").by_strategy}
    assert counts == {"star": 6, "local": 5}


def test_a_failure_without_a_time_spoils_its_attempt(judged):
    def undated(folder):
        began = store.read_part_header(folder.part_file("hk", 2, "20_training")).provenance
        planted.remove(folder, "hk", notebook="20_training", rounds=(2,))
        at = began["started_s"]
        done = [throughput("hk", "local", 9e9, at + 1)]
        planted.fail(folder, "hk", 2, time_s=None, measured=done, started_s=at)

    got = judged(after=undated)
    assert of(got, "hk").by_strategy[1].throughput_steps_s.n == 5


def test_warm_up_throughput_is_no_throughput(judged):
    def warm_up(folder):
        part = throughput("hk", "local", 1e9, LATE_S)
        extra = Measurement(**{**part.__dict__, "phase": "warmup"})
        planted.add(folder, "hk", 2, extra)

    got = judged(after=warm_up)
    assert of(got, "hk").by_strategy[1].throughput_steps_s.high < 1e5


def test_hosts_measured_one_after_another_are_not_compared(judged):
    with pytest.raises(NotComparable, match="was not interleaved") as refused:
        judged(interleaved=False)
    assert refused.value.exit_code == 3


def test_two_hosts_one_after_the_other_are_not_compared_either(judged):
    def two_hosts(folder):
        for host in ("la", "tokyo"):
            planted.remove(folder, host)

    with pytest.raises(NotComparable, match="was not interleaved"):
        judged(two_hosts, interleaved=False)


def test_a_page_run_alone_is_not_compared(data_folder):
    folder = planted.folder(planted.truths(), kind="single")
    with pytest.raises(NotComparable, match="run alone"):
        decide(store.read(folder))


def test_an_interruption_between_whole_rounds_does_no_harm(judged, demo):
    def resumed(folder):
        for host in demo.measured:
            for round in (4, 5, 6):
                was = store.read_part_header(folder.part_file(host, round, "20_training"))
                moved = {k: was.provenance[k] + 86_400 for k in ("started_s", "ended_s")}
                planted.rewrite(folder, host, round, **moved)

    got = judged(after=resumed)
    assert got.verdict == "INDICATIVE" and not any("outside" in w for w in got.warnings)


def test_a_part_repeated_after_the_run_is_left_out_and_told(judged):
    def repeated(folder):
        planted.rewrite(folder, "hk", 2, started_s=LATE_S, ended_s=LATE_S + 13)

    got = judged(after=repeated)
    assert of(got, "hk").by_strategy[1].throughput_steps_s.n == 5
    told = "\n".join(got.warnings)
    assert "hk, round 2: measured again outside of its round" in told
    assert "hk with local was not measured in 1 of 6 rounds (round 2: measured outside of" in told


def test_parts_that_overlap_in_time_are_refused(judged):
    def overlapping(folder):
        was = store.read_part_header(folder.part_file("hk", 2, "20_training")).provenance
        planted.rewrite(folder, "hk", 2, ended_s=was["ended_s"] + 60)

    with pytest.raises(NotComparable, match="had ended"):
        judged(after=overlapping)


def test_parts_that_do_not_say_when_they_were_taken_are_refused(judged):
    with pytest.raises(NotComparable, match="nothing tells when"):
        judged(after=lambda folder: planted.rewrite(folder, "hk", 2, started_s=None))
