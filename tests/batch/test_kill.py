"""kill -9 at any moment, then --resume: the same parts, none twice, none lost, nothing left."""

import os
import random
import subprocess
from pathlib import Path

import pytest
import small
from processes import of_environment

from homeport import store
from homeport.background import record, seen

pytestmark = [pytest.mark.world, pytest.mark.notebook, pytest.mark.fault]


def nothing_left(data):
    """No process of ours, and so no namespace: those are held by processes only."""
    small.wait_for(lambda: not of_environment(str(data)), timeout_s=10, what="end of everything")
    assert not list(Path("/run/netns").glob("*")) if Path("/run/netns").exists() else True


def check_whole(data):
    """Every part there once, every settled background sample in exactly one segment."""
    (path,) = data.glob("small/*/session.json")
    folder = store.SessionFolder.open(path.parent)
    recorded, study = store.read(folder), folder.study
    complete = [
        (p.slot.host, p.slot.round, p.slot.notebook)
        for p in recorded.parts
        if p.complete and p.slot.notebook != "background"
    ]
    wanted = {
        (host, round, page)
        for host in study.measured
        for round in range(1, study.rounds + 1)
        for page in study.notebooks
        if study.in_round(page, round)
    }
    assert len(complete) == len(set(complete)) and set(complete) == wanted
    rows = recorded.frame[recorded.frame["notebook"] == "background"]
    rows = rows[rows["metric"].notna()]
    assert not rows.duplicated(["host", "site", "metric", "sequence"]).any()
    for host in study.measured:
        spans = [s for r in range(1, study.rounds + 1) for s in record.windows(folder, r)]
        raw = {
            (r.metric, r.sequence)
            for r in seen(folder, host)
            if hasattr(r, "metric") and any(a <= r.time_s < b for a, b in spans)
        }
        stored = set(map(tuple, rows[rows["host"] == host][["metric", "sequence"]].to_numpy()))
        assert stored == raw, host
    throughput = recorded.values("throughput_steps_s")
    assert not throughput.duplicated(["host", "round", "strategy"]).any()


def killed_until_done(tmp_path, *, kills, seed, **changes):
    draw = random.Random(seed)
    path = small.study(tmp_path / "params", training_s=0.5, **changes)
    data, flags = tmp_path / "runs", []
    for _ in range(kills):
        child = small.started(data, "run", path, *flags, log=tmp_path / "log")
        try:
            child.wait(draw.uniform(0.0, 20.0))
            break  # it was done before the kill
        except subprocess.TimeoutExpired:
            kept = small.parts(data)
            small.kill(child)
        nothing_left(data)
        after = small.parts(data)
        assert {k: after[k] for k in kept} == kept, "a part was lost or changed"
        flags = ["--resume"] if list(data.glob("small/*/session.json")) else []
    done = small.homeport(data, "run", path, *(flags or []))
    assert done.returncode in (0, 4, 5), done.stderr
    nothing_left(data)
    check_whole(data)


def test_killed_once(tmp_path):
    killed_until_done(tmp_path, kills=1, seed=os.getpid(), candidates=["hk"])


@pytest.mark.long
@pytest.mark.parametrize("seed", range(3))
def test_killed_again_and_again(tmp_path, seed):
    killed_until_done(tmp_path, kills=10, seed=seed)
