"""What a study is: the question, the links and prices it rests on, and its limits."""

import datetime
from typing import Annotated, Literal

from pydantic import Field, model_validator

from homeport.params.inventory import Inventory
from homeport.params.model import Model

Positive = Annotated[float, Field(gt=0)]
NotNegative = Annotated[float, Field(ge=0)]
Share = Annotated[float, Field(gt=0, lt=1)]
Count = Annotated[int, Field(ge=1)]


class Strategy(Model):
    """How the ranks agree on parameters.

    topology: `star` sends gradients to the learner and gets the mean back at every optimiser
    step; `local` trains alone and averages parameters every `sync_every` updates.
    codec: how the payload is packed (none so far). sync_every: optimiser steps (`star`, always
    1) or updates (`local`) between two synchronisations.
    """

    topology: Literal["star", "local"]
    codec: Literal["none"] = "none"
    sync_every: Count = 1

    @model_validator(mode="after")
    def _star_syncs_every_step(self):
        if self.topology == "star" and self.sync_every != 1:
            raise ValueError("sync_every of 1 for star: it exchanges every gradient")
        return self

    @property
    def name(self) -> str:
        """Its key in the store, in tables and on the command line: `local`, `local/4`."""
        codec = "" if self.codec == "none" else f"+{self.codec}"
        every = "" if self.sync_every == 1 else f"/{self.sync_every}"
        return f"{self.topology}{codec}{every}"


class Sla(Model):
    """The latency target: at least `share` of interaction steps take at most `step_ms`.

    `label` says which samples it binds: those taken while the link was loaded, or idle.
    A step unanswered after `deadline_ms` counts as exceeding.
    """

    step_ms: Positive
    share: Share = 0.99
    label: Literal["loaded", "idle"] = "loaded"
    deadline_ms: Annotated[float, Field(gt=0, le=60_000)] = 1000.0

    @model_validator(mode="after")
    def _deadline_beyond_target(self):
        if self.deadline_ms <= self.step_ms:
            raise ValueError("deadline_ms above step_ms, or no late step could be told apart")
        return self


class Caps(Model):
    """A run that would need more than this is refused before it starts."""

    minutes: Positive
    gigabytes: Positive
    usd: Positive


class Site(Model):
    """A place where environments run: how many sampling workers it holds."""

    workers: Count = 1


class Link(Model):
    """The path between a site and a host, both ways alike unless said otherwise.

    rtt_ms and loss_percent are those of a round trip (as ping tables print them); jitter_ms is
    the standard deviation added per direction; rate_mbit_s and queue_ms belong to each
    direction. `assumed` names the keys that no source gives. `source` names the table and row.
    """

    site: str
    host: str
    rtt_ms: Positive
    loss_percent: Annotated[float, Field(ge=0, lt=100)] = 0.0
    jitter_ms: Annotated[float, Field(ge=0, le=10_000)] = 0.0
    rate_mbit_s: Positive
    queue_ms: Positive = 100.0
    hops: Annotated[int, Field(ge=0, le=30)] = 8
    assumed: list[str] = Field(default_factory=list)
    source: str
    measured_on: datetime.date
    cautions: list[str] = Field(default_factory=list)


class Price(Model):
    """What an hour of a host costs, and where the figure stands."""

    usd_per_hour: NotNegative
    provider: str
    instance: str
    vcpus: Count
    memory_gib: Positive
    source: str
    valid_on: datetime.date


