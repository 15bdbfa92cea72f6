"""One strategy on one rank: a fresh model, trained until the learner says stop."""

import itertools
import time
import zlib
from collections.abc import Callable

import numpy as np
import torch

from homeport.params import Strategy
from homeport.train import ppo
from homeport.train.clocks import Budget, UpdateClock, WireCounter
from homeport.train.exchange import Alone, Exchange, Synced
from homeport.train.rollout import Collector
from homeport.train.spec import Job

Emit = Callable[..., None]


def seed_of(job: Job, strategy: Strategy, rank: int | None = None) -> int:
    """The seed of a rank's draws, or (without a rank) of the model all ranks start from."""
    key = [job.seed, job.round, zlib.crc32(strategy.name.encode())]
    own = [] if rank is None else [1 + rank]
    return int(np.random.SeedSequence([*key, *own]).generate_state(1)[0])


class Trainee:
    """A fresh model and its environments, as one rank starts a strategy."""

    def __init__(self, job: Job, strategy: Strategy, rank: int):
        self.job, self.strategy, self.rank = job, strategy, rank
        self.collects = job.collects(rank)
        envs = ppo.make_envs(job.workload, job.workload.n_envs if self.collects else 1)
        self.model = ppo.build(job.workload, envs, seed_of(job, strategy))
        own = seed_of(job, strategy, rank)
        ppo.reseed(own)
        self.collector = None
        if self.collects:
            self.collector = Collector(self.model, envs, np.random.default_rng(own))


class Training:
    """Updates of one trainee, with the exchange its strategy asks for."""

    def __init__(
        self, trainee: Trainee, exchange: Exchange, emit: Emit, counter: WireCounter | None
    ):
        """`emit` takes an event and its facts; `counter` is None where another rank counts."""
        self.trainee, self.job, self.model = trainee, trainee.job, trainee.model
        self.exchange, self._emit, self._counter = exchange, emit, counter
        self.strategy = trainee.strategy
        self.budget = Budget(self.job.training_s, self.job.warmup_updates, self.job.max_updates)
        self._stop = False
        self._syncs_left = 0
        mean_of = self._mean_gradient if self._every_step else self._own_gradient
        ppo.average_before_step(self.model, mean_of, self.job.workload.max_grad_norm)

    @property
    def _steps(self) -> int:
        """Environment steps this rank takes in one update."""
        work = self.job.workload
        return work.n_envs * work.n_steps if self.trainee.collects else 0

    @property
    def _every_step(self) -> bool:
        return self.strategy.topology == "star"

    def run(self) -> None:
        """Train to the end; the learner emits `began` and `ended`, every rank its updates."""
        if self._counter:
            self._counter.since()
        if self.trainee.rank == 0:
            self._emit("began", strategy=self.strategy.name, time_s=time.time())
        self._clock = UpdateClock(time.perf_counter())
        for update in itertools.count():
            if self._has_a_part(update):
                self._report(update, *self._update(update))
            else:
                self.budget.update_done()
            if self._stop:
                break
        if self.trainee.rank == 0:
            rate = self.budget.rate(self.job.steps_per_update)
            self._emit("ended", strategy=self.strategy.name, time_s=time.time(), rate=rate)

    def _has_a_part(self, update: int) -> bool:
        """A learner that only learns has nothing to do until parameters are averaged."""
        return self.trainee.collects or self._every_step or self._averages(update)

    def _averages(self, update: int) -> bool:
        return not self._every_step and (update + 1) % self.strategy.sync_every == 0

    def _update(self, update: int) -> tuple[UpdateClock, list[float], int | None]:
        clock = self._clock
        self._syncs_left = self.job.workload.syncs_per_update
        clock.collecting()
        returns = self.trainee.collector.collect() if self.trainee.collects else []
        clock.collected()
        if self.trainee.collects:
            self.model.train()
        elif self._every_step:
            ppo.learn_from_others(self.model)
        if self._averages(update):
            self._average_parameters()
        checksum = ppo.checksum(self.model) if clock.syncs else None
        clock.learned()
        self.budget.update_done()
        return clock, returns, checksum

    def _average_parameters(self) -> None:
        weight = self._steps * self.strategy.sync_every
        vector = ppo.flat_parameters(self.model)
        ppo.set_parameters(self.model, self._synchronise(vector, weight, last=True).mean)

    def _mean_gradient(self, gradient: torch.Tensor, samples: float) -> Synced:
        self._syncs_left -= 1
        return self._synchronise(gradient, samples, last=not self._syncs_left)

    @staticmethod
    def _own_gradient(gradient: torch.Tensor, samples: float) -> Synced:
        return Alone().mean(gradient, samples, _never)

    def _synchronise(self, vector: torch.Tensor, weight: float, *, last: bool) -> Synced:
        synced = self.exchange.mean(vector, weight, self.budget.over if last else _never)
        self._clock.syncs.append(synced.times)
        self._stop = synced.stop
        return synced

    def _report(self, update: int, clock: UpdateClock, returns: list, checksum: int | None):
        ended = time.perf_counter()
        self._clock = UpdateClock(ended)
        sent, received = (len(clock.syncs) * size for size in self.exchange.payload_bytes)
        values = {
            **clock.stages_ms(ended),
            "steps_generated": self._steps,
            "steps_used": self._steps,
            "syncs": len(clock.syncs),
            "payload_tx_bytes": sent,
            "payload_rx_bytes": received,
        }
        if self._counter:  # by now the next update's clock runs: no stage but its reporting
            values.update(self._counter.since())
        if checksum is not None:
            values["parameter_checksum"] = checksum
        self._emit(
            "update",
            strategy=self.strategy.name,
            update=update,
            time_s=clock.time_s,
            values=values,
            syncs=[[one.wait_s * 1000, one.wire_s * 1000] for one in clock.syncs],
            returns=returns,
        )


def _never() -> bool:
    return False
