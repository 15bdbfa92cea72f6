import os
import signal
import subprocess
import sys
import textwrap

import pyarrow.parquet as pq
import pytest

from homeport import store
from homeport.errors import CannotWrite, Damaged, NotFound, NothingRecorded
from homeport.metrics import Failure, Measurement
from homeport.params import Sla, Study

PAIR = {"source": "guangdong", "target": "hk"}
RTT = Measurement(metric="rtt_ms", value=31.2, time_s=1.0, phase="idle", **PAIR)
FAILED = Failure(kind="GangFailed", reason="rank 2 died", place="hk", strategy="star")


@pytest.fixture
def folder(demo, data_folder):
    return store.SessionFolder.create(demo, provenance={"git_sha": None})


def write(folder, records, *, round=1, host="hk", notebook="20_training", complete=True):
    slot = store.Slot.of(folder.study, folder.session, host, round, notebook)
    choose = folder.part_file if complete else folder.failure_file
    path = choose(host, round, notebook)
    store.write_part(path, folder.study, slot, records, complete=complete, provenance={"x": 1})
    return path


def test_a_part_comes_back_as_it_was_written(folder):
    path = write(folder, [RTT, FAILED])
    recorded = store.read(folder)
    row = recorded.values("rtt_ms").iloc[0]
    assert (row["value"], row["site"], row["host"], row["region"]) == (
        31.2,
        "guangdong",
        "hk",
        "Hong Kong",
    )
    failure = recorded.failures().iloc[0]
    assert (failure["failure"], failure["reason"]) == ("GangFailed", "rank 2 died")
    assert path.parent.parts[-3:] == ("hong-kong", "hk", "01")
    header = store.read_part_header(path)
    assert header.complete and header.provenance == {"x": 1}


def test_a_failure_is_no_number(folder):
    write(folder, [FAILED])
    frame = store.read(folder).frame
    assert frame["value"].isna().all() and frame["metric"].isna().all()


def test_a_part_is_written_once(folder):
    path = write(folder, [RTT])
    before = path.read_bytes()
    with pytest.raises(Damaged, match="already there"):
        write(folder, [RTT])
    assert path.read_bytes() == before


def test_an_attempts_numbers_count_until_its_slot_is_measured_again(folder):
    write(folder, [RTT, FAILED], complete=False)
    assert len(store.read(folder).values("rtt_ms")) == 1
    write(folder, [RTT, FAILED], complete=False)
    assert len(store.read(folder).values("rtt_ms")) == 1, "two attempts, one slot"
    write(folder, [RTT])
    recorded = store.read(folder)
    assert len(recorded.values("rtt_ms")) == 1
    assert len(recorded.failures()) == 2, "failures are never lost"


def test_equal_keys_mean_the_same_measurement(folder, demo):
    slot = store.Slot.of(demo, folder.session, "hk", 1, "20_training")
    other = demo.model_copy(update={"seed": demo.seed + 1})
    later = store.Slot.of(demo, folder.session, "hk", 2, "20_training")
    assert store.part_key(demo, slot) == store.part_key(demo, slot)
    assert len({store.part_key(*k) for k in [(demo, slot), (other, slot), (demo, later)]}) == 3


def test_a_key_survives_a_version_that_knows_one_more_parameter(folder, demo):
    class LaterSla(Sla):
        patience: int = 3

    class LaterStudy(Study):
        sla: LaterSla
        transport: str = "gloo"

    slot = store.Slot.of(demo, folder.session, "hk", 1, "20_training")
    later = LaterStudy.model_validate_json(demo.model_dump_json())
    assert (later.transport, later.sla.patience) == ("gloo", 3)
    assert store.part_key(later, slot) == store.part_key(demo, slot)
    other = later.model_copy(update={"transport": "other"})
    assert store.part_key(other, slot) != store.part_key(demo, slot)


