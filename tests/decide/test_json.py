"""The JSON of a decision is a contract with other programs."""

import json
import math

import pytest
from decide import planted
from decide.planted import NEAR

from homeport.decide import Decision

INTERVAL = {"value", "low", "high", "n"}
STRATEGY = {"topology", "codec", "sync_every"}
KEYS = {
    "": {
        "schema", "study", "session", "profile", "verdict", "choice", "runner_up",
        "recommendation", "scope", "noise_floor", "candidates", "comparisons", "options",
        "reasons", "what_would_change_it", "warnings", "provenance",
    },
    "choice": {"host", "region", "strategy"},
    "choice.strategy": STRATEGY,
    "noise_floor": {"twin", "twin_of", "metric", "ratio", "floor_percent"},
    "noise_floor.ratio.local": INTERVAL,
    "candidates.0": {
        "host", "region", "sla", "by_site", "by_strategy", "usd_per_hour", "failures",
    },
    "candidates.0.sla": {
        "verdict", "label", "target_ms", "target_share", "share_within", "p99_ms",
        "other_label", "site", "design_effect", "reason",
    },
    "candidates.0.sla.share_within": INTERVAL,
    "candidates.0.sla.p99_ms": INTERVAL,
    "candidates.0.sla.other_label": INTERVAL,
    "candidates.0.by_site.0": {"site", "rtt_ms", "step_ms", "loss", "sla"},
    "candidates.0.by_site.0.rtt_ms": {"p50", "p99"},
    "candidates.0.by_site.0.step_ms": {"p50", "p99"},
    "candidates.0.by_site.0.step_ms.p99": INTERVAL,
    "candidates.0.by_site.0.loss": INTERVAL,
    "candidates.0.by_strategy.0": {
        "strategy", "throughput_steps_s", "wire_ms", "wait_ms", "usd_per_million_steps", "verdict",
    },
    "candidates.0.by_strategy.0.strategy": STRATEGY,
    "candidates.0.by_strategy.0.wire_ms": {"p50", "p95"},
    "candidates.0.by_strategy.0.wait_ms": {"p50", "p95"},
    "candidates.0.by_strategy.0.throughput_steps_s": INTERVAL,
    "candidates.0.by_strategy.0.usd_per_million_steps": INTERVAL,
    "candidates.0.usd_per_hour": INTERVAL,
    "comparisons.0": {"leader", "other", "ratio", "p", "p_holm", "beyond_noise"},
    "comparisons.0.ratio": INTERVAL,
    "options.0": {"choice", "sla", "throughput_steps_s", "usd_per_million_steps", "verdict"},
}  # fmt: skip


def strict(text):
    """Parse JSON, refusing the NaN and Infinity that Python would let through."""
    return json.loads(text, parse_constant=lambda word: pytest.fail(f"{word} in the JSON"))


def at(content, path):
    for key in path.split(".") if path else []:
        content = content[int(key)] if key.isdigit() else content[key]
    return content


@pytest.mark.parametrize("path", KEYS)
def test_has_exactly_the_documented_keys(usual, path):
    assert set(at(strict(usual.to_json()), path)) == KEYS[path]


def test_schema_counts(usual):
    assert strict(usual.to_json())["schema"] == 1


def test_reads_back_as_the_same_decision(usual):
    assert Decision.model_validate(strict(usual.to_json())) == usual


def numbers(content):
    if isinstance(content, dict | list):
        inner = content.values() if isinstance(content, dict) else content
        return [n for value in inner for n in numbers(value)]
    return [content] if isinstance(content, float) else []


def test_holds_no_nan_even_where_next_to_nothing_was_measured(judged):
    def sparse(folder):
        planted.remove(folder, "hk", rounds=range(2, 7))
        planted.remove(folder, "tokyo")
        planted.remove(folder, "la", notebook="background")
        planted.remove(folder, "hk-twin", notebook="20_training")

    content = strict(judged(sparse).to_json())
    assert all(math.isfinite(n) for n in numbers(content))
    assert content["candidates"][1]["sla"]["share_within"] is None
    assert content["choice"] is None


def test_provenance_says_where_the_figures_come_from(usual, usual_recorded):
    facts = strict(usual.to_json())["provenance"]
    assert facts["controller"] == {"git_sha": None}  # as the session wrote it
    assert facts["session"] == usual.session and facts["seed"] == usual_recorded.study.seed
    assert facts["parts"] == facts["complete_parts"] == len(usual_recorded.parts)
    assert facts["rounds"] == [1, 2, 3, 4, 5, 6] and facts["schema"] == 1
    assert facts["ended_s"] > facts["started_s"] and facts["rows"] == len(usual_recorded.frame)


def test_an_incomplete_pair_is_a_comparison_without_p(judged):
    failing = {(r, "20_training"): "agent died" for r in (2, 4)}
    content = strict(judged(tokyo=NEAR | {"failing": failing}).to_json())
    pair = next(c for c in content["comparisons"] if c["other"]["host"] == "tokyo")
    assert pair["p"] is pair["p_holm"] is None and pair["ratio"]["n"] == 4
