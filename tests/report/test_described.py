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


def test_payload_stands_beside_what_was_counted_at_the_learner(recorded):
    rows = {(r["host"], r["strategy"]): r for r in described.traffic(recorded)}
    assert set(rows) == {(h, s) for h in recorded.study.measured for s in ("star", "local")}
    syncs = recorded.study.workload.syncs_per_update
    payload = rows["hk", "star"]["payload_tx_bytes"]
    assert payload == f"{36.62 * syncs:.3g} kB"
    assert rows["hk", "star"]["counted_tx_bytes"] == f"{38 * syncs * 2:.3g} kB"


def test_what_was_not_measured_is_said_to_be(recorded):
    frame = recorded.frame[recorded.frame["metric"] != "step_inference_ms"]
    bare = store.Recorded(recorded.folder, frame, recorded.parts)
    assert {r["step_inference_ms"] for r in described.step_parts(bare)} == {"not measured"}
