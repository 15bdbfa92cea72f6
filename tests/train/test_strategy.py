"""What a strategy exchanges, with which weight, and when it asks whether to stop."""

import pytest
import torch

from homeport.params import Strategy
from homeport.train import clocks, ppo
from homeport.train.exchange import Synced, Times
from homeport.train.spec import Job
from homeport.train.strategy import Trainee, Training

from .conftest import make_gang

STAR = Strategy(topology="star")
SYNCS = 4  # of one update of the small workload in star


class Recorder:
    """An exchange that keeps what it is given and answers with a mean of its own."""

    payload_bytes = (10, 20)

    def __init__(self, stop_after):
        self.vectors, self.weights, self.asked = [], [], []
        self._stop_after = stop_after

    def mean(self, vector, weight, over):
        self.vectors.append(vector.clone())
        self.weights.append(weight)
        self.asked.append(over.__name__ != "_never")
        stop = len(self.weights) >= self._stop_after
        return Synced(torch.full_like(vector, 0.25), stop, Times(0.1, 0.2, 0.3))


class Counter:
    """Counts 7 bytes sent and 9 received at every look."""

    def since(self):
        return {"counted_tx_bytes": 7, "counted_rx_bytes": 9}


def job_of(strategy=STAR, **changes):
    spec = make_gang(strategies=(strategy,), **changes)
    return Job(**spec.job(spec.strategies))


def played(strategy, rank, stop_after, *, counter=None, **changes):
    exchange, events = Recorder(stop_after), []
    trainee = Trainee(job_of(strategy, **changes), strategy, rank)
    emit = lambda event, **facts: events.append((event, facts))  # noqa: E731
    Training(trainee, exchange, emit, counter).run()
    return trainee, exchange, [facts for event, facts in events if event == "update"], events


def test_star_gives_its_gradient_at_every_step_and_asks_once_an_update():
    _, exchange, updates, _ = played(STAR, 1, stop_after=2 * SYNCS)
    assert exchange.weights == [32] * 2 * SYNCS
    assert exchange.asked == [False, False, False, True] * 2
    assert [facts["values"]["payload_tx_bytes"] for facts in updates] == [40, 40]
    assert [facts["values"]["payload_rx_bytes"] for facts in updates] == [80, 80]
    assert updates[0]["syncs"] == [[100.0, pytest.approx(300.0)]] * SYNCS


def test_a_learner_that_only_learns_follows_the_gradients_without_weight():
    _, exchange, _, events = played(STAR, 0, stop_after=2 * SYNCS)
    assert exchange.weights == [0] * 2 * SYNCS and not any(v.any() for v in exchange.vectors)
    assert exchange.asked == [False, False, False, True] * 2
    assert [event for event, _ in events] == ["began", "update", "update", "ended"]


@pytest.mark.parametrize("rank", [0, 1])
def test_local_takes_the_mean_of_the_workers_parameters(rank):
    """The learner that does not collect gets the mean but adds nothing of its own to it."""
    local = Strategy(topology="local", sync_every=2)
    trainee, exchange, updates, _ = played(local, rank, stop_after=2)
    assert exchange.weights == ([0, 0] if rank == 0 else [2 * 64, 2 * 64])
    assert all(exchange.asked)
    mean = ppo.flat_parameters(trainee.model)
    assert torch.equal(mean, torch.full_like(mean, 0.25))
    assert [facts["update"] for facts in updates] == ([1, 3] if rank == 0 else [0, 1, 2, 3])
    assert ["parameter_checksum" in facts["values"] for facts in updates] == (
        [True, True] if rank == 0 else [False, True, False, True]
    )


def test_what_local_gives_are_its_parameters_after_training():
    local = Strategy(topology="local")
    trainee, exchange, _, _ = played(local, 1, stop_after=1)
    fresh = ppo.flat_parameters(Trainee(trainee.job, local, 1).model)
    given = exchange.vectors[0]
    assert given.shape == fresh.shape and not torch.equal(given, fresh)
    assert (given - fresh).abs().max() < 0.1


def test_a_learner_that_collects_weighs_like_the_others():
    _, exchange, _, _ = played(Strategy(topology="local"), 0, stop_after=1, learner_collects=True)
    assert exchange.weights == [64]


@pytest.mark.parametrize(
    ("workers", "counting"),
    [
        (["guangdong", "guangdong"], [0, 1]),
        (["guangdong", "osaka", "guangdong", "osaka"], [0, 1, 2]),
        (["hk", "guangdong"], [0, 2]),
    ],
)
def test_one_rank_counts_the_bytes_of_a_place(workers, counting):
    job = job_of(workers=tuple(workers))
    assert [rank for rank in range(len(job.places)) if job.counts_bytes(rank)] == counting


@pytest.mark.parametrize("rank", [0, 1])
def test_bytes_are_counted_for_every_update_where_a_counter_is(rank):
    _, _, updates, _ = played(STAR, rank, 2 * SYNCS, counter=Counter())
    seen = [facts["values"] for facts in updates]
    assert [one["counted_tx_bytes"] for one in seen] == [7, 7]
    assert [one["counted_rx_bytes"] for one in seen] == [9, 9]
    _, _, updates, _ = played(STAR, rank, SYNCS)
    assert "counted_tx_bytes" not in updates[0]["values"]
    assert updates[0]["values"]["payload_tx_bytes"] == 40


def test_counting_bytes_is_neither_on_the_wire_nor_collecting(monkeypatch):
    """Time stands still but for a look at the counter, which takes ten seconds."""
    done = []

    class Hand:
        now = 100.0

    class Slow(Counter):
        def since(self):
            Hand.now += 10
            done.append("look")
            return super().since()

    def mean(self, vector, weight, over, mean=Recorder.mean):
        began = Hand.now
        synced = mean(self, vector, weight, over)
        done.append("synchronised")
        return Synced(synced.mean, synced.stop, Times(wire_s=Hand.now - began))

    monkeypatch.setattr(clocks.time, "perf_counter", lambda: Hand.now)
    monkeypatch.setattr(Recorder, "mean", mean)
    _, _, updates, _ = played(STAR, 1, stop_after=2 * SYNCS, counter=Slow())
    assert done == ["look", *(["synchronised"] * SYNCS + ["look"]) * 2]
    stages = ("wall_ms", "update_ms", "collect_ms", "wire_ms", "wait_ms")
    seen = [[facts["values"][stage] for stage in stages] for facts in updates]
    assert seen == [[0, 0, 0, 0, 0], [10_000, 10_000, 0, 0, 0]]
