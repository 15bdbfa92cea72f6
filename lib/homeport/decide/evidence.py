"""What a session holds that bears on the decision, taken out of its frame."""

from dataclasses import dataclass

import numpy as np
import pandas as pd

from homeport import store
from homeport.decide.admit import TRAINING, Turn, admit
from homeport.decide.compare import Label
from homeport.params import Study
from homeport.targets import Replies

_LONGEST_REASON = 200
NOT_PLANNED = "not part of this run"


@dataclass(frozen=True)
class Evidence:
    """A session, sorted by what it is evidence of.

    planned: the hosts that this session was to measure; a run may be asked for fewer than the
    study has. rounds: those in which any host's training was tried. steps_s: usable steps/s of
    every option, the twin's too, one per round of `rounds`; nan where not measured. missing: per
    option, the rounds without a figure and why. steps, echoes: per candidate and site of the
    study, empty where there were none. step_rounds: the rounds with steps, likewise. syncs: every
    synchronisation of the training after warm-up, at the sampling workers. strays: turns left out
    because they were not taken in their round. failures: their count per host.
    """

    recorded: store.Recorded
    planned: tuple[str, ...]
    rounds: tuple[int, ...]
    steps_s: dict[Label, np.ndarray]
    missing: dict[Label, dict[int, str]]
    steps: dict[str, dict[str, Replies]]
    echoes: dict[str, dict[str, Replies]]
    step_rounds: dict[str, dict[str, frozenset[int]]]
    syncs: pd.DataFrame
    strays: frozenset[Turn]
    failures: dict[str, int]

    @property
    def study(self) -> Study:
        """The study as it was when the session began."""
        return self.recorded.study

    @property
    def span_s(self) -> tuple[float, float] | None:
        """Epoch seconds at which the first part began and the last ended; None if none says."""
        facts = [part.provenance for part in self.recorded.parts]
        times = [fact[key] for fact in facts for key in ("started_s", "ended_s") if key in fact]
        return (min(times), max(times)) if times else None

    def of_host(self, host: str) -> dict[Label, np.ndarray]:
        """The options of one host (or the twin)."""
        return {label: rounds for label, rounds in self.steps_s.items() if label.host == host}


def gather(recorded: store.Recorded) -> Evidence:
    """Take out of a session what the decision rests on.

    Raises NotComparable for data that must not be compared (see `admit`).
    """
    strays = admit(recorded)
    study = recorded.study
    rounds = tuple(sorted({p.slot.round for p in recorded.parts if p.slot.notebook == TRAINING}))
    labels = [Label(h, s.name) for h in study.measured for s in study.strategies]
    found = {turn: v for turn, v in _throughput(recorded).items() if turn[:2] not in strays}
    steps_s = {
        k: np.array([found.get((k.host, r, k.strategy), np.nan) for r in rounds]) for k in labels
    }
    failures = recorded.failures()
    missing = {k: _missing(k, rounds, steps_s[k], failures, strays) for k in labels}
    frame = recorded.frame[recorded.frame["notebook"] == store.BACKGROUND]
    return Evidence(
        recorded=recorded,
        planned=tuple(recorded.folder.selection["hosts"]),
        rounds=rounds,
        steps_s=steps_s,
        missing={label: why for label, why in missing.items() if why},
        steps=_replies(frame, study, "step_ms", "step_overdue_ms"),
        echoes=_replies(frame, study, "rtt_ms", "lost_echo"),
        step_rounds=_step_rounds(frame, study),
        syncs=_syncs(recorded, found),
        strays=strays,
        failures={host: int((failures["host"] == host).sum()) for host in study.measured},
    )


def _throughput(recorded):
    """{(host, round, strategy): steps/s}: the newest attempt, unless it failed after all."""
    rows = recorded.values("throughput_steps_s")
    rows = rows[(rows["notebook"] == TRAINING) & (rows["phase"] != "warmup")]
    rows = rows.sort_values("time_s", kind="stable")
    failed = recorded.failures()
    failed = failed[failed["notebook"] == TRAINING]
    whole = {
        (p.slot.host, p.slot.round)
        for p in recorded.parts
        if p.complete and p.slot.notebook == TRAINING
    }
    newest = {(row.host, row.round, row.strategy): row for row in rows.itertuples()}
    return {
        turn: float(row.value)
        for turn, row in newest.items()
        if not _spoiled(row, failed, turn[:2] in whole)
    }


def _spoiled(row, failed, whole):
    """Whether the attempt behind this figure failed: at or after it, or, undated, in no whole."""
    own = _failures_of(failed, row.host, row.round, row.strategy)
    later = own["time_s"].to_numpy(dtype=float) >= row.time_s
    undated = own["time_s"].isna().to_numpy() & (not whole)
    return bool((later | undated).any())


def _failures_of(failures, host, round, strategy):
    own = (failures["host"] == host) & (failures["round"] == round)
    return failures[own & failures["strategy"].isin([strategy, ""])]


def _missing(label, rounds, steps_s, failures, strays):
    failures = failures[failures["notebook"] == TRAINING]
    return {
        round: _why(label, round, failures, strays)
        for round, value in zip(rounds, steps_s, strict=True)
        if np.isnan(value)
    }


def _why(label, round, failures, strays):
    if (label.host, round) in strays:
        return "measured outside of its round"
    own = _failures_of(failures, label.host, round, label.strategy)
    if own.empty:
        return "nothing was recorded"
    last = own.iloc[-1]
    return f"{last['failure']}: {str(last['reason'])[:_LONGEST_REASON]}"


def _replies(frame, study, answered, unanswered):
    """{candidate: {site: Replies}} of two metrics, the second one's values being inf."""
    rows = frame[frame["metric"].isin([answered, unanswered])]
    return {
        host: {site: _of(rows, host, site, unanswered) for site in study.sites}
        for host in study.candidates
    }


def _of(rows, host, site, unanswered):
    own = rows[(rows["host"] == host) & (rows["site"] == site)]
    late = (own["metric"] == unanswered).to_numpy(dtype=bool)
    ms = np.where(late, np.inf, own["value"].to_numpy(dtype=float))
    return Replies(ms, own["time_s"].to_numpy(dtype=float), own["phase"].to_numpy(dtype=str))


def _step_rounds(frame, study):
    rows = frame[frame["metric"].isin(["step_ms", "step_overdue_ms"])]
    found = rows.groupby(["host", "site"])["round"].agg(lambda r: frozenset(r.astype(int)))
    return {
        host: {site: found.get((host, site), frozenset()) for site in study.sites}
        for host in study.candidates
    }


def _syncs(recorded, found):
    frame = recorded.frame
    wanted = frame["metric"].isin(["sync_wire_ms", "sync_wait_ms"]) & (frame["phase"] == "loaded")
    rows = frame[wanted & (frame["rank"].fillna(0) > 0) & (frame["notebook"] == TRAINING)]
    turns = zip(rows["host"], rows["round"], rows["strategy"], strict=True)
    return rows[np.array([turn in found for turn in turns], dtype=bool)]
