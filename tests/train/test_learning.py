"""Gangs learn: CartPole is solved with gradients averaged every step and with local updates."""

import statistics

import pytest

from homeport.metrics import Failure, Measurement
from homeport.params import Strategy, load_study
from homeport.train import run_gang

from .conftest import make_gang

pytestmark = pytest.mark.long

STEPS = 100_000
# The workload of the demo: what is measured there is a training that learns.
WORKLOAD = load_study("demo").workload
UPDATES = STEPS // (2 * WORKLOAD.n_envs * WORKLOAD.n_steps)  # of two workers


@pytest.mark.parametrize("seed", [1, 2, 3])
@pytest.mark.parametrize("topology", ["star", "local"])
def test_cartpole_is_solved_within_100_000_steps(agents, topology, seed):
    strategy = Strategy(topology=topology)
    spec = make_gang(seed=seed, workload=WORKLOAD, strategies=(strategy,), max_updates=UPDATES)
    records = run_gang(agents, spec).records
    assert not [r for r in records if isinstance(r, Failure)]
    measured = [r for r in records if isinstance(r, Measurement)]
    steps = sum(m.value for m in measured if m.metric == "steps_used")
    assert STEPS * 0.99 < steps <= STEPS
    episodes = [m for m in measured if m.metric == "episode_return"]
    last = [m.value for m in sorted(episodes, key=lambda m: m.time_s)][-20:]
    assert statistics.mean(last) >= 400
