import os
import signal
import time

import pytest
from processes import children

from homeport import store
from homeport.background import (
    EVERYTHING,
    Background,
    close_gap,
    gaps,
    open_gap,
    record,
    records,
    seen,
    unwritten_rounds,
    write_segments,
)
from homeport.metrics import Failure
from homeport.places import Local
from homeport.probes.interaction import parse


@pytest.fixture
def folder(demo, data_folder):
    return store.SessionFolder.create(demo, provenance={})


@pytest.fixture
def places(demo):
    return {name: Local(name) for name in [*demo.sites, *demo.candidates]}


def note_load(folder, event, load, at, place="hk"):
    folder.note(
        "loads",
        event=event,
        load=load,
        place=place,
        sites=["guangdong"],
        strategy="star",
        time_s=at,
    )


@pytest.fixture
def watched(folder, places):
    """A session of two rounds on loopback; the middle of round 1 was under load."""
    before = children()
    background = Background(folder, places, folder.study.measured)
    background.start()
    marks = [time.time()]
    folder.note("rounds", round=1, time_s=marks[0])
    time.sleep(0.8)
    note_load(folder, "begin", "a", time.time())
    time.sleep(0.8)
    note_load(folder, "end", "a", time.time())
    time.sleep(0.4)
    marks.append(time.time())
    folder.note("rounds", round=2, time_s=marks[1])
    time.sleep(record.settled_after_s(folder))
    background.stop()
    assert children() == before
    return marks


def test_every_site_sees_every_candidate_and_the_twin(folder, watched):
    for host in folder.study.measured:
        by_metric = {}
        for r in seen(folder, host):
            by_metric.setdefault(r.metric, []).append(r)
        assert len(by_metric["rtt_ms"]) >= 10 and len(by_metric["step_ms"]) >= 10
        assert {r.source for r in by_metric["step_ms"]} == {"guangdong"}


def test_segments_hold_each_settled_sample_of_their_round_once(folder, watched):
    for round in (1, 2):
        write_segments(folder, round)
    recorded = store.read(folder)
    for host in folder.study.measured:
        rows = recorded.frame[(recorded.frame["host"] == host) & recorded.frame["metric"].notna()]
        first = rows[rows["round"] == 1]
        assert ((first["time_s"] >= watched[0]) & (first["time_s"] < watched[1])).all()
        keys = rows[["metric", "sequence"]].apply(tuple, axis=1)
        assert keys.is_unique
        both = {(r.metric, r.sequence) for r in seen(folder, host) if r.time_s >= watched[0]}
        assert set(keys) == both, "none lost between the rounds"


def test_samples_are_loaded_exactly_while_training_loads_their_link(folder, watched):
    begin, end = (n["time_s"] for n in folder.notes("loads"))
    for host in ("hk", "hk-twin", "tokyo"):
        for r in seen(folder, host):
            inside = begin <= r.time_s <= end and host != "tokyo"
            assert r.phase == ("loaded" if inside else "idle"), r
    assert any(r.phase == "loaded" for r in seen(folder, "hk-twin")), "the twin shares the link"


def test_a_load_cut_short_lasts_until_its_sitting_ends(folder):
    folder.note("sittings", event="begin", time_s=10.0)
    note_load(folder, "begin", "a", 12.0)
    folder.note("sittings", event="begin", time_s=20.0)
    note_load(folder, "begin", "b", 22.0)
    note_load(folder, "end", "b", 23.0)
    assert sorted(record.loads(folder, "guangdong", "hk")) == [(12.0, 20.0), (22.0, 23.0)]


def test_a_round_interrupted_and_resumed_has_two_windows(folder):
    folder.note("sittings", event="begin", time_s=10.0)
    folder.note("rounds", round=1, time_s=11.0)
    folder.note("rounds", round=2, time_s=15.0)
    folder.note("sittings", event="begin", time_s=30.0)  # killed in round 2, then resumed
    folder.note("rounds", round=2, time_s=31.0)
    folder.note("sittings", event="end", time_s=40.0)
    assert record.windows(folder, 1) == [(11.0, 15.0)]
    assert record.windows(folder, 2) == [(15.0, 30.0), (31.0, 40.0)]


def test_a_stream_that_dies_is_started_again_and_nothing_is_lost(folder, places):
    background = Background(folder, places, ["hk"])
    background.start()
    time.sleep(1.0)
    victim = background._streams[0].child
    os.killpg(victim.pid, signal.SIGKILL)
    victim.wait()
    first = len([r for r in records(folder, "guangdong", "hk") if r.metric == "rtt_ms"])
    assert background.revive() and not background.revive()
    time.sleep(1.0)
    background.stop()
    echoes = [r for r in records(folder, "guangdong", "hk") if r.metric == "rtt_ms"]
    assert first >= 3 and len(echoes) > first
    assert len({r.sequence for r in echoes}) == len(echoes)
    assert folder.notes("troubles")[0]["stream"] == "ping-guangdong"


