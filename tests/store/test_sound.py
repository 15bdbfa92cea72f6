"""Parts that were put there, moved or changed are refused by name, not judged."""

import json
import shutil

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

from homeport import store
from homeport.errors import Damaged
from homeport.metrics import Failure, Measurement
from homeport.store.parts import COLUMNS

SITE = "guangdong"
STEPS = [
    Measurement(metric="step_ms", value=31.0 + n, source=SITE, target="hk", sequence=n, time_s=n)
    for n in (1.0, 2.0)
]
FAILED = Failure(kind="GangFailed", reason="rank 2 died", place="hk")


@pytest.fixture
def folder(demo, data_folder):
    """Two rounds of hk and tokyo: a training part and a segment each, hk's first with attempts."""
    folder = store.SessionFolder.create(demo, provenance={})
    for host in ("hk", "tokyo"):
        for round in (1, 2):
            put(folder, folder.part_file(host, round, "20_training"), host, round)
            segment = folder.next_segment_file(SITE, host, round)
            put(folder, segment, host, round, notebook="background")
    for _ in range(2):
        attempt = folder.failure_file("hk", 1, "20_training")
        put(folder, attempt, "hk", 1, records=[FAILED], complete=False)
    store.read(folder)
    return folder


def put(folder, path, host, round, *, notebook="20_training", records=STEPS, complete=True):
    slot = store.Slot.of(folder.study, folder.session, host, round, notebook)
    store.write_part(path, folder.study, slot, records, complete=complete, provenance={})


def change(path, *, header=None, **columns):
    """Write a file again with another header (a mapping, or bytes), or other columns."""
    table, told = pq.read_table(path), pq.read_metadata(path).metadata[b"homeport"]
    for name, value in columns.items():
        at, kind = COLUMNS.get_field_index(name), COLUMNS.field(name)
        table = table.set_column(at, kind, pa.array([value] * len(table), kind.type))
    if isinstance(header, dict):
        header = json.dumps({**json.loads(told), **header})
    pq.write_table(table.replace_schema_metadata({"homeport": header or told}), path)


def refused(folder, path, match=""):
    with pytest.raises(Damaged, match=match) as caught:
        store.read(folder)
    assert caught.value.file == str(path) and caught.value.exit_code == 6


def segment(folder, host="hk", round=1, number=""):
    return folder.round_folder(host, round) / f"background-{SITE}{number}.parquet"


def slot_with(path, **facts):
    return {"slot": {**vars(store.read_part_header(path).slot), **facts}}


@pytest.mark.parametrize(
    "facts", [{"session": "other"}, {"study": "other"}, {"region": "Mars"}, {"sites": ["x"]}]
)
@pytest.mark.parametrize("kind", ["20_training", f"background-{SITE}"])
def test_a_part_of_another_study_or_session(folder, kind, facts):
    path = folder.round_folder("hk", 1) / f"{kind}.parquet"
    change(path, header=slot_with(path, **facts))
    refused(folder, path, next(iter(facts)))


@pytest.mark.parametrize("kind", ["20_training", f"background-{SITE}"])
def test_a_part_with_another_key(folder, kind):
    path = folder.round_folder("hk", 1) / f"{kind}.parquet"
    change(path, header={"key": "0" * 64})
    refused(folder, path, "found key 000000000000")


def test_a_part_of_a_host_the_study_does_not_have(folder):
    path = segment(folder)
    change(path, header=slot_with(path, host="mars"))
    refused(folder, path, "'mars'")


@pytest.mark.parametrize("place", [("tokyo", 1), ("hk", 2)])
@pytest.mark.parametrize("kind", ["20_training", f"background-{SITE}"])
def test_a_part_copied_over_that_of_another_host_or_round(folder, kind, place):
    path = folder.round_folder(*place) / f"{kind}.parquet"
    shutil.copy(folder.round_folder("hk", 1) / f"{kind}.parquet", path)
    refused(folder, path, "the part of hk, round 1")


