"""A whole gang on this machine: a learner in hk and workers in guangdong."""

import itertools
import statistics
import time
from collections import defaultdict
from pathlib import Path

import pytest

from homeport.metrics import Failure, Measurement
from homeport.params import Strategy
from homeport.train import run_gang

from .conftest import SLEEPY, make_gang, small

STAR, LOCAL = Strategy(topology="star"), Strategy(topology="local")
STAGES = ("collect_ms", "update_ms", "wait_ms", "wire_ms")


def by(result, metric, **facts):
    return [
        r
        for r in result.records
        if isinstance(r, Measurement)
        and r.metric == metric
        and all(getattr(r, name) == value for name, value in facts.items())
    ]


def failures(result):
    return [r for r in result.records if isinstance(r, Failure)]


@pytest.fixture(scope="module")
def played(agents):
    """One gang of the demo's size through star and local, and what it was seen to say."""
    work = small(n_envs=8, n_steps=64, batch_size=256)
    spec = make_gang(workload=work, strategies=(STAR, LOCAL), max_updates=12)
    seen = []
    result = run_gang(agents, spec, seen.append)
    assert not failures(result), failures(result)
    return spec, result, seen


def test_every_rank_holds_the_same_bits_after_every_synchronisation(played):
    _, result, _ = played
    for strategy in ("star", "local"):
        seen = defaultdict(set)
        for one in by(result, "parameter_checksum", strategy=strategy):
            seen[one.sequence].add((one.value, one.rank))
        assert len(seen) == 12
        for update, values in seen.items():
            assert {rank for _, rank in values} == {0, 1, 2}
            assert len({value for value, _ in values}) == 1, (strategy, update)


def test_parameters_change_from_update_to_update(played):
    _, result, _ = played
    assert len({m.value for m in by(result, "parameter_checksum", strategy="star")}) == 12


def test_the_four_stages_make_up_the_update(played):
    """Within 2 % over a strategy; the median update too, whatever the scheduler does to one."""
    _, result, _ = played
    for strategy in ("star", "local"):
        for rank in range(3):
            of = {
                metric: [m.value for m in by(result, metric, strategy=strategy, rank=rank)]
                for metric in ("wall_ms", *STAGES)
            }
            sums = [sum(parts) for parts in zip(*(of[stage] for stage in STAGES), strict=True)]
            assert sum(sums) == pytest.approx(sum(of["wall_ms"]), rel=0.02)
            shares = [part / wall for part, wall in zip(sums, of["wall_ms"], strict=True)]
            assert statistics.median(shares) == pytest.approx(1, abs=0.02)


def test_no_stage_is_negative(played):
    _, result, _ = played
    assert all(m.value >= 0 for stage in STAGES for m in by(result, stage))


def test_updates_follow_each_other_without_a_gap(played):
    """wall_ms reaches from the start of an update to the start of the next."""
    _, result, _ = played
    walls = by(result, "wall_ms", strategy="star", rank=1)
    for one, after in itertools.pairwise(walls):
        assert after.time_s - one.time_s == pytest.approx(one.value / 1000, abs=0.003)


def test_steps_and_synchronisations_are_counted(played):
    _, result, _ = played
    assert {m.value for m in by(result, "steps_used", rank=1)} == {512}
    assert {m.value for m in by(result, "steps_generated", rank=2)} == {512}
    assert {m.value for m in by(result, "steps_used", rank=0)} == {0}
    assert {m.value for m in by(result, "syncs", strategy="star")} == {4}
    assert {m.value for m in by(result, "syncs", strategy="local")} == {1}
    assert len(by(result, "sync_wire_ms", strategy="star", rank=1)) == 48
    assert not by(result, "sync_wire_ms", rank=0)


def test_synchronisations_add_up_to_the_updates(played):
    _, result, _ = played
    for stage in ("wait", "wire"):
        singly = sum(m.value for m in by(result, f"sync_{stage}_ms", rank=1))
        assert singly == pytest.approx(sum(m.value for m in by(result, f"{stage}_ms", rank=1)))


def test_payload_is_exact_and_the_wire_carries_it(played):
    """On loopback both directions pass the same interface, so both counters see both."""
    _, result, _ = played
    for strategy, syncs in (("star", 4), ("local", 1)):
        assert {m.value for m in by(result, "payload_tx_bytes", strategy=strategy, rank=1)} == {
            syncs * 36_652
        }
        theory = 2 * 2 * syncs * 36_652
        counted = [m.value for m in by(result, "counted_tx_bytes", strategy=strategy, rank=0)]
        assert statistics.median(counted) >= theory
        assert min(counted[1:]) <= 1.1 * theory


def test_the_first_rank_at_each_place_counts_bytes(played):
    """Rank 2 shares guangdong's interface with rank 1, who counts for both."""
    _, result, _ = played
    for way in ("counted_tx_bytes", "counted_rx_bytes"):
        for strategy in ("star", "local"):
            for rank, updates in ((0, 12), (1, 12), (2, 0)):
                assert len(by(result, way, strategy=strategy, rank=rank)) == updates


def test_throughput_is_what_the_updates_say(played):
    _, result, _ = played
    for strategy in ("star", "local"):
        walls = [m.value for m in by(result, "wall_ms", strategy=strategy, rank=0)][2:]
        (rate,) = by(result, "throughput_steps_s", strategy=strategy)
        assert rate.value == pytest.approx(2 * 512 * len(walls) / sum(walls) * 1000, rel=0.05)


