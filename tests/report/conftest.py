"""A recorded session, and a decision about it written by hand."""

import dataclasses
import json

import pytest
import synthetic

from homeport import report, store
from homeport.decide.decision import Decision
from homeport.params import Study, load_study
from homeport.report import write

STEPS_S = {"hk": {"star": 900.0, "local": 2600.0}, "tokyo": {"star": 300.0, "local": 1500.0}}
STEPS_S["la"] = {"star": 220.0, "local": 1300.0}
CANARY = "<script>alert('canary')</script>"
NASTY = {
    "hk": f"{CANARY}\"' onload=x &amp; [a](javascript:b) `c` |d| *e* {{{{ 7*7 }}}} ]]>--></svg>",
    "tokyo": "\u202eغرب\u2066 \x1b[31m\x00\n# heading\n| a | b |",
    "la": "long " * 2000,
}
RTT_MS = {"hk": 31.0, "tokyo": 142.0, "la": 204.0}


def interval(value, spread=0.03, n=6):
    return {"value": value, "low": value * (1 - spread), "high": value * (1 + spread), "n": n}


def choice(study, host, strategy):
    spelt = next(s for s in study.strategies if s.name == strategy)
    return {
        "host": host,
        "region": study.region_of(host),
        "strategy": spelt.model_dump(include={"topology", "codec", "sync_every"}),
    }


def candidate(study, host, verdict):
    share = {"value": 0.9985, "low": 0.9931, "high": 0.99998, "n": 413}
    if verdict == "FAIL":
        share = {"value": 0.0, "low": 0.0, "high": 0.0072, "n": 401}
    rtt = RTT_MS[host]
    pair = {"p50": interval(rtt, n=1277), "p99": None}
    spread = {"p50": interval(rtt + 2, n=80), "p95": interval(rtt + 9, n=80)}
    return {
        "host": host,
        "region": study.region_of(host),
        "sla": {
            "verdict": verdict,
            "label": "loaded",
            "target_ms": study.sla.step_ms,
            "target_share": study.sla.share,
            "share_within": share,
            "p99_ms": {"value": rtt + 4, "low": rtt + 3, "high": None, "n": 413},
            "other_label": None,
            "site": "guangdong",
        },
        "by_site": [{"site": "guangdong", "rtt_ms": pair, "step_ms": pair, "loss": None}],
        "by_strategy": [
            {
                "strategy": choice(study, host, s.name)["strategy"],
                "throughput_steps_s": interval(STEPS_S[host][s.name]),
                "wire_ms": spread,
                "wait_ms": {"p50": None, "p95": None},
                "usd_per_million_steps": interval(0.0937 / 3600 / STEPS_S[host][s.name] * 1e6),
                "verdict": "WORSE",
            }
            for s in study.strategies
        ],
        "usd_per_hour": interval(0.0937, 0),
        "failures": 0,
    }


def option(study, host, strategy, sla, verdict, usd=True):
    steps_s = STEPS_S[host][strategy]
    return {
        "choice": choice(study, host, strategy),
        "sla": sla,
        "throughput_steps_s": interval(steps_s),
        "usd_per_million_steps": interval(0.0937 / 3600 / steps_s * 1e6) if usd else None,
        "verdict": verdict,
    }


