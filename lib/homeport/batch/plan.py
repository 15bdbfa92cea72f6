"""In which order the parts of a study are measured."""

import dataclasses
import random
from dataclasses import dataclass

from homeport.errors import NotFound
from homeport.params import Study


@dataclass(frozen=True)
class PlannedPart:
    """One part to come: which page, on which host, in which round, at which place in the order."""

    position: int
    round: int
    host: str
    notebook: str

    @property
    def name(self) -> str:
        """How the part is called in messages."""
        return f"round {self.round} · {self.host} · {self.notebook}"


def plan(study: Study, *, rounds: int | None = None, hosts: list[str] | None = None):
    """Randomised interleaved blocks: every host once per round, in an order from the seed.

    The order is a function of the study alone: a resumed run and a run of fewer rounds or hosts
    take theirs from the same draw. Pages of one host follow each other within its slot.
    """
    draw = random.Random(study.seed)
    order = []
    for round in range(1, study.rounds + 1):
        block = draw.sample(study.measured, k=len(study.measured))
        order += [(round, host, page) for host in block for page in study.notebooks]
    wanted = [
        (round, host, page)
        for round, host, page in order
        if study.in_round(page, round)
        and round <= (rounds or study.rounds)
        and (hosts is None or host in hosts)
    ]
    return [PlannedPart(position, *part) for position, part in enumerate(wanted)]


def choose_hosts(study: Study, *, only: str | None, region: str | None) -> list[str] | None:
    """The hosts that --only and --region leave; None for all. A candidate brings its twin."""
    if only is None and region is None:
        return None
    chosen = [
        host
        for host in study.measured
        if only in (None, host, study.place_of(host))
        and (region is None or study.region_of(host).casefold() == region.casefold())
    ]
    if not chosen:
        known = [f"{host} ({study.region_of(host)})" for host in study.measured]
        asked = " in region ".join(x for x in (only, region) if x)
        raise NotFound("host" if only else "region", asked, known)
    return chosen


def shorter(study: Study, rounds: int | None) -> Study:
    """The study with fewer rounds, as asked for on the command line.

    It is another study in every key: its data is not mixed with that of the whole one.
    """
    if rounds is None or rounds == study.rounds:
        return study
    if not 1 <= rounds <= study.rounds:
        raise NotFound("number of rounds", str(rounds), [f"1 to {study.rounds}"])
    notebooks = {
        name: which if which == "all" else [r for r in which if r <= rounds]
        for name, which in study.notebooks.items()
    }
    content = {**study.model_dump(), "rounds": rounds, "notebooks": notebooks}
    return type(study).model_validate(content)


def describe(parts: list[PlannedPart]) -> list[dict]:
    """The plan as plain mappings, for --dry-run and --json."""
    return [dataclasses.asdict(part) for part in parts]
