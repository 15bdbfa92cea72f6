"""What a world gives to whoever builds one: hosts, names, congestion control, errors."""

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest
from emulate.flows import TRAFFIC, receiving, running, traffic

from homeport.emulate import Profile, World
from homeport.errors import NoEmulation, NotFound, WorldBroken
from homeport.params import Study

pytestmark = [pytest.mark.world, pytest.mark.usefixtures("can_emulate")]


@pytest.fixture(scope="module")
def world(can_emulate):
    hosts = ["guangdong", "hk", "tokyo"]
    with World(hosts, aliases={"hk-twin": "hk"}, mtu=1400) as running_world:
        running_world.link_both("guangdong", "hk", Profile(delay_ms=5))
        yield running_world


def test_importing_the_room_is_light():
    heavy = ("pandas", "pyarrow", "duckdb", "numpy", "torch", "homeport.store", "rich")
    code = f"import sys, homeport.emulate; print([m for m in {heavy!r} if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_the_world_of_a_study_has_its_hosts_links_and_twin(can_emulate, demo: Study):
    began = time.monotonic()
    with World.from_study(demo) as world:
        assert time.monotonic() - began < 2
        assert world.hosts == ["guangdong", "hk", "tokyo", "la"]
        assert world.links()["tokyo", "guangdong"].delay_ms == 71
        assert len(world.links()) == 6
        assert world.place("hk-twin").address == world.place("hk").address
        assert world.place("hk-twin").name == "hk-twin"
        assert world.provenance()["study"] == "demo"


def test_six_hosts_are_up_in_two_seconds(can_emulate):
    began = time.monotonic()
    with World([f"h{n}" for n in range(6)]):
        assert time.monotonic() - began < 2


def test_hosts_know_each_other_by_name_and_answer_at_once(world):
    hk = world.place("hk")
    addresses = world.addresses
    for name, address in [
        ("guangdong", addresses["guangdong"]),
        ("hk-twin", addresses["hk"]),
        ("localhost", "127.0.0.1"),
    ]:
        assert traffic(hk, "resolve", name)["address"] == address
    told = traffic(hk, "resolve", "no-such-host.example")
    assert not told["address"][0].isdigit()
    assert told["seconds"] < 0.5
    assert traffic(hk, "resolve", told["machine"])["address"] == addresses["hk"]


def test_a_host_has_only_its_own_interfaces_and_loopback_works(world):
    hk = world.place("hk")
    assert sorted(hk.run(["ls", "/sys/class/net"], timeout_s=5).stdout.split()) == ["lo", "wan0"]
    hk.run(["ping", "-c", "1", "127.0.0.1"], timeout_s=5)
    assert "mtu 1400" in hk.run(["ip", "link", "show", "wan0"], timeout_s=5).stdout


def test_commands_keep_the_folder_they_were_started_in(world, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert world.place("hk").run(["pwd"], timeout_s=5).stdout.strip() == str(tmp_path)


def test_what_is_laid_over_etc_is_seen_inside_only(world):
    inside = world.place("hk").run(["cat", "/etc/hosts"], timeout_s=5).stdout
    assert "hk-twin" in inside
    assert "hk-twin" not in Path("/etc/hosts").read_text()


@pytest.mark.parametrize("name", ["cubic", "reno"])
def test_the_congestion_control_is_the_one_asked_for_at_both_ends(can_emulate, name):
    with World(["a", "b"], congestion_control=name) as world:
        world.link_both("a", "b", Profile(delay_ms=10))
        a, b = world.place("a"), world.place("b")
        with (
            receiving(b, "tcp-in", 5000),
            running(a, *TRAFFIC, "tcp-out", b.address, "5000", "1"),
        ):
            time.sleep(0.5)
            shown = [place.run(["ss", "-Htin"], timeout_s=5).stdout.split() for place in (a, b)]
        assert all(name in words for words in shown), shown
        facts = world.provenance()["hosts"]
        assert {fact["congestion_control"] for fact in facts.values()} == {name}


def test_a_congestion_control_the_kernel_lacks_is_named(can_emulate):
    with pytest.raises(NoEmulation, match="nosuch"), World(["a"], congestion_control="nosuch"):
        pass


def test_the_kernel_default_of_this_machine_is_left_alone(can_emulate):
    setting = Path("/proc/sys/net/ipv4/tcp_congestion_control")
    before = setting.read_text()
    with World(["a"], congestion_control="reno"):
        assert setting.read_text() == before
    assert setting.read_text() == before


def test_unknown_names_are_refused_with_the_known_ones(world):
    with pytest.raises(NotFound, match="hk-twin"):
        world.place("osaka")
    with pytest.raises(NotFound, match="guangdong"):
        world.link("hk", "osaka", Profile())
    with pytest.raises(NotFound, match="itself"):
        world.link("hk", "hk-twin", Profile())
    with pytest.raises(NotFound, match="tokyo"):
        world.cut("hk", "tokyo")


def test_a_world_that_is_not_running_says_so():
    world = World(["a", "b"])
    for use in (lambda: world.place("a"), lambda: world.counters("a", "b"), world.stamps):
        with pytest.raises(WorldBroken, match="with"):
            use()
    assert not world.alive()


def test_hosts_must_differ():
    with pytest.raises(ValueError, match="different names"):
        World(["a", "a"])


def test_a_relay_that_died_is_reported(can_emulate):
    with World(["a"]) as world:
        assert world.alive()
        os.kill(world._state.relay.pid, 9)
        world._relay.wait(5)
        with pytest.raises(WorldBroken, match="died"):
            world.place("a")
        assert not world.alive()
