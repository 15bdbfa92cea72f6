"""Gangs learn: CartPole is solved with gradients averaged every step and with local updates."""

import statistics

import pytest

from homeport.metrics import Failure, Measurement
from homeport.params import Strategy
from homeport.train import run_gang

from .conftest import make_gang, small

pytestmark = pytest.mark.long

# As in RL Baselines3 Zoo's hyperparameters for CartPole-v1, without its falling rates.
CARTPOLE_LEARN = small(
    n_envs=8,
    n_steps=32,
    batch_size=256,
    n_epochs=20,
    learning_rate=1e-3,
    gamma=0.98,
    gae_lambda=0.8,
    clip_range=0.2,
)
STEPS = 100_000
UPDATES = STEPS // (2 * 8 * 32)  # of two workers


@pytest.mark.parametrize("seed", [1, 2, 3])
@pytest.mark.parametrize("topology", ["star", "local"])
def test_cartpole_is_solved_within_100_000_steps(agents, topology, seed):
    strategy = Strategy(topology=topology)
    spec = make_gang(
        seed=seed, workload=CARTPOLE_LEARN, strategies=(strategy,), max_updates=UPDATES
    )
    records = run_gang(agents, spec).records
    assert not [r for r in records if isinstance(r, Failure)]
    measured = [r for r in records if isinstance(r, Measurement)]
    steps = sum(m.value for m in measured if m.metric == "steps_used")
    assert STEPS * 0.99 < steps <= STEPS
    episodes = [m for m in measured if m.metric == "episode_return"]
    last = [m.value for m in sorted(episodes, key=lambda m: m.time_s)][-20:]
    assert statistics.mean(last) >= 400
