import re
import shutil
import time

import pytest

from homeport.emulate import Profile, World
from homeport.emulate.table import DOWN

pytestmark = [pytest.mark.world, pytest.mark.usefixtures("can_emulate")]

_HOP = re.compile(r"^ *(\d+)  ([\d.]+)((?:  [\d.]+ ms)+)$", re.MULTILINE)


@pytest.fixture(scope="module")
def world(can_emulate):
    with World(["a", "b"]) as running_world:
        running_world.link("a", "b", Profile(delay_ms=30, hops=4))
        running_world.link("b", "a", Profile(delay_ms=20, hops=4))
        yield running_world


@pytest.mark.skipif(shutil.which("traceroute") is None, reason="traceroute is not installed")
def test_traceroute_sees_each_router_after_its_share_of_the_way(world):
    words = ["traceroute", "-n", "-q", "3", "-w", "2", world.place("b").address]
    text = world.place("a").run(words, timeout_s=30).stdout
    hops = [
        (int(n), address, min(map(float, times.replace("ms", "").split())))
        for n, address, times in _HOP.findall(text)
    ]
    assert [n for n, _, _ in hops] == [1, 2, 3, 4, 5], text
    assert hops[-1][1] == world.addresses["b"]
    assert len({address for _, address, _ in hops}) == 5
    for number, _, ms in hops:
        assert ms == pytest.approx(50 * number / 5, abs=1.5)


@pytest.mark.skipif(shutil.which("tracepath") is None, reason="tracepath is not installed")
def test_tracepath_finds_a_symmetric_path(world):
    text = world.place("a").run(["tracepath", "-n", "b"], timeout_s=30).stdout
    assert "hops 5 back 5" in text
    assert "asymm" not in text


def test_a_ttl_that_suffices_arrives_lower_and_one_that_does_not_expires(world):
    time.sleep(0.2)  # for what another tool left on its way
    before = world.counters("a", "b")
    a, address = world.place("a"), world.place("b").address
    done = a.run(["ping", "-n", "-c", "1", "-t", "5", address], timeout_s=10)
    assert "ttl=60" in done.stdout  # 64 of b, less its four routers on the way back
    done = a.run(["ping", "-n", "-c", "1", "-t", "4", "-W", "1", address], timeout_s=10, ok=(1,))
    assert "Time to live exceeded" in done.stdout
    after = world.counters("a", "b")
    assert after.expired - before.expired == 1
    assert after.delivered - before.delivered == 1
    assert world.counters("a", "a").delivered >= 1


def test_no_router_answers_over_a_way_back_that_is_cut(world):
    a, address = world.place("a"), world.place("b").address
    words = ["ping", "-n", "-c", "1", "-t", "2", "-W", "0.5", address]
    assert "exceeded" in a.run(words, timeout_s=10, ok=(1,)).stdout
    before = world.counters("a", "b").expired
    world._table.set_state(1, 0, DOWN)
    done = a.run(words, timeout_s=10, ok=(1,))
    world.mend("a", "b")
    assert world.counters("a", "b").expired == before + 1
    assert "exceeded" not in done.stdout