def test_a_policy_server_that_dies_is_no_fault_of_the_path(folder, places):
    background = Background(folder, places, ["hk"])
    background.start()
    time.sleep(1.0)
    folder.note("rounds", round=1, time_s=time.time())
    time.sleep(2.0)
    before_s = time.time()
    victim = background._servers["hk"].child
    os.killpg(victim.pid, signal.SIGKILL)
    victim.wait()
    background.notice()
    time.sleep(1.5)
    assert background.revive() == ["policy at hk"] and not background.revive()
    back_s = time.time()
    time.sleep(2.0)
    folder.note("rounds", round=None, time_s=time.time())
    time.sleep(record.settled_after_s(folder))
    background.stop()
    raw = [s for _, text in record._raw(folder, "steps-guangdong", "hk") for s in parse(text)]
    assert any(s.overdue_ms for s in raw), "the raw file keeps what happened"
    write_segments(folder, 1)
    found = store.read(folder)
    steps, echoes = found.values("step_ms"), found.values("rtt_ms")
    assert found.values("step_overdue_ms").empty
    assert (steps["time_s"] < before_s).any() and (steps["time_s"] > back_s).any()
    assert ((echoes["time_s"] > before_s) & (echoes["time_s"] < back_s)).any(), "pings go on"
    failed = found.failures()
    assert list(failed["failure"]) == ["PolicyServerEnded"]
    assert "exit code -9" in failed["reason"].iloc[0] and failed["place"].iloc[0] == "hk"


def test_a_round_gone_on_with_gets_a_further_segment(folder, places):
    """A failed part is measured again by a later sitting: what its background saw counts too."""
    for sitting in (1, 2):
        background = Background(folder, places, ["hk"])
        background.start()
        folder.note("rounds", round=1, time_s=time.time())
        time.sleep(1.0)
        folder.note("rounds", round=None, time_s=time.time())
        time.sleep(record.settled_after_s(folder))
        write_segments(folder, 1)
        write_segments(folder, 1)
        background.stop()
        files = folder.segment_files("guangdong", "hk", 1)
        assert [p.name for p in files] == [
            "background-guangdong.parquet",
            "background-guangdong.2.parquet",
        ][:sitting]
        assert store.read_part_header(files[-1]).provenance["sittings"] == [sitting]
    assert unwritten_rounds(folder, "hk") == []
    spans = record.windows(folder, 1)
    raw = {
        (r.metric, r.sequence)
        for r in seen(folder, "hk")
        if any(a <= r.time_s < b for a, b in spans)
    }
    rows = store.read(folder).frame
    stored = list(map(tuple, rows[["metric", "sequence"]].to_numpy()))
    assert len(stored) == len(set(stored)) and set(stored) == raw


def silent(folder, at):
    """A round of ten seconds of which some streams left nothing."""
    folder.note("rounds", round=1, time_s=at)
    folder.note("rounds", round=None, time_s=at + 10)
    raw = folder.raw_folder("hk")
    raw.mkdir(parents=True)
    return raw


def failed_streams(folder):
    write_segments(folder, 1)
    failed = store.read(folder).failures()
    named = failed["failure"] + " " + failed["reason"].str.split(":").str[0]
    return dict(zip(named, failed["reason"], strict=True))


def test_a_stream_that_gave_nothing_in_a_round_is_a_failure_with_its_last_words(folder):
    raw = silent(folder, 1000.0)
    (raw / "ping-guangdong.1.txt").write_text("ZONG 64 octets\n")
    (raw / "ping-guangdong.2.txt").write_text("")
    (raw / "steps-guangdong.1.txt").write_text("")
    (raw / "steps-guangdong.1.err").write_text("struct.error: ubyte format\n")
    (raw / "steps-guangdong.old.txt").write_text("not ours\n")
    told = failed_streams(folder)
    assert "ZONG 64" in told["NothingMeasured no ping from guangdong to hk"]
    assert "ubyte format" in told["NothingMeasured no steps from guangdong to hk"]


def test_a_stream_that_ran_in_a_round_is_no_failure_and_a_gap_is_told_once(folder):
    raw, head = (
        silent(folder, time.time() - 5),
        "PING 127.0.0.1 (127.0.0.1) 56(84) bytes of data.\n",
    )
    reply = f"[{time.time():.6f}] 64 bytes from 127.0.0.1: icmp_seq=1 ttl=64 time=0.1 ms\n"
    (raw / "ping-guangdong.1.txt").write_text(head + reply)
    note_gap(folder, streams=("steps",))
    assert list(failed_streams(folder).values()) == ["the relay ended"]


def note_gap(folder, **kept):
    facts = {"kind": "WorldBroken", "reason": "the relay ended", "place": None, "open_s": 2.0}
    return open_gap(folder, **{**facts, "streams": EVERYTHING, **kept})


def test_a_gap_without_an_end_lasts_until_the_next_sitting(folder):
    folder.note("sittings", event="begin", time_s=10.0)
    note_gap(folder)
    (gap,) = gaps(folder, "tokyo")
    assert gap.end_s == float("inf") and gap.noticed_s - gap.begin_s == 2.0
    folder.note("sittings", event="begin", time_s=time.time() + 5)
    (gap,) = gaps(folder, "hk-twin")
    assert gap.end_s == folder.notes("sittings")[-1]["time_s"]


def test_a_gap_of_one_place_is_that_of_its_twin_and_of_no_other(folder):
    gap = note_gap(folder, place="hk", streams=("steps",))
    close_gap(folder, gap)
    assert [len(gaps(folder, host)) for host in folder.study.measured] == [1, 0, 0, 1]
    assert gaps(folder, "hk")[0].end_s >= gaps(folder, "hk")[0].noticed_s


def test_raw_output_of_something_else_is_a_failure_that_names_it(folder):
    raw = folder.raw_folder("hk")
    raw.mkdir(parents=True)
    (raw / "ping-guangdong.1.txt").write_text("bash: ping: command not found\n")
    found = records(folder, "guangdong", "hk")
    assert [type(r) for r in found] == [Failure]
    assert "command not found" in found[0].reason