def test_a_header_that_tells_of_another_place_than_its_rows(folder):
    path = segment(folder, "tokyo")
    shutil.copy(segment(folder), path)
    slot = store.Slot.of(folder.study, folder.session, "tokyo", 1, "background")
    change(
        path, header={**slot_with(path, **vars(slot)), "key": store.part_key(folder.study, slot)}
    )
    refused(folder, path, r"a row of demo, .*, 1, hk,")


@pytest.mark.parametrize(
    "name",
    [
        "background.parquet",
        "background-mars.parquet",
        f"background-{SITE}.1.parquet",
        f"background-{SITE}.02.parquet",
        f"background-{SITE} (copy).parquet",
        "20_training.failure-3.parquet",
        "20_training.parquet",
    ],
)
def test_a_segment_under_another_name(folder, name):
    path = folder.round_folder("hk", 1) / name
    shutil.copy(segment(folder), path)
    refused(folder, path, "the name")


def test_a_segment_copied_under_the_next_numbers(folder):
    shutil.copy(segment(folder), segment(folder, number=".2"))
    refused(folder, segment(folder, number=".2"), "a sample that another segment holds")


def test_further_segments_count_without_a_hole(folder):
    later = [Measurement(**{**vars(m), "sequence": m.sequence + 10}) for m in STEPS]
    second, third = segment(folder, number=".2"), segment(folder, number=".3")
    put(folder, second, "hk", 1, notebook="background", records=later)
    assert len(store.read(folder).values("step_ms")) == 4 * len(STEPS) * 2 + len(later)
    second.rename(third)
    refused(folder, third, "no number 2")
    third.rename(second)
    segment(folder).unlink()
    refused(folder, second, "no number 1")


def test_attempts_count_without_a_hole(folder):
    first = folder.round_folder("hk", 1) / "20_training.failure-1.parquet"
    first.unlink()
    refused(folder, first.with_name("20_training.failure-2.parquet"), "no number 1")


@pytest.mark.parametrize(("name", "complete"), [("", False), (".failure-3", True)])
def test_a_name_that_contradicts_the_header(folder, name, complete):
    path = folder.round_folder("hk", 1) / f"20_training{name}.parquet"
    path.unlink(missing_ok=True)
    put(folder, path, "hk", 1, complete=complete)
    refused(folder, path, "the name")


def test_a_part_renamed_to_that_of_another_page(folder):
    path = folder.part_file("hk", 1, "10_network")
    folder.part_file("hk", 1, "20_training").rename(path)
    refused(folder, path, "the name 10_network")


@pytest.mark.parametrize("copied", ["hong-kong/hk", "hong-kong", "hong-kong/hk/01"])
def test_a_folder_copied_beside_itself(folder, copied):
    copy = shutil.copytree(folder.path / copied, folder.path / f"{copied} copy")
    first = sorted(p for p in copy.rglob("*.parquet"))[0]
    refused(folder, first, "the part of hk, round 1")


@pytest.mark.parametrize(
    "facts", [{"study": "x"}, {"session": "x"}, {"round": 9}, {"host": "la"}, {"region": "x"}]
)
def test_rows_of_another_slot(folder, facts):
    path = folder.part_file("hk", 1, "20_training")
    change(path, **facts)
    refused(folder, path, "a row of")


def test_rows_of_another_site_in_a_segment(folder):
    change(segment(folder), site="")
    refused(folder, segment(folder), "a row of site")


@pytest.mark.parametrize(
    ("metric", "value", "told"),
    [
        ("step_ms", float("nan"), "step_ms of nan"),
        ("step_ms", None, "step_ms of null"),
        ("step_ms", float("inf"), "step_ms of inf"),
        ("episode_return", float("nan"), "expected a finite number"),
        ("step_ms", 0.0, "expected more than 0"),
        ("rtt_ms", 0.0, "expected more than 0"),
        ("rtt_ms", -3.0, "expected more than 0"),
        ("wire_ms", -3.0, "expected 0 or more"),
        ("throughput_steps_s", -900.0, "expected 0 or more"),
        ("counted_tx_bytes", -1.0, "expected 0 or more"),
        ("happiness", 1.0, "metric happiness"),
        (None, None, "neither"),
    ],
)
def test_values_that_no_measurement_gives(folder, metric, value, told):
    for path in (folder.part_file("hk", 1, "20_training"), segment(folder, "tokyo")):
        was = path.read_bytes()
        change(path, metric=metric, value=value)
        refused(folder, path, told)
        path.write_bytes(was)


