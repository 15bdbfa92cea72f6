import numpy as np
import pytest

from homeport.cost import usd_per_hour_at, usd_per_million_steps
from homeport.stats import Estimate


def test_a_thousand_steps_a_second_for_36_cents_an_hour_cost_ten_cents_a_million():
    got = usd_per_million_steps(0.36, Estimate(1000.0, 500.0, 2000.0, 6))
    assert (got.value, got.low, got.high) == pytest.approx((0.10, 0.05, 0.20))
    assert got.n == 6


def test_a_throughput_without_an_interval_gives_a_cost_without_one():
    got = usd_per_million_steps(0.36, Estimate(1000.0, -np.inf, np.inf, 3))
    assert got.value == pytest.approx(0.10) and (got.low, got.high) == (-np.inf, np.inf)


def test_a_free_host_costs_nothing():
    got = usd_per_million_steps(0.0, Estimate(1000.0, 900.0, 1100.0, 6))
    assert (got.value, got.low, got.high) == (0.0, 0.0, 0.0)


def test_a_negative_price_is_refused():
    with pytest.raises(ValueError, match="0 or more"):
        usd_per_million_steps(-0.1, Estimate(1000.0, 900.0, 1100.0, 6))


def test_the_price_that_ties_is_the_cost_turned_round():
    cost = usd_per_million_steps(0.36, Estimate(1234.0, 1.0, 2.0, 6)).value
    assert usd_per_hour_at(cost, 1234.0) == pytest.approx(0.36)
