"""Whole runs: real packets, real processes, real pages."""

import json
import re

import nbformat
import pytest
import small
import yaml
from processes import of_environment

from homeport import store
from homeport.session.gateway import VARIABLE

pytestmark = [pytest.mark.world, pytest.mark.notebook]


# One host and its twin, one strategy, one round: for tests of how a run ends.
SHORT = {
    "candidates": ["hk"],
    "strategies": [{"topology": "star"}],
    "rounds": 1,
    "notebooks": {"20_training": "all"},
}


@pytest.fixture(scope="module")
def ran(tmp_path_factory):
    """One small study, measured once for the tests that only look at it."""
    folder = tmp_path_factory.mktemp("small")
    path = small.study(folder / "params")
    done = small.homeport(folder / "runs", "run", path)
    return folder, path, done


def session(folder):
    (found,) = (folder / "runs" / "small").glob("*/session.json")
    return store.SessionFolder.open(found.parent)


def test_a_run_measures_every_part_once_and_ends_with_a_decision(ran):
    folder, _, done = ran
    assert done.returncode in (0, 4, 5), done.stderr
    recorded = store.read(session(folder))
    study = recorded.study
    complete = {(p.slot.host, p.slot.round, p.slot.notebook) for p in recorded.parts if p.complete}
    pages = {
        (host, round, page)
        for host in study.measured
        for round in (1, 2)
        for page in study.notebooks
        if study.in_round(page, round)
    }
    background = {(host, round, "background") for host in study.measured for round in (1, 2)}
    assert complete == pages | background
    assert recorded.failures().empty
    said = small.decision(folder / "runs")
    assert {c["host"] for c in said["candidates"]} == {"hk", "la"}
    assert said["noise_floor"]["twin"] == "hk-twin"


def test_what_was_planted_comes_out(ran):
    recorded = store.read(session(ran[0]))
    for host, rtt_ms in (("hk", 31.0), ("hk-twin", 31.0), ("la", 204.0)):
        rtts = recorded.values("rtt_ms")
        median = rtts[rtts["host"] == host]["value"].median()
        assert abs(median - rtt_ms) <= max(1.0, 0.03 * rtt_ms)
        throughput = recorded.values("throughput_steps_s")
        ours = throughput[throughput["host"] == host]
        assert set(ours["strategy"]) == {"star", "local"} and len(ours) == 4


def test_training_loads_the_link_and_the_background_knows(ran):
    frame = store.read(session(ran[0])).frame
    steps = frame[frame["metric"] == "step_ms"]
    for host in ("hk", "la"):
        labels = steps[steps["host"] == host]["phase"].value_counts()
        assert labels["loaded"] >= 10 and labels["idle"] >= 10


def test_executed_pages_lie_beside_the_parts_and_carry_results(ran):
    folder = session(ran[0])
    page = folder.round_folder("hk", 1) / "20_training.ipynb"
    assert re.search(r"small/[^/]+/hong-kong/hk/01/20_training\.ipynb$", str(page))
    cells = [c for c in nbformat.read(page, as_version=4).cells if c.cell_type == "code"]
    assert all(c.execution_count for c in cells)
    shown = json.dumps(nbformat.read(page, as_version=4))
    assert "throughput_steps_s" in shown and "wire_ms" in shown
    for name in ("30_comparison", "40_decision"):
        assert (folder.path / f"{name}.ipynb").is_file()


def test_nothing_is_left_running(ran):
    assert of_environment(str(ran[0] / "runs")) == {}
    assert list(small.root().glob("kernel-ipc*")) == [], "kernels keep their sockets elsewhere"


def test_resume_of_a_finished_run_measures_nothing_and_judges_the_same(ran):
    folder, path, first = ran
    before, said = small.parts(folder / "runs"), small.decision(folder / "runs")
    again = small.homeport(folder / "runs", "run", path, "--resume")
    assert again.returncode == first.returncode, again.stderr
    assert small.parts(folder / "runs") == before
    assert small.decision(folder / "runs") == said


def test_resume_with_other_parameters_is_refused(ran, tmp_path):
    folder, path, _ = ran
    content = yaml.safe_load(path.read_text())
    path.write_text(yaml.safe_dump({**content, "seed": 1}))
    try:
        done = small.homeport(folder / "runs", "run", path, "--resume")
    finally:
        path.write_text(yaml.safe_dump(content))
    assert done.returncode == 6 and "parameters differ" in done.stderr


def test_report_of_a_session_can_be_written_elsewhere(ran, tmp_path):
    folder = session(ran[0])
    done = small.homeport(ran[0] / "runs", "report", folder.path, "--out", tmp_path, "--json")
    assert json.loads(done.stdout) == small.decision(ran[0] / "runs")
    assert {p.name for p in tmp_path.iterdir()} == {"decision.html", "decision.md", "decision.json"}


