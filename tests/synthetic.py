"""A recorded session with a planted truth: what the measuring wing writes, without measuring.

The rows are exactly those of a real run, so whatever reads a session can be tested on it.
"""

import zlib
from dataclasses import dataclass, field

import numpy as np

from homeport import store
from homeport.metrics import Failure, Measurement
from homeport.params import Study

START_S = 1_790_000_000.0
HZ = 5
MOST_UPDATES = 40  # of a strategy in a part: enough for every table, quick to write


@dataclass(frozen=True)
class Truth:
    """What is true of a host: latencies (ms), loss (share) and steps/s per strategy."""

    rtt_ms: float
    steps_s: dict[str, float]
    jitter_ms: float = 0.5
    loss: float = 0.0
    loaded_extra_ms: float = 1.0
    round_spread: float = 0.03  # of throughput, log scale, host by round
    failing: dict[tuple[int, str], str] = field(default_factory=dict)  # (round, notebook): reason


def session(
    study: Study,
    truths: dict[str, Truth],
    *,
    seed: int = 1,
    kind: str = "run",
    slot_s: float = 8.0,
    interleaved: bool = True,
    drift: float = 0.03,
) -> store.SessionFolder:
    """Write a whole session of `study` under the data folder; `truths` is by candidate.

    The twin takes the truth of the candidate it repeats unless it has its own entry. `drift`
    is the spread of a disturbance all hosts share in a round.
    """
    rng = np.random.default_rng(seed)
    folder = store.SessionFolder.create(study, kind=kind, provenance={"git_sha": None})
    shared = {r: rng.normal(0, drift) for r in range(1, study.rounds + 1)}
    slots = [(r, str(h)) for r in shared for h in rng.permutation(study.measured)]
    if not interleaved:
        slots.sort(key=lambda slot: study.measured.index(slot[1]))
    ends = {}
    for position, (round, host) in enumerate(slots):
        began = START_S + position * slot_s
        truth = truths.get(host) or truths[study.place_of(host)]
        ends[round, host] = began
        for notebook in study.notebooks:
            if study.in_round(notebook, round):
                when = {"started_s": began, "ended_s": began + slot_s, "position": position}
                _part(folder, truth, host, round, notebook, when, shared[round], rng)
    for round in shared:
        times = [ends[slot] for slot in slots if slot[0] == round]
        for host in study.measured:
            for site in study.sites:
                loads = [ends[round, h] for h in study.measured if _same(study, h, host)]
                span = (min(times), max(times) + slot_s) if interleaved else (loads[0], loads[-1])
                truth = truths.get(host) or truths[study.place_of(host)]
                _segment(folder, truth, site, host, round, span, loads, slot_s, rng)
    return folder


def _same(study, one, other):
    return study.place_of(one) == study.place_of(other)


def _part(folder, truth, host, round, notebook, when, shared, rng):
    study = folder.study
    slot = store.Slot.of(study, folder.session, host, round, notebook)
    provenance = {**when, "attempt": 1}
    if reason := truth.failing.get((round, notebook)):
        path = folder.failure_file(host, round, notebook)
        record = Failure(kind="GangFailed", reason=reason, place=host, time_s=when["started_s"])
        store.write_part(path, study, slot, [record], complete=False, provenance=provenance)
        return
    if notebook == "20_training":
        records = list(_training(study, truth, host, when["started_s"], shared, rng))
    else:
        pair = {"source": host, "target": host, "time_s": when["started_s"]}
        records = [
            Measurement(metric="relay_cpu_share", value=0.1, **pair),
            Measurement(metric="relay_drops", value=0.0, **pair),
        ]
    path = folder.part_file(host, round, notebook)
    store.write_part(path, study, slot, records, provenance=provenance)


def _training(study, truth, host, began, shared, rng):
    for k, strategy in enumerate(study.strategies):
        noise = shared + rng.normal(0, truth.round_spread)
        steps_s = truth.steps_s[strategy.name] * np.exp(noise)
        start = began + 0.5 + k * study.training_s
        base = {"target": host, "strategy": strategy.name}
        yield Measurement(
            metric="throughput_steps_s",
            value=steps_s,
            source=host,
            phase="loaded",
            time_s=start,
            **base,
        )
        for site in study.sites:
            yield Measurement(
                metric="load_s", value=study.training_s, source=site, time_s=start, **base
            )
        yield from _updates(study, truth, host, steps_s, start, base, strategy, rng)


