"""Stages of an update, the end of a strategy, and bytes on the wire."""

import time

import pytest

from homeport.train import clocks
from homeport.train.clocks import Budget, UpdateClock, WireCounter
from homeport.train.exchange import Times


@pytest.fixture
def clock(monkeypatch):
    """A perf_counter that is set by hand: `clock.now` seconds."""

    class Hand:
        now = 100.0

    monkeypatch.setattr(clocks.time, "perf_counter", lambda: Hand.now)
    return Hand


def test_stages_are_measured_apart_and_averaging_is_updating(clock):
    update = UpdateClock(began=100.0)
    clock.now = 100.01
    update.collecting()
    clock.now = 100.31
    update.collected()
    update.syncs += [Times(0.1, 0.02, 0.05), Times(0.0, 0.02, 0.05)]
    clock.now = 100.81
    update.learned()
    stages = update.stages_ms(100.82)
    assert stages["wall_ms"] == pytest.approx(820)
    assert stages["collect_ms"] == pytest.approx(300)
    assert stages["wait_ms"] == pytest.approx(100)
    assert stages["wire_ms"] == pytest.approx(100)
    assert stages["update_ms"] == pytest.approx(310), "with 10 ms of reporting the one before"


def updates(budget, clock, seconds):
    """Run updates of `seconds` each until the budget is over; how many that took."""
    for count in range(1, 1000):
        clock.now += seconds
        over = budget.over()
        budget.update_done()
        if over:
            return count
    raise AssertionError("it never ends")


def test_training_seconds_begin_after_the_warm_up(clock):
    budget = Budget(training_s=10, warmup_updates=3)
    assert updates(budget, clock, 1.0) == 13
    assert budget.rate(500) == pytest.approx(500)


def test_at_least_two_updates_follow_the_warm_up_however_slow(clock):
    budget = Budget(training_s=1, warmup_updates=2)
    assert updates(budget, clock, 60.0) == 4
    assert budget.rate(600) == pytest.approx(10)


def test_a_slow_warm_up_does_not_count(clock):
    budget = Budget(training_s=10, warmup_updates=1)
    clock.now += 500
    budget.update_done()
    assert updates(budget, clock, 1.0) == 10
    assert budget.rate(7) == pytest.approx(7)


def test_without_a_warm_up_time_runs_from_the_start(clock):
    budget = Budget(training_s=5, warmup_updates=0)
    assert updates(budget, clock, 1.0) == 5


def test_a_number_of_updates_ends_it_too(clock):
    assert updates(Budget(0.001, 2, max_updates=7), clock, 1.0) == 7


def test_nothing_after_the_warm_up_is_no_rate(clock):
    budget = Budget(1, warmup_updates=2)
    budget.update_done()
    budget.update_done()
    assert budget.rate(500) is None


def test_bytes_are_those_since_the_last_look(monkeypatch):
    seen = iter([(1000, 50), (1700, 60), (1700, 90)])
    monkeypatch.setattr(clocks.interfaces, "read_bytes", lambda name: next(seen))
    counter = WireCounter("eth0")
    assert counter.since() == {"counted_tx_bytes": 700, "counted_rx_bytes": 10}
    assert counter.since() == {"counted_tx_bytes": 0, "counted_rx_bytes": 30}


def test_an_update_knows_when_it_began():
    assert UpdateClock(0.0).time_s == pytest.approx(time.time(), abs=5)
