"""Where a session keeps what, as the README of data/ tells users."""

import json

import pytest

from homeport import store
from homeport.errors import Damaged, NotFound
from homeport.metrics import Failure


@pytest.fixture
def folder(demo, data_folder):
    return store.SessionFolder.create(demo, provenance={"git_sha": "abc"})


def test_everything_of_a_host_lies_under_its_region(folder):
    top = folder.path / "hong-kong" / "hk"
    assert folder.part_file("hk", 3, "20_training") == top / "03" / "20_training.parquet"
    assert (
        folder.next_segment_file("guangdong", "hk", 3)
        == top / "03" / "background-guangdong.parquet"
    )
    assert folder.raw_folder("hk") == top / "raw"
    assert folder.raw_folder("hk-twin") == folder.path / "hong-kong" / "hk-twin" / "raw"


def test_every_failed_attempt_has_a_file_of_its_own(folder):
    slot = store.Slot.of(folder.study, folder.session, "hk", 1, "20_training")
    failed = Failure(kind="GangFailed", reason="rank 2 died", place="hk")
    for number in (1, 2, 3):
        path = folder.failure_file("hk", 1, "20_training")
        assert path.name == f"20_training.failure-{number}.parquet"
        assert folder.attempts("hk", 1, "20_training") == number - 1
        store.write_part(path, folder.study, slot, [failed], complete=False, provenance={})
    assert store.reasons_in(path) == ["rank 2 died"]
    assert folder.attempts("hk", 2, "20_training") == 0


def test_a_session_comes_back_with_its_study_and_provenance(folder, demo):
    again = store.SessionFolder.open(folder.path)
    assert again == folder and again.study == demo
    assert again.provenance() == {"git_sha": "abc"}


def test_what_was_not_noted_yet_is_an_empty_journal(folder):
    assert folder.notes("rounds") == []
    assert folder.sittings() == 0
    for number in (1, 2):
        (folder.path / f"sitting-{number}.json").write_text("{}")
    assert folder.sittings() == 2


def test_a_session_says_what_was_asked_of_it(folder, demo):
    everything = {"only": None, "region": None, "rounds": None, "hosts": demo.measured}
    assert folder.selection == everything
    asked = {"only": "hk", "region": None, "rounds": 2, "hosts": ["hk", "hk-twin"]}
    other = store.SessionFolder.create(demo, provenance={}, selection=asked)
    assert store.SessionFolder.open(other.path).selection == asked
    file = folder.path / "session.json"
    old = json.loads(file.read_text())
    del old["selection"]
    file.write_text(json.dumps(old))
    assert folder.selection == everything, "sessions from before it was kept"


def test_what_sittings_ran_on_comes_back_in_their_order(folder):
    for number in (10, 2, 1):
        (folder.path / f"sitting-{number}.json").write_text(json.dumps({"world": number}))
    assert folder.sitting_facts() == [{"world": 1}, {"world": 2}, {"world": 10}]


def test_a_session_of_another_schema_is_refused(folder):
    file = folder.path / "session.json"
    file.write_text(json.dumps({**json.loads(file.read_text()), "schema": 2}))
    with pytest.raises(Damaged, match=r"expected schema 1, found schema 2"):
        store.SessionFolder.open(folder.path)


def test_a_folder_without_a_session_and_an_unknown_name_are_told_apart(folder, tmp_path):
    with pytest.raises(NotFound, match=r"session\.json"):
        store.SessionFolder.open(tmp_path)
    with pytest.raises(NotFound, match=f"session of demo.*{folder.session}"):
        store.find("demo", "20200101T000000.000Z")


@pytest.mark.parametrize("key", ["kind", "provenance", "session", "study", "schema"])
@pytest.mark.parametrize("value", [None, 3, []])
def test_a_session_that_lacks_or_garbles_a_key_is_damaged(folder, key, value):
    file = folder.path / "session.json"
    content = json.loads(file.read_text())
    rest = {k: v for k, v in content.items() if k != key}
    for wrong in (rest, {**content, key: value}):
        file.write_text(json.dumps(wrong))
        with pytest.raises(Damaged, match=key) as caught:
            store.find(folder.path)
        assert caught.value.file == str(file) and "\n" not in str(caught.value)


DEEP = '{"schema": 1, "study": ' + '{"x":' * 100_000 + "1" + "}" * 100_001


@pytest.mark.parametrize("text", ["{", "[]", "3", "null", DEEP, '{"schema": 1}', "\x00"], ids=len)
def test_a_session_file_that_is_none_is_damaged(folder, text):
    (folder.path / "session.json").write_text(text)
    with pytest.raises(Damaged, match=r"session\.json"):
        store.find("demo", folder.session)
    with pytest.raises(Damaged, match=r"session\.json"):
        folder.provenance()


@pytest.mark.parametrize("selection", [3, {}, {"only": None, "region": None, "rounds": None}])
def test_a_selection_that_is_none_is_damaged(folder, selection):
    file = folder.path / "session.json"
    file.write_text(json.dumps({**json.loads(file.read_text()), "selection": selection}))
    with pytest.raises(Damaged, match="selection"):
        _ = folder.selection


@pytest.mark.parametrize("text", ["{", "[]", "\udcff", "[" * 100_000], ids=len)
def test_what_a_sitting_ran_on_must_be_readable(folder, text):
    file = folder.path / "sitting-1.json"
    file.write_bytes(text.encode(errors="surrogateescape"))
    with pytest.raises(Damaged, match=r"sitting-1\.json"):
        folder.sitting_facts()
    file.rename(folder.path / "sitting-1 copy.json")
    with pytest.raises(Damaged, match=r"sitting-1 copy\.json"):
        folder.sitting_facts()


@pytest.mark.parametrize("name", ["x" * 5000, "x" * 300, "x/" * 3000, "\x00"], ids=len)
@pytest.mark.parametrize("session", ["newest", "20200101T000000.000Z"])
def test_a_name_no_folder_can_have_is_not_found(data_folder, name, session):
    with pytest.raises(NotFound):
        store.find(name, session)


def test_a_folder_holds_one_session_and_no_other(folder):
    assert store.find(folder.path, folder.session) == store.find(folder.path) == folder
    with pytest.raises(NotFound, match=f"other.*{folder.session}"):
        store.find(folder.path, "other")
