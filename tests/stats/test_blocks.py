import numpy as np
import pytest

from homeport.stats import block_count, design_effect, run_length, time_blocks


def spans(*, count, length_s, every_s, hz=5):
    return np.concatenate([k * every_s + np.arange(0, length_s, 1 / hz) for k in range(count)])


@pytest.mark.parametrize("count", [1, 3, 6, 10, 12, 24])
def test_there_are_at_least_ten_blocks_and_none_spans_a_pause(count):
    time_s = spans(count=count, length_s=12, every_s=60)
    blocks = time_blocks(time_s)
    assert 10 <= block_count(blocks) <= 10 + count
    for block in np.unique(blocks):
        assert np.ptp(time_s[blocks == block]) < 12


def test_twelve_spans_of_load_are_twelve_blocks():
    blocks = time_blocks(spans(count=12, length_s=12, every_s=30))
    assert block_count(blocks) == 12 and set(np.bincount(blocks)) == {60}


def test_long_stretch_is_cut_into_equal_neighbours():
    blocks = time_blocks(np.arange(100) / 5)
    assert blocks.tolist() == sorted(blocks.tolist())
    assert set(np.bincount(blocks)) == {10}


def test_order_of_the_samples_does_not_matter():
    time_s = spans(count=3, length_s=10, every_s=20)
    shuffled = np.random.default_rng(1).permutation(len(time_s))
    assert (time_blocks(time_s[shuffled]) == time_blocks(time_s)[shuffled]).all()


def test_no_samples_have_no_blocks():
    assert time_blocks(np.empty(0)).tolist() == []


def test_equal_blocks_give_the_variance_of_their_means():
    rng = np.random.default_rng(2)
    hits = np.repeat(rng.random(12) < 0.4, 50) & (rng.random(600) < 0.9)
    blocks = np.repeat(np.arange(12), 50)
    means = hits.reshape(12, 50).mean(axis=1)
    between = means.var(ddof=1) / 12
    alone = hits.mean() * (1 - hits.mean()) / 600
    assert design_effect(hits, blocks) == pytest.approx(between / alone)
    assert design_effect(hits, blocks) > 20


def test_independent_hits_have_an_effect_near_one_and_never_below():
    rng = np.random.default_rng(3)
    blocks = np.repeat(np.arange(20), 100)
    effects = [design_effect(rng.random(2000) < 0.1, blocks) for _ in range(200)]
    assert min(effects) == 1.0 and np.mean(effects) < 1.3


@pytest.mark.parametrize("hits", [np.zeros(40, bool), np.ones(40, bool), np.empty(0, bool)])
def test_where_all_are_alike_no_effect_can_be_told(hits):
    assert design_effect(hits, np.arange(len(hits)) // 4) == 1.0


def test_one_block_tells_no_effect():
    assert design_effect(np.arange(40) < 20, np.zeros(40, int)) == 1.0


def test_highest_values_that_come_singly_have_runs_of_one():
    singly = np.tile([1.0, 0, 0, 0, 0, 0, 0, 0, 0, 0], 30) + np.arange(300) * 1e-6
    assert run_length(singly, np.zeros(300, int)) == 1.0


def test_highest_values_that_stay_for_five_have_runs_of_five():
    fives = np.tile([1.0] * 5 + [0.0] * 45, 6)
    assert run_length(fives, np.zeros(300, int)) == pytest.approx(0.9 * 5)


def test_runs_end_with_their_block():
    values = np.concatenate([[0.0] * 9, [1.0], [1.0], [0.0] * 9])
    assert run_length(values, np.repeat([0, 1], 10)) == 1.0


def test_slow_drift_between_blocks_is_not_a_run():
    rng = np.random.default_rng(4)
    values = np.repeat(np.arange(10.0), 60) + rng.normal(0, 0.01, 600)
    assert run_length(values, np.repeat(np.arange(10), 60)) < 1.2


def test_ties_at_the_top_are_one_run():
    plateau = np.tile([2.0] * 10 + [1.0] * 40, 6)
    assert run_length(plateau, np.repeat(np.arange(6), 50)) == pytest.approx(0.8 * 10)


def test_constant_series_has_no_highest_values():
    assert run_length(np.full(50, 3.0), np.zeros(50, int)) == 1.0
