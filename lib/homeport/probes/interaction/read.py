"""The commands of both ends, and reading what the site's end printed."""

import json
import sys
from collections.abc import Iterator
from dataclasses import dataclass

from homeport.errors import UnreadableOutput
from homeport.metrics import Failure, Measurement


@dataclass(frozen=True)
class Step:
    """One interaction step that left at `sent_s` (epoch seconds).

    Answered: `step_ms` with its parts at the server (`server_ms` in all, of these
    `inference_ms` of policy forward). Unanswered at its deadline: `overdue_ms`, the others None.
    """

    sequence: int
    sent_s: float
    step_ms: float | None = None
    server_ms: float | None = None
    inference_ms: float | None = None
    overdue_ms: float | None = None


def server_command(
    address: str, *, deadline_s: float, observation_size: int, hidden: list[int], actions: int
) -> list[str]:
    """The argument list of the candidate's end; it prints `listening PORT` when ready."""
    module = [sys.executable, "-P", "-m", "homeport.probes.interaction.server"]
    widths = ",".join(str(width) for width in hidden)
    policy = ["--observation-size", str(observation_size), "--hidden", widths]
    policy += ["--actions", str(actions)]
    return [*module, "--address", address, "--deadline-s", f"{deadline_s:g}", *policy]


def client_command(
    address: str,
    port: int,
    *,
    interval_s: float,
    deadline_s: float,
    observation_size: int,
    offset_s: float = 0.0,
) -> list[str]:
    """The argument list of the site's end; it prints one JSON line per step until it is ended."""
    module = [sys.executable, "-P", "-m", "homeport.probes.interaction.client"]
    peer = ["--address", address, "--port", str(port), "--offset-s", f"{offset_s:g}"]
    beat = ["--interval-s", f"{interval_s:g}", "--deadline-s", f"{deadline_s:g}"]
    return [*module, *peer, *beat, "--observation-size", str(observation_size)]


# What each kind of line holds: an answered step, an overdue one, a trouble.
_KINDS = (
    {"seq", "sent_s", "step_ms", "server_ms", "inference_ms"},
    {"seq", "sent_s", "overdue_ms"},
    {"trouble", "time_s"},
)


def _lines(text: str) -> Iterator[dict]:
    whole = text[: text.rfind("\n") + 1]  # a last line that a kill cut short does not count
    for line in whole.splitlines():
        try:
            facts = json.loads(line)
        except ValueError as wrong:
            raise UnreadableOutput("interaction client", "JSON lines", line) from wrong
        if not isinstance(facts, dict) or not any(kind <= set(facts) for kind in _KINDS):
            expected = " or ".join(str(sorted(kind)) for kind in _KINDS)
            raise UnreadableOutput("interaction client", f"the keys {expected}", line)
        yield facts


def parse(text: str) -> list[Step]:
    """Read the steps settled so far, in the order in which they left.

    Raises UnreadableOutput for anything but the client's own lines.
    """
    found = (
        Step(
            facts["seq"],
            facts["sent_s"],
            facts.get("step_ms"),
            facts.get("server_ms"),
            facts.get("inference_ms"),
            facts.get("overdue_ms"),
        )
        for facts in _lines(text)
        if "seq" in facts
    )
    return sorted(found, key=lambda step: step.sequence)


def failures(text: str, *, source: str, target: str) -> list[Failure]:
    """What broke on the way: connections refused, closed or silent."""
    where = {"source": source, "target": target, "place": target}
    return [
        Failure(kind="StepConnection", reason=f["trouble"], time_s=f["time_s"], **where)
        for f in _lines(text)
        if "trouble" in f
    ]


def measurements(steps: list[Step], *, source: str, target: str) -> Iterator[Measurement]:
    """step_ms and its three parts per answered step, step_overdue_ms per unanswered one."""
    for step in steps:
        base = {"source": source, "target": target, "time_s": step.sent_s}
        for metric, value in _parts(step).items():
            yield Measurement(metric=metric, value=value, sequence=step.sequence, **base)


def _parts(step: Step) -> dict[str, float]:
    if step.step_ms is None:
        return {"step_overdue_ms": step.overdue_ms}
    return {
        "step_ms": step.step_ms,
        "step_network_ms": step.step_ms - step.server_ms,
        "step_inference_ms": step.inference_ms,
        "step_rest_ms": step.server_ms - step.inference_ms,
    }
