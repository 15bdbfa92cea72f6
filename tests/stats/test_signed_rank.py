import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as npst
from scipy import stats as oracle

from homeport.stats import hodges_lehmann, ratio, signed_rank_p, smallest_p, typical

finite = st.floats(-1e3, 1e3, allow_nan=False).map(lambda x: round(x, 3))


@pytest.mark.parametrize("n", [3, 6, 12, 20, 24])
def test_p_is_scipys_exact_one_where_nothing_ties(n):
    rng = np.random.default_rng(n)
    rows = rng.normal(0.4, 1, (40, n))
    expected = [oracle.wilcoxon(row, method="exact").pvalue for row in rows]
    assert signed_rank_p(rows) == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("n", [4, 7, 10])
def test_p_with_ties_and_zeros_is_that_of_all_permutations(n):
    rng = np.random.default_rng(n)
    for _ in range(20):
        row = rng.integers(-2, 4, n).astype(float)
        row[0] = 3.0  # never all zero
        every = oracle.PermutationMethod(n_resamples=np.inf)
        expected = oracle.wilcoxon(row, method=every).pvalue
        assert signed_rank_p(row) == pytest.approx(expected, abs=1e-12)


def test_p_of_tied_ranks_counts_every_choice_of_signs():
    sizes = np.array([1.0, 2.0, 2.0, 5.0])
    ranks = np.array([1.0, 2.5, 2.5, 4.0])
    row = sizes * [1, -1, 1, 1]
    sums = [ranks[np.array(signs) > 0].sum() for signs in itertools.product([-1, 1], repeat=4)]
    tail = np.mean(np.array(sums) >= 7.5)
    assert signed_rank_p(row) == pytest.approx(2 * tail)


def test_differences_that_are_all_zero_say_nothing_and_never_nan():
    same = np.zeros(8)
    assert signed_rank_p(same) == 1.0
    got = hodges_lehmann(same)
    assert (got.value, got.low, got.high) == (0.0, 0.0, 0.0)


@pytest.mark.parametrize("n", [6, 9, 12, 16])
def test_interval_holds_exactly_the_shifts_that_the_test_does_not_reject(n):
    d = np.random.default_rng(n).normal(1, 2, n)
    got, step = hodges_lehmann(d), 1e-7
    for end, outwards in ((got.low, -step), (got.high, step)):
        assert signed_rank_p(d - (end + outwards)) <= 0.05
        assert signed_rank_p(d - (end - outwards)) > 0.05


def test_estimate_is_the_median_of_all_pairwise_means():
    d = np.array([1.0, 2.0, 10.0])
    means = [1, 2, 10, 1.5, 5.5, 6]
    assert hodges_lehmann(d).value == np.median(means)


@pytest.mark.parametrize("n", [1, 2, 5])
def test_no_interval_is_made_up_from_fewer_than_six(n):
    got = hodges_lehmann(np.full(n, 3.0))
    assert got.value == 3.0 and got.n == n
    assert (got.low, got.high) == (-np.inf, np.inf)


def test_six_pairs_give_the_whole_range():
    got = hodges_lehmann(np.array([4.0, 1.0, 2.0, 9.0, 3.0, 5.0]))
    assert (got.low, got.high) == (1.0, 9.0)


def test_nothing_measured_gives_no_value():
    got = hodges_lehmann(np.empty(0))
    assert np.isnan(got.value) and got.n == 0 and got.high == np.inf
    assert signed_rank_p(np.empty(0)) == 1.0


def test_an_incomplete_pair_is_refused():
    with pytest.raises(ValueError, match="without nan"):
        hodges_lehmann(np.array([1.0, np.nan, 2.0]))


def test_a_batch_is_judged_like_each_row_of_it():
    rows = np.random.default_rng(3).normal(size=(5, 4, 12))
    batch = hodges_lehmann(rows)
    assert batch.value.shape == (5, 4)
    for k in np.ndindex(5, 4):
        one = hodges_lehmann(rows[k])
        assert (batch.value[k], batch.low[k], batch.high[k]) == (one.value, one.low, one.high)
    assert signed_rank_p(rows).shape == (5, 4)
    assert signed_rank_p(rows)[2, 1] == signed_rank_p(rows[2, 1])


@given(npst.arrays(float, st.integers(6, 14), elements=finite), finite, st.floats(0.1, 10))
def test_shifting_and_scaling_the_data_shifts_and_scales_the_result(d, shift, scale):
    before, after = hodges_lehmann(d), hodges_lehmann(d * scale + shift)
    for end in ("value", "low", "high"):
        assert getattr(after, end) == pytest.approx(getattr(before, end) * scale + shift, abs=1e-6)


@given(npst.arrays(float, st.integers(1, 14), elements=finite))
def test_signs_turned_round_turn_the_interval_round_and_keep_p(d):
    one, other = hodges_lehmann(d), hodges_lehmann(-d)
    assert (other.low, other.high) == pytest.approx((-one.high, -one.low))
    assert signed_rank_p(d) == signed_rank_p(-d)
    assert one.low <= one.value <= one.high


@pytest.mark.parametrize("n", [1, 5, 6, 12])
def test_smallest_p_is_that_of_all_signs_alike(n):
    assert smallest_p(n) == pytest.approx(signed_rank_p(np.arange(1.0, n + 1)))


def test_typical_is_symmetric_in_ratio():
    got = typical(np.array([100.0, 200.0, 400.0, 100.0, 200.0, 400.0]))
    assert got.value == pytest.approx(200.0)
    assert got.value / got.low == pytest.approx(got.high / got.value)


def test_typical_of_few_keeps_its_ends_unbounded_rather_than_zero():
    assert typical(np.array([5.0, 6.0])).low == -np.inf


def test_a_measured_zero_is_smaller_than_anything_and_breaks_nothing():
    got = typical(np.array([0.0, 10.0, 11.0, 12.0, 13.0, 14.0]))
    assert np.isfinite([got.value, got.low, got.high]).all()
    assert got.low < 1e-6


def test_ratio_pairs_by_round_so_that_a_shared_slow_round_drops_out():
    shared = np.exp(np.random.default_rng(4).normal(0, 1, 12))
    ours, theirs = 300 * shared, 200 * shared
    got, p = ratio(ours, theirs)
    assert (got.value, got.low, got.high) == pytest.approx((1.5, 1.5, 1.5))
    assert p == pytest.approx(smallest_p(12))


def test_ratio_turned_round_is_the_inverse():
    rng = np.random.default_rng(5)
    a, b = rng.lognormal(size=(2, 12))
    (one, p), (other, q) = ratio(a, b), ratio(b, a)
    assert other.value == pytest.approx(1 / one.value)
    assert (other.low, other.high) == pytest.approx((1 / one.high, 1 / one.low))
    assert p == q
