"""What a run will take: minutes, gigabytes and money, before it starts."""

import dataclasses
import itertools
from dataclasses import dataclass

from homeport.batch.plan import PlannedPart
from homeport.errors import CapExceeded
from homeport.params import Study

# Seconds around the measuring: bringing up the world and the agents; kernel start and saving of
# a page; setting up a gang, in round trips and at once; judging and report.
TRAINING = "20_training"
SET_UP_S = 15.0
PAGE_S = 2.5
GANG_S = 0.5
GANG_ROUND_TRIPS = 12
JUDGE_S = 15.0
# Frames carry headers and acknowledgements beside the payload (measured: 1.05 to 1.1).
_ON_THE_WIRE = 1.1
_PARAMETER_BYTES = 4
# Steps a second one worker could make at best: bounds the bytes from above.
_FASTEST_WORKER_STEPS_S = 10_000.0


@dataclass(frozen=True)
class Prediction:
    """An upper estimate of what a run takes. gigabytes are 10^9 bytes over the links."""

    parts: int
    minutes: float
    gigabytes: float
    usd: float


def predict(study: Study, parts: list[PlannedPart]) -> Prediction:
    """Estimate a run from its plan, link figures and prices."""
    measuring_s = sum(PAGE_S + part_s(study, part) for part in parts)
    settling_s = study.sla.deadline_ms / 1000  # the last samples are waited for
    minutes = (SET_UP_S + measuring_s + settling_s + JUDGE_S) / 60
    training = [part for part in parts if part.notebook == TRAINING]
    gigabytes = sum(_gang_bytes(study, part.host) for part in training) / 1e9
    hosts = {study.place_of(part.host) for part in parts}
    usd = sum(study.prices[host].usd_per_hour for host in hosts) * minutes / 60
    return Prediction(len(parts), minutes, gigabytes, usd)


def part_s(study: Study, part: PlannedPart) -> float:
    """Seconds one part measures, without the page around it."""
    return _gang_s(study, part.host) if part.notebook == TRAINING else 0.0


def _slowest_rtt_s(study: Study, host: str) -> float:
    return max(study.link(site, host).rtt_ms for site in study.sites) / 1000


def _gang_s(study: Study, host: str) -> float:
    rtt_s = _slowest_rtt_s(study, host)
    warm_up_s = study.warmup_updates * (0.3 + study.workload.syncs_per_update * rtt_s)
    each = study.training_s + warm_up_s
    return GANG_S + GANG_ROUND_TRIPS * rtt_s + len(study.strategies) * each


def _gang_bytes(study: Study, host: str) -> float:
    payload = parameters(study) * _PARAMETER_BYTES
    workers = sum(site.workers for site in study.sites.values())
    work = study.workload
    collect_s = work.n_envs * work.n_steps / _FASTEST_WORKER_STEPS_S
    total = 0.0
    for strategy in study.strategies:
        star = strategy.topology == "star"
        syncs = work.syncs_per_update if star else 1 / strategy.sync_every
        update_s = collect_s + syncs * _slowest_rtt_s(study, host)
        updates = study.training_s / update_s + study.warmup_updates
        total += updates * syncs * 2 * workers * payload * _ON_THE_WIRE
    return total


def parameters(study: Study) -> int:
    """Parameters of an actor and a critic MLP with the workload's hidden widths."""
    work, count = study.workload, 0
    for outputs in (work.actions, 1):
        sizes = [work.observation_size, *work.hidden, outputs]
        count += sum(a * b + b for a, b in itertools.pairwise(sizes))
    return count


def check_caps(study: Study, prediction: Prediction) -> None:
    """Raise CapExceeded if the run would need more than the study allows."""
    for cap, allowed in study.caps.model_dump().items():
        needed = dataclasses.asdict(prediction)[cap]
        if needed > allowed:
            raise CapExceeded(cap, needed, allowed, f"study {study.name}")
