import json
import subprocess
import sys
from io import StringIO

import pytest
from emulate.flows import leave_stray, ping, running
from rich.console import Console

from homeport import emulate
from homeport.emulate import Profile, lab
from homeport.emulate.state import Process
from homeport.errors import Busy, LabDiffers, NoLab, NotFound

pytestmark = [pytest.mark.world, pytest.mark.usefixtures("can_emulate")]

UP = """
from homeport.emulate import lab
from homeport.params import load_study
print(lab.up(load_study("demo")).relay_pid)
"""


@pytest.fixture(scope="module")
def relay(can_emulate):
    """A lab of the demo study, brought up by a process that has ended since."""
    words = [sys.executable, "-c", UP]
    done = subprocess.run(words, capture_output=True, text=True, timeout=30)
    assert done.returncode == 0, done.stderr
    yield Process.of(int(done.stdout))
    lab.down()


def test_the_lab_outlives_whoever_brought_it_up(relay, demo):
    now = lab.status()
    assert relay.alive
    assert now.relay_pid == relay.pid
    assert now.study == "demo"
    assert now.hosts == ["guangdong", "hk", "tokyo", "la"]
    assert now.links["guangdong", "hk"] == Profile.of(demo.link("guangdong", "hk"))
    assert now.inside == ()
    assert 0 < now.up_s < 60
    assert now.cut == ()


def test_a_second_lab_is_refused_and_the_first_unharmed(relay, demo):
    with pytest.raises(Busy, match=str(relay.pid)):
        lab.up(demo)
    assert relay.alive
    assert emulate.sweep() == []
    assert relay.alive


def test_a_run_of_the_same_study_joins_the_lab(relay, demo):
    world = lab.attached(demo)
    rtts_ms = ping(world.place("guangdong"), world.place("hk-twin"), count=5)
    assert min(rtts_ms.values()) == pytest.approx(31, abs=2)
    assert world.counters("guangdong", "hk").packets >= 5
    assert lab.status().counters["guangdong", "hk"] == world.counters("guangdong", "hk")
    # What building the lab took is not in the relay's share of a core.
    building_s = world._state.spent_s
    since_s = world.cpu_share() * lab.status().up_s
    assert building_s > 0.002
    assert since_s == pytest.approx(world.cpu_s() - building_s, abs=building_s / 2)
    assert world.alive()
    assert world.provenance()["kind"] == "lab"
    world.close()


def test_another_world_is_told_apart_by_what_differs(relay, demo):
    slower = demo.links[0].model_copy(update={"rtt_ms": 99.0})
    other = demo.model_copy(
        update={"links": [slower, *demo.links[1:]], "congestion_control": "reno"}
    )
    with pytest.raises(LabDiffers, match="guangdong > hk") as caught:
        lab.attached(other)
    assert len(caught.value.differences) == 3  # both directions, and the congestion control
    fewer = demo.model_copy(update={"candidates": ["hk"], "links": demo.links[:1]})
    with pytest.raises(LabDiffers, match="hosts"):
        lab.attached(fewer)


def test_a_cut_made_by_one_process_is_seen_by_the_next(relay, demo):
    world = lab.attached(demo)
    world.cut("guangdong", "la")
    assert set(lab.status().cut) == {("guangdong", "la"), ("la", "guangdong")}
    with pytest.raises(LabDiffers, match="la is cut"):
        lab.attached(demo)
    world.mend("guangdong", "la")
    lab.attached(demo).close()
    world.close()


def test_a_shell_runs_on_the_host_and_is_listed(relay, demo):
    code = "from homeport.emulate import lab; lab.shell('tokyo')"
    typed = "ip -o -4 address show wan0\nexit 7\n"
    words = [sys.executable, "-c", code]
    done = subprocess.run(words, input=typed, capture_output=True, text=True, timeout=20)
    world = lab.attached(demo)
    assert world.addresses["tokyo"] in done.stdout
    assert (done.returncode, done.stderr) == (7, ""), "no word of a terminal that is not there"
    terminal = f"import pty, sys; sys.exit(pty.spawn({words!r}) >> 8)"
    typed = "echo prompt: $PS1\nexit 8\n"
    done = subprocess.run(
        [sys.executable, "-c", terminal], input=typed, capture_output=True, text=True, timeout=20
    )
    assert f"prompt: [tokyo {world.addresses['tokyo']}]" in done.stdout
    assert done.returncode == 8
    with running(world.place("la"), "cat") as child:
        child.stdin.write("it runs\n")
        child.stdin.flush()
        assert child.stdout.readline() == "it runs\n"
        listed = {(one.pid, one.host, one.command) for one in lab.status().inside}
        assert (child.pid, "la", "cat") in listed
    world.close()
    with pytest.raises(NotFound, match="osaka"):
        lab.shell("osaka")


def test_a_status_can_be_shown_and_written_as_json(relay):
    now = lab.status()
    plain = json.loads(json.dumps(lab.as_dict(now)))
    assert plain["up"] is True
    assert plain["links"]["guangdong>tokyo"]["delay_ms"] == 71
    shown = StringIO()
    Console(file=shown, width=160).print(lab.as_table(now))
    assert "guangdong > tokyo" in shown.getvalue()
    assert "71 ± 0 ms" in shown.getvalue()


def test_down_ends_the_relay_and_everyone_inside(relay, demo, runtime_folder):
    world = lab.attached(demo)
    leave_stray(world.place("hk"))
    (stray,) = world.inside()
    world.close()
    ended = lab.down()
    assert {one.pid for one in ended} == {relay.pid, stray.pid}
    assert any("sleep 305" in str(one) for one in ended)
    assert not relay.alive and not stray.alive
    assert lab.status() is None
    assert lab.as_dict(lab.status()) == {"up": False}
    assert lab.attached(demo) is None
    assert lab.down() == []
    assert list(runtime_folder.iterdir()) == []
    with pytest.raises(NoLab):
        lab.shell("hk")
