"""Ranks that die, stop, or are merely slow: the root is named, nothing hangs, nothing is left."""

import os
import signal
import statistics
import time

import pytest

from homeport.errors import NotFound
from homeport.metrics import Failure, Measurement
from homeport.params import Strategy
from homeport.train import launch, run_gang

from .conftest import SLEEPY, make_gang, other_address, small, until_gone

pytestmark = pytest.mark.fault
PLACE = {0: "hk", 1: "guangdong", 2: "slow"}
SLEEPING = small(env_id=SLEEPY, n_envs=1, n_steps=32, batch_size=32, n_epochs=2)


def gang(**changes):
    """A gang whose rank 2 sleeps in its environments, so that the others wait for it."""
    facts = {"workers": ("guangdong", "slow"), "workload": SLEEPING, "max_updates": 200}
    return make_gang(**{**facts, "timeout_s": 1.5, **changes})


@pytest.fixture(autouse=True)
def _short_grace(monkeypatch):
    """Ranks of one machine say what they saw at once."""
    monkeypatch.setattr(launch, "_GRACE_S", 0.7)


class Saboteur:
    """Does something to a rank's process when an event comes in for the nth time."""

    def __init__(self, rank, signal_, event, nth=1, of=None):
        self._rank, self._signal, self._left = rank, signal_, nth
        self._event, self._of = event, rank if of is None else of
        self.pids, self.done_at = {}, None

    def __call__(self, event):
        if event["event"] == "spawned":
            self.pids[event["rank"]] = event["pid"]
            self.all_pids = [*getattr(self, "all_pids", []), event["pid"]]
        if event["event"] == self._event and event.get("rank") == self._of:
            self._left -= 1
            if self._left == 0:
                os.kill(self.pids[self._rank], self._signal)
                self.done_at = time.monotonic()


def failures(result):
    return [r for r in result.records if isinstance(r, Failure)]


def measured(result, metric):
    return [r for r in result.records if isinstance(r, Measurement) and r.metric == metric]


@pytest.mark.parametrize("rank", [0, 1, 2])
@pytest.mark.parametrize(
    ("event", "nth"),
    [("spawned", 1), ("joined", 1), ("update", 3)],
    ids=["before it has joined", "before the first exchange", "while training"],
)
def test_a_killed_rank_is_named_at_once(agents, rank, event, nth):
    """Rank 1 is killed while it waits in an exchange, rank 2 in its environment, 0 in either."""
    saboteur = Saboteur(rank, signal.SIGKILL, event, nth)
    result = run_gang(agents, gang(timeout_s=15.0), saboteur)
    assert time.monotonic() - saboteur.done_at < 5
    (failure,) = failures(result)
    assert failure.kind == "GangFailed" and failure.strategy == "star"
    assert failure.place == PLACE[rank]
    assert f"rank {rank} at {PLACE[rank]}" in failure.reason and "SIGKILL" in failure.reason
    assert not measured(result, "throughput_steps_s")
    assert bool(measured(result, "wall_ms")) == (event == "update")
    assert not until_gone(saboteur.all_pids)


@pytest.mark.parametrize("rank", [0, 1])
def test_a_stopped_rank_is_named_by_those_who_wait_for_it(agents, rank):
    saboteur = Saboteur(rank, signal.SIGSTOP, "update", 2)
    result = run_gang(agents, gang(), saboteur)
    assert time.monotonic() - saboteur.done_at < 10
    (failure,) = failures(result)
    assert failure.place == PLACE[rank]
    assert f"rank {rank} at {PLACE[rank]}: silent for longer" in failure.reason
    assert measured(result, "wall_ms") and measured(result, "load_s")
    assert not until_gone(saboteur.all_pids)


@pytest.mark.parametrize("event", ["spawned", "joined", "began"])
@pytest.mark.parametrize("rank", [0, 1])
def test_a_rank_stopped_before_it_trains_is_named(agents, rank, event):
    """Silence has to end the gang at every step of meeting, whoever is waiting for what."""
    saboteur = Saboteur(rank, signal.SIGSTOP, event, of=0 if event == "began" else rank)
    result = run_gang(agents, gang(), saboteur)
    assert time.monotonic() - saboteur.done_at < 10
    (failure,) = failures(result)
    assert failure.place == PLACE[rank] and f"rank {rank} " in failure.reason
    assert not until_gone(saboteur.all_pids)


def test_after_a_failure_the_other_strategies_get_a_new_gang(agents):
    strategies = (Strategy(topology="star"), Strategy(topology="local"))
    saboteur = Saboteur(1, signal.SIGKILL, "update", 2)
    spec = make_gang(strategies=strategies, max_updates=60)
    result = run_gang(agents, spec, saboteur)
    assert [f.strategy for f in failures(result)] == ["star"]
    (rate,) = measured(result, "throughput_steps_s")
    assert rate.strategy == "local" and len(measured(result, "ready_ms")) == 2
    assert len(saboteur.all_pids) == 6


