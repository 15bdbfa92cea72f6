"""What one gang is asked to do, and what it brings back."""

from dataclasses import dataclass
from typing import Annotated

from pydantic import Field

from homeport.errors import BadParameter
from homeport.metrics import Record
from homeport.params import Strategy, Study, Workload
from homeport.params.model import Model

_SLACK_S = 60.0  # per strategy: warm-up and last updates on a slow machine


@dataclass(frozen=True, kw_only=True)
class GangSpec:
    """One training part: a learner, its workers, and the strategies they run one after another.

    seed and round: of the study; with strategy and rank they fix every random draw.
    host: the name in the records (a twin has its own); learner: the place behind it.
    workers: the place of each worker, so a place with two workers stands twice; a worker's rank
    is its position plus one, the learner is rank 0.
    training_s: seconds per strategy once warmup_updates are done; max_updates ends it by count
    instead (tests, and runs that must do the same work everywhere).
    timeout_s: the longest silence of a peer in seconds before it counts as lost; keep it above
    the slowest rollout.
    """

    seed: int
    round: int
    host: str
    learner: str
    workers: tuple[str, ...]
    workload: Workload
    strategies: tuple[Strategy, ...]
    training_s: float
    warmup_updates: int = 2
    learner_collects: bool = False
    timeout_s: float = 15.0
    max_updates: int | None = None

    def __post_init__(self):
        if not self.workers and not self.learner_collects:
            raise BadParameter("the gang", "workers", self.workers, "someone who collects")
        if not self.strategies:
            raise BadParameter("the gang", "strategies", self.strategies, "at least one strategy")

    @classmethod
    def of(cls, study: Study, host: str, round: int) -> "GangSpec":
        """The training part of `study` for one of its measured hosts (the twin included)."""
        return cls(
            seed=study.seed,
            round=round,
            host=host,
            learner=study.place_of(host),
            workers=tuple(name for name, site in study.sites.items() for _ in range(site.workers)),
            workload=study.workload,
            strategies=tuple(study.strategies),
            training_s=study.training_s,
            warmup_updates=study.warmup_updates,
            learner_collects=study.learner_collects,
        )

    @property
    def places(self) -> list[str]:
        """The place of every rank, by rank."""
        return [self.learner, *self.workers]

    def source(self, rank: int) -> str:
        """The name a rank carries in the records: its place, or the host's name for rank 0."""
        return self.workers[rank - 1] if rank else self.host

    @property
    def deadline_s(self) -> float:
        """Seconds after which a rank of this gang is killed whatever it does: a last resort."""
        return 2 * self.timeout_s + len(self.strategies) * (3 * self.training_s + _SLACK_S)

    def job(self, strategies: tuple[Strategy, ...]) -> dict:
        """What a rank needs to know, ready for JSON; `Job` reads it at the other end."""
        return {
            "seed": self.seed,
            "round": self.round,
            "places": self.places,
            "workload": self.workload.model_dump(),
            "strategies": [strategy.model_dump() for strategy in strategies],
            "training_s": self.training_s,
            "warmup_updates": self.warmup_updates,
            "learner_collects": self.learner_collects,
            "timeout_s": self.timeout_s,
            "max_updates": self.max_updates,
        }


Natural = Annotated[int, Field(ge=0)]
Seconds = Annotated[float, Field(gt=0)]


class Job(Model):
    """A GangSpec as a rank reads it: the same meanings, without the names in the records."""

    seed: Natural
    round: Natural
    places: Annotated[list[str], Field(min_length=1)]
    workload: Workload
    strategies: Annotated[list[Strategy], Field(min_length=1)]
    training_s: Seconds
    warmup_updates: Natural
    learner_collects: bool
    timeout_s: Seconds
    max_updates: int | None

    def collects(self, rank: int) -> bool:
        """Whether this rank steps environments of its own."""
        return rank > 0 or self.learner_collects

    def counts_bytes(self, rank: int) -> bool:
        """Whether this rank counts what its place's interface carries: the first one there does."""
        return self.places.index(self.places[rank]) == rank

    @property
    def steps_per_update(self) -> int:
        """Environment steps of all ranks in one update."""
        ranks = sum(self.collects(rank) for rank in range(len(self.places)))
        return ranks * self.workload.n_envs * self.workload.n_steps


@dataclass(frozen=True)
class Load:
    """When one strategy kept the links busy: epoch seconds on the learner's clock."""

    strategy: str
    start_s: float
    end_s: float


@dataclass(frozen=True)
class GangResult:
    """What a gang measured and what went wrong, as records; and when it loaded the links."""

    records: list[Record]
    loads: list[Load]
