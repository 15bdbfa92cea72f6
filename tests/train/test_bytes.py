"""Bytes of an update at every place, against what the relay of an emulated world carried."""

import os
import statistics
from collections import defaultdict
from dataclasses import dataclass

import pytest

from homeport import emulate
from homeport.emulate import Profile, World
from homeport.errors import NoEmulation
from homeport.metrics import Failure, Measurement
from homeport.params import Strategy
from homeport.places import stop
from homeport.train import run_gang, start_agents

from .conftest import make_gang, small

pytestmark = pytest.mark.world
STRATEGIES = (Strategy(topology="star"), Strategy(topology="local"))
SITES = {"guangdong": 2, "osaka": 1}  # workers
UPDATES = 16
MESSAGE = 36_652  # bytes: CartPole's 9155 parameters and a header
SYNCS = {"star": 4, "local": 1}
BOTH = pytest.mark.parametrize("strategy", list(SYNCS))
PING_BYTES, PING_HZ = 1400, 50  # an IP packet, and how many a second


@dataclass
class Carried:
    """A gang's counts by (strategy, metric, place), one an update, and the relay's totals."""

    counts: dict
    relay: dict  # (strategy, source, target): bytes between the strategy's begin and end
    ranks: dict  # metric: the ranks that measured it
    seconds: dict  # strategy: from its begin to its end

    def of(self, strategy, metric, *places):
        """Bytes of every update, summed over places."""
        each = [self.counts[strategy, metric, place] for place in places]
        assert all(sorted(one) == list(range(UPDATES)) for one in each)
        return [sum(one[update] for one in each) for update in range(UPDATES)]


@pytest.fixture(scope="module")
def carried(tmp_path_factory):
    """A learner and two sites, one with two workers, while a ping of known size runs as well."""
    if os.geteuid() != 0:
        pytest.skip("worlds need root here: sudo, or unshare -Urnm -- pytest")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("HOMEPORT_RUNTIME", str(tmp_path_factory.mktemp("runtime")))
        try:
            emulate.check()
        except NoEmulation as reason:
            pytest.skip(str(reason))
        with World(["hk", *SITES]) as world:
            world.link_both("hk", "guangdong", Profile(delay_ms=8, rate_mbit_s=100))
            world.link_both("hk", "osaka", Profile(delay_ms=12, rate_mbit_s=100))
            yield _carried(world)


def _carried(world):
    pairs = [pair for site in SITES for pair in (("hk", site), (site, "hk"))]
    marks = {}

    def look(event):
        if event["event"] in ("began", "ended"):
            at = {pair: world.counters(*pair).bytes for pair in pairs}
            marks[event["strategy"], event["event"]] = at

    places = {name: world.place(name) for name in ("hk", *SITES)}
    workers = tuple(site for site, many in SITES.items() for _ in range(many))
    work = small(n_envs=8, n_steps=64, batch_size=256)
    spec = make_gang(workers=workers, workload=work, strategies=STRATEGIES, max_updates=UPDATES)
    agents = start_agents(places.values())
    ping = ["ping", "-q", "-i", str(1 / PING_HZ), "-s", str(PING_BYTES - 28)]
    background = places["guangdong"].start([*ping, places["hk"].address])
    try:
        result = run_gang(agents, spec, look)
    finally:
        stop(background)
        for agent in agents.values():
            agent.stop()
    assert not [r for r in result.records if isinstance(r, Failure)]
    counts, ranks = defaultdict(lambda: defaultdict(float)), defaultdict(set)
    for one in result.records:
        if isinstance(one, Measurement) and one.metric.endswith("x_bytes"):
            counts[one.strategy, one.metric, one.source][one.sequence] += one.value
            ranks[one.metric].add(one.rank)
    relay = {
        (strategy, *pair): marks[strategy, "ended"][pair] - marks[strategy, "began"][pair]
        for strategy in SYNCS
        for pair in pairs
    }
    seconds = {load.strategy: load.end_s - load.start_s for load in result.loads}
    return Carried(counts, relay, ranks, seconds)


