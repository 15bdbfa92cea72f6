"""What a strategy exchanges, with which weight, and when it asks whether to stop."""

import pytest
import torch

from homeport.params import Strategy
from homeport.train import ppo
from homeport.train.clocks import WireCounter
from homeport.train.exchange import Synced, Times
from homeport.train.spec import Job
from homeport.train.strategy import Trainee, Training

from .conftest import make_gang

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


def played(strategy, rank, stop_after, **changes):
    spec = make_gang(strategies=(strategy,), **changes)
    job = Job(**spec.job(spec.strategies))
    exchange, events = Recorder(stop_after), []
    trainee = Trainee(job, strategy, rank)
    emit = lambda event, **facts: events.append((event, facts))  # noqa: E731
    Training(trainee, exchange, emit, WireCounter("lo")).run()
    return trainee, exchange, [facts for event, facts in events if event == "update"], events


def test_star_gives_its_gradient_at_every_step_and_asks_once_an_update():
    _, exchange, updates, _ = played(Strategy(topology="star"), 1, stop_after=2 * SYNCS)
    assert exchange.weights == [32] * 2 * SYNCS
    assert exchange.asked == [False, False, False, True] * 2
    assert [facts["values"]["payload_tx_bytes"] for facts in updates] == [40, 40]
    assert [facts["values"]["payload_rx_bytes"] for facts in updates] == [80, 80]
    assert updates[0]["syncs"] == [[100.0, pytest.approx(300.0)]] * SYNCS


def test_a_learner_that_only_learns_follows_the_gradients_without_weight():
    _, exchange, updates, events = played(Strategy(topology="star"), 0, stop_after=2 * SYNCS)
    assert exchange.weights == [0] * 2 * SYNCS and not any(v.any() for v in exchange.vectors)
    assert exchange.asked == [False, False, False, True] * 2
    assert [event for event, _ in events] == ["began", "update", "update", "ended"]
    assert {"counted_tx_bytes", "counted_rx_bytes"} < set(updates[0]["values"])


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
