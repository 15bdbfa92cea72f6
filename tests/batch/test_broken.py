"""What ends by itself in the middle of a run is not blamed on a host; a resumed run is whole."""

import os
import signal
import time

import pytest
import small
from processes import of_environment
from whole import check_whole

from homeport import store
from homeport.metrics import Failure

pytestmark = [pytest.mark.world, pytest.mark.notebook, pytest.mark.fault]

SHORT = {
    "candidates": ["hk"],
    "strategies": [{"topology": "star"}],
    "rounds": 1,
    "notebooks": {"20_training": "all"},
}


def trainings(data):
    """How many trainings have begun."""
    journals = list(data.glob("small/*/loads.jsonl"))
    text = journals[0].read_text() if journals else ""
    return text.count('"begin"')


def kill_one(data, what):
    (victim,) = [p for p, c in of_environment(str(data)).items() if what in c]
    os.kill(victim, signal.SIGKILL)


@pytest.mark.parametrize("part", [pytest.param(1, marks=pytest.mark.long), 2])
def test_a_relay_that_dies_ends_the_run_with_its_name_and_spoils_nothing(tmp_path, part):
    path, data = small.study(tmp_path / "params", **SHORT), tmp_path / "runs"
    child = small.started(data, "run", path, log=tmp_path / "log")
    try:
        small.wait_for(lambda: trainings(data) >= part, timeout_s=120, what="training")
        kill_one(data, "homeport.emulate.relay")
        assert child.wait(90) == 3
    finally:
        small.kill(child)
    log = " ".join((tmp_path / "log").read_text().split())
    assert "stopped: the relay of the emulated world ended" in log and "--resume" in log
    (session,) = data.glob("small/*/session.json")
    folder = store.SessionFolder.open(session.parent)
    frame = store.read(folder).frame
    assert not frame["metric"].isin(["step_overdue_ms", "lost_echo"]).any()
    if part == 2:
        assert (frame["metric"] == "step_ms").any(), "what was measured before is kept"
    failed = frame[frame["failure"] == "WorldBroken"]
    assert {"background", "20_training"} == set(failed["notebook"])
    said = small.decision(data)
    assert said["candidates"][0]["sla"]["verdict"] != "FAIL"
    done = small.homeport(data, "run", path, "--resume")
    assert done.returncode in (0, 4, 5), done.stderr
    check_whole(data)
    assert of_environment(str(data)) == {}


@pytest.mark.long
def test_a_policy_server_that_dies_costs_its_own_steps_alone(tmp_path):
    path, data = small.study(tmp_path / "params", **SHORT), tmp_path / "runs"
    child = small.started(data, "run", path, log=tmp_path / "log")
    try:
        small.wait_for(lambda: trainings(data) >= 1, timeout_s=120, what="training")
        kill_one(data, "homeport.probes.interaction.server")
        code = child.wait(120)
    finally:
        small.kill(child)
    assert code in (0, 4, 5), (tmp_path / "log").read_text()
    (session,) = data.glob("small/*/session.json")
    recorded = store.read(session.parent)
    assert recorded.values("step_overdue_ms").empty
    assert "PolicyServerEnded" in set(recorded.failures()["failure"])
    said = small.decision(data)
    assert said["candidates"][0]["sla"]["verdict"] != "FAIL"


def test_resume_goes_on_with_what_lacks_parts_as_it_was_asked_for(demo, data_folder):
    """A newer, shorter session does not stand in the way of an older one that lacks parts."""
    from homeport.batch.plan import shorter
    from homeport.batch.run import missing_parts, plan, to_measure, to_resume
    from homeport.errors import Damaged, NotFound

    nothing = {"only": None, "region": None, "rounds": None}
    with pytest.raises(NotFound, match="session to resume"):
        to_resume(demo, nothing)
    whole = store.SessionFolder.create(demo, provenance={})
    short = {**nothing, "only": "la", "rounds": 2, "hosts": ["la"]}
    study = shorter(demo, 2)
    newer = store.SessionFolder.create(study, provenance={}, selection=short)
    assert to_resume(demo, nothing) == newer
    for part in plan(study, hosts=["la"]):
        slot = store.Slot.of(study, newer.session, part.host, part.round, part.notebook)
        failed = Failure(kind="Test", reason="a part of any content")
        path = newer.part_file(part.host, part.round, part.notebook)
        store.write_part(path, study, slot, [failed], provenance={})
    assert missing_parts(newer) == []
    everything, left = to_measure(demo, resume=True, **nothing)
    assert everything == demo and left == plan(demo), "of the older one everything is missing"
    assert to_measure(demo, resume=True, **{**nothing, "rounds": 2}) == (study, [])
    assert to_measure(demo, resume=False, **{**nothing, "only": "la"})[1] == plan(
        demo, hosts=["la"]
    )
    assert to_resume(demo, nothing) == whole
    assert to_resume(demo, {**nothing, "rounds": 2}) == newer
    with pytest.raises(NotFound, match="session to resume"):
        to_resume(demo, {**nothing, "only": "hk"})
    other = demo.model_copy(update={"seed": 1})
    with pytest.raises(Damaged, match="parameters differ"):
        to_resume(other, nothing)
    whole.note("rounds", round=1, time_s=time.time() + 3600)
    with pytest.raises(Damaged, match="later than now"):
        to_resume(demo, nothing)
    (whole.path / "session.json").write_text("{")
    assert to_resume(demo, nothing) == newer, "a damaged session hinders no other"
