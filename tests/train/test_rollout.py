"""The short road through a rollout ends where SB3's own does."""

import gymnasium
import numpy as np
import pytest
import torch
from stable_baselines3.common.vec_env import DummyVecEnv
from torch import nn

from homeport.errors import BadParameter
from homeport.params import Workload
from homeport.train import ppo
from homeport.train.policies import NumpyPolicy, TorchPolicy, rollout_policy
from homeport.train.rollout import Collector

DISCRETE, BOX = "CartPole-v1", "Pendulum-v1"


def workload(env_id=DISCRETE, **changes):
    sizes = {"observation_size": 4, "actions": 2, "n_envs": 3, "n_steps": 40}
    learning = {"batch_size": 60, "n_epochs": 1, "gamma": 0.98}
    return Workload(env_id=env_id, **{**sizes, **learning, **changes})


def envs_of(work, max_steps=None):
    return [gymnasium.make(work.env_id, max_episode_steps=max_steps) for _ in range(work.n_envs)]


def collected(work, *, activation=nn.Tanh, max_steps=None, torch_policy=False, seed=3):
    """A model that has trained a little (so that no weight is near zero), and its collector."""
    envs = envs_of(work, max_steps)
    model = ppo.build(work, envs, seed=seed)
    if activation is not nn.Tanh:
        model.policy_kwargs["activation_fn"] = activation
        model._setup_model()
    collector = Collector(model, envs, np.random.default_rng(seed))
    if torch_policy:
        collector.policy = TorchPolicy(model.policy)
    collector.collect()
    model.train()
    return model, collector


def evaluated(model):
    """What torch makes of the buffer's observations and actions."""
    buffer = model.rollout_buffer
    flat = [x.reshape(-1, *x.shape[2:]) for x in (buffer.observations, buffer.actions)]
    observations, actions = map(torch.as_tensor, flat)
    if isinstance(model.action_space, gymnasium.spaces.Discrete):
        actions = actions.long().flatten()
    with torch.no_grad():
        values, log_probs, _ = model.policy.evaluate_actions(observations, actions)
    shape = buffer.values.shape
    return values.numpy().reshape(shape), log_probs.numpy().reshape(shape)