@BOTH
def test_payload_is_known_at_every_rank_and_adds_up_at_every_place(carried, strategy):
    each = SYNCS[strategy] * MESSAGE
    for way in ("payload_tx_bytes", "payload_rx_bytes"):
        assert carried.ranks[way] == {0, 1, 2, 3}
        assert set(carried.of(strategy, way, "hk")) == {3 * each}
        assert set(carried.of(strategy, way, "guangdong")) == {2 * each}
        assert set(carried.of(strategy, way, "osaka")) == {each}


def test_the_first_rank_at_each_place_counts(carried):
    """Ranks 1 and 2 share guangdong's interface: were both to count, each byte would be twice."""
    for way in ("counted_tx_bytes", "counted_rx_bytes"):
        assert carried.ranks[way] == {0, 1, 3}
    assert {place for _, _, place in carried.counts} == {"hk", "guangdong", "osaka"}


@BOTH
def test_what_the_sites_sent_the_learner_received(carried, strategy):
    """All of an update's payloads lie before the ends of that update at both ends.

    The first update is left out: sites may have sent before the learner began to count.
    """
    sent = carried.of(strategy, "counted_tx_bytes", *SITES)[1:]
    received = carried.of(strategy, "counted_rx_bytes", "hk")[1:]
    apart = [abs(a - b) for a, b in zip(sent, received, strict=True)]
    assert statistics.median(apart) <= 0.02 * statistics.median(sent)
    assert max(apart) <= 0.02 * max(sent) + MESSAGE, "a rank may look late by a message"
    assert sum(sent) == pytest.approx(sum(received), rel=0.02)


@BOTH
def test_what_the_learner_sent_the_sites_received(carried, strategy):
    """An answer may be under way, to one worker or the other, when an update ends."""
    sent = carried.of(strategy, "counted_tx_bytes", "hk")
    received = carried.of(strategy, "counted_rx_bytes", *SITES)
    assert sum(sent) == pytest.approx(sum(received), rel=0.04)
    assert statistics.median(sent) == pytest.approx(statistics.median(received), rel=0.1)


@BOTH
def test_counts_are_what_the_relay_carried(carried, strategy):
    relay = {(a, b): n for (name, a, b), n in carried.relay.items() if name == strategy}
    for site in SITES:
        sent = sum(carried.of(strategy, "counted_tx_bytes", site))
        received = sum(carried.of(strategy, "counted_rx_bytes", site))
        assert sent == pytest.approx(relay[site, "hk"], rel=0.04)
        assert received == pytest.approx(relay["hk", site], rel=0.04)
    sent = sum(carried.of(strategy, "counted_tx_bytes", "hk"))
    received = sum(carried.of(strategy, "counted_rx_bytes", "hk"))
    assert sent == pytest.approx(sum(relay["hk", site] for site in SITES), rel=0.04)
    assert received == pytest.approx(sum(relay[site, "hk"] for site in SITES), rel=0.04)


@BOTH
def test_no_place_counts_less_than_its_payload(carried, strategy):
    for place in ("hk", *SITES):
        for way in ("tx", "rx"):
            counted = carried.of(strategy, f"counted_{way}_bytes", place)
            payload = carried.of(strategy, f"payload_{way}_bytes", place)
            assert sum(counted) > sum(payload), (place, way)
    alone = carried.of(strategy, "counted_tx_bytes", "osaka")
    payload = SYNCS[strategy] * MESSAGE
    assert payload < min(alone[1:]) and statistics.median(alone) < 1.1 * payload


def test_the_background_of_a_place_is_in_its_count(carried):
    """Beside two workers like osaka's one, guangdong's interface carries the ping."""
    guangdong, osaka = (
        sum(carried.of("local", "counted_tx_bytes", site)) for site in ("guangdong", "osaka")
    )
    pings = PING_BYTES * PING_HZ * carried.seconds["local"]
    assert guangdong - 2 * osaka == pytest.approx(pings, rel=0.3)
