"""Journals of a session: what a crash or a hand left in them is no reason to lose the rest."""

import json

import pytest

from homeport import store

BEGIN = {
    "gap": "a",
    "event": "begin",
    "kind": "WorldBroken",
    "reason": "the relay ended",
    "place": None,
    "streams": ["ping"],
    "begin_s": 1.0,
    "noticed_s": 2.0,
}
WHOLE = {
    "rounds": [{"round": 1, "time_s": 1.0}, {"round": None, "time_s": 2}],
    "sittings": [{"event": "begin", "time_s": 1.0}],
    "loads": [{"event": "end", "load": "a", "place": "hk", "sites": ["x"], "time_s": 1.0}],
    "gaps": [BEGIN, {"gap": "a", "event": "end", "time_s": 3.0}],
    "relay": [{"drops": 0, "cpu_share": 0.1}],
}
NOTES = [(journal, note) for journal, notes in WHOLE.items() for note in notes]


@pytest.fixture
def folder(demo, data_folder):
    return store.SessionFolder.create(demo, provenance={})


@pytest.mark.parametrize(("journal", "note"), NOTES)
def test_a_line_that_lacks_or_garbles_what_its_readers_need_is_left_out(folder, journal, note):
    folder.note(journal, **note)
    for key in note:
        folder.note(journal, **{k: v for k, v in note.items() if k != key})
        folder.note(journal, **{**note, key: {"not": "this"}})
    folder.note(journal, **note, more="is kept")
    assert folder.notes(journal) == [note, {**note, "more": "is kept"}]


@pytest.mark.parametrize("time_s", [float("nan"), float("inf"), True, "1"])
def test_a_time_is_a_finite_number(folder, time_s):
    folder.note("rounds", round=1, time_s=time_s)
    assert folder.notes("rounds") == []


@pytest.mark.parametrize(
    "line",
    [b"3", b"[1]", b"null", b'{"round": 1, "ti', b'{"round": "\xff"}', b"[" * 100_000],
    ids=len,
)
@pytest.mark.parametrize("journal", ["rounds", "troubles"])
def test_a_line_that_is_no_mapping_is_left_out(folder, journal, line):
    notes = [{"round": number, "time_s": 1.0} for number in (1, 2)]
    text = [json.dumps(note).encode() for note in notes]
    (folder.path / f"{journal}.jsonl").write_bytes(b"\n".join([text[0], line, text[1], b""]))
    assert folder.notes(journal) == notes


def test_a_journal_survives_a_torn_last_line(folder):
    folder.note("rounds", round=1, time_s=1.0)
    with (folder.path / "rounds.jsonl").open("a") as journal:
        journal.write('{"round": 2')
    assert [note["round"] for note in folder.notes("rounds")] == [1]
    folder.note("rounds", round=3, time_s=2.0)
    assert [note["round"] for note in folder.notes("rounds")] == [1, 3]


def test_a_journal_of_another_kind_is_kept_as_it_is(folder):
    folder.note("troubles", agent="hk")
    assert folder.notes("troubles") == [{"agent": "hk"}]
