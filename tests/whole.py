"""Whether a session holds everything it should, once."""

from homeport import store
from homeport.background import record, seen


def check_whole(data):
    """Every part there once, every settled background sample in exactly one segment."""
    (path,) = data.glob("small/*/session.json")
    folder = store.SessionFolder.open(path.parent)
    recorded, study = store.read(folder), folder.study
    complete = [
        (p.slot.host, p.slot.round, p.slot.notebook)
        for p in recorded.parts
        if p.complete and p.slot.notebook != "background"
    ]
    wanted = {
        (host, round, page)
        for host in study.measured
        for round in range(1, study.rounds + 1)
        for page in study.notebooks
        if study.in_round(page, round)
    }
    assert len(complete) == len(set(complete)) and set(complete) == wanted
    rows = recorded.frame[recorded.frame["notebook"] == "background"]
    rows = rows[rows["metric"].notna()]
    assert not rows.duplicated(["host", "site", "metric", "sequence"]).any()
    for host in study.measured:
        spans = [s for r in range(1, study.rounds + 1) for s in record.windows(folder, r)]
        raw = {
            (r.metric, r.sequence)
            for r in seen(folder, host)
            if hasattr(r, "metric") and any(a <= r.time_s < b for a, b in spans)
        }
        stored = set(map(tuple, rows[rows["host"] == host][["metric", "sequence"]].to_numpy()))
        assert stored == raw, host
    throughput = recorded.values("throughput_steps_s")
    assert not throughput.duplicated(["host", "round", "strategy"]).any()
