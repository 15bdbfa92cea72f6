"""From the events of ranks to the records of a part."""

import pytest

from homeport.errors import GangFailed
from homeport.metrics import Failure, Measurement
from homeport.params import Strategy
from homeport.train.ledger import Ledger


def update(rank, number, *, strategy="star", checksum=7, **values):
    facts = {"wall_ms": 40.0, "syncs": 2, **values}
    if checksum is not None:
        facts["parameter_checksum"] = checksum
    return {
        "event": "update",
        "rank": rank,
        "strategy": strategy,
        "update": number,
        "time_s": 50.0 + number,
        "values": facts,
        "syncs": [[1.0, 30.0], [2.0, 31.0]],
        "returns": [9.0] if rank else [],
    }


def played(spec, *events, strategy="star", rate=1234.5):
    ledger = Ledger(spec)
    ledger.took({"event": "began", "rank": 0, "strategy": strategy, "time_s": 50.0})
    for event in events:
        ledger.took(event)
    end = {"event": "ended", "rank": 0, "strategy": strategy, "time_s": 56.0, "rate": rate}
    ledger.took(end)
    return ledger


def of(result, metric):
    return [r for r in result.records if isinstance(r, Measurement) and r.metric == metric]


def test_a_rank_carries_its_place_and_the_learner_the_hosts_name(gang):
    spec = gang(host="hk-twin")
    result = played(spec, update(0, 0), update(1, 0), update(2, 0)).result()
    walls = of(result, "wall_ms")
    assert [(m.rank, m.source, m.target) for m in walls] == [
        (0, "hk-twin", "hk-twin"),
        (1, "guangdong", "hk-twin"),
        (2, "guangdong", "hk-twin"),
    ]


def test_the_first_updates_are_warm_up(gang):
    spec = gang(warmup_updates=2)
    result = played(spec, *(update(1, n) for n in range(4))).result()
    assert [(m.sequence, m.phase) for m in of(result, "wall_ms")] == [
        (0, "warmup"),
        (1, "warmup"),
        (2, "loaded"),
        (3, "loaded"),
    ]


def test_synchronisations_count_through_the_updates_and_only_at_workers(gang):
    result = played(gang(), *(update(r, n) for n in range(2) for r in (0, 1))).result()
    waits = of(result, "sync_wait_ms")
    assert [(m.rank, m.sequence, m.value) for m in waits] == [
        (1, 0, 1.0),
        (1, 1, 2.0),
        (1, 2, 1.0),
        (1, 3, 2.0),
    ]
    assert [m.value for m in of(result, "sync_wire_ms")] == [30.0, 31.0, 30.0, 31.0]


def test_throughput_and_load_carry_the_start_of_the_strategy(gang):
    ledger = played(gang(), update(0, 0))
    result = ledger.result()
    (rate,), (load,) = of(result, "throughput_steps_s"), of(result, "load_s")
    assert (rate.value, rate.time_s, rate.phase, rate.rank) == (1234.5, 50.0, "loaded", None)
    assert (rate.source, rate.target, rate.strategy) == ("hk", "hk", "star")
    assert (load.value, load.time_s, load.source) == (6.0, 50.0, "guangdong")
    assert [(one.strategy, one.start_s, one.end_s) for one in result.loads] == [("star", 50, 56)]


def test_each_site_is_loaded_once_however_many_workers_it_holds(gang):
    spec = gang(workers=("guangdong", "slow", "guangdong"))
    assert [m.source for m in of(played(spec).result(), "load_s")] == ["guangdong", "slow"]


def test_ranks_that_diverge_are_a_failure_without_throughput(gang):
    events = [update(r, n, checksum=7 if (r, n) != (2, 1) else 8) for r in range(3) for n in (0, 1)]
    result = played(gang(), *events).result()
    (failure,) = [r for r in result.records if isinstance(r, Failure)]
    assert failure.kind == "GangFailed" and failure.place == "guangdong"
    assert "rank 2" in failure.reason and "after update 1" in failure.reason
    assert not of(result, "throughput_steps_s")
    assert len(of(result, "wall_ms")) == 6


def test_updates_without_a_synchronisation_are_not_compared(gang):
    events = [update(1, 0, checksum=None), update(2, 0, checksum=None), update(1, 1), update(2, 1)]
    result = played(gang(), *events, update(0, 1)).result()
    assert len(of(result, "throughput_steps_s")) == 1


def test_a_failure_keeps_what_was_measured_and_ends_the_load(gang):
    ledger = Ledger(gang())
    ledger.took({"event": "began", "rank": 0, "strategy": "star", "time_s": 50.0})
    ledger.took(update(1, 0))
    ledger.failed("star", GangFailed(2, "guangdong", "silent", (0, 1)), time_s=53.0)
    result = ledger.result()
    (failure,) = [r for r in result.records if isinstance(r, Failure)]
    assert (failure.strategy, failure.source, failure.target) == ("star", "guangdong", "hk")
    assert "ranks [0, 1] failed after it" in failure.reason
    assert of(result, "load_s")[0].value == 3.0 and of(result, "wall_ms")
    assert not of(result, "throughput_steps_s")


def test_two_strategies_are_kept_apart(gang):
    spec = gang(strategies=(Strategy(topology="star"), Strategy(topology="local", sync_every=4)))
    ledger = played(spec, update(1, 0), update(0, 0))
    ledger.took({"event": "began", "rank": 0, "strategy": "local/4", "time_s": 60.0})
    ledger.took(update(1, 0, strategy="local/4", checksum=1))
    end = {"event": "ended", "rank": 0, "strategy": "local/4", "time_s": 66.0, "rate": 99.0}
    ledger.took(end)
    assert ledger.ended == 2
    rates = {m.strategy: m.value for m in of(ledger.result(), "throughput_steps_s")}
    assert rates == {"star": 1234.5, "local/4": 99.0}
    assert [m.sequence for m in of(ledger.result(), "sync_wait_ms")] == [0, 1, 0, 1]


@pytest.mark.parametrize("kind", ["spawned", "joined", "exit", "hello", "something new"])
def test_other_events_leave_no_record(gang, kind):
    ledger = Ledger(gang())
    ledger.took({"event": kind, "rank": 1})
    assert ledger.result().records == []
