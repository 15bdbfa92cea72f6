"""Do packets meet what the profiles say? Medians, since machines are shared."""

import contextlib
import json

import pytest
from emulate.flows import (
    TRAFFIC,
    median,
    ping,
    pinging,
    receiving,
    report,
    round_trips,
    running,
    steady_mbit_s,
    traffic,
    udp,
)

from homeport.emulate import Access, Bursts, Profile, World
from homeport.errors import CommandFailed

pytestmark = [pytest.mark.world, pytest.mark.usefixtures("can_emulate")]

RTTS_MS = {"near": 5, "hk": 31, "tokyo": 142, "la": 204}


@pytest.fixture(scope="module")
def world(can_emulate):
    with World(["here", *RTTS_MS, "spare"], seed=7) as running_world:
        for name, rtt_ms in RTTS_MS.items():
            running_world.link_both("here", name, Profile(delay_ms=rtt_ms / 2))
        yield running_world


@pytest.fixture
def here(world):
    return world.place("here")


@pytest.fixture
def spare(world):
    """A host whose link each test sets as it likes; gone afterwards."""
    yield world.place("spare")
    world.access("spare", Access())
    world.link_both("here", "spare", Profile())
    world.cut("here", "spare")


def test_round_trips_take_what_the_profiles_say(world, here):
    with contextlib.ExitStack() as stack:
        pings = {
            name: stack.enter_context(pinging(here, world.place(name), 20, 0.1)) for name in RTTS_MS
        }
        medians = {name: median(round_trips(child).values()) for name, child in pings.items()}
    for name, rtt_ms in RTTS_MS.items():
        assert medians[name] == pytest.approx(rtt_ms, abs=max(1, 0.01 * rtt_ms)), medians
        assert medians[name] >= rtt_ms


def test_each_direction_has_its_own_profile(world, here, spare):
    world.link("here", "spare", Profile(delay_ms=40))
    world.link("spare", "here", Profile(delay_ms=10))
    world.record_stamps()
    rtts_ms = ping(here, spare)
    there, back = (
        median(s.out_s - s.in_s for s in world.stamps() if (s.source, s.target) == pair)
        for pair in (("here", "spare"), ("spare", "here"))
    )
    world.record_stamps(False)
    assert median(rtts_ms.values()) == pytest.approx(50, abs=1)
    assert there * 1000 == pytest.approx(40, abs=0.5)
    assert back * 1000 == pytest.approx(10, abs=0.5)


def test_ping_and_the_relays_own_record_agree(world, here):
    world.record_stamps()
    printed = ping(here, world.place("near"), count=100)
    stamps = world.stamps()
    world.record_stamps(False)
    sent = {s.key[1]: s.in_s for s in stamps if (s.source, s.target) == ("here", "near")}
    came = {s.key[1]: s.out_s for s in stamps if (s.source, s.target) == ("near", "here")}
    assert {s.protocol for s in stamps} == {1}
    assert sorted(printed) == sorted(sent) == list(range(1, 101))
    apart = median(ms - (came[n] - sent[n]) * 1000 for n, ms in printed.items())
    assert 0 <= apart < 0.2 + 0.005  # printed with two decimals below 10 ms


@pytest.mark.parametrize("percent", [0.6, 2.0])
def test_as_many_packets_are_lost_as_the_profile_says(world, here, spare, percent):
    world.link("here", "spare", Profile(delay_ms=5, loss=percent / 100))
    before, count = world.counters("here", "spare"), 10_000
    came = udp(here, spare, 6000, count, size=20, rate=5000)
    after = world.counters("here", "spare")
    spread = (count * percent / 100 * (1 - percent / 100)) ** 0.5
    assert count - len(came) == pytest.approx(count * percent / 100, abs=4 * spread)
    assert after.lost - before.lost == count - len(came)
    assert after.packets - before.packets == count


def test_bursts_lose_neighbours(world, here, spare):
    world.link("here", "spare", Profile(loss=Bursts(enter=0.02, leave=0.2)))
    came = set(udp(here, spare, 6001, 4000, rate=4000))
    lost = [n for n in range(4000) if n not in came]
    neighbours = sum(n + 1 in lost for n in lost) / len(lost)
    assert neighbours == pytest.approx(0.8, abs=0.12)
    assert len(lost) == pytest.approx(4000 * 0.02 / 0.22, abs=240)  # 4 deviations


def test_equal_seeds_lose_the_same_packets(can_emulate):
    fates = []
    for seed in (1, 1, 2):
        with World(["a", "b"], seed=seed) as two:
            two.link("a", "b", Profile(loss=0.2))
            fates.append(udp(two.place("a"), two.place("b"), 6000, 300))
    assert fates[0] == fates[1] != fates[2]
    assert 180 < len(fates[0]) < 290


def test_nothing_is_reordered_by_jitter(world, here, spare):
    world.link("here", "spare", Profile(delay_ms=20, jitter_ms=5))
    came = udp(here, spare, 6002, 3000)
    assert came == list(range(3000))


