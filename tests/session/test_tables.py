"""The tables of per-host pages."""

import pytest

from homeport.metrics import Failure, Measurement
from homeport.session import tables

LEARNER, GUANGDONG, OSAKA = ("hk-twin", 0), ("guangdong", 1), ("osaka", 3)
SECOND = ("guangdong", 2)  # shares the interface of rank 1, and does not count


def update(who, sequence, syncs, sent, counted=None, *, strategy="star", phase="loaded"):
    """One update of one rank; what it received is twice what it sent."""
    values = {"syncs": syncs, "payload_tx_bytes": sent, "payload_rx_bytes": 2 * sent}
    if counted is not None:
        values |= {"counted_tx_bytes": counted, "counted_rx_bytes": 2 * counted}
    source, rank = who
    common = {"source": source, "target": "hk-twin", "strategy": strategy, "phase": phase}
    return [
        Measurement(metric=name, value=float(value), sequence=sequence, rank=rank, **common)
        for name, value in values.items()
    ]


def star(sequence, extra=0, **facts):
    return [
        *update(SECOND, sequence, 4, 400, **facts),
        *update(OSAKA, sequence, 4, 400, 450 + extra, **facts),
        *update(GUANGDONG, sequence, 4, 400, 900 + extra, **facts),
        *update(LEARNER, sequence, 4, 1200, 1300 + extra, **facts),
    ]


def shown(records):
    table = tables.traffic(records, "hk-twin")
    assert list(table.columns) == ["strategy", "place", *tables._BYTES]
    return table.values.tolist()


def test_traffic_has_a_row_for_each_place_the_learner_first():
    records = [*star(0, 9000, phase="warmup"), *star(2), *star(3, 10), *star(4, 700)]
    assert shown(records) == [
        ["star", "hk-twin", 1200, 2400, 1310, 2620],
        ["star", "guangdong", 800, 1600, 910, 1820],
        ["star", "osaka", 400, 800, 460, 920],
    ]


def test_updates_that_synchronised_nothing_weigh_nothing_and_are_left_out():
    """A site of local/3 has two of them for each that the learner takes part in."""
    records = []
    for sequence in range(2, 11):
        last = sequence % 3 == 2
        for who, counted in ((GUANGDONG, 900 if last else 5), (SECOND, None)):
            sent = 400 if last else 0
            records += update(who, sequence, int(last), sent, counted, strategy="local/3")
        if last:
            records += update(LEARNER, sequence, 1, 800, 930, strategy="local/3")
    assert shown(records) == [
        ["local/3", "hk-twin", 800, 1600, 930, 1860],
        ["local/3", "guangdong", 800, 1600, 900, 1800],
    ]


def test_bytes_that_nobody_counted_are_missing_and_not_zero():
    records = [*update(LEARNER, 2, 1, 400, 430), *update(GUANGDONG, 2, 1, 400)]
    table = tables.traffic(records, "hk-twin")
    assert table["counted_tx_bytes"].isna().tolist() == [False, True]
    assert table["payload_tx_bytes"].tolist() == [400, 400]


@pytest.mark.parametrize("records", [[], [Failure(kind="GangFailed", reason="lost")]])
def test_traffic_of_a_gang_that_never_trained_is_empty(records):
    assert shown(records) == []


FAILED = Failure(kind="GangFailed", reason="rank 1 at guangdong: refused", place="hk")


@pytest.mark.parametrize("records", [[], [FAILED], [FAILED, *update(GUANGDONG, 1, 4, 400)]])
def test_every_table_can_be_shown_when_training_gave_nothing(records):
    """A table that cannot be made would end the page before it saves what went wrong."""
    for table in (tables.training, tables.stages, tables.background, tables.plain):
        assert table(records).columns.size
    assert tables.traffic(records, "hk").columns.size
    assert list(tables.failures(records)["reason"]) == [FAILED.reason] * (FAILED in records)


def test_stages_are_means_that_add_up_and_ranks_are_whole_numbers():
    common = {"source": "guangdong", "target": "hk", "strategy": "local", "phase": "loaded"}
    records = [
        Measurement(metric=name, value=value, sequence=n, rank=1, **common)
        for n, wire in enumerate([0.0, 0.0, 0.0, 100.0])
        for name, value in {"collect_ms": 10.0, "update_ms": 20.0, "wait_ms": 0.0}.items()
        | {"wire_ms": wire, "wall_ms": 30.0 + wire}.items()
    ]
    row = tables.stages(records).iloc[0]
    assert (row["wire_ms"], row["wall_ms"]) == (25.0, 55.0)
    assert str(row["rank"]) == "1"
