"""Collecting experience: environments stepped in one process, into SB3's own rollout buffer.

What ends up in the buffer is what `OnPolicyAlgorithm.collect_rollouts` of stable-baselines3 2.9
would have put there for the same transitions; only the road is shorter (no copies of
observations, no Monitor, no callbacks, no torch in the step).
"""

import math

import gymnasium
import numpy as np
import torch
from gymnasium import spaces
from stable_baselines3 import PPO

from homeport.train.policies import rollout_policy


class Collector:
    """Steps the environments of a model, and fills its rollout buffer once per `collect`."""

    def __init__(self, model: PPO, envs: list[gymnasium.Env], rng: np.random.Generator):
        """`rng` draws the environments' seeds and every action."""
        self.model, self.envs, self.rng = model, envs, rng
        self.policy = rollout_policy(model.policy)
        model.rollout_buffer.reset()
        self._now = model.rollout_buffer.observations[0].copy()
        for i, env in enumerate(envs):
            self._now[i] = env.reset(seed=int(rng.integers(2**31)))[0]
        self._starts = np.ones(len(envs), dtype=np.float32)
        self._totals = [0.0] * len(envs)

    def collect(self) -> list[float]:
        """Fill the buffer with n_steps of every environment; returns of the episodes that ended."""
        buffer = self.model.rollout_buffer
        buffer.reset()
        self.policy.refresh()
        finished, cut = [], []
        for step in range(self.model.n_steps):
            buffer.observations[step] = self._now
            buffer.episode_starts[step] = self._starts
            actions = self.policy.act(self._now, self.rng)
            buffer.actions[step] = actions.reshape(buffer.actions[step].shape)
            for i, action in enumerate(self._playable(actions)):
                self._step(step, i, action, finished, cut)
        self._bootstrap(cut)
        self._judge()
        self.model.num_timesteps += self.model.n_steps * len(self.envs)
        return finished

    def _playable(self, actions: np.ndarray):
        """Actions as the environments take them: plain ints, or clipped to the bounds of a Box."""
        space = self.model.action_space
        if isinstance(space, spaces.Discrete):
            return actions.tolist()
        if isinstance(space, spaces.Box):
            return np.clip(actions, space.low, space.high)
        return actions

    def _step(self, step: int, i: int, action, finished: list, cut: list) -> None:
        env = self.envs[i]
        now, reward, terminated, truncated, _ = env.step(action)
        self.model.rollout_buffer.rewards[step, i] = reward
        self._totals[i] += float(reward)
        over = terminated or truncated
        if over:
            if not terminated:
                cut.append((step, i, now))
            finished.append(self._totals[i])
            self._totals[i] = 0.0
            now = env.reset()[0]
        self._starts[i] = over
        self._now[i] = now

    def _bootstrap(self, cut: list) -> None:
        """Add the value of where an episode was cut off by its time limit (SB3 issue 633)."""
        if not cut:
            return
        values = self.policy.values(np.stack([last for _, _, last in cut]))
        for (step, i, _), value in zip(cut, values, strict=True):
            self.model.rollout_buffer.rewards[step, i] += self.model.gamma * value

    def _judge(self) -> None:
        buffer = self.model.rollout_buffer
        shape = buffer.values.shape
        rows = math.prod(shape)
        values, log_probs = self.policy.judge(
            buffer.observations.reshape(rows, *buffer.observations.shape[2:]),
            buffer.actions.reshape(rows, -1),
        )
        buffer.values[:] = values.reshape(shape)
        buffer.log_probs[:] = log_probs.reshape(shape)
        buffer.pos, buffer.full = shape[0], True
        last = torch.from_numpy(self.policy.values(self._now))
        buffer.compute_returns_and_advantage(last, self._starts)
