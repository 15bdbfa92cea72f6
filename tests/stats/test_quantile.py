import numpy as np
import pytest
from scipy import stats as oracle

from homeport.stats import block_quantile

INF = np.inf


def ends(got):
    return got.low, got.high


def test_value_is_the_smallest_with_that_share_at_or_below():
    values = np.array([36.0] * 95 + [400.0] * 5)
    blocks = np.arange(100) // 10
    assert block_quantile(values, blocks, 0.5).value == 36.0
    assert block_quantile(values, blocks, 0.95).value == 36.0
    assert block_quantile(values, blocks, 0.99).value == 400.0


def test_share_that_is_met_exactly_needs_no_higher_value():
    values = np.array([40.0] * 18 + [48.0, 60.0])
    assert block_quantile(values, np.arange(20) // 2, 0.95).value == 48.0


@pytest.mark.parametrize("q", [0.5, 0.95, 0.99])
def test_interval_of_independent_values_is_near_the_exact_binomial_one(q):
    values = np.random.default_rng(1).permutation(4000).astype(float)  # value = rank
    got = block_quantile(values, np.arange(4000), q)
    exact = oracle.binom(4000, q).interval(0.95)
    width = exact[1] - exact[0]
    assert ends(got) == pytest.approx(exact, abs=0.15 * width)
    assert got.high - got.low == pytest.approx(width, rel=0.1)


def test_clustered_values_have_a_wider_interval_and_say_so():
    rng = np.random.default_rng(2)
    level = np.repeat(rng.normal(0, 1, 20), 100)
    values, blocks = 30 + level + rng.normal(0, 0.1, 2000), np.repeat(np.arange(20), 100)
    clustered = block_quantile(values, blocks, 0.5)
    naive = block_quantile(values, np.arange(2000), 0.5)
    assert clustered.high - clustered.low > 4 * (naive.high - naive.low)
    assert clustered.design_effect > 30 > 2 > naive.design_effect


def test_constant_series_has_no_width_because_no_variation_was_seen():
    got = block_quantile(np.full(200, 36.0), np.arange(200) // 20, 0.5)
    assert (got.value, got.low, got.high) == (36.0, 36.0, 36.0)


def test_p99_of_few_values_has_no_upper_end():
    got = block_quantile(np.arange(300.0), np.arange(300) // 30, 0.99)
    assert got.value == 296.0 and got.high == INF and np.isfinite(got.low)


@pytest.mark.parametrize("n", [300, 360])
def test_low_percentile_of_few_values_has_no_lower_end(n):
    rows = np.random.default_rng(7).permutation(n).astype(float)
    assert block_quantile(rows, np.arange(n), 0.01).low == -INF
    assert np.isfinite(block_quantile(np.arange(900.0), np.arange(900), 0.01).low)


def test_unanswered_is_above_everything_and_its_percentile_unbounded():
    values = np.array([30.0] * 970 + [INF] * 30)
    mixed = np.random.default_rng(3).permutation(values)
    got = block_quantile(mixed, np.arange(1000) // 50, 0.99)
    assert (got.value, got.high) == (INF, INF)
    assert block_quantile(mixed, np.arange(1000) // 50, 0.5).value == 30.0


def test_few_unanswered_leave_the_percentile_known_but_not_its_upper_end():
    values = np.random.default_rng(4).permutation(np.r_[np.linspace(30, 31, 993), [INF] * 7])
    got = block_quantile(values, np.arange(1000) // 50, 0.99)
    assert got.value < 31 and got.low > 30 and got.high == INF


def test_too_few_blocks_give_no_interval():
    values, blocks = np.random.default_rng(5).normal(size=900), np.arange(900) // 100
    assert ends(block_quantile(values, blocks, 0.5)) == (-INF, INF)
    assert np.isfinite(ends(block_quantile(values, blocks, 0.5, min_blocks=6))).all()


def test_nothing_measured_gives_no_value():
    got = block_quantile(np.empty(0), np.empty(0, int), 0.99)
    assert np.isnan(got.value) and got.n == 0


def test_whole_milliseconds_keep_the_clustering_in_sight():
    # 7 blocks at 30 ms and 13 at 31: at or below the median is everything, below it is not.
    values = np.repeat([30.0] * 7 + [31.0] * 13, 50)
    got = block_quantile(values, np.repeat(np.arange(20), 50), 0.5)
    assert got.value == 31.0 and got.design_effect > 20 and got.low == 30.0
