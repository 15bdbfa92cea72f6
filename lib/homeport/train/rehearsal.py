"""One tiny PPO, built and trained, so that whatever a rank needs is loaded before it is forked."""

import gc

import torch

from homeport.params import Strategy, Workload
from homeport.train import rank as _loaded_for_the_fork  # noqa: F401
from homeport.train.clocks import WireCounter
from homeport.train.exchange import Alone
from homeport.train.spec import Job
from homeport.train.strategy import Trainee, Training

_TINY = Workload(
    env_id="CartPole-v1",
    observation_size=4,
    actions=2,
    n_envs=2,
    n_steps=16,
    batch_size=16,
    n_epochs=1,
)


def train_once() -> None:
    """Run two updates alone, and leave the process fit to be forked (one thread)."""
    torch.set_num_threads(1)
    strategy = Strategy(topology="star")
    job = Job(
        seed=0,
        round=0,
        places=["here"],
        workload=_TINY,
        strategies=[strategy],
        training_s=1.0,
        warmup_updates=0,
        learner_collects=True,
        timeout_s=1.0,
        max_updates=2,
    )
    Training(Trainee(job, strategy, 0), Alone(), _ignore, WireCounter("lo")).run()
    gc.collect()
    gc.freeze()  # what is here now stays: no need to look at it again in every rank


def _ignore(event: str, **facts) -> None:
    """Nobody wants to hear of a rehearsal."""