def _updates(study, truth, host, steps_s, start, base, strategy, rng):
    work, workers = study.workload, sum(site.workers for site in study.sites.values())
    each = work.n_envs * work.n_steps
    syncs = work.syncs_per_update if strategy.topology == "star" else 1
    wall_ms = each * workers / steps_s * 1000
    for update in range(min(max(4, int(study.training_s * 1000 / wall_ms)), MOST_UPDATES)):
        time_s = start + update * wall_ms / 1000
        phase = "warmup" if update < study.warmup_updates else "loaded"
        checksum = zlib.crc32(f"{host}{strategy.name}{start}{update}".encode())
        common = {**base, "sequence": update, "phase": phase, "time_s": time_s}
        ranks = [(0, host)]
        ranks += [
            (r + 1, s)
            for r, s in enumerate(
                site for site, spec in study.sites.items() for _ in range(spec.workers)
            )
        ]
        for rank, place in ranks:
            wire = syncs * (truth.rtt_ms + abs(rng.normal(3, 1))) if rank else 0.1
            wait = syncs * abs(rng.normal(2, 1)) if rank else 0.8 * wall_ms
            collect = 0.5 * (wall_ms - wire - wait) if rank else 0.0
            stages = {
                "wall_ms": wall_ms,
                "collect_ms": max(collect, 0.0),
                "wire_ms": wire,
                "wait_ms": wait,
                "update_ms": max(wall_ms - wire - wait - collect, 0.0),
                "steps_generated": each if rank else 0,
                "steps_used": each if rank else 0,
                "syncs": syncs,
                "payload_tx_bytes": 36620 * syncs * (1 if rank else workers),
                "payload_rx_bytes": 36620 * syncs * (1 if rank else workers),
                "parameter_checksum": checksum,
            }
            if place not in [other for _, other in ranks[:rank]]:  # the first there counts for all
                here = study.sites[place].workers if rank else workers
                stages["counted_tx_bytes"] = stages["counted_rx_bytes"] = 38000 * syncs * here
            for metric, value in stages.items():
                yield Measurement(
                    metric=metric, value=float(value), source=place, rank=rank, **common
                )
            for sync in range(syncs if rank else 0):
                numbered = {**common, "sequence": update * syncs + sync, "rank": rank}
                yield Measurement(
                    metric="sync_wire_ms", value=wire / syncs, source=place, **numbered
                )
                yield Measurement(
                    metric="sync_wait_ms", value=wait / syncs, source=place, **numbered
                )


def _segment(folder, truth, site, host, round, span, loads, slot_s, rng):
    study = folder.study
    slot = store.Slot.of(study, folder.session, host, round, "background")
    records = []
    for n, time_s in enumerate(np.arange(*span, 1 / HZ)):
        loaded = any(0.5 <= time_s - began <= slot_s - 0.5 for began in loads)
        extra = truth.loaded_extra_ms if loaded else 0.0
        rtt = truth.rtt_ms + extra + abs(rng.normal(0, truth.jitter_ms))
        base = {
            "source": site,
            "target": host,
            "sequence": n,
            "time_s": float(time_s),
            "phase": "loaded" if loaded else "idle",
        }
        lost = rng.random() < truth.loss
        ping = ("lost_echo", 1.0) if lost else ("rtt_ms", rtt)
        records.append(Measurement(metric=ping[0], value=ping[1], **base))
        if lost and rng.random() < 0.1:
            late = {"metric": "step_overdue_ms", "value": study.sla.deadline_ms}
            records.append(Measurement(**late, **base))
            continue
        network = rtt + (2 * truth.rtt_ms if lost else 0)  # TCP sends again
        parts = {"network": network, "inference": 0.05, "rest": 0.3}
        records.append(Measurement(metric="step_ms", value=sum(parts.values()), **base))
        records += [Measurement(metric=f"step_{k}_ms", value=v, **base) for k, v in parts.items()]
    path = folder.next_segment_file(site, host, round)
    store.write_part(path, study, slot, records, provenance={"started_s": span[0]})
