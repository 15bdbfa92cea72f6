"""The comparison on arrays alone: order, corrections, noise floor, ladder of verdicts."""

import numpy as np
import pytest

from homeport.decide.compare import Floor, Label, noise_floor, rank, verdict
from homeport.decide.profiles import PROFILES, Profile

STANDARD = PROFILES["standard"]
QUIET = Floor({}, 1.01)
A, B, C = Label("a", "star"), Label("b", "star"), Label("c", "star")


def rounds(level, n=12, seed=0, spread=0.02):
    return level * np.exp(np.random.default_rng([seed, n]).normal(0, spread, n))


def lost(values, count):
    return np.where(np.arange(len(values)) < count, np.nan, values)


def test_leader_is_the_fastest_and_meets_all_others_nearest_first():
    got = rank({A: rounds(100, seed=1), B: rounds(300, seed=2), C: rounds(200, seed=3)}, QUIET)
    assert list(got.typical) == [B, C, A] and got.leader == B
    assert [pair.other for pair in got.pairs] == [C, A]
    assert got.pairs[0].ratio.value == pytest.approx(1.5, rel=0.03)


def test_holm_counts_every_pair_also_one_that_could_not_be_compared():
    steps_s = {A: rounds(300, seed=1), B: rounds(200, seed=2), C: lost(rounds(100, seed=3), 8)}
    with_c, without = rank(steps_s, QUIET), rank({A: steps_s[A], B: steps_s[B]}, QUIET)
    assert with_c.pairs[0].p_holm == 2 * without.pairs[0].p_holm
    assert with_c.pairs[1].p is with_c.pairs[1].p_holm is None


@pytest.mark.parametrize(("missing", "complete"), [(0, True), (3, True), (4, False)])
def test_three_quarters_of_the_rounds_must_be_complete(missing, complete):
    got = rank({A: rounds(300, seed=1), B: lost(rounds(200, seed=2), missing)}, QUIET)
    assert got.pairs[0].complete is complete and got.pairs[0].ratio.n == 12 - missing


def test_two_gaps_that_do_not_overlap_add_up():
    ends = lost(rounds(300, seed=1)[::-1], 2)[::-1]
    got = rank({A: ends, B: lost(rounds(200, seed=2), 2)}, QUIET)
    assert got.pairs[0].ratio.n == 8 and not got.pairs[0].complete


def test_an_option_with_too_few_rounds_cannot_lead_however_fast():
    got = rank({A: lost(rounds(9e9), 4), B: rounds(200, seed=2)}, QUIET)
    assert got.leader == B
    assert rank({A: lost(rounds(9e9), 3), B: rounds(200, seed=2)}, QUIET).leader == A
    assert rank({A: lost(rounds(9e9), 4)}, QUIET).leader is None
    assert rank({A: np.empty(0)}, QUIET).leader is None


def test_noise_floor_is_the_farthest_end_of_the_twins_intervals():
    host = {A: rounds(100, seed=1), Label("a", "local"): rounds(400, seed=2)}
    twin = {Label("a-twin", "star"): rounds(100, seed=3)}
    twin[Label("a-twin", "local")] = rounds(300, seed=4)
    got = noise_floor(host, twin)
    assert got.times == pytest.approx(1 / got.ratio["local"].low)
    assert got.ratio["local"].value == pytest.approx(0.75, rel=0.03) and got.times > 1.3


@pytest.mark.parametrize("missing", [4, 12])
def test_noise_floor_is_unknown_where_the_twin_lacks_rounds(missing):
    got = noise_floor({A: rounds(1)}, {Label("t", "star"): lost(rounds(1, seed=2), missing)})
    assert got.times is None and got.ratio == {"star": None}


def test_noise_floor_is_unknown_from_fewer_than_six_rounds():
    got = noise_floor({A: rounds(1, n=5)}, {Label("t", "star"): rounds(1, n=5, seed=2)})
    assert got.times is None and got.ratio["star"].value == pytest.approx(1, rel=0.05)


def said(steps_s, *, floor=QUIET, sla="PASS", profile=STANDARD, failed=()):
    return verdict(rank(steps_s, floor), sla, profile, failed)


LEAD = {A: rounds(300, seed=1), B: rounds(200, seed=2), C: rounds(100, seed=3)}


def test_clear_when_everything_speaks_for_it():
    assert said(LEAD) == "CLEAR"


