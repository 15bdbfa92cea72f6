"""What the intervals cover, in worlds where the truth is known."""

import numpy as np
import pytest
from judge import worlds
from scipy import stats as scipy_stats

from homeport.stats import block_quantile, hodges_lehmann, signed_rank_p, time_blocks

TIME_S = np.arange(worlds.QUARTER_HOUR) / worlds.HZ


def covered(low, high, truth):
    return np.mean((low <= truth) & (truth <= high))


@pytest.mark.parametrize("tail", [3, 30])
def test_hodges_lehmann_of_12_rounds_covers_what_it_says(tail):
    differences = 0.2 + np.random.default_rng(1).standard_t(tail, (4000, 12))
    got = hodges_lehmann(differences)
    assert 0.93 <= covered(got.low, got.high, 0.2) <= 0.98


def test_hodges_lehmann_of_6_rounds_covers_what_it_says():
    got = hodges_lehmann(np.random.default_rng(2).standard_t(4, (4000, 6)))
    assert 0.95 <= covered(got.low, got.high, 0.0) <= 0.985


def test_a_bootstrap_in_its_place_would_not():
    differences = np.random.default_rng(3).standard_t(3, (400, 8))
    got = scipy_stats.bootstrap(
        (differences,), np.median, axis=1, method="BCa", n_resamples=499, rng=4
    ).confidence_interval
    assert covered(got.low, got.high, 0.0) < 0.93


@pytest.fixture(scope="module", params=[worlds.queueing, worlds.busy], ids=lambda w: w.__name__)
def series(request):
    """Many quarters of an hour of one world, and its true percentiles."""
    rng = np.random.default_rng(5)
    long = request.param(rng, (400, 20_000))
    return request.param(rng, (500, worlds.QUARTER_HOUR)), {
        q: np.quantile(long, q) for q in (0.95, 0.99)
    }


def coverage(rows, truth, q, blocks):
    got = [block_quantile(row, blocks, q) for row in rows]
    return covered(np.array([e.low for e in got]), np.array([e.high for e in got]), truth)


@pytest.mark.parametrize("q", [0.95, 0.99])
def test_percentiles_of_a_quarter_hour_of_5_hz_cover_what_they_say(series, q):
    rows, truth = series
    assert coverage(rows, truth[q], q, time_blocks(TIME_S)) >= 0.90


def test_samples_taken_as_independent_would_not(series):
    rows, truth = series
    assert coverage(rows[:200], truth[0.95], 0.95, np.arange(worlds.QUARTER_HOUR)) < 0.75


def test_hosts_measured_in_turn_look_different_no_more_often_than_chance_allows():
    # Two identical hosts under one slow drift; the second is measured right after the first in
    # every round, or after all of the first one's rounds.
    rng = np.random.default_rng(6)
    drift = worlds.waves(rng, (3000, 24), 0.9)
    noisy = drift + 0.5 * rng.standard_normal(drift.shape)
    order = rng.permuted(np.tile([0, 1], (3000, 12, 1)), axis=2)
    slots = np.take_along_axis(noisy.reshape(3000, 12, 2), order, axis=2)
    in_turn = signed_rank_p(slots[..., 0] - slots[..., 1])
    one_by_one = signed_rank_p(noisy[:, :12] - noisy[:, 12:])
    assert np.mean(in_turn <= 0.05) <= 0.06
    assert np.mean(one_by_one <= 0.05) >= 0.15
