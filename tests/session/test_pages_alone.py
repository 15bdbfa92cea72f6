"""Pages outside `homeport run`: plain papermill, from the root and from notebooks/."""

import contextlib
import json
import subprocess
import sys
import threading
from pathlib import Path

import nbformat
import pytest
import small
from processes import of_environment

from homeport import store
from homeport.params import root

PAPERMILL = Path(sys.executable).parent / "papermill"
BANNED = ["torch", "stable_baselines3", "gymnasium", "scipy", "seaborn"]
pytestmark = [pytest.mark.world, pytest.mark.notebook]


def papermill(page, output, *words, cwd, data):
    """Run a page from the folder `cwd`; where the project lies it must find by itself."""
    environment = small.environment(data)
    del environment["HOMEPORT_ROOT"]
    return subprocess.run(
        [PAPERMILL, page, output, "--no-progress-bar", *words],
        cwd=cwd,
        env=environment,
        capture_output=True,
        text=True,
        timeout=240,
    )


def relays(data):
    """The relays that something keeping its runs in `data` has started: theirs, nobody else's."""
    return {p for p, c in of_environment(str(data)).items() if "homeport.emulate.relay" in c}


def with_a_look_at_modules(page: Path, copy: Path):
    nb = nbformat.read(page, as_version=4)
    look = f"import sys\nprint('LOADED', [m for m in {BANNED} if m in sys.modules])"
    nb.cells.append(nbformat.v4.new_code_cell(look))
    nbformat.write(nb, copy)


@pytest.mark.parametrize(
    ("name", "start", "words"),
    [
        ("10_network", ".", ["-p", "watch_s", "4"]),
        ("20_training", "notebooks", []),
    ],
)
def test_a_per_host_page_runs_alone_in_a_session_of_its_own(tmp_path, name, start, words):
    page, data = tmp_path / f"{name}.ipynb", tmp_path / "runs"
    with_a_look_at_modules(root() / "notebooks" / f"{name}.ipynb", page)
    out = tmp_path / "out.ipynb"
    done = papermill(page, out, "-p", "host", "hk", *words, cwd=root() / start, data=data)
    assert done.returncode == 0, done.stderr
    shown = json.dumps(nbformat.read(out, as_version=4))
    assert "LOADED []" in shown, "a per-host page loads none of them"
    (path,) = data.glob("demo/single-*/session.json")
    folder = store.SessionFolder.open(path.parent)
    assert folder.kind == "single"
    recorded = store.read(folder)
    assert {p.slot.notebook for p in recorded.parts} == {name, "background"}
    assert set(recorded.frame["host"]) == {"hk"}
    small.wait_for(lambda: not of_environment(str(data)), timeout_s=10, what="end of everything")
    refused = small.homeport(data, "report", folder.path)
    assert refused.returncode == 3 and "single" in refused.stderr


@contextlib.contextmanager
def watched(data):
    """Collects every relay of `data` that is ever seen until the end of the block."""
    seen, over = set(), threading.Event()

    def look():
        while not over.wait(0.2):
            seen.update(relays(data))

    watcher = threading.Thread(target=look)
    watcher.start()
    try:
        yield seen
    finally:
        over.set()
        watcher.join()


def test_a_page_alone_joins_the_lab_that_is_up(tmp_path):
    data, out = tmp_path / "runs", tmp_path / "out.ipynb"
    assert small.homeport(data, "lab", "up", "demo").returncode == 0
    try:
        before = json.loads(small.homeport(data, "lab", "status", "--json").stdout)
        page = root() / "notebooks" / "10_network.ipynb"
        words = ["-p", "host", "la", "-p", "watch_s", "3"]
        with watched(data) as seen:
            done = papermill(page, out, *words, cwd=root(), data=data)
        assert done.returncode == 0, done.stderr
        after = json.loads(small.homeport(data, "lab", "status", "--json").stdout)
        assert seen == {before["relay_pid"]}, "no second world was brought up"
        assert packets(after) > packets(before) + 20
    finally:
        assert small.homeport(data, "lab", "down").returncode == 0
    assert relays(data) == set()


def packets(status: dict) -> int:
    return sum(status["counters"][pair]["packets"] for pair in ("guangdong>la", "la>guangdong"))


@pytest.mark.parametrize("start", [".", "notebooks"])
@pytest.mark.parametrize(
    ("name", "kind"), [("30_comparison", "image/png"), ("40_decision", "text/html")]
)
def test_a_study_page_runs_alone_on_the_recorded_sample(tmp_path, name, kind, start):
    page = root() / "notebooks" / f"{name}.ipynb"
    where = {"cwd": root() / start, "data": tmp_path / "runs"}
    done = papermill(page, tmp_path / "out.ipynb", "-p", "study", "data/sample", **where)
    assert done.returncode == 0, done.stderr
    nb = nbformat.read(tmp_path / "out.ipynb", as_version=4)
    shown = [o for c in nb.cells if c.cell_type == "code" for o in c.outputs]
    assert kind in {kind for o in shown for kind in o.get("data", {})}