def test_a_page_cannot_join_a_session_that_does_not_run(ran, monkeypatch):
    from homeport.errors import NotFound
    from homeport.session import open_page

    monkeypatch.delenv(VARIABLE, raising=False)
    with pytest.raises(NotFound, match="leave session = 'single'"):
        open_page("20_training", "small", "hk", session(ran[0]).session, 1)


def test_dry_run_shows_the_plan_and_measures_nothing(tmp_path):
    done = small.homeport(tmp_path / "runs", "run", "demo", "--dry-run", "--json")
    plan = json.loads(done.stdout)
    assert done.returncode == 0 and len(plan["parts"]) == plan["predicted"]["parts"] == 32
    assert not (tmp_path / "runs").exists()


def test_a_run_beyond_its_caps_is_refused(tmp_path):
    path = small.study(tmp_path / "params", caps={"minutes": 0.1, "gigabytes": 1.0, "usd": 1.0})
    done = small.homeport(tmp_path / "runs", "run", path)
    assert done.returncode == 2 and "minutes" in done.stderr
    assert list((tmp_path / "runs").glob("*/*")) == []


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["run", "nosuch"], "demo"),
        (["run", "demo", "--only", "mars"], "hk (Hong Kong)"),
        (["run", "demo", "--rounds", "99"], "1 to 6"),
        (["run", "demo", "--resume"], "session to resume"),
        (["run", "demo", "--nonsense"], "--nonsense"),
        (["report", "nosuch"], "nosuch"),
    ],
)
def test_usage_errors_end_with_2_and_say_what_there_is(tmp_path, words, says):
    done = small.homeport(tmp_path / "runs", *words)
    assert done.returncode == 2 and says in done.stderr
    assert "Traceback" not in done.stderr


def test_papermill_015_a_failing_candidate_is_told_and_the_others_are_ranked(tmp_path, monkeypatch):
    # The kernel of every page on Los Angeles is killed, as by the out-of-memory killer.
    import os
    import signal
    import threading
    import time

    path = small.study(tmp_path / "params", rounds=1, notebooks={"20_training": "all"})
    child = small.started(tmp_path / "runs", "run", path, "--json", log=tmp_path / "log")
    stop = threading.Event()

    def kill_kernels():
        while not stop.is_set():
            notes = list((tmp_path / "runs").glob("small/*/loads.jsonl"))
            last = notes[0].read_text().splitlines()[-1:] if notes else []
            if last and json.loads(last[0])["place"] == "la" and '"begin"' in last[0]:
                for pid, command in of_environment(str(tmp_path / "runs")).items():
                    if "ipykernel_launcher" in command:
                        os.kill(pid, signal.SIGKILL)
            time.sleep(0.05)

    killer = threading.Thread(target=kill_kernels)
    killer.start()
    try:
        code = child.wait(120)
    finally:
        stop.set()
        killer.join()
    assert code == 3
    recorded = store.read(session(tmp_path))
    failed = recorded.failures()
    assert set(failed["host"]) == {"la"} and set(failed["failure"]) == {"DeadKernelError"}
    said = small.decision(tmp_path / "runs")
    assert {o["choice"]["host"] for o in said["options"] if o["throughput_steps_s"]} == {"hk"}
    assert next(c for c in said["candidates"] if c["host"] == "la")["failures"] == 1
    assert any("la" in warning and "not" in warning for warning in said["warnings"])
    assert "kernel died" in (tmp_path / "log").read_text()


@pytest.mark.fault
@pytest.mark.parametrize("name", ["SIGINT", "SIGTERM"])
def test_an_interrupted_run_leaves_nothing_running_and_goes_on(tmp_path, name):
    import signal

    path = small.study(tmp_path / "params", **SHORT)
    data = tmp_path / "runs"
    child = small.started(data, "run", path, log=tmp_path / "log")
    try:
        small.wait_for(lambda: small.parts(data), timeout_s=90, what="the first part")
        assert small.kill(child, getattr(signal, name)) == 130
    finally:
        small.kill(child)
    assert "interrupted" in (tmp_path / "log").read_text()
    small.wait_for(lambda: not of_environment(str(data)), timeout_s=5, what="end of everything")
    before = small.parts(data)
    done = small.homeport(data, "run", path, "--resume")
    assert done.returncode in (0, 4, 5), done.stderr
    after = small.parts(data)
    assert {k: after[k] for k in before} == before and len(after) > len(before)


@pytest.mark.fault
def test_two_runs_do_not_meet(tmp_path):
    path = small.study(tmp_path / "params", **SHORT)
    child = small.started(tmp_path / "runs", "run", path, log=tmp_path / "log")
    holder = tmp_path / "runs-runtime" / "turn.holder"
    try:
        small.wait_for(holder.exists, timeout_s=30, what="the lock")
        second = small.homeport(tmp_path / "runs", "run", path)
        assert second.returncode == 2 and str(child.pid) in second.stderr
    finally:
        small.kill(child)
    third = small.homeport(tmp_path / "runs", "run", path, "--resume")
    assert third.returncode in (0, 4, 5), f"a stale lock must not hold: {third.stderr}"
