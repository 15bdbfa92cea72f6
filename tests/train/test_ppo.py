"""SB3's PPO, with the mean gradient of all ranks in its step."""

import numpy as np
import pytest
import torch

from homeport.params import Strategy, Workload
from homeport.train import ppo
from homeport.train.exchange import Synced
from homeport.train.rollout import Collector
from homeport.train.spec import Job
from homeport.train.strategy import seed_of

WORK = Workload(
    env_id="CartPole-v1",
    observation_size=4,
    actions=2,
    n_envs=2,
    n_steps=32,
    batch_size=32,
    n_epochs=2,
)


def ready(seed=1):
    """A model with a full buffer."""
    model = ppo.build(WORK, envs := ppo.make_envs(WORK, WORK.n_envs), seed)
    Collector(model, envs, np.random.default_rng(seed)).collect()
    ppo.reseed(5)
    return model


def test_alone_the_updates_are_sb3s_own():
    """Clipping in the hook instead of in train() must not change a single bit."""
    stock, ours = ready(), ready()
    stock.max_grad_norm = WORK.max_grad_norm
    ppo.reseed(5)
    stock.train()
    ppo.average_before_step(ours, lambda g, n: Synced(g, False), WORK.max_grad_norm)
    ppo.reseed(5)
    ours.train()
    assert ppo.checksum(ours) == ppo.checksum(stock)


def test_the_step_takes_the_mean_and_clips_it_afterwards():
    model, seen = ready(), []

    def mean_of(gradient, samples):
        seen.append((gradient.norm().item(), samples))
        return Synced(torch.full_like(gradient, 3.0), False)

    ppo.average_before_step(model, mean_of, max_norm=0.5)
    model.policy.optimizer.register_step_pre_hook(
        lambda *_: seen.append(torch.cat([p.grad.flatten() for p in model.policy.parameters()]))
    )
    model.train()
    assert len(seen) == 2 * WORK.syncs_per_update
    assert all(samples == 32 for _, samples in seen[::2])
    assert all(stepped.norm().item() == pytest.approx(0.5, rel=1e-5) for stepped in seen[1::2])
    assert all((stepped == stepped[0]).all() for stepped in seen[1::2]), "not the mean it was given"


def test_a_learner_that_only_learns_follows_bit_for_bit():
    worker = ready()
    sent = []
    keep = lambda g, n: Synced(sent.append(g.clone()) or g, False)  # noqa: E731
    ppo.average_before_step(worker, keep, WORK.max_grad_norm)
    learner = ppo.build(WORK, ppo.make_envs(WORK, 1), seed=1)
    assert ppo.checksum(learner) == ppo.checksum(worker)
    weights = []

    def follow(gradient, samples):
        weights.append(samples)
        assert not gradient.any()
        return Synced(sent[len(weights) - 1], False)

    ppo.average_before_step(learner, follow, WORK.max_grad_norm)
    worker.train()
    ppo.learn_from_others(learner)
    assert weights == [0] * WORK.syncs_per_update
    assert ppo.checksum(learner) == ppo.checksum(worker)


def test_parameters_go_out_and_back_in():
    model = ready()
    vector = ppo.flat_parameters(model)
    before = ppo.checksum(model)
    ppo.set_parameters(model, vector + 1)
    assert ppo.checksum(model) != before
    ppo.set_parameters(model, vector)
    assert ppo.checksum(model) == before


def test_a_wider_net_has_another_fingerprint():
    wide = WORK.model_copy(update={"hidden": [64, 65]})
    same = [ppo.fingerprint(ready(seed)) for seed in (1, 2)]
    assert same[0] == same[1] and "9155 parameters" in same[0]
    other = ppo.fingerprint(ppo.build(wide, ppo.make_envs(wide, 1), 1))
    assert other.split()[0] != same[0].split()[0]


def test_seeds_depend_on_study_round_strategy_and_rank_and_nothing_else():
    def job(**changes):
        facts = {"seed": 1, "round": 1, "places": ["a", "b"], "workload": WORK}
        facts |= {"strategies": [Strategy(topology="star")], "training_s": 1.0}
        facts |= {"warmup_updates": 1, "learner_collects": False, "timeout_s": 1.0}
        return Job(**{**facts, "max_updates": None, **changes})

    star, local = Strategy(topology="star"), Strategy(topology="local")
    cases = [(job(), star, 0), (job(), star, 1), (job(), star, None), (job(), local, 0)]
    cases += [(job(seed=2), star, 0), (job(round=2), star, 0)]
    seeds = [seed_of(*case) for case in cases]
    assert len(set(seeds)) == len(seeds)
    assert seed_of(job(places=["x", "y"]), star, 1) == seeds[1]
