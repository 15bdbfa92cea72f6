"""The figures of a candidate are those of the right rows."""

import math

import numpy as np
import pytest
from decide import planted

from homeport.metrics import Measurement


def of(decision, host):
    return next(c for c in decision.candidates if c.host == host)


def values(recorded, host, metric, **where):
    """The values of one metric on a host after warm-up, as they lie in the store."""
    rows = recorded.values(metric)
    rows = rows[(rows["host"] == host) & (rows["phase"] == "loaded")]
    for column, value in where.items():
        rows = rows[rows[column] == value]
    return np.sort(rows["value"].to_numpy(dtype=float))


def nearest_rank(ordered, q):
    return ordered[math.ceil(q * len(ordered)) - 1]


@pytest.mark.parametrize("host", ["hk", "la"])
def test_percentiles_of_a_site_are_those_of_its_loaded_samples(usual, usual_recorded, host):
    (site,) = of(usual, host).by_site
    for quantiles, metric in ((site.rtt_ms, "rtt_ms"), (site.step_ms, "step_ms")):
        seen = values(usual_recorded, host, metric)
        assert quantiles.p50.value == nearest_rank(seen, 0.5)
        assert quantiles.p99.value == nearest_rank(seen, 0.99)
        assert quantiles.p50.n == quantiles.p99.n == len(seen)
        assert quantiles.p50.low < quantiles.p50.value < quantiles.p50.high


@pytest.mark.parametrize("k", [0, 1])
def test_a_strategy_is_shown_with_its_own_synchronisations(usual, usual_recorded, k):
    shown = of(usual, "hk").by_strategy[k]
    for spread, metric in ((shown.wire_ms, "sync_wire_ms"), (shown.wait_ms, "sync_wait_ms")):
        seen = values(usual_recorded, "hk", metric, strategy=shown.strategy.topology)
        assert spread.p50.value == nearest_rank(seen, 0.5) and spread.p50.n == len(seen)
        assert spread.p95.value == nearest_rank(seen, 0.95)
        assert spread.p50.low <= spread.p50.value <= spread.p50.high


def synchronisation(**facts):
    usual = {"source": "guangdong", "target": "hk", "strategy": "star", "time_s": 1.79e9}
    return Measurement(metric="sync_wire_ms", value=9e5, **{**usual, **facts})


@pytest.mark.parametrize("facts", [{"rank": 0, "phase": "loaded"}, {"rank": 1, "phase": "warmup"}])
def test_warm_up_and_the_learners_own_clock_are_no_wire_time(judged, usual, facts):
    got = judged(lambda s: planted.add(s, "hk", 2, *[synchronisation(**facts)] * 50))
    assert of(got, "hk").by_strategy == of(usual, "hk").by_strategy


def test_fewer_than_six_rounds_give_no_interval_of_the_wire(judged):
    got = judged(lambda s: planted.remove(s, "tokyo", notebook="20_training", rounds=(6,)))
    wire = of(got, "tokyo").by_strategy[0].wire_ms.p50
    assert wire.value > 140 and wire.low is wire.high is None


def test_only_the_background_judges_steps(judged, usual):
    pair = {"source": "guangdong", "target": "hk", "phase": "loaded", "time_s": 1.79e9}
    slow = [Measurement(metric="step_ms", value=900.0, **pair)] * 100
    got = judged(lambda s: planted.add(s, "hk", 2, *slow))
    assert of(got, "hk").sla == of(usual, "hk").sla
    assert of(got, "hk").by_site == of(usual, "hk").by_site


def test_loss_is_that_of_the_loaded_link_where_it_has_echoes_enough(usual, usual_recorded):
    assert of(usual, "hk").by_site[0].loss.n == len(values(usual_recorded, "hk", "rtt_ms")) == 720


def test_loss_is_that_of_all_echoes_where_the_loaded_link_has_few(judged):
    def two_rounds(folder):
        planted.remove(folder, "la", notebook="background", rounds=(3, 4, 5, 6))

    (site,) = of(judged(two_rounds), "la").by_site
    assert site.rtt_ms.p50.n == 120 and site.loss.n == 520


def test_unanswered_echoes_and_steps_are_slower_than_any_other(judged):
    tokyo = of(judged(tokyo={"loss": 0.4}, la={"loss": 0.4}), "tokyo")
    (site,) = tokyo.by_site
    assert site.loss.low < 0.4 < site.loss.high
    for quantiles in (site.rtt_ms, site.step_ms):
        assert quantiles.p99.value is quantiles.p99.high is None
        assert quantiles.p50.low < quantiles.p50.value < 1000
    # Even the lower end went unanswered: known to exceed the slowest echo, and the deadline.
    assert 142 < site.rtt_ms.p99.low < 150
    assert 142 < tokyo.sla.p99_ms.low <= 1000 and tokyo.sla.p99_ms.value is None


def test_a_host_that_never_answers_is_known_to_be_beyond_the_deadline_and_no_more(judged):
    got = judged(tokyo={"loss": 1.0, "jitter_ms": 0.0}, la={"loss": 0.4})
    tokyo = of(got, "tokyo")
    (site,) = tokyo.by_site
    assert tokyo.sla.verdict == "FAIL"
    assert site.loss.value == 1.0 and site.loss.low < 1.0
    assert site.rtt_ms.p50.value is site.rtt_ms.p50.low is None and site.rtt_ms.p50.n == 360
