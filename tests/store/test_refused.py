"""A disk that is full or read-only: told with the path, nothing half written, nothing lost."""

import subprocess

import pytest
import small
from processes import children

from homeport import store
from homeport.background import Background
from homeport.errors import CannotWrite
from homeport.metrics import Measurement
from homeport.params import root
from homeport.places import Local
from homeport.store.atomic import write_text

pytestmark = pytest.mark.fault
RTT = Measurement(metric="rtt_ms", value=31.2, source="guangdong", target="hk")


@pytest.fixture
def disk(tmp_path):
    """Mounts a small file system; gives a function that fills or locks it."""
    folder = tmp_path / "disk"
    folder.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", "size=1m", "none", folder]
    if subprocess.run(command, capture_output=True, check=False).returncode:
        pytest.skip("needs the right to mount a small file system")

    def spoil(how):
        if how == "read-only":
            subprocess.run(["mount", "-o", "remount,ro", folder], check=True)
            return
        filled = ["dd", "if=/dev/zero", f"of={folder / 'filler'}", "bs=4k"]
        assert b"No space left" in subprocess.run(filled, capture_output=True, check=False).stderr

    yield folder, spoil
    subprocess.run(["umount", "--lazy", folder], check=True)


@pytest.mark.parametrize("how", ["full", "read-only"])
def test_every_writer_of_a_session_names_the_file_and_leaves_none(demo, disk, monkeypatch, how):
    folder, spoil = disk
    monkeypatch.setenv("HOMEPORT_DATA", str(folder))
    session = store.SessionFolder.create(demo, provenance={})
    session.note("rounds", round=1, time_s=1.0)
    slot = store.Slot.of(demo, session.session, "hk", 1, "20_training")
    spoil(how)
    before = sorted(p for p in folder.rglob("*") if p.is_file())
    part = session.part_file("hk", 1, "20_training")
    writers = {
        str(part): lambda: store.write_part(part, demo, slot, [RTT] * 9000, provenance={}),
        "session.json": lambda: store.SessionFolder.create(demo, provenance={"x": "y" * 9000}),
        "rounds.jsonl": lambda: session.note("rounds", text="x" * 9000),
        "text": lambda: write_text(folder / "text", "x" * 9000),
    }
    for named, writer in writers.items():
        with pytest.raises(CannotWrite, match=r"No space left|Read-only") as caught:
            writer()
        assert named in caught.value.path and caught.value.exit_code == 3
    assert sorted(p for p in folder.rglob("*") if p.is_file()) == before
    assert session.notes("rounds")[0] == {"round": 1, "time_s": 1.0}


def test_streams_that_cannot_keep_what_they_print_do_not_start(demo, disk, monkeypatch):
    folder, spoil = disk
    monkeypatch.setenv("HOMEPORT_DATA", str(folder))
    session = store.SessionFolder.create(demo, provenance={})
    spoil("read-only")
    places = {name: Local(name) for name in (*demo.sites, "hk")}
    background, before = Background(session, places, ["hk"]), children()
    with pytest.raises(CannotWrite, match="Read-only"):
        background.start()
    background.stop()
    assert children() == before


def test_a_run_on_a_read_only_disk_is_refused_before_it_measures(disk, tmp_path):
    folder, spoil = disk
    spoil("read-only")
    path = small.study(tmp_path / "params")
    environment = {**small.environment(folder), "HOMEPORT_RUNTIME": str(tmp_path / "runtime")}
    done = subprocess.run(
        [small.HOMEPORT, "run", path], env=environment, capture_output=True, text=True, timeout=60
    )
    assert done.returncode == 3, done.stderr
    told = " ".join(done.stderr.split())
    assert "cannot write" in told and "Read-only" in told and "Traceback" not in told


@pytest.mark.parametrize("how", ["full", "read-only"])
def test_a_report_that_cannot_be_written_says_so(disk, tmp_path, how):
    folder, spoil = disk
    spoil(how)
    done = small.homeport(
        tmp_path / "runs", "report", root() / "data" / "sample", "--out", folder / "out"
    )
    assert done.returncode == 3 and "Traceback" not in done.stderr
    assert "cannot write" in " ".join(done.stderr.split())
    assert not [p for p in folder.rglob("*") if p.suffix in (".html", ".md", ".tmp")]
