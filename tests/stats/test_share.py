import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats as oracle

from homeport.stats import block_share


def singles(hits, n):
    return np.arange(n) < hits, np.random.default_rng(hits).permutation(n)


@pytest.mark.parametrize(("hits", "n"), [(8, 400), (40, 1000), (500, 1000), (970, 1000)])
def test_independent_samples_give_clopper_and_pearsons_interval(hits, n):
    got = block_share(*singles(hits, n))
    exact = oracle.binomtest(hits, n).proportion_ci(0.95, method="exact")
    assert got.value == hits / n
    assert (got.low, got.high) == pytest.approx(exact, rel=0.02)


@pytest.mark.parametrize(("n", "bound"), [(10, 0.2589), (299, 0.00997), (600, 0.004980)])
def test_none_seen_is_bounded_by_the_rule_of_three(n, bound):
    got = block_share(np.zeros(n, bool), np.arange(n) // 5)
    assert (got.value, got.low) == (0.0, 0.0)
    assert got.high == pytest.approx(bound, abs=1e-4)


def test_all_seen_is_the_mirror_of_none_seen():
    none = block_share(np.zeros(80, bool), np.arange(80))
    every = block_share(np.ones(80, bool), np.arange(80))
    assert (every.low, every.high) == pytest.approx((1 - none.high, 1.0))


def test_unseen_hits_that_would_come_in_pairs_halve_the_sample():
    paired = block_share(np.zeros(600, bool), np.arange(600), unseen_effect=2.0)
    assert paired.high == pytest.approx(1 - 0.05 ** (1 / 300)) and paired.design_effect == 2.0


@given(st.integers(0, 30), st.integers(30, 400), st.integers(1, 40))
def test_interval_holds_the_share_and_has_width(hits, n, size):
    got = block_share(np.arange(n) % n < hits, np.arange(n) // size)
    assert 0 <= got.low <= got.value <= got.high <= 1
    assert got.high - got.low > 0


@given(st.integers(60, 2000), st.integers(1, 4), st.floats(1, 2))
def test_a_few_hits_never_give_a_better_bound_than_none(n, hits, unseen):
    spread = np.zeros(n, bool)
    spread[np.linspace(0, n - 1, hits).astype(int)] = True
    blocks = np.arange(n) * 12 // n
    how = {"tail": 0.05, "unseen_effect": unseen}
    none = block_share(np.zeros(n, bool), blocks, **how)
    assert block_share(spread, blocks, **how).high >= none.high
    assert block_share(~spread, blocks, **how).low <= 1 - none.high


def test_clustered_hits_widen_the_interval():
    blocks = np.repeat(np.arange(12), 50)
    together = block_share(np.arange(600) < 40, blocks)
    apart = block_share(np.arange(600) % 15 == 0, blocks)
    assert together.value == apart.value
    assert together.high - together.low > 3 * (apart.high - apart.low)
    assert together.design_effect > 20 > 2 > apart.design_effect


def test_clustering_known_from_elsewhere_counts():
    hits, blocks = np.arange(600) % 60 == 0, np.repeat(np.arange(12), 50)
    free, bound = block_share(hits, blocks), block_share(hits, blocks, least_effect=4.0)
    assert bound.design_effect == 4.0 and bound.high > free.high and bound.low < free.low


def test_fewer_blocks_say_less_at_the_same_design_effect():
    hits = np.arange(600) % 20 == 0
    many = block_share(hits, np.arange(600) // 10, least_effect=3.0)
    few = block_share(hits, np.arange(600) // 150, least_effect=3.0)
    assert few.high - few.low > 1.2 * (many.high - many.low)


def test_one_sided_bounds_are_narrower_than_an_interval():
    hits, blocks = singles(30, 1000)
    bound, interval = block_share(hits, blocks, tail=0.05), block_share(hits, blocks)
    exact = oracle.binomtest(30, 1000).proportion_ci(0.90, method="exact")
    assert (bound.low, bound.high) == pytest.approx(exact, rel=0.02)
    assert interval.low < bound.low and bound.high < interval.high


def test_a_single_block_says_next_to_nothing():
    got = block_share(np.arange(100) < 30, np.zeros(100, int))
    assert got.low < 0.05 and got.high > 0.9


def test_nothing_measured_gives_no_value():
    got = block_share(np.empty(0, bool), np.empty(0, int))
    assert np.isnan(got.value) and got.n == 0
