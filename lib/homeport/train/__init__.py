"""A small distributed PPO between places: what a candidate host is worth to a learner.

`start_agents` makes places warm, `run_gang` trains on them and returns records. Nothing imported
here loads torch or stable-baselines3.
"""

from homeport.train.launch import run_gang
from homeport.train.spec import GangResult, GangSpec, Load
from homeport.train.warm import Agent, start_agents

__all__ = ["Agent", "GangResult", "GangSpec", "Load", "run_gang", "start_agents"]
