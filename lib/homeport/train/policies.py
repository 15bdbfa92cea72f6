"""The policy's forward pass during a rollout: in numpy where possible, else in torch.

A rollout calls the policy hundreds of times on a handful of observations; most of that time
torch spends around the arithmetic. `values` and `log_probs` of whole rollouts are computed in one
batch at the end, so that a step needs the action alone.
"""

import math
from typing import Protocol

import numpy as np
import torch
from gymnasium import spaces
from stable_baselines3.common.distributions import (
    CategoricalDistribution,
    DiagGaussianDistribution,
)
from stable_baselines3.common.policies import ActorCriticPolicy
from stable_baselines3.common.preprocessing import is_image_space
from stable_baselines3.common.torch_layers import FlattenExtractor, MlpExtractor
from stable_baselines3.common.utils import obs_as_tensor
from torch import nn

_HALF_LOG_2PI = math.log(math.sqrt(2 * math.pi))
_ACTIVATIONS = {nn.Tanh: np.tanh, nn.ReLU: lambda x: np.maximum(x, 0)}

Array = np.ndarray


class RolloutPolicy(Protocol):
    """What a rollout asks of a policy."""

    def refresh(self) -> None:
        """Take over the current weights; once per rollout."""

    def act(self, observations: Array, rng: np.random.Generator) -> Array:
        """One action per observation, drawn from the policy."""

    def judge(self, observations: Array, actions: Array) -> tuple[Array, Array]:
        """Values and log-probabilities of a batch, as `policy.evaluate_actions` gives them."""

    def values(self, observations: Array) -> Array:
        """The critic's values of a batch, as `policy.predict_values` gives them."""


def rollout_policy(policy: ActorCriticPolicy) -> RolloutPolicy:
    """The fastest faithful forward pass for a policy of stable-baselines3."""
    return NumpyPolicy(policy) if NumpyPolicy.can_run(policy) else TorchPolicy(policy)


class TorchPolicy:
    """Any policy, through its own torch modules."""

    def __init__(self, policy: ActorCriticPolicy):
        self.policy = policy

    def refresh(self) -> None:
        self.policy.set_training_mode(False)

    @torch.no_grad()
    def act(self, observations: Array, rng: np.random.Generator) -> Array:
        torch.manual_seed(int(rng.integers(2**63)))
        return self.policy(self._tensor(observations))[0].numpy()

    @torch.no_grad()
    def judge(self, observations: Array, actions: Array) -> tuple[Array, Array]:
        taken = torch.as_tensor(actions)
        if isinstance(self.policy.action_space, spaces.Discrete):
            taken = taken.long().flatten()
        values, log_probs, _ = self.policy.evaluate_actions(self._tensor(observations), taken)
        return values.flatten().numpy(), log_probs.numpy()

    @torch.no_grad()
    def values(self, observations: Array) -> Array:
        return self.policy.predict_values(self._tensor(observations)).flatten().numpy()

    def _tensor(self, observations: Array) -> torch.Tensor:
        return obs_as_tensor(observations, self.policy.device)


class NumpyPolicy:
    """SB3's MlpPolicy on vector observations, with Discrete or unsquashed Box actions."""

    def __init__(self, policy: ActorCriticPolicy):
        self.policy = policy
        self._discrete = isinstance(policy.action_space, spaces.Discrete)
        self.refresh()

    @staticmethod
    def can_run(policy: ActorCriticPolicy) -> bool:
        """Whether every part of `policy` has its like here."""
        return (
            type(policy) is ActorCriticPolicy
            and type(policy.features_extractor) is FlattenExtractor
            and isinstance(policy.observation_space, spaces.Box)
            and not is_image_space(policy.observation_space)
            and type(policy.action_dist) in (CategoricalDistribution, DiagGaussianDistribution)
            and not policy.squash_output
            and type(policy.mlp_extractor) is MlpExtractor
            and _is_plain(policy.mlp_extractor.policy_net)
            and _is_plain(policy.mlp_extractor.value_net)
        )

    def refresh(self) -> None:
        nets = self.policy.mlp_extractor
        self._actor = _layers(nets.policy_net, self.policy.action_net)
        self._critic = _layers(nets.value_net, self.policy.value_net)
        if not self._discrete:
            self._log_std = self.policy.log_std.detach().numpy().copy()
            self._std = np.exp(self._log_std)

    def act(self, observations: Array, rng: np.random.Generator) -> Array:
        out = _forward(_flat(observations), self._actor)
        if not self._discrete:
            return out + self._std * rng.standard_normal(out.shape, dtype=np.float32)
        weights = np.exp(out - out.max(axis=1, keepdims=True)).cumsum(axis=1)
        drawn = rng.random(len(out)) * weights[:, -1]
        return (weights <= drawn[:, None]).sum(axis=1)

    def judge(self, observations: Array, actions: Array) -> tuple[Array, Array]:
        flat = _flat(observations)
        out = _forward(flat, self._actor)
        log_probs = self._log_prob_discrete if self._discrete else self._log_prob_gaussian
        return _forward(flat, self._critic)[:, 0], log_probs(out, actions)

    def values(self, observations: Array) -> Array:
        return _forward(_flat(observations), self._critic)[:, 0]

    @staticmethod
    def _log_prob_discrete(logits: Array, actions: Array) -> Array:
        top = logits.max(axis=1)
        log_sum = top + np.log(np.exp(logits - top[:, None]).sum(axis=1))
        return logits[np.arange(len(logits)), actions.ravel().astype(np.intp)] - log_sum

    def _log_prob_gaussian(self, mean: Array, actions: Array) -> Array:
        distance = (actions - mean) / self._std
        return (-0.5 * distance * distance - self._log_std - np.float32(_HALF_LOG_2PI)).sum(axis=1)


def _is_plain(net: nn.Sequential) -> bool:
    return all(type(layer) is nn.Linear or type(layer) in _ACTIVATIONS for layer in net)


def _layers(net: nn.Sequential, head: nn.Linear) -> list:
    """A net and its head as [(weights, bias) | function], copied out of torch."""
    return [
        (layer.weight.detach().numpy().T.copy(), layer.bias.detach().numpy().copy())
        if isinstance(layer, nn.Linear)
        else _ACTIVATIONS[type(layer)]
        for layer in (*net, head)
    ]


def _flat(observations: Array) -> Array:
    return observations.reshape(len(observations), -1).astype(np.float32, copy=False)


def _forward(x: Array, layers: list) -> Array:
    for layer in layers:
        if callable(layer):
            x = layer(x)
        else:
            weights, bias = layer
            x = x @ weights + bias
    return x