def test_counters_equal_what_was_sent(world, here, spare):
    world.link("here", "spare", Profile(delay_ms=3, hops=4))
    before = world.counters("here", "spare")
    assert len(udp(here, spare, 6003, 500, size=100)) == 500
    after = world.counters("here", "spare")
    assert after.packets - before.packets == 500
    assert after.bytes - before.bytes == 500 * (100 + 28)
    assert after.delivered - before.delivered == 500
    assert (after.lost, after.expired, after.unwritten) == (
        before.lost,
        before.expired,
        before.unwritten,
    )


@pytest.mark.parametrize("rate_mbit_s", [20, 100])
def test_tcp_fills_the_rate_and_ping_meets_the_queue(world, here, spare, rate_mbit_s):
    world.link_both(
        "here", "spare", Profile(delay_ms=10, rate_mbit_s=rate_mbit_s, queue_ms=100, hops=8)
    )
    with (
        receiving(spare, "tcp-in", 6004) as sink,
        running(here, *TRAFFIC, "tcp-out", spare.address, "6004", "4"),
        pinging(here, spare, 56, 0.05) as echoes,
    ):
        rtts_ms = list(round_trips(echoes).values())[28:]
        bins = report(sink)["bins"]
    assert steady_mbit_s(bins) == pytest.approx(rate_mbit_s * 1448 / 1500, rel=0.05)
    assert median(rtts_ms) > 20 + 40  # cubic keeps the queue between half full and full
    assert max(rtts_ms) < 20 + 100 + 20
    assert world.counters("here", "spare").overflowed > 0


def test_an_access_link_is_shared_by_all_who_send_to_the_host(world, here, spare):
    world.link_both("here", "spare", Profile())
    world.link("near", "spare", Profile())
    world.access("spare", Access(down_mbit_s=8, queue_ms=2000))
    world.record_stamps()
    with (
        receiving(spare, "udp-in", 6005, "0.7") as sink,
        running(here, *TRAFFIC, "udp-out", spare.address, "6005", "300", "972", "5000") as one,
    ):
        traffic(world.place("near"), "udp-out", spare.address, 6005, 300, 972, 5000)
        one.wait()
        assert len(report(sink)["numbers"]) == 600
    out = [s.out_s for s in world.stamps() if s.target == "spare" and s.protocol == 17]
    world.record_stamps(False)
    assert 600 * 1000 * 8 / (max(out) - min(out)) == pytest.approx(8e6, rel=0.03)


def test_a_cut_link_loses_everything_and_a_mended_one_is_as_before(world, here, spare):
    world.link_both("here", "spare", Profile(delay_ms=2))
    assert len(ping(here, spare, count=3)) == 3
    world.cut("here", "spare")
    assert not world.is_up("here", "spare")
    before = world.counters("here", "spare").refused
    words = ["ping", "-n", "-c", "3", "-i", "0.02", "-W", "0.3", spare.address]
    with pytest.raises(CommandFailed):
        here.run(words, timeout_s=10)
    assert world.counters("here", "spare").refused == before + 3
    world.mend("here", "spare")
    assert median(ping(here, spare, count=5).values()) == pytest.approx(4, abs=1)


def test_a_profile_can_change_under_a_running_ping(world, here, spare):
    world.link_both("here", "spare", Profile(delay_ms=5))
    with pinging(here, spare, 40, 0.05) as child:
        assert ping(here, spare, count=5)
        world.link_both("here", "spare", Profile(delay_ms=45))
        rtts_ms = round_trips(child)
    assert len(rtts_ms) == 40
    assert min(rtts_ms.values()) == pytest.approx(10, abs=1)
    assert median(list(rtts_ms.values())[20:]) == pytest.approx(90, abs=1)


def test_a_pair_without_a_link_drops_and_counts(world, here):
    tokyo = world.place("tokyo")
    before = world.counters("tokyo", "la")
    with pytest.raises(CommandFailed):
        tokyo.run(["ping", "-c", "2", "-i", "0.02", "-W", "0.3", "la"], timeout_s=10)
    assert world.counters("tokyo", "la").refused == before.refused + 2
    with pytest.raises(CommandFailed):
        here.run(["ping", "-n", "-c", "2", "-i", "0.02", "-W", "0.3", "192.0.2.9"], timeout_s=10)
    assert world.counters("here", "here").refused == 2


def test_an_idle_world_costs_nothing(world):
    with contextlib.suppress(TimeoutError), running(world.place("here"), "sleep", "1") as child:
        before = world.cpu_s()
        child.wait()
    assert world.cpu_s() - before < 0.01
    assert 0 < world.cpu_share() < 1


def test_the_relay_tells_what_it_is_and_failed_at(world):
    facts = world.provenance()
    json.dumps(facts)
    assert facts["links"]["here>tokyo"]["delay_ms"] == 71
    assert facts["hosts"]["hk"]["mtu"] == 1500
    assert facts["relay"]["drops"] == world.relay_drops()
    assert set(world.unread().values()) == {0}
    assert facts["relay"]["priority"].startswith(("SCHED_RR", "nice"))
