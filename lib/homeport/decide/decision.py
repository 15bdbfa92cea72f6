"""The decision: its parts, and the stable JSON form that other programs read."""

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

SCHEMA = 1

Verdict = Literal["CLEAR", "EQUIVALENT", "INDICATIVE", "UNDECIDED", "NONE_MEETS_SLA"]
SlaVerdict = Literal["PASS", "FAIL", "UNDECIDED"]


class _Part(BaseModel):
    """Frozen, and without NaN or infinity: what was not measured is None."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)


class Interval(_Part):
    """An estimate with its 95 % interval; an unbounded or unknown end is None.

    `n` is the number of units it rests on (rounds, steps or echoes, as the key says).
    """

    value: float | None
    low: float | None = None
    high: float | None = None
    n: int


class StrategyName(_Part):
    """A strategy spelt out: topology, codec and how often it synchronises."""

    topology: str
    codec: str
    sync_every: int


class Choice(_Part):
    """One option: a host with a strategy."""

    host: str
    region: str
    strategy: StrategyName


class SlaResult(_Part):
    """Whether a candidate keeps the latency target, on the label the study binds it to.

    `share_within` is the share of steps inside the target at the worst site, `other_label` the
    same share on the label that does not bind. Each end of a share is a 95 % bound of its own, and
    the verdict is read off them: PASS from the lower, FAIL from the upper. `design_effect` says
    how many steps weigh as much as an independent one, `reason` why the verdict is UNDECIDED.
    """

    verdict: SlaVerdict
    label: Literal["loaded", "idle"]
    target_ms: float
    target_share: float
    share_within: Interval | None
    p99_ms: Interval | None
    other_label: Interval | None
    site: str | None
    design_effect: float | None = None
    reason: str = ""


class Quantiles(_Part):
    """Median and 99th percentile."""

    p50: Interval | None
    p99: Interval | None


class Spread(_Part):
    """Median and 95th percentile."""

    p50: Interval | None
    p95: Interval | None


class BySite(_Part):
    """What one site sees of a candidate, on the label the SLA binds.

    A percentile beyond the deadline has no value, only the end it is known to exceed. `loss` is
    the share of lost echoes, on both labels where the one that binds has too few. `sla` is the
    target's verdict at this site alone.
    """

    site: str
    rtt_ms: Quantiles
    step_ms: Quantiles
    loss: Interval | None
    sla: SlaVerdict | None = None


class ByStrategy(_Part):
    """What one strategy achieves on a candidate.

    `verdict` compares this option with the leading one: LEADER, WORSE, EQUIVALENT,
    INDISTINGUISHABLE or NOT_COMPARED (failed the SLA, or too few complete rounds).
    """

    strategy: StrategyName
    throughput_steps_s: Interval | None
    wire_ms: Spread
    wait_ms: Spread
    usd_per_million_steps: Interval | None
    verdict: str


class Candidate(_Part):
    """One candidate with everything measured on it."""

    host: str
    region: str
    sla: SlaResult
    by_site: list[BySite]
    by_strategy: list[ByStrategy]
    usd_per_hour: Interval | None
    failures: int


class NoiseFloor(_Part):
    """The difference of a host from itself: what is smaller cannot be told apart.

    `ratio` is the twin's throughput over its host's, per strategy; `floor_percent` the largest
    absolute bound of those intervals, None when the twin could not be compared.
    """

    twin: str
    twin_of: str
    metric: str
    ratio: dict[str, Interval | None]
    floor_percent: float | None


class Comparison(_Part):
    """One option against the leader: throughput ratio, exact p, and Holm's corrected p."""

    leader: Choice
    other: Choice
    ratio: Interval
    p: float | None
    p_holm: float | None
    beyond_noise: bool


class Option(_Part):
    """A row of the table of options, best first."""

    choice: Choice
    sla: SlaVerdict
    throughput_steps_s: Interval | None
    usd_per_million_steps: Interval | None
    verdict: str


class Decision(_Part):
    """The answer. `to_json` gives the stable form; `schema` counts up with it.

    `choice` and `runner_up` are None where nothing is recommended (UNDECIDED, NONE_MEETS_SLA);
    who leads all the same is the first of `options`, with the verdict LEADER.
    """

    schema_: Annotated[int, Field(alias="schema", serialization_alias="schema")] = SCHEMA
    study: str
    session: str
    profile: str
    verdict: Verdict
    choice: Choice | None
    runner_up: Choice | None
    recommendation: str
    scope: str
    noise_floor: NoiseFloor
    candidates: list[Candidate]
    comparisons: list[Comparison]
    options: list[Option]
    reasons: list[str]
    what_would_change_it: list[str]
    warnings: list[str]
    provenance: dict

    model_config = ConfigDict(
        frozen=True, extra="forbid", allow_inf_nan=False, populate_by_name=True
    )

    def to_json(self) -> str:
        """The stable JSON text: null where nothing was measured, never NaN."""
        return self.model_dump_json(by_alias=True, indent=1)