def test_a_failure_in_the_last_strategy_keeps_the_first(agents):
    strategies = (Strategy(topology="star"), Strategy(topology="local"))
    seen = []

    def later(event):
        seen.append(event["event"])
        if event["event"] == "spawned" and event["rank"] == 2:
            later.pid = event["pid"]
        if seen.count("began") == 2 and event["event"] == "update" and later.pid:
            os.kill(later.pid, signal.SIGKILL)
            later.pid = None

    result = run_gang(agents, make_gang(strategies=strategies, max_updates=60), later)
    assert [f.strategy for f in failures(result)] == ["local"]
    assert [m.strategy for m in measured(result, "throughput_steps_s")] == ["star"]
    assert {load.strategy for load in result.loads} == {"star", "local"}


def test_a_rank_ten_times_slower_is_no_failure(agents):
    result = run_gang(agents, gang(max_updates=5))
    assert not failures(result)
    collect = {
        rank: statistics.median(m.value for m in measured(result, "collect_ms") if m.rank == rank)
        for rank in (1, 2)
    }
    assert collect[2] > 10 * collect[1]
    assert len(measured(result, "throughput_steps_s")) == 1


def test_an_error_in_an_environment_is_the_ranks_own(agents):
    work = small(env_id="sleepy:BrokenCartPole-v0")
    (failure,) = failures(run_gang(agents, gang(workload=work)))
    assert failure.place == "slow"
    assert "rank 2 at slow: ZeroDivisionError: the pole is gone" in failure.reason


def test_a_rank_whose_model_is_unlike_the_others_is_named_before_any_exchange(agents):
    work = small(env_id="sleepy:OddCartPole-v0")
    result = run_gang(agents, gang(workload=work))
    (failure,) = failures(result)
    assert failure.place == "slow"
    assert "rank 2 at slow: its initial parameters differ" in failure.reason
    assert not measured(result, "wall_ms")


def test_an_unknown_environment_is_a_failure_of_every_strategy(agents):
    strategies = (Strategy(topology="star"), Strategy(topology="local"))
    spec = make_gang(workload=small(env_id="NoSuchEnv-v9"), strategies=strategies)
    result = run_gang(agents, spec)
    assert [f.strategy for f in failures(result)] == ["star", "local"]
    assert all("NoSuchEnv" in f.reason for f in failures(result))


@pytest.mark.skipif(other_address() is None, reason="this machine has only loopback addresses")
def test_a_loopback_address_among_others_is_refused_before_the_group_forms(agents):
    seen = []
    result = run_gang(agents, make_gang(workers=("abroad", "abroad")), seen.append)
    (failure,) = failures(result)
    assert failure.place == "hk" and "loopback address 127.0.0.1" in failure.reason
    assert not [e for e in seen if e["event"] == "joined"]


@pytest.mark.skipif(other_address() is None, reason="this machine has only loopback addresses")
def test_gangs_meet_on_the_interface_that_holds_the_address(agents):
    assert agents["abroad"].facts["interface"] != "lo"
    spec = make_gang(host="abroad", learner="abroad", workers=("abroad", "abroad"))
    result = run_gang(agents, spec)
    assert not failures(result) and measured(result, "throughput_steps_s")


@pytest.fixture
def quick(monkeypatch):
    """Agents that do not answer are given up on after a second."""
    monkeypatch.setattr(launch, "_KILL_S", 1.0)
    monkeypatch.setattr(launch, "_PORT_S", 1.0)


def test_a_frozen_agent_is_named_and_ended_with_its_ranks(agents, spare, quick):
    mine = agents | {"osaka": spare}
    os.kill(spare.facts["pid"], signal.SIGSTOP)
    learns = make_gang(host="osaka", learner="osaka")
    (failure,) = failures(run_gang(mine, learns))
    assert failure.place == "osaka" and "did not answer" in failure.reason
    (failure,) = failures(run_gang(mine, gang(workers=("guangdong", "osaka"))))
    assert failure.place == "osaka" and "rank 2 at osaka" in failure.reason
    assert not spare.alive and not until_gone([spare.facts["pid"]])
    assert not failures(run_gang(agents, make_gang()))


def test_an_agent_that_ends_takes_its_ranks_along_and_is_named_from_then_on(agents, spare):
    pids = []

    def stop_it(event):
        if event["event"] == "spawned":
            pids.append(event["pid"])
        if event["event"] == "update" and spare.alive:
            spare.stop()

    mine = agents | {"osaka": spare}
    spec = make_gang(workers=("guangdong", "osaka"), max_updates=500)
    (failure,) = failures(run_gang(mine, spec, stop_it))
    assert failure.place == "osaka" and "the agent is gone" in failure.reason
    assert not until_gone(pids) and len(pids) == 3
    began = time.monotonic()
    (failure,) = failures(run_gang(mine, spec))
    assert time.monotonic() - began < 5
    assert failure.place == "osaka" and "rank 2 at osaka" in failure.reason


def test_a_refusal_names_the_place_that_refused(agents):
    """An agent of another version may not know what is asked of it."""
    spec = make_gang()
    object.__setattr__(spec, "timeout_s", -1.0)
    (failure,) = failures(run_gang(agents, spec))
    assert "refused" in failure.reason and "timeout_s" in failure.reason
    assert agents["hk"].alive and agents["guangdong"].alive


def test_a_place_without_an_agent_is_a_mistake_of_the_caller(agents):
    with pytest.raises(NotFound, match="no agent called 'atlantis'"):
        run_gang(agents, make_gang(workers=("atlantis",)))
