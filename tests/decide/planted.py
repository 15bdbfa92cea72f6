"""Sessions with a planted truth: the demo's hosts as public tables have them, or changed."""

import dataclasses
import json

import pyarrow.parquet as pq
import synthetic
from synthetic import Truth

from homeport import store
from homeport.metrics import Failure, Measurement
from homeport.params import load_study

TRAINING = "20_training"
LATE_S = 1_790_100_000.0  # long after the last round
SLOT_S = 13.0  # two strategies of 6 s each, and the time between slots
USUAL = {
    "hk": Truth(31.0, {"star": 900.0, "local": 4000.0}),
    "tokyo": Truth(142.0, {"star": 250.0, "local": 2500.0}, loss=0.006),
    "la": Truth(204.0, {"star": 170.0, "local": 1900.0}),
}
NEAR = {"rtt_ms": 20.0, "loss": 0.0}  # well within the target


def truths(**changed):
    """The usual world; a keyword names a host and the facts of it that differ."""
    world = USUAL | ({"hk-twin": USUAL["hk"]} if "hk_twin" in changed else {})
    facts = {name.replace("_", "-"): given for name, given in changed.items()}
    return {
        host: dataclasses.replace(truth, **facts.get(host, {})) for host, truth in world.items()
    }


def study():
    """The demo's study, with what these tests count on held fast."""
    pages = {"10_network": [1, 4], "20_training": "all"}
    held = {"rounds": 6, "training_s": 6.0, "warmup_updates": 2, "notebooks": pages}
    return load_study("demo").model_copy(update=held)


def folder(world, **how):
    """A session of `world`, written to the data folder."""
    return synthetic.session(study(), world, **{"slot_s": SLOT_S, **how})


def remove(session, host, *, notebook="", rounds=None):
    """Take parts out of a session, as if they had never been measured."""
    for path in session.host_folder(host).glob(f"*/{notebook}*.parquet"):
        if rounds is None or int(path.parent.name) in rounds:
            path.unlink()


def rewrite(session, host, round, **facts):
    """Change what a training part says of itself, as if it had been taken at another time."""
    _replace(session, host, round, [], facts)


def add(session, host, round, *records):
    """Put more records into a training part."""
    _replace(session, host, round, records, {})


def put(session, host, round, metric, value):
    """Give a metric of the network page another value."""

    def changed(record):
        return dataclasses.replace(record, value=value) if record.metric == metric else record

    _replace(session, host, round, [], {}, changed, notebook="10_network")


def scale(session, host, round, strategy, factor):
    """Multiply the throughput of one strategy in a training part."""

    def scaled(record):
        ours = (record.metric, record.strategy) == ("throughput_steps_s", strategy)
        return dataclasses.replace(record, value=record.value * factor) if ours else record

    _replace(session, host, round, [], {}, scaled)


def fail(session, host, round, *, time_s, strategy="", measured=(), started_s=None):
    """Add an attempt at training that failed, with what it had measured before it did.

    Without any time it is one of which only the runner told.
    """
    path = session.failure_file(host, round, TRAINING)
    slot = store.Slot.of(session.study, session.session, host, round, TRAINING)
    failure = Failure(
        kind="GangFailed", reason="rank 2 died", place=host, strategy=strategy, time_s=time_s
    )
    began = time_s - 5 if started_s is None and time_s is not None else started_s
    facts = {"page": "failed"} if began is None else {"started_s": began, "ended_s": began + 6}
    records = [*measured, failure]
    store.write_part(path, session.study, slot, records, complete=False, provenance=facts)


def limit(session, hosts, **asked):
    """Make a session one that was asked for fewer hosts (`only`, `region`) than its study has."""
    for host in session.study.measured:
        if host not in hosts:
            remove(session, host)
    nothing = {"only": None, "region": None, "rounds": None}
    _rewrite_session(session, selection={**nothing, **asked, "hosts": hosts})


def begun_with(session, **facts):
    """Have a session say of its controller what these facts say."""
    _rewrite_session(session, provenance=facts)


def sitting(session, **facts):
    """Put down what one more stretch of measuring ran on."""
    path = session.path / f"sitting-{session.sittings() + 1}.json"
    path.write_text(json.dumps(facts))


def _rewrite_session(session, **facts):
    path = session.path / "session.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), **facts}))


def _replace(session, host, round, records, facts, change=lambda record: record, notebook=TRAINING):
    path = session.part_file(host, round, notebook)
    slot = store.Slot.of(session.study, session.session, host, round, notebook)
    content, was = _content(path), store.read_part_header(path).provenance
    path.unlink()
    kept = [change(record) for record in content]
    store.write_part(path, session.study, slot, [*kept, *records], provenance={**was, **facts})


def _content(path):
    names = [field.name for field in dataclasses.fields(Measurement)]
    rows = pq.read_table(path, columns=names).to_pylist()
    return [Measurement(**row) for row in rows]