@pytest.mark.parametrize(
    ("metric", "value"),
    [("wire_ms", 0.0), ("wire_ms", -1e-12), ("throughput_steps_s", 0.0), ("episode_return", -8.0)],
)
def test_values_that_a_measurement_can_give(folder, metric, value):
    change(folder.part_file("hk", 1, "20_training"), metric=metric, value=value)
    assert value in set(store.read(folder).values(metric)["value"])


def test_a_failure_with_a_number_and_a_number_that_failed(folder):
    path = folder.round_folder("hk", 1) / "20_training.failure-2.parquet"
    change(path, value=3.0)
    refused(folder, path, "a failure with the value 3")
    change(path, metric="rtt_ms")
    refused(folder, path, "both")


def test_a_complete_part_without_a_row(folder):
    path = folder.part_file("hk", 1, "10_network")
    put(folder, path, "hk", 1, notebook="10_network", records=[])
    refused(folder, path, "no row")


def test_a_segment_may_be_empty(folder):
    put(folder, segment(folder, "la"), "la", 1, notebook="background", records=[])
    store.read(folder)


@pytest.mark.parametrize("columns", [["metric", "value"], [*COLUMNS.names, "more"]])
def test_a_part_with_other_columns(folder, columns):
    path = segment(folder)
    table = pq.read_table(path).append_column("more", pa.nulls(2, pa.string()))
    pq.write_table(table.select(columns), path)
    refused(folder, path, "columns")
    value = COLUMNS.get_field_index("value")
    text = pc.cast(table["value"], pa.string())
    pq.write_table(table.select(COLUMNS.names).set_column(value, "value", text), path)
    refused(folder, path, "columns")


def test_pages_damaged_in_the_middle_of_a_file(folder):
    path = segment(folder, "tokyo", 2)
    content = bytearray(path.read_bytes())
    content[4:400] = b"\xff" * 396
    path.write_bytes(content)
    refused(folder, path, "whole Parquet file")


HEADERS = {
    "not JSON": b"{",
    "no text": b"\xff\xfe",
    "a list": b"[]",
    "a number": b"3",
    "nested too deeply": b"[" * 100_000,
    "empty": b"{}",
    "only a schema": b'{"schema": 1}',
}


@pytest.mark.parametrize("header", HEADERS.values(), ids=HEADERS)
def test_a_header_that_is_none(folder, header):
    change(segment(folder), header=header)
    refused(folder, segment(folder), "header|schema")


@pytest.mark.parametrize("key", ["slot", "complete", "provenance", "key", "schema"])
@pytest.mark.parametrize("value", [None, "x", 3.5])
def test_a_header_with_something_else_in_a_key(folder, key, value):
    path = segment(folder)
    change(path, header={key: value})
    refused(folder, path, key)
    header = json.loads(pq.read_metadata(path).metadata[b"homeport"])
    change(path, header=json.dumps({k: v for k, v in header.items() if k != key}))
    refused(folder, path, key)


@pytest.mark.parametrize(
    "facts",
    [{"more": 1}, {"round": "2"}, {"round": 0}, {"round": True}, {"host": None}, {"sites": "x"}],
)
def test_a_slot_that_is_none(folder, facts):
    path = segment(folder)
    change(path, header=slot_with(path, **facts))
    refused(folder, path, f"header, slot.{next(iter(facts))}")
    whole = slot_with(segment(folder, "tokyo"))["slot"]
    change(path, header={"slot": {k: v for k, v in whole.items() if k != "host"}})
    refused(folder, path, "header, slot.host")


def test_reasons_of_a_torn_attempt(folder):
    path = folder.round_folder("hk", 1) / "20_training.failure-2.parquet"
    path.write_bytes(path.read_bytes()[:100])
    with pytest.raises(Damaged, match="whole Parquet file"):
        store.reasons_in(path)
