"""Warm agents on this machine, started once, and gangs for them."""

import os
import time
from pathlib import Path

import pytest

from homeport.params import Strategy, Workload
from homeport.places import Local
from homeport.train import GangSpec, interfaces
from homeport.train.warm import Agent

SLEEPY = "sleepy:SleepyCartPole-v0"
SLEEP_S = 0.005  # per step at the place called slow


def small(**changes):
    """A CartPole workload of a few milliseconds an update."""
    sizes = {"n_envs": 4, "n_steps": 16, "batch_size": 32, "n_epochs": 2}
    facts = {"env_id": "CartPole-v1", "observation_size": 4, "actions": 2, "learning_rate": 1e-3}
    return Workload(**{**facts, **sizes, **changes})


def make_gang(**changes):
    """A GangSpec of a learner in hk and two workers in guangdong, over after six updates."""
    facts = {
        "seed": 7,
        "round": 1,
        "host": "hk",
        "learner": "hk",
        "workers": ("guangdong", "guangdong"),
        "workload": small(),
        "strategies": (Strategy(topology="star"),),
        "training_s": 1.0,
        "max_updates": 6,
    }
    return GangSpec(**{**facts, **changes})


def alive(pid):
    """Whether a process runs (a zombie does not)."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return False
    return stat.rsplit(")", 1)[1].split()[0] not in "ZX"


def until_gone(pids, seconds=2.0):
    """Wait a little for processes to end; those that still run."""
    ends = time.monotonic() + seconds
    while time.monotonic() < ends and any(map(alive, pids)):
        time.sleep(0.02)
    return [pid for pid in pids if alive(pid)]


@pytest.fixture
def gang():
    """`make_gang`."""
    return make_gang


def _start(places, **environment):
    """Agents with something more in their environment; they also find this folder's modules."""
    patch = pytest.MonkeyPatch()
    patch.setenv("PYTHONPATH", str(Path(__file__).parent), prepend=os.pathsep)
    for name, value in environment.items():
        patch.setenv(name, value)
    try:
        return {place.name: Agent(place) for place in places}
    finally:
        patch.undo()


def other_address():
    """An address of this machine that is not loopback; None where it has none."""
    held = (address for _, address in interfaces._addresses())
    return next((str(a) for a in held if a.version == 4 and not a.is_loopback), None)


@pytest.fixture(scope="session")
def agents():
    """Warm agents: hk and guangdong; slow, whose sleepy environments sleep; and, where this
    machine has an address that is not loopback, abroad at that."""
    places = [Local("hk"), Local("guangdong")]
    if address := other_address():
        places.append(Local("abroad", address))
    started = _start(places)
    started |= _start([Local("slow")], HOMEPORT_TEST_SLEEP_S=str(SLEEP_S))
    for agent in started.values():
        agent.wait_until_warm(90)
    yield started
    for agent in started.values():
        agent.stop()


@pytest.fixture
def spare():
    """An agent of its own, called osaka, that a test may break."""
    agent = Agent.start(Local("osaka"))
    yield agent
    agent.stop()
