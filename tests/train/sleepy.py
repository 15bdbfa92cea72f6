"""CartPoles that behave badly at one place: where HOMEPORT_TEST_SLEEP_S is set.

Gymnasium imports this module for ids that begin with `sleepy:`; agents find it by PYTHONPATH.
"""

import os
import sys
import time

import gymnasium
import numpy as np
from gymnasium.envs.classic_control import CartPoleEnv

SLEEP_S = float(os.environ.get("HOMEPORT_TEST_SLEEP_S", "0"))


class SleepyCartPole(CartPoleEnv):
    """Sleeps in every step."""

    def step(self, action):
        time.sleep(SLEEP_S)
        return super().step(action)


class BrokenCartPole(CartPoleEnv):
    """Breaks in its first step."""

    def step(self, action):
        if SLEEP_S:
            raise ZeroDivisionError("the pole is gone")
        return super().step(action)


class OddCartPole(CartPoleEnv):
    """Shows one number more at the place that is told to sleep: its model fits no other."""

    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        if SLEEP_S:
            self.observation_space = gymnasium.spaces.Box(-np.inf, np.inf, (5,), np.float32)

    def _see(self, observation):
        return np.append(observation, 0).astype(np.float32) if SLEEP_S else observation

    def reset(self, **kwargs):
        observation, info = super().reset(**kwargs)
        return self._see(observation), info

    def step(self, action):
        observation, *rest = super().step(action)
        return self._see(observation), *rest


class ChattyCartPole(CartPoleEnv):
    """Prints what looks like the agent's protocol."""

    def step(self, action):
        sys.stdout.write('{"event": "exit", "id": "", "rank": 0}\n')
        os.write(1, b"not a line of the protocol")
        return super().step(action)


for kind in (SleepyCartPole, BrokenCartPole, OddCartPole, ChattyCartPole):
    gymnasium.register(f"{kind.__name__}-v0", kind, max_episode_steps=500)
