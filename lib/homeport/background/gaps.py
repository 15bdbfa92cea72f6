"""Stretches in which samples tell of our own machinery, not of the path.

When the emulated world or an answering policy ends by itself, every echo and step goes
unanswered. To count those against the host would be a lie; to leave them out in silence would
be another. They stay in the raw files, and a Failure stands in their place.
"""

import time
import uuid
from dataclasses import dataclass

from homeport.metrics import Failure, Record
from homeport.store import SessionFolder

EVERYTHING = ("ping", "steps")
_STREAM = {"rtt_ms": "ping", "lost_echo": "ping"}  # the other metrics are of steps


@dataclass(frozen=True)
class Gap:
    """From `begin_s` to `end_s` (epoch seconds) the named streams show what `reason` says.

    `noticed_s` is when it was seen, at most a second late; `begin_s` lies before it by as long
    as the fate of a sample can be open.
    """

    kind: str
    reason: str
    place: str
    streams: tuple[str, ...]
    begin_s: float
    noticed_s: float
    end_s: float

    def covers(self, record: Record) -> bool:
        """Whether this record is a sample, or a broken connection, of this gap."""
        if record.time_s is None or not self.begin_s <= record.time_s < self.end_s:
            return False
        if isinstance(record, Failure):
            return record.kind == "StepConnection" and "steps" in self.streams
        return stream_of(record.metric) in self.streams

    def meets(self, start_s: float, end_s: float) -> bool:
        """Whether any of this gap lies within a stretch of time."""
        return self.begin_s < end_s and self.end_s > start_s


def stream_of(metric: str) -> str:
    """The stream whose samples give this metric."""
    return _STREAM.get(metric, "steps")


def open_gap(
    folder: SessionFolder,
    *,
    kind: str,
    reason: str,
    place: str | None,
    streams: tuple[str, ...],
    open_s: float,
) -> str:
    """Note that a gap has begun; gives its id for `close_gap`.

    `place` None: at every place. `open_s`: samples this much older had their fate still open.
    """
    gap, now = uuid.uuid4().hex, time.time()
    what = {"kind": kind, "reason": reason, "place": place, "streams": streams}
    folder.note("gaps", gap=gap, event="begin", noticed_s=now, begin_s=now - open_s, **what)
    return gap


def close_gap(folder: SessionFolder, gap: str) -> None:
    """Note that samples tell of the path again from here on."""
    folder.note("gaps", gap=gap, event="end", time_s=time.time())


def gaps(folder: SessionFolder, host: str) -> list[Gap]:
    """The gaps of one host; one that was never closed ends with its sitting."""
    notes = folder.notes("gaps")
    ends = {note["gap"]: note["time_s"] for note in notes if note["event"] == "end"}
    place = folder.study.place_of(host)
    return [
        Gap(
            note["kind"],
            note["reason"],
            note["place"] or "",
            tuple(note["streams"]),
            note["begin_s"],
            note["noticed_s"],
            ends.get(note["gap"], sitting_end(folder, note["noticed_s"])),
        )
        for note in notes
        if note["event"] == "begin" and note["place"] in (None, place)
    ]


def sitting_end(folder: SessionFolder, at: float) -> float:
    """When the sitting under way at `at` was over, at the latest: it ended or the next began."""
    later = [n["time_s"] for n in folder.notes("sittings") if n["time_s"] > at]
    return min(later, default=float("inf"))


def failure_of(gap: Gap, site: str, host: str, *, not_before_s: float = 0.0) -> Failure:
    """What stands in the place of a gap's samples, from one site to one host."""
    return Failure(
        kind=gap.kind,
        reason=gap.reason,
        source=site,
        target=host,
        place=gap.place,
        time_s=max(gap.begin_s, not_before_s),
    )
