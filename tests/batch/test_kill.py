"""kill -9 at any moment, then --resume: the same parts, none twice, none lost, nothing left."""

import os
import random
import subprocess
from pathlib import Path

import pytest
import small
from processes import of_environment
from whole import check_whole

pytestmark = [pytest.mark.world, pytest.mark.notebook, pytest.mark.fault]


def nothing_left(data):
    """No process of ours, and so no namespace: those are held by processes only."""
    small.wait_for(lambda: not of_environment(str(data)), timeout_s=10, what="end of everything")
    assert not list(Path("/run/netns").glob("*")) if Path("/run/netns").exists() else True


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
