"""Writing that survives a power cut: what is synced, and in which order."""

import os
from pathlib import Path

import pytest

from homeport.store.atomic import append_line, write_text

HANDLES = Path("/proc/self/fd")


@pytest.fixture
def steps(monkeypatch):
    """The order in which files are synced and moved, by name."""
    seen, fsync, replace = [], os.fsync, os.replace

    def synced(handle):
        seen.append(("sync", Path(f"/proc/self/fd/{handle}").readlink().name))
        fsync(handle)

    def moved(source, target, **kept):
        seen.append(("move", Path(target).name))
        replace(source, target, **kept)

    monkeypatch.setattr(os, "fsync", synced)
    monkeypatch.setattr(os, "replace", moved)
    return seen


def test_the_file_is_synced_before_it_takes_its_name_and_its_folder_after(tmp_path, steps):
    write_text(tmp_path / "room" / "file", "text")
    kinds = [(kind, name.startswith(".file.")) for kind, name in steps]
    assert kinds == [("sync", True), ("move", False), ("sync", False)]
    assert steps[1:] == [("move", "file"), ("sync", "room")]
    assert [p.name for p in (tmp_path / "room").iterdir()] == ["file"]


def test_a_line_of_a_journal_is_on_disk_when_the_call_returns(tmp_path, steps):
    append_line(tmp_path / "journal", "one")
    append_line(tmp_path / "journal", "two")
    assert steps == [("sync", "journal")] * 2
    assert (tmp_path / "journal").read_text() == "one\ntwo\n"


def test_a_line_after_a_torn_one_begins_afresh(tmp_path):
    (tmp_path / "journal").write_text("one\ntw")
    append_line(tmp_path / "journal", "three")
    append_line(tmp_path / "journal", "four")
    assert (tmp_path / "journal").read_text() == "one\ntw\nthree\nfour\n"


def test_no_handle_stays_open(tmp_path):
    before = len(list(HANDLES.iterdir()))
    for number in range(5):
        write_text(tmp_path / "file", f"{number}")
    assert len(list(HANDLES.iterdir())) == before
