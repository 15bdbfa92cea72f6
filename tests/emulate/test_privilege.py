"""With root, without it, and with neither root nor leave."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from emulate.as_nobody import NO_PYTHON

from homeport import emulate
from homeport.emulate import linux, privilege
from homeport.errors import NoEmulation

HELPER = Path(__file__).parent / "as_nobody.py"


@pytest.fixture
def as_nobody(can_emulate):
    """Run code as the user nobody; skip where that cannot be done."""
    if "4294967295" not in Path("/proc/self/uid_map").read_text():
        pytest.skip("needs the machine's own root, to become nobody")

    def run(mode, *codes):
        words = [sys.executable, str(HELPER), mode, *codes]
        done = subprocess.run(words, capture_output=True, text=True, timeout=60)
        if done.returncode == NO_PYTHON:
            pytest.skip("the user nobody may execute no Python of this version")
        assert done.returncode == 0, done.stderr
        return done.stdout

    return run


@pytest.mark.world
def test_root_is_let_through(can_emulate):
    privilege.ensure_privileges()
    emulate.check()


@pytest.mark.world
def test_a_user_without_leave_is_told_what_to_do(as_nobody):
    code = """
from homeport.emulate import check, privilege
from homeport.errors import NoEmulation
for ask in (check, privilege.ensure_privileges):
    try:
        ask()
    except NoEmulation as refused:
        print(refused.reason, "|", refused.remedy)
"""
    said = as_nobody("600", code).splitlines()
    assert len(said) == 2
    assert all("/dev/net/tun cannot be used" in line for line in said)
    assert all("chmod 0666 /dev/net/tun" in line for line in said)


@pytest.mark.world
def test_a_user_with_leave_gets_a_world_of_real_packets(as_nobody):
    code = """
import os, re
from homeport.emulate import Profile, World, check, privilege
if os.environ.get("HOMEPORT_MAPPED") is None:
    print("first", os.geteuid())
privilege.ensure_privileges()
check()
with World(["a", "b"]) as world:
    world.link_both("a", "b", Profile(delay_ms=10, hops=2))
    print("then", os.geteuid())
    print(world.place("a").run(["ping", "-c", "5", "-i", "0.05", "b"], timeout_s=10).stdout)
    print("drops", world.relay_drops(), world.provenance()["relay"]["priority"])
    child = world.place("a").start(["cat"])
    child.stdin.write("it runs\\n")
    child.stdin.flush()
    child.stdout.readline()
    print("inside", len(world.inside()))
    relay = world._state.relay
print("left", relay.alive, os.listdir(os.environ["HOMEPORT_RUNTIME"]))
from homeport.places import Local
print(Local("here").run(["ping", "-c", "1", "127.0.0.1"], timeout_s=5).stdout)
"""
    said = as_nobody("666", code)
    assert "first 65534" in said
    assert "then 0" in said
    assert said.count("ttl=62") == 5
    assert "inside 1" in said
    assert "left False []" in said
    assert "1 packets transmitted, 1 received" in said


@pytest.mark.world
def test_commands_of_a_user_meet_in_the_lab_that_is_up(as_nobody):
    begin = """
from homeport.emulate import lab, privilege
from homeport.params import load_study
privilege.ensure_privileges()
study = load_study("demo")
"""
    said = as_nobody(
        "666",
        begin + "print('up', lab.up(study).relay_pid)",
        begin + "print('status', lab.status().relay_pid)",
        begin + "w = lab.attached(study); w.place('hk').run(['ping', '-c1', 'guangdong'], "
        "timeout_s=5); print('sent', w.counters('hk', 'guangdong').packets)",
        begin + "print('down', [one.pid for one in lab.down()], lab.status())",
    )
    words = said.split()
    assert words[0] == "up"
    relay = words[1]
    assert words[2:] == ["status", relay, "sent", "1", "down", f"[{relay}]", "None"]


def test_what_is_missing_is_named_with_its_package(monkeypatch):
    monkeypatch.setattr(shutil, "which", lambda tool: None if tool == "nsenter" else f"/bin/{tool}")
    with pytest.raises(NoEmulation, match="apt-get install util-linux"):
        emulate.check()


def test_other_systems_are_pointed_to_the_sample(monkeypatch):
    monkeypatch.setattr(sys, "platform", "darwin")
    with pytest.raises(NoEmulation, match="recorded sample"):
        emulate.check()


def test_a_machine_without_the_device_is_told_how_to_load_it(monkeypatch):
    monkeypatch.setattr(privilege, "_TUN", "/dev/net/no-such-device")
    with pytest.raises(NoEmulation, match="modprobe tun"):
        privilege._check_tun()


def test_the_command_that_starts_anew_is_the_one_that_ran(monkeypatch, tmp_path):
    started = []
    monkeypatch.setenv("HOMEPORT_RUNTIME", str(tmp_path))
    monkeypatch.setattr(privilege, "check", lambda: None)
    monkeypatch.setattr(os, "geteuid", lambda: tmp_path.stat().st_uid or 12345)
    monkeypatch.setattr(privilege.state, "runtime_folder", lambda: tmp_path)
    monkeypatch.setattr(os, "execvpe", lambda file, words, environment: started.append(words))
    privilege.ensure_privileges(sys.argv)
    privilege.ensure_privileges(["homeport", "lab", "up", "demo"])
    unshare = ["unshare", "--user", "--map-root-user", "--net", "--mount", "--"]
    assert started[0] == [*unshare, sys.executable, *sys.orig_argv[1:]]
    assert started[1] == [*unshare, "homeport", "lab", "up", "demo"]


def test_system_calls_that_fail_raise_what_the_kernel_said():
    with pytest.raises(OSError, match="setns"):
        linux.setns(-1, linux.CLONE_NEWNET)
    with pytest.raises(FileNotFoundError):
        linux.mount("none", "/no/such/place", "tmpfs")
