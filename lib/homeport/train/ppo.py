"""SB3's PPO made ready for a gang: built from a workload, its gradients averaged between ranks.

`PPO.train()` stays as it is. The clipping it does itself is switched off (max_grad_norm of
infinity), because clipping must come after averaging; a hook before the optimiser's step averages
and clips. target_kl stays None: it would make ranks stop apart, and the others hang.
"""

import random
import zlib
from collections.abc import Callable

import gymnasium
import numpy as np
import torch
from stable_baselines3 import PPO
from stable_baselines3.common.logger import Logger
from stable_baselines3.common.preprocessing import is_image_space
from stable_baselines3.common.vec_env import DummyVecEnv
from torch.distributions import Distribution

from homeport.errors import BadParameter
from homeport.params import Workload
from homeport.train.exchange import Synced

MeanOf = Callable[[torch.Tensor, float], Synced]


def make_envs(workload: Workload, count: int) -> list[gymnasium.Env]:
    """`count` environments of the workload, without Gymnasium's checker for authors of them."""
    envs = [gymnasium.make(workload.env_id, disable_env_checker=True) for _ in range(count)]
    space = envs[0].observation_space
    if is_image_space(space):
        raise BadParameter("workloads.yml", workload.env_id, space, "observations without images")
    return envs


def build(workload: Workload, envs: list[gymnasium.Env], seed: int) -> PPO:
    """A fresh PPO on `envs`; the same seed gives the same parameters everywhere.

    With fewer environments than the workload has (a learner that only learns needs one, to know
    the spaces) the buffer keeps its size.
    """
    Distribution.set_default_validate_args(False)  # costs a quarter of a stock rollout
    model = PPO(
        "MlpPolicy",
        DummyVecEnv([lambda env=env: env for env in envs]),
        learning_rate=workload.learning_rate,
        n_steps=workload.n_steps * workload.n_envs // len(envs),
        batch_size=workload.batch_size,
        n_epochs=workload.n_epochs,
        gamma=workload.gamma,
        gae_lambda=workload.gae_lambda,
        clip_range=workload.clip_range,
        max_grad_norm=float("inf"),
        target_kl=None,
        policy_kwargs={"net_arch": list(workload.hidden)},
        seed=seed,
        device="cpu",
    )
    model.set_logger(Logger(folder=None, output_formats=[]))
    return model


def flat_parameters(model: PPO) -> torch.Tensor:
    """All parameters in one new vector, in the model's order."""
    return torch.cat([p.detach().reshape(-1) for p in model.policy.parameters()])


def set_parameters(model: PPO, vector: torch.Tensor) -> None:
    """Write a vector of `flat_parameters` back, in place."""
    parameters = list(model.policy.parameters())
    with torch.no_grad():
        for parameter, part in zip(parameters, _parts(vector, parameters), strict=True):
            parameter.copy_(part)


def checksum(model: PPO) -> int:
    """CRC-32 of the parameters' bytes."""
    return zlib.crc32(flat_parameters(model).numpy())


def fingerprint(model: PPO) -> str:
    """Names, shapes and types of the parameters: equal where models fit each other."""
    named = model.policy.named_parameters()
    text = ";".join(f"{name}:{tuple(p.shape)}:{p.dtype}" for name, p in named)
    return f"{zlib.crc32(text.encode()):08x} ({len(flat_parameters(model))} parameters)"


def average_before_step(model: PPO, mean_of: MeanOf, max_norm: float) -> None:
    """From now on every optimiser step takes the mean gradient of all ranks, clipped.

    `mean_of` gets this rank's flat gradient and the samples it rests on. Without a gradient of
    its own (a learner that only learns) a rank brings zeros that weigh nothing.
    """
    parameters = list(model.policy.parameters())
    nothing = torch.zeros(sum(p.numel() for p in parameters))

    def average(optimizer, args, kwargs):
        if parameters[0].grad is None:
            vector, samples = nothing, 0
        else:
            vector, samples = torch.cat([p.grad.reshape(-1) for p in parameters]), model.batch_size
        mean = mean_of(vector, samples).mean
        for parameter, part in zip(parameters, _parts(mean, parameters), strict=True):
            parameter.grad = part
        torch.nn.utils.clip_grad_norm_(parameters, max_norm)

    model.policy.optimizer.register_step_pre_hook(average)


def learn_from_others(model: PPO) -> None:
    """One update of a learner without samples: as many optimiser steps as the others take."""
    batches = model.n_steps * model.n_envs // model.batch_size
    for _ in range(model.n_epochs * batches):
        model.policy.optimizer.zero_grad()
        model.policy.optimizer.step()


def _parts(vector: torch.Tensor, parameters: list[torch.nn.Parameter]) -> list[torch.Tensor]:
    """Views into a flat vector, one in the shape of each parameter."""
    parts = vector.split([p.numel() for p in parameters])
    return [part.view_as(p) for part, p in zip(parts, parameters, strict=True)]


def reseed(seed: int) -> None:
    """Give this process its own draws: building a model has seeded all generators alike."""
    random.seed(seed)
    np.random.seed(seed)  # noqa: NPY002 - RolloutBuffer.get permutes with it
    torch.manual_seed(seed)
