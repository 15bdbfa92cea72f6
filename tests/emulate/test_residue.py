"""Nothing may be left of a world, whatever happened to its owner; and nobody else may suffer."""

import dataclasses
import json
import signal
import subprocess
import sys
import time
from contextlib import contextmanager
from pathlib import Path

import pytest
from emulate.flows import leave_stray
from small import listen_to_ctrl_c

from homeport import emulate
from homeport.emulate import World, state
from homeport.emulate.state import Process
from homeport.errors import NoEmulation
from homeport.places import Local, stop

pytestmark = [pytest.mark.world, pytest.mark.usefixtures("can_emulate")]

OWNER = """
import json, sys, time
sys.path[:0] = sys.argv[1:]
from emulate.flows import leave_stray
from homeport.emulate import World
with World(["a", "b"]) as world:
    leave_stray(world.place("a"))
    world.place("b").start(["sleep", "305"])
    while len(world.inside()) < 2:
        time.sleep(0.01)
    inside = [one.pid for one in world.inside()]
    print(json.dumps({"relay": world._state.relay.pid, "inside": inside}), flush=True)
    time.sleep(300)
"""


@pytest.fixture
def bystander():
    """A process that has nothing to do with any world, but looks like one that has.

    It has a network namespace of its own: should a guard fail, it alone is killed.
    """
    child = Local("here").start(["unshare", "--net", "--", "sleep", "305"])
    while network_inode(child.pid) == network_inode("self"):
        time.sleep(0.01)
    yield child
    assert child.poll() is None
    stop(child)


@contextmanager
def owner():
    """Another process with a world of its own; says who its relay is and who lives inside."""
    words = [sys.executable, "-c", OWNER, str(Path(__file__).parents[1])]
    child = subprocess.Popen(words, stdout=subprocess.PIPE, text=True, preexec_fn=listen_to_ctrl_c)
    try:
        told = json.loads(child.stdout.readline())
        assert len(told["inside"]) == 2
        yield child, told["relay"], told["inside"]
    finally:
        child.kill()
        child.wait()
        child.stdout.close()
        emulate.sweep()


def gone_within(seconds, *pids):
    deadline = time.monotonic() + seconds
    while any(Process.of(pid) for pid in pids):
        if time.monotonic() > deadline:
            return False
        time.sleep(0.01)
    return True


def network_inode(pid):
    return Path(f"/proc/{pid}/ns/net").stat().st_ino


def on_file(runtime_folder):
    return list(runtime_folder.iterdir())


def test_an_exception_leaves_no_process_and_no_file(runtime_folder, bystander):
    seen = {}

    def fail():
        with World(["a", "b"]) as world:
            leave_stray(world.place("a"))
            seen["inside"] = list(world.inside())
            seen["relay"] = world._state.relay
            assert on_file(runtime_folder)
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail()
    assert len(seen["inside"]) == 1
    assert not any(one.alive for one in (*seen["inside"], seen["relay"]))
    assert on_file(runtime_folder) == []


def test_whoever_entered_only_the_network_of_a_host_is_ended_with_the_world():
    with World(["a"]) as world:
        network = f"--net={world.place('a').network}"
        guest = Local("here").start(["nsenter", network, "--", "sleep", "305"])
        while network_inode(guest.pid) == network_inode("self"):
            time.sleep(0.01)
        assert {one.pid: host for one, host in world.inside().items()} == {guest.pid: "a"}
    assert guest.wait(1) == -signal.SIGKILL
    stop(guest)


def test_a_killed_owner_takes_its_relay_along_and_a_sweep_ends_the_rest(runtime_folder, bystander):
    with owner() as (child, relay, inside):
        child.send_signal(signal.SIGKILL)
        child.wait()
        assert gone_within(2, relay)
        strays = [pid for pid in inside if Process.of(pid)]
        assert len(strays) == 1
        assert [one.pid for one in emulate.sweep()] == strays
        assert gone_within(1, *inside)
    assert on_file(runtime_folder) == []
    assert emulate.sweep() == []


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupted_owner_leaves_nothing_but_what_a_sweep_ends(runtime_folder, number):
    with owner() as (child, relay, inside):
        child.send_signal(number)
        child.wait(10)
        assert gone_within(2, relay)
        if number == signal.SIGINT:  # Python unwinds, so even the stray is gone
            assert gone_within(0, *inside)
            assert on_file(runtime_folder) == []
        emulate.sweep()
        assert gone_within(1, *inside)


def test_a_sweep_leaves_a_world_in_use_alone():
    with World(["a"]) as world, owner() as (_, relay, inside):
        assert emulate.sweep() == []
        assert world.place("a").run(["true"], timeout_s=5).code == 0
        assert all(Process.of(pid) for pid in (relay, *inside))


@pytest.fixture
def dead_world(runtime_folder):
    """The state of a world that ended without its file being removed."""
    with World(["a"]) as world:
        ended = world._state
    return dataclasses.replace(ended, owner=Process(ended.relay.pid, 1))


def test_ids_that_came_back_as_another_process_are_not_touched(dead_world, bystander):
    came_back = Process(bystander.pid, Process.of(bystander.pid).started - 1)
    facts = [{**dead_world.facts[0], "inode": network_inode(bystander.pid)}]
    state.write(dataclasses.replace(dead_world, owner=came_back, relay=came_back, facts=facts))
    assert emulate.sweep() == []
    assert state.read_all() == {}


def test_whoever_shares_our_own_network_is_never_taken_for_inside():
    assert state.inside("no-such-world", {network_inode("self"): "a"}) == {}


def test_a_world_from_before_the_machine_started_is_only_forgotten(dead_world, bystander):
    now = Process.of(bystander.pid)
    state.write(dataclasses.replace(dead_world, relay=now, boot="another"))
    assert emulate.sweep() == []
    assert state.read_all() == {}


def test_an_unreadable_file_is_cleared_by_the_id_it_is_named_after(runtime_folder):
    with owner() as (child, relay, inside):
        (file,) = runtime_folder.glob("*.json")
        child.send_signal(signal.SIGKILL)
        child.wait()
        assert gone_within(2, relay)
        file.write_text('{"id": "to')
        assert len(emulate.sweep()) == 1
        assert gone_within(1, *inside)
    assert on_file(runtime_folder) == []


def test_a_folder_that_others_may_write_to_is_refused(tmp_path, monkeypatch):
    tmp_path.chmod(0o777)
    monkeypatch.setenv("HOMEPORT_RUNTIME", str(tmp_path))
    with pytest.raises(NoEmulation, match="only you"):
        state.runtime_folder()
