import numpy as np

from homeport.stats import Estimate, trend_p


def test_an_unbounded_end_stays_unbounded_on_another_scale():
    got = Estimate(np.log(2.0), -np.inf, np.inf, 5).map(np.exp)
    assert (got.value, got.low, got.high, got.n) == (2.0, -np.inf, np.inf, 5)


def test_a_falling_change_turns_the_interval_round():
    got = Estimate(2.0, 1.0, 4.0, 6).map(lambda x: 8 / x, falling=True)
    assert (got.value, got.low, got.high) == (4.0, 2.0, 8.0)


def test_a_falling_change_turns_an_unbounded_end_round_too():
    got = Estimate(2.0, 1.0, np.inf, 6).map(lambda x: 8 / x, falling=True)
    assert (got.low, got.high) == (-np.inf, 8.0)


def test_a_batch_is_changed_element_by_element():
    ends = np.array([0.0, -np.inf])
    got = Estimate(np.array([1.0, 2.0]), ends, np.array([2.0, np.inf]), 6).map(np.exp)
    assert got.low.tolist() == [1.0, -np.inf] and got.high[1] == np.inf


def test_a_steady_rise_is_no_chance_and_a_constant_says_nothing():
    assert trend_p(np.arange(6.0)) < 0.005
    assert trend_p(np.full(6, 2.0)) == trend_p(np.array([1.0, 2.0])) == 1.0
    assert trend_p(np.array([3.0, 1.0, 2.0, 4.0, 2.5, 1.5])) > 0.5