class Workload(Model):
    """The reinforcement-learning task of the benchmark, in stable-baselines3's words.

    env_id is a Gymnasium id; observation_size and actions are its numbers of inputs and outputs,
    which an interaction step carries. n_envs environments per worker take n_steps each before an
    update of n_epochs passes in batches of batch_size; hidden is the width of each layer of the
    policy.
    """

    env_id: str
    observation_size: Annotated[int, Field(ge=1, le=16_000)]  # one interaction step carries it
    actions: Count
    n_envs: Count = 8
    n_steps: Count
    batch_size: Annotated[int, Field(ge=2)]
    n_epochs: Count
    hidden: Annotated[list[Count], Field(min_length=1)] = Field(default_factory=lambda: [64, 64])
    learning_rate: Positive = 3.0e-4
    gamma: Annotated[float, Field(gt=0, le=1)] = 0.99
    gae_lambda: Annotated[float, Field(ge=0, le=1)] = 0.95
    clip_range: Positive = 0.2
    max_grad_norm: Positive = 0.5
    source: str = ""

    @model_validator(mode="after")
    def _batches_divide_the_rollout(self):
        steps = self.n_envs * self.n_steps
        if steps % self.batch_size:
            raise ValueError(
                f"batch_size that divides n_envs * n_steps = {steps}: a last batch of another "
                "size would weigh differently, and one of size 1 has no spread"
            )
        return self

    @property
    def syncs_per_update(self) -> int:
        """Optimiser steps in one update, each a synchronisation in `star`."""
        return self.n_epochs * (self.n_envs * self.n_steps // self.batch_size)


class Study(Model):
    """One question with everything it takes to answer it."""

    name: str
    question: str
    world: Literal["emulated"]
    inventory: Inventory
    sites: Annotated[dict[str, Site], Field(min_length=1)]
    candidates: Annotated[list[str], Field(min_length=1)]
    twin_of: str
    learner_collects: bool = False
    strategies: Annotated[list[Strategy], Field(min_length=1)]
    workload: Workload
    training_s: Positive
    warmup_updates: Annotated[int, Field(ge=0)] = 2
    sla: Sla
    profile: Literal["demo"]
    rounds: Annotated[int, Field(ge=1, le=1000)]
    notebooks: Annotated[dict[str, Literal["all"] | list[int]], Field(min_length=1)]
    caps: Caps
    seed: Annotated[int, Field(ge=0)]
    congestion_control: Literal["cubic", "bbr", "reno"] = "cubic"
    links: list[Link]
    prices: dict[str, Price]

    @property
    def twin(self) -> str:
        """The name under which one candidate is measured a second time."""
        return f"{self.twin_of}-twin"

    @property
    def measured(self) -> list[str]:
        """Every host name a part can carry: the candidates, then the twin."""
        return [*self.candidates, self.twin]

    def place_of(self, host: str) -> str:
        """The machine behind a host name: the twin's is that of the candidate it repeats."""
        return self.twin_of if host == self.twin else host

    def region_of(self, name: str) -> str:
        """The region of a site, a candidate or the twin."""
        return self.inventory.host(self.place_of(name)).region

    def in_round(self, notebook: str, round: int) -> bool:
        """Whether this notebook runs in this round (rounds count from 1)."""
        rounds = self.notebooks[notebook]
        return rounds == "all" or round in rounds

    def link(self, site: str, host: str) -> Link:
        """The link between a site and a candidate (or the twin)."""
        place = self.place_of(host)
        return next(link for link in self.links if (link.site, link.host) == (site, place))

    @model_validator(mode="after")
    def _names_fit_together(self):
        self._check_places()
        self._check_links_and_prices()
        names = [strategy.name for strategy in self.strategies]
        if len(set(names)) < len(names):
            raise ValueError(f"strategies that differ, got {names}")
        for notebook, rounds in self.notebooks.items():
            if rounds != "all" and not set(rounds) <= set(range(1, self.rounds + 1)):
                raise ValueError(f"rounds of {notebook} within 1..{self.rounds}, got {rounds}")
        return self

    def _check_places(self):
        for group, names in (("sites", self.sites), ("candidates", self.candidates)):
            for name in names:
                known = self.inventory.hosts.get(name)
                if known is None or known.group != group:
                    raise ValueError(f"{name!r} in the inventory's group {group!r}")
        if len(set(self.candidates)) < len(self.candidates):
            raise ValueError(f"candidates that differ, got {self.candidates}")
        if self.twin_of not in self.candidates:
            raise ValueError(f"twin_of among the candidates {self.candidates}")
        if self.twin in self.inventory.hosts:
            raise ValueError(f"no inventory host called {self.twin!r}: the twin takes that name")

    def _check_links_and_prices(self):
        have = [(link.site, link.host) for link in self.links]
        need = {(site, host) for site in self.sites for host in self.candidates}
        if missing := need - set(have):
            raise ValueError(f"a link for {sorted(missing)} in the links file")
        if len(set(have)) < len(have):
            raise ValueError("one link per site and host")
        if unpriced := set(self.candidates) - set(self.prices):
            raise ValueError(f"a price for {sorted(unpriced)} in the prices file")