@pytest.mark.parametrize("sla", ["UNDECIDED", "FAIL"])
def test_undecided_when_the_leader_is_not_shown_to_keep_the_target(sla):
    assert said(LEAD, sla=sla) == "UNDECIDED"


def test_indicative_when_the_profile_allows_no_more():
    assert said(LEAD, profile=PROFILES["demo"]) == "INDICATIVE"


def test_indicative_when_the_noise_floor_is_unknown():
    assert said(LEAD, floor=Floor({}, None)) == "INDICATIVE"


def test_undecided_when_the_lead_is_within_the_noise_floor():
    assert said(LEAD, floor=Floor({}, 1.7)) == "UNDECIDED"


@pytest.mark.parametrize(
    ("missing", "word"), [(3, "CLEAR"), (4, "UNDECIDED"), (7, "UNDECIDED"), (12, "UNDECIDED")]
)
def test_undecided_while_a_host_that_the_gate_let_through_is_not_compared(missing, word):
    # The protocol asks for 75 % complete pairs: what was seen of it so seldom may be the better.
    steps_s = {**LEAD, C: lost(LEAD[C], missing)}
    assert said(steps_s) == word
    assert said(steps_s, failed=["d"]) == word  # another host that was excluded changes nothing


def test_undecided_while_a_strategy_is_not_compared_unless_the_gate_left_one_host():
    own = Label("a", "local")
    steps_s = {A: LEAD[A], own: lost(rounds(100, seed=4), 12)}
    assert said({**steps_s, B: LEAD[B]}) == "UNDECIDED"
    assert said(steps_s, failed=["b"]) == "INDICATIVE"
    assert said(steps_s) == "UNDECIDED"


def test_indicative_when_rounds_are_too_few_for_the_correction():
    seven = {label: values[:7] for label, values in LEAD.items()}
    more = {Label(f"d{k}", "star"): rounds(50, seed=5 + k)[:7] for k in range(3)}
    ranking = rank({**seven, **more}, QUIET)
    assert all(pair.told_apart and pair.beyond_noise for pair in ranking.pairs)
    assert all(pair.p_holm > 0.05 for pair in ranking.pairs)
    assert verdict(ranking, "PASS", STANDARD) == "INDICATIVE"


@pytest.mark.parametrize(("count", "word"), [(6, "INDICATIVE"), (8, "INDICATIVE"), (9, "CLEAR")])
def test_a_session_cut_short_is_not_clear_whatever_its_profile(count, word):
    # One comparison: with p = .031 even six rounds would pass the test alone.
    assert said({label: LEAD[label][:count] for label in (A, B)}) == word
    assert said({A: LEAD[A][:count]}, failed=["b"]) == word


def test_undecided_when_one_option_is_as_fast():
    assert said({**LEAD, B: rounds(301, seed=2)}) == "UNDECIDED"


def test_undecided_when_no_other_host_could_be_compared():
    alone = {A: LEAD[A], Label("a", "local"): rounds(100, seed=3), B: lost(LEAD[B], 12)}
    assert said(alone) == "UNDECIDED"
    assert said(alone, failed=["c"]) == "UNDECIDED"  # b may keep the target, and be faster


def test_where_the_gate_left_one_host_its_strategies_may_be_alike():
    alike = {A: rounds(300, seed=1), Label("a", "local"): rounds(301, seed=2)}
    assert said(alike, failed=["b"]) == "INDICATIVE"
    assert said(alike) == "UNDECIDED"


def test_a_single_option_is_chosen_by_the_gate_alone():
    assert said({A: LEAD[A]}, failed=["b"]) == "CLEAR"
    assert said({A: LEAD[A]}, failed=["b"], profile=PROFILES["demo"]) == "INDICATIVE"


def test_nothing_measured_is_undecided():
    assert said({}) == said({A: lost(LEAD[A], 12)}) == "UNDECIDED"


def test_no_short_profile_may_say_clear():
    assert PROFILES["demo"] == Profile(6, "INDICATIVE", "INDICATIVE")
    assert PROFILES["quick"] == Profile(6, "INDICATIVE", "INDICATIVE", fail_below=0.5)
    assert PROFILES["standard"] == Profile(12, "CLEAR", "CLEAR")
    for profile in PROFILES.values():
        assert (profile.strongest == "CLEAR") == (profile.rounds >= 12)