def test_loads_cover_the_updates(played):
    _, result, _ = played
    assert [load.strategy for load in result.loads] == ["star", "local"]
    for load in result.loads:
        times = [m.time_s for m in by(result, "wall_ms", strategy=load.strategy)]
        assert load.start_s - 0.5 <= min(times) and max(times) <= load.end_s
        (row,) = by(result, "load_s", strategy=load.strategy)
        assert row.value == pytest.approx(load.end_s - load.start_s)


def test_episodes_are_reported_by_those_who_played_them(played):
    _, result, _ = played
    episodes = by(result, "episode_return", strategy="star")
    assert {m.rank for m in episodes} == {1, 2}
    assert all(8 <= m.value <= 500 for m in episodes)
    first = [m.sequence for m in episodes if m.rank == 1]
    assert first == list(range(len(first)))


def test_ranks_are_ready_at_once(played):
    _, result, seen = played
    (ready,) = by(result, "ready_ms")
    assert ready.value < 1000
    assert [e["event"] for e in seen if e["event"] in ("port", "spawned")].count("spawned") == 3


def test_the_process_group_is_the_same_for_all_strategies(played):
    _, _, seen = played
    assert len([e for e in seen if e["event"] == "joined"]) == 3
    assert len({e["pid"] for e in seen if e["event"] == "spawned"}) == 3


def test_workers_keep_no_connection_with_each_other(agents):
    """Two sites may have no path between them, and a star needs none."""
    pids, pairs = {}, {}

    def look(event):
        if event["event"] == "spawned":
            pids[event["rank"]] = event["pid"]
        if event["event"] == "update" and not pairs:
            mine = {rank: _connections(pid) for rank, pid in pids.items()}
            for one, other in ((0, 1), (0, 2), (1, 2)):
                pairs[one, other] = mine[one] & {pair[::-1] for pair in mine[other]}

    assert not failures(run_gang(agents, make_gang(max_updates=30), look))
    assert pairs[0, 1] and pairs[0, 2] and not pairs[1, 2]


def _connections(pid):
    """(own port, peer's port) of every TCP connection a process holds."""
    links = [link.readlink().name for link in Path(f"/proc/{pid}/fd").iterdir()]
    own = {link.removeprefix("socket:[").removesuffix("]") for link in links if "socket" in link}
    rows = [row.split() for row in Path("/proc/net/tcp").read_text().splitlines()[1:]]
    return {tuple(end.split(":")[1] for end in row[1:3]) for row in rows if row[9] in own}


def test_workers_explore_differently_and_the_round_changes_the_draws(agents):
    def returns(rank, **changes):
        result = run_gang(agents, make_gang(**changes))
        return [m.value for m in by(result, "episode_return", rank=rank)]

    once = run_gang(agents, make_gang())
    mine, other = ([m.value for m in by(once, "episode_return", rank=r)] for r in (1, 2))
    assert mine != other
    assert returns(1) == mine, "the same study, round, strategy and rank draw the same"
    assert returns(1, round=2) != mine


def test_a_learner_may_collect_too(agents):
    spec = make_gang(learner_collects=True, workers=("guangdong",))
    result = run_gang(agents, spec)
    assert not failures(result)
    assert {m.value for m in by(result, "steps_used", rank=0)} == {64}
    assert {m.rank for m in by(result, "episode_return")} == {0, 1}


def test_local_updates_average_every_so_often_and_only_then(agents):
    every = Strategy(topology="local", sync_every=3)
    result = run_gang(agents, make_gang(strategies=(every,), max_updates=9))
    assert not failures(result)
    worker = [m.value for m in by(result, "syncs", rank=1, strategy="local/3")]
    assert worker == [0, 0, 1] * 3
    assert [m.sequence for m in by(result, "parameter_checksum", rank=2)] == [2, 5, 8]
    assert [m.sequence for m in by(result, "wall_ms", rank=0)] == [2, 5, 8]
    assert len(by(result, "throughput_steps_s")) == 1


def test_training_ends_when_its_seconds_are_over(agents):
    began = time.monotonic()
    result = run_gang(agents, make_gang(training_s=1.0, max_updates=None))
    assert 1.0 <= time.monotonic() - began < 3.0
    walls = [m.value for m in by(result, "wall_ms", rank=0)]
    assert sum(walls[2:]) / 1000 == pytest.approx(1.0, abs=0.25)
    assert len({m.sequence for m in by(result, "wall_ms", rank=1)}) == len(walls)


def test_waiting_for_a_slow_rank_shows_at_the_other_and_not_as_wire_time(agents):
    spec = make_gang(
        workers=("guangdong", "slow"),
        workload=small(env_id=SLEEPY, n_envs=1, n_steps=32, batch_size=32, n_epochs=1),
    )
    result = run_gang(agents, spec)
    assert not failures(result)
    slept_ms = 32 * 5
    waits = [m.value for m in by(result, "sync_wait_ms", rank=1)]
    assert statistics.median(waits) == pytest.approx(slept_ms, rel=0.35)
    assert statistics.median(m.value for m in by(result, "sync_wait_ms", rank=2)) < 20
    assert statistics.median(m.value for m in by(result, "collect_ms", rank=2)) >= slept_ms
    for rank in (1, 2):
        assert statistics.median(m.value for m in by(result, "sync_wire_ms", rank=rank)) < 20


def test_the_twin_is_measured_at_the_place_it_repeats(agents, demo):
    from homeport.train import GangSpec

    spec = GangSpec.of(demo, demo.twin, 2)
    assert (spec.host, spec.learner, spec.workers) == ("hk-twin", "hk", ("guangdong",) * 2)
    assert spec.source(0) == "hk-twin" and spec.places[0] == "hk"