def test_a_torn_file_and_another_schema_are_refused_by_name(folder, monkeypatch):
    path = write(folder, [RTT])
    whole = path.read_bytes()
    path.write_bytes(whole[: len(whole) // 2])
    with pytest.raises(Damaged):
        store.read(folder)
    with pytest.raises(Damaged, match=path.name):
        store.read_part_header(path)
    path.unlink()
    monkeypatch.setattr("homeport.store.parts.SCHEMA", 99)
    write(folder, [RTT])
    monkeypatch.undo()
    with pytest.raises(Damaged, match="schema 99") as caught:
        store.read(folder)
    assert caught.value.exit_code == 6


def test_a_foreign_parquet_file_is_refused(folder):
    path = write(folder, [RTT])
    table = pq.read_table(path).replace_schema_metadata({})
    pq.write_table(table, path.with_name("foreign.parquet"))
    with pytest.raises(Damaged, match="no homeport header"):
        store.read(folder)


def test_nothing_recorded_is_not_an_empty_result(folder):
    with pytest.raises(NothingRecorded, match="--resume"):
        store.read(folder)
    with pytest.raises(NotFound, match="nosuch"):
        store.read("nosuch")


def test_the_newest_run_is_the_newest_that_holds_a_part(folder, demo):
    write(folder, [RTT])
    empty = store.SessionFolder.create(demo, provenance={})
    assert empty.session > folder.session and store.find("demo") == folder
    with pytest.raises(NotFound, match=r"'dmo'; there is: demo"):
        store.find("dmo")


def test_single_sessions_are_not_found_as_runs(demo, data_folder):
    single = store.SessionFolder.create(demo, kind="single", provenance={})
    assert single.session.startswith("single-")
    assert store.session_names("demo", kind="run") == []
    assert store.find("demo", single.session).session == single.session


@pytest.mark.fault
def test_a_full_disk_leaves_no_torn_file(folder):
    small = folder.path / "small"
    small.mkdir()
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64k", "none", small], check=False)
    if mounted.returncode:
        pytest.skip("needs the right to mount a small file system")
    try:
        slot = store.Slot.of(folder.study, folder.session, "hk", 1, "20_training")
        many = [
            Measurement(metric="rtt_ms", value=i * 1.37, sequence=i, **PAIR) for i in range(200_000)
        ]
        with pytest.raises(CannotWrite, match=r"part\.parquet: .*No space left"):
            store.write_part(small / "part.parquet", folder.study, slot, many, provenance={})
        assert list(small.iterdir()) == []
    finally:
        subprocess.run(["umount", small], check=True)


@pytest.mark.fault
def test_a_kill_while_writing_leaves_the_old_file_or_the_new(tmp_path):
    writer = textwrap.dedent("""
        import itertools, sys
        from pathlib import Path
        from homeport.store.atomic import write_text
        for n in itertools.count():
            write_text(Path(sys.argv[1]), f"{n} " + "x" * 200_000 + " end")
    """)
    path = tmp_path / "file"
    for wait_s in (0.3, 0.35, 0.4, 0.45, 0.5):
        child = subprocess.Popen([sys.executable, "-c", writer, path])
        while not path.exists():
            pass
        with pytest.raises(subprocess.TimeoutExpired):
            child.wait(wait_s)
        os.kill(child.pid, signal.SIGKILL)
        child.wait()
        assert path.read_text().endswith(" end")


def test_a_damaged_session_hinders_no_other(demo, data_folder):
    old = store.SessionFolder.create(demo, provenance={})
    (old.path / "session.json").write_text("{")
    new = store.SessionFolder.create(demo, provenance={})
    assert store.find("demo").session == new.session
    with pytest.raises(Damaged, match=r"session\.json"):
        store.find("demo", old.session)


def test_a_region_of_any_length_and_script_has_a_folder(demo, data_folder):
    hosts = dict(demo.inventory.hosts)
    for region, folder in (
        ("香港 / 九龙", "香港-九龙"),
        ("x" * 10_000, "x" * 60),
        ("/..", "region"),
    ):
        hosts["hk"] = hosts["hk"].model_copy(update={"region": region})
        inventory = demo.inventory.model_copy(update={"hosts": hosts})
        study = demo.model_copy(update={"inventory": inventory})
        session = store.SessionFolder.create(study, provenance={})
        path = write(session, [RTT])
        assert path.relative_to(session.path).parts[0] == folder
