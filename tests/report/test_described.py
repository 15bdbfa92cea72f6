import pytest
import synthetic

from homeport import store
from homeport.report import described

TRUTHS = {
    "hk": synthetic.Truth(31.0, {"star": 4500.0, "local": 9500.0}, jitter_ms=0.0),
    "tokyo": synthetic.Truth(142.0, {"star": 600.0, "local": 2200.0}, jitter_ms=0.0),
    "la": synthetic.Truth(204.0, {"star": 1100.0, "local": 3800.0}, jitter_ms=0.0),
}


@pytest.fixture
def recorded(demo, data_folder):
    return store.read(synthetic.session(demo, TRUTHS))


def test_a_steps_time_is_split_for_every_host_and_label(recorded):
    rows = {(r["host"], r["label"]): r for r in described.step_parts(recorded)}
    assert set(rows) == {(h, p) for h in recorded.study.measured for p in ("idle", "loaded")}
    row = rows["hk", "loaded"]
    assert row["step_network_ms"] == "32 ms", "31 ms and the millisecond that load adds"
    assert (row["step_inference_ms"], row["step_rest_ms"]) == ("0.05 ms", "0.3 ms")


def test_payload_stands_beside_what_was_counted_at_the_learner_and_at_the_site(recorded):
    """Two workers at the site: its interface carries what both send, as the learner's does."""
    rows = described.traffic(recorded)
    assert [(r["host"], r["strategy"], r["place"]) for r in rows] == [
        (host, strategy, place)
        for host in sorted(recorded.study.measured)
        for strategy in ("local", "star")
        for place in (host, "guangdong")
    ]
    syncs = recorded.study.workload.syncs_per_update
    for row in rows:
        many = 2 * (syncs if row["strategy"] == "star" else 1)
        assert row["payload_tx_bytes"] == row["payload_rx_bytes"] == f"{36.62 * many:.3g} kB"
        assert row["counted_tx_bytes"] == row["counted_rx_bytes"] == f"{38 * many:.3g} kB"


def test_updates_without_a_synchronisation_are_left_out_of_an_updates_weight(recorded):
    frame = recorded.frame.copy()
    odd = (frame["source"] == "guangdong") & (frame["sequence"] % 3 > 0)
    named = frame["metric"].isin(["syncs", "payload_tx_bytes", "counted_tx_bytes"])
    frame.loc[odd & named, "value"] = 0.0
    rows = described.traffic(store.Recorded(recorded.folder, frame, recorded.parts))
    local = [r["counted_tx_bytes"] for r in rows if r["strategy"] == "local"]
    assert set(local) == {"76 kB"}


def test_bytes_that_were_not_counted_at_a_site_are_said_not_to_be(recorded):
    frame = recorded.frame
    counted = frame["metric"].isin(["counted_tx_bytes", "counted_rx_bytes"])
    frame = frame[~(counted & (frame["source"] == "guangdong"))]
    rows = described.traffic(store.Recorded(recorded.folder, frame, recorded.parts))
    for row in rows:
        at_site = row["place"] == "guangdong"
        assert (row["counted_rx_bytes"] == "not measured") == at_site
        assert row["payload_rx_bytes"] != "not measured"


def test_what_was_not_measured_is_said_to_be(recorded):
    frame = recorded.frame[recorded.frame["metric"] != "step_inference_ms"]
    bare = store.Recorded(recorded.folder, frame, recorded.parts)
    assert {r["step_inference_ms"] for r in described.step_parts(bare)} == {"not measured"}