@pytest.mark.parametrize("env_id", [DISCRETE, BOX])
@pytest.mark.parametrize("activation", [nn.Tanh, nn.ReLU])
def test_values_and_log_probs_are_those_of_evaluate_actions(env_id, activation):
    model, collector = collected(workload(env_id), activation=activation)
    assert type(collector.policy) is NumpyPolicy
    collector.collect()
    values, log_probs = evaluated(model)
    np.testing.assert_allclose(model.rollout_buffer.values, values, rtol=1e-6, atol=1e-6)
    np.testing.assert_allclose(model.rollout_buffer.log_probs, log_probs, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("torch_policy", [False, True], ids=["numpy", "torch"])
@pytest.mark.parametrize("env_id", [DISCRETE, BOX])
def test_the_buffer_is_the_one_sb3_fills_from_the_same_transitions(env_id, torch_policy):
    work = workload(env_id)
    model, _ = collected(work, max_steps=15)
    envs = envs_of(work, max_steps=15)
    ours = Collector(model, envs, np.random.default_rng(8))
    if torch_policy:
        ours.policy = TorchPolicy(model.policy)
    ours.collect()
    wanted = {name: getattr(model.rollout_buffer, name).copy() for name in _ARRAYS}
    assert wanted["episode_starts"].sum() > work.n_envs, "no episode was cut off"

    stock(model, work, seed=8, actions=wanted["actions"])
    for name in _ARRAYS:
        theirs = getattr(model.rollout_buffer, name)
        np.testing.assert_allclose(wanted[name], theirs, rtol=1e-5, atol=2e-5, err_msg=name)


_ARRAYS = ("observations", "actions", "rewards", "episode_starts", "values", "log_probs")
_ARRAYS += ("advantages", "returns")


def stock(model, work, *, seed, actions):
    """SB3's own collect_rollouts, on environments seeded alike, made to take these actions."""
    vector = DummyVecEnv([lambda env=env: env for env in envs_of(work, max_steps=15)])
    draws = np.random.default_rng(seed)
    vector._seeds = [int(draws.integers(2**31)) for _ in range(work.n_envs)]
    model.set_env(vector)
    _, callback = model._setup_learn(10**6)
    replay = iter(torch.as_tensor(actions))

    def forward(observations, deterministic=False):
        action = next(replay)
        if isinstance(model.action_space, gymnasium.spaces.Discrete):
            action = action.flatten()
        values, log_probs, _ = model.policy.evaluate_actions(observations, action)
        return action, values, log_probs

    model.policy.forward = forward
    model.collect_rollouts(vector, callback, model.rollout_buffer, work.n_steps)


@pytest.mark.parametrize("env_id", [DISCRETE, BOX])
def test_actions_follow_the_policy(env_id):
    """Of many draws at one observation, the frequencies (or moments) are the policy's."""
    model, collector = collected(workload(env_id))
    with torch.no_grad():
        model.policy.action_net.bias += torch.tensor([0.4, -0.6])[
            : len(model.policy.action_net.bias)
        ]
    collector.policy.refresh()
    one = np.repeat(collector._now[:1], 20_000, axis=0)
    drawn = collector.policy.act(one, np.random.default_rng(1))
    dist = model.policy.get_distribution(torch.as_tensor(one[:1])).distribution
    if env_id == DISCRETE:
        probabilities = dist.probs.detach().numpy()[0]
        assert np.bincount(drawn) / len(drawn) == pytest.approx(probabilities, abs=0.015)
    else:
        assert drawn.mean() == pytest.approx(dist.mean.item(), abs=0.03)
        assert drawn.std() == pytest.approx(dist.stddev.item(), abs=0.03)


def test_environments_get_actions_within_bounds_and_the_buffer_what_was_drawn():
    work = workload(BOX)
    model = ppo.build(work, envs := envs_of(work), seed=0)
    seen = []
    for env in envs:
        step = env.step
        env.step = lambda action, step=step: seen.append(action) or step(action)
    with torch.no_grad():
        model.policy.log_std += 1.0
    Collector(model, envs, np.random.default_rng(0)).collect()
    assert all(envs[0].action_space.contains(action) for action in seen)
    assert np.abs(model.rollout_buffer.actions).max() > envs[0].action_space.high.max()


def test_the_same_seed_gives_the_same_rollout_and_another_seed_another():
    def observations(seed):
        model, _ = collected(workload(), seed=seed)
        return model.rollout_buffer.observations

    assert np.array_equal(observations(1), observations(1))
    assert not np.array_equal(observations(1), observations(2))


def test_episode_returns_are_those_of_the_environment_not_of_the_bootstrap():
    """In CartPole every step gives 1, so a return is the length, cut off or not."""
    work = workload(n_steps=200)
    model = ppo.build(work, envs := envs_of(work, max_steps=12), seed=0)
    returns = Collector(model, envs, np.random.default_rng(0)).collect()
    ends = model.rollout_buffer.episode_starts[1:].sum()
    assert len(returns) in (ends, ends + 1, ends + 2, ends + 3)
    assert max(returns) == 12.0 and min(returns) >= 8.0
    assert model.rollout_buffer.rewards.max() != 1.0, "no value was added where time was up"


def test_a_policy_that_numpy_does_not_know_runs_in_torch():
    model, _ = collected(workload(), activation=nn.ELU)
    assert type(rollout_policy(model.policy)) is TorchPolicy


def test_an_environment_with_discrete_observations_runs_in_torch():
    work = workload("FrozenLake-v1")
    model = ppo.build(work, envs := envs_of(work), seed=0)
    collector = Collector(model, envs, np.random.default_rng(0))
    assert type(collector.policy) is TorchPolicy
    collector.collect()
    values, log_probs = evaluated(model)
    assert np.allclose(model.rollout_buffer.values, values)
    assert np.allclose(model.rollout_buffer.log_probs, log_probs)


def test_images_are_refused_by_name():
    class Picture(gymnasium.Env):
        observation_space = gymnasium.spaces.Box(0, 255, (40, 40, 3), np.uint8)
        action_space = gymnasium.spaces.Discrete(2)

    gymnasium.register("Picture-v0", Picture)
    with pytest.raises(BadParameter, match="Picture-v0"):
        ppo.make_envs(workload("Picture-v0"), 1)