def by_hand(study, session):
    """The content of a decision: hk with local leads, tokyo and la miss the target."""
    leader, other = choice(study, "hk", "local"), choice(study, "hk", "star")
    ratio = {"value": 2.89, "low": 2.76, "high": 3.02, "n": 6}
    return {
        "study": study.name,
        "session": session,
        "profile": study.profile,
        "verdict": "INDICATIVE",
        "choice": leader,
        "runner_up": other,
        "recommendation": "Put the learner on hk (Hong Kong) and train with local: it is the only "
        "candidate that keeps 99 % of steps within 50 ms, at 2,600 steps/s.",
        "scope": "For two sampling workers in Guangdong, in one session of 6 rounds.",
        "noise_floor": {
            "twin": study.twin,
            "twin_of": study.twin_of,
            "metric": "throughput_steps_s",
            "ratio": {
                "star": {"value": 1.01, "low": 0.981, "high": 1.038, "n": 6},
                "local": {"value": 0.995, "low": 0.966, "high": 1.021, "n": 6},
            },
            "floor_percent": 3.8,
        },
        "candidates": [
            candidate(study, "hk", "PASS"),
            candidate(study, "tokyo", "FAIL"),
            candidate(study, "la", "FAIL"),
        ],
        "comparisons": [
            {
                "leader": leader,
                "other": other,
                "ratio": ratio,
                "p": 0.03125,
                "p_holm": 0.03125,
                "beyond_noise": True,
            }
        ],
        "options": [
            option(study, "hk", "local", "PASS", "LEADER"),
            option(study, "hk", "star", "PASS", "WORSE"),
            option(study, "tokyo", "local", "FAIL", "NOT_COMPARED"),
            option(study, "tokyo", "star", "FAIL", "NOT_COMPARED"),
            option(study, "la", "local", "FAIL", "NOT_COMPARED"),
            option(study, "la", "star", "FAIL", "NOT_COMPARED", usd=False),
        ],
        "reasons": ["tokyo and la miss the target: no step from Guangdong came back in 50 ms."],
        "what_would_change_it": ["A latency target of 150 ms would let tokyo in."],
        "warnings": ["4 of the 38 probes behind the Hong Kong figure timed out."],
        "provenance": {
            "seed": study.seed,
            "selection": {"only": None, "region": None, "rounds": None, "hosts": study.measured},
            "sittings": [],
            "controller": {"git_sha": None, "packages": {"torch": "2.13.0"}, "cpu_model": None},
        },
    }


@pytest.fixture(scope="session")
def recorded(tmp_path_factory):
    """A session of the demo in which one training slot of tokyo failed."""
    study = load_study("demo")
    failing = {(3, "20_training"): "rank 2 at guangdong: no answer | within 30 s"}
    truths = {
        host: synthetic.Truth(
            RTT_MS[host],
            STEPS_S[host],
            loss=0.03 if host == "tokyo" else 0.0,
            failing=failing if host == "tokyo" else {},
        )
        for host in study.candidates
    }
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("HOMEPORT_DATA", str(tmp_path_factory.mktemp("report")))
        return store.read(synthetic.session(study, truths))


@pytest.fixture
def content(recorded):
    """The decision as a mapping, for tests that change a part of it."""
    return by_hand(recorded.study, recorded.folder.session)


@pytest.fixture
def decision(content):
    """The decision written by hand."""
    return Decision.model_validate(content)


@pytest.fixture
def nasty(recorded, content):
    """The same session and decision, with texts of regions that try to break a report."""
    study = json.loads(recorded.study.model_dump_json())
    for name, region in NASTY.items():
        study["inventory"]["hosts"][name]["region"] = region
    study["question"] = "Where?" + NASTY["hk"]
    study = Study.model_validate_json(json.dumps(study))
    text = json.dumps(content)
    for name in RTT_MS:
        text = text.replace(
            json.dumps(recorded.study.region_of(name)), json.dumps(study.region_of(name))
        )
    content = json.loads(text)
    for key in ("reasons", "what_would_change_it", "warnings"):
        content[key] = list(NASTY.values())
    content["recommendation"] = content["scope"] = NASTY["hk"]
    each = {text: {text: text} for text in NASTY.values()}
    content["provenance"] = {
        NASTY["hk"]: NASTY["la"],
        "nested": {"deep": [NASTY["tokyo"]]},
        "selection": {"region": NASTY["tokyo"] + "\n```\n# heading", "hosts": study.measured},
        "sittings": [{"world": {"hosts": each, "links": each}, "tools": each, "controller": each}],
        "controller": {"git_sha": NASTY["hk"], **each},
    }
    folder = dataclasses.replace(recorded.folder, study=study)
    frame = recorded.frame.assign(
        reason=recorded.frame["reason"].where(recorded.frame["reason"].isna(), NASTY["hk"])
    )
    return dataclasses.replace(recorded, folder=folder, frame=frame), Decision.model_validate(
        content
    )


@pytest.fixture(scope="session")
def charts(recorded):
    """The figures of the session, drawn once."""
    decision = Decision.model_validate(by_hand(recorded.study, recorded.folder.session))
    return report.figures(recorded, decision)


@pytest.fixture
def same_figures(charts, monkeypatch):
    """For tests that look at something else: no time is spent on drawing."""
    monkeypatch.setattr(write, "figures", lambda recorded, decision: charts)
    monkeypatch.setattr(write.plots, "svg", lambda chart, name: f'<svg id="{name}"></svg>')
