"""From raw output to measurements: which round, and was the link idle or loaded?"""

import dataclasses
import math
import time
from collections.abc import Iterator

from homeport.background.gaps import EVERYTHING, failure_of, gaps, sitting_end, stream_of
from homeport.background.streams import INTERVAL_S
from homeport.errors import UnreadableOutput
from homeport.metrics import Failure, Measurement, Record
from homeport.probes import interaction, ping
from homeport.store import BACKGROUND, SessionFolder, Slot, read_part_header, write_part

Span = tuple[float, float]
_SHORTEST_S = 2.0  # of a stretch: in a shorter one a slow start is no silence


def settled_after_s(folder: SessionFolder) -> float:
    """How long after its departure the fate of every sample is known."""
    return max(ping.LOST_AFTER_S, folder.study.sla.deadline_ms / 1000) + 3 * INTERVAL_S


def windows(folder: SessionFolder, round: int) -> list[Span]:
    """The stretches of time that belong to a round (several if it was interrupted).

    A round lasts until the next one begins or the last one is closed (a note of round None); in
    a sitting that was killed it ends with whatever the raw files hold, at the latest when the
    next sitting begins.
    """
    marks = [(n["time_s"], n["round"]) for n in folder.notes("rounds")]
    marks += [(n["time_s"], None) for n in folder.notes("sittings")]
    marks.sort(key=lambda mark: mark[0])
    ends = [at for at, _ in marks[1:]] + [float("inf")]
    return [(at, end) for (at, what), end in zip(marks, ends, strict=True) if what == round]


def loads(folder: SessionFolder, site: str, host: str) -> list[Span]:
    """When training loaded the link between a site and a host (the twin shares its place's)."""
    place, begun, spans = folder.study.place_of(host), {}, []
    for note in folder.notes("loads"):
        if note["place"] != place or site not in note["sites"]:
            continue
        if note["event"] == "begin":
            begun[note["load"]] = note["time_s"]
        elif note["load"] in begun:
            spans.append((begun.pop(note["load"]), note["time_s"]))
    # A load without an end was cut short by a kill, and the sitting with it.
    return spans + [(at, sitting_end(folder, at)) for at in begun.values()]


def records(folder: SessionFolder, site: str, host: str) -> list[Record]:
    """Every settled sample of one site and host so far, labelled; troubles as failures.

    What was sent in a gap says nothing of the path: it stays in the raw files alone.
    """
    found: list[Record] = []
    pair = {"source": site, "target": host}
    for number, text in _raw(folder, f"ping-{site}", host):
        try:
            echoes = ping.parse(text, interval_s=INTERVAL_S)
            found += _numbered(ping.measurements(echoes, **pair), number)
        except UnreadableOutput as odd:
            found.append(_unreadable(odd, **pair))
    for number, text in _raw(folder, f"steps-{site}", host):
        try:
            steps = interaction.parse(text)
            found += _numbered(interaction.measurements(steps, **pair), number)
            found += interaction.failures(text, **pair)
        except UnreadableOutput as odd:
            found.append(_unreadable(odd, **pair))
    spans, holes = loads(folder, site, host), gaps(folder, host)
    return [_labelled(r, spans) for r in found if not any(hole.covers(r) for hole in holes)]


def _raw(folder: SessionFolder, stem: str, host: str) -> Iterator[tuple[int, str]]:
    found = [(p.name.split(".")[1:-1], p) for p in folder.raw_folder(host).glob(f"{stem}.*.txt")]
    numbered = sorted((int(n[0]), path) for n, path in found if len(n) == 1 and n[0].isdecimal())
    for number, path in numbered:  # other files there are not ours
        yield number, path.read_text(encoding="utf-8", errors="replace")


def _numbered(measurements: Iterator[Measurement], stream: int) -> Iterator[Measurement]:
    # Each start of a stream counts from 1: set them apart, so that no two samples of a session
    # share a number.
    for m in measurements:
        yield dataclasses.replace(m, sequence=m.sequence + (stream - 1) * 10_000_000)


def _unreadable(odd: UnreadableOutput, *, source: str, target: str) -> Failure:
    where = {"source": source, "target": target, "place": source}
    return Failure(kind="UnreadableOutput", reason=str(odd), time_s=time.time(), **where)


def _labelled(record: Record, spans: list[Span]) -> Record:
    if isinstance(record, Failure):
        return record
    loaded = any(start <= record.time_s <= end for start, end in spans)
    return dataclasses.replace(record, phase="loaded" if loaded else "idle")


def seen(folder: SessionFolder, host: str) -> list[Record]:
    """What the background saw so far of one host, from every site."""
    sites = sorted(folder.study.sites)
    told = [failure_of(g, site, host) for site in sites for g in gaps(folder, host)]
    return [r for site in sites for r in records(folder, site, host)] + told


def unwritten_rounds(folder: SessionFolder, host: str) -> list[int]:
    """Rounds of which some stretch lies in no segment of this host from some site."""
    begun = sorted({n["round"] for n in folder.notes("rounds") if n["round"] is not None})
    return [r for r in begun if any(_unwritten(folder, s, host, r) for s in folder.study.sites)]


def _unwritten(folder: SessionFolder, site: str, host: str, round: int) -> list[Span]:
    """The stretches of a round that no segment holds yet: a resumed round has more than one."""
    parts = [read_part_header(path) for path in folder.segment_files(site, host, round)]
    written = {start for part in parts for start, _ in part.provenance["windows"]}
    return [span for span in windows(folder, round) if span[0] not in written]


def write_segments(folder: SessionFolder, round: int) -> None:
    """Write what no segment holds yet of one round; each segment is written once.

    Call it when the round is over and `settled_after_s` has passed, so that no sample of it is
    still under way. A round that a later sitting went on with gets a further segment.
    """
    for host in folder.study.measured:
        for site in folder.study.sites:
            spans = _unwritten(folder, site, host, round)
            if not spans or not folder.raw_folder(host).is_dir():
                continue
            slot = Slot.of(folder.study, folder.session, host, round, BACKGROUND)
            ours = [r for r in records(folder, site, host) if _inside(r, spans)]
            ours += _gaps_inside(folder, site, host, spans)
            ours += [f for span in spans for f in _silences(folder, site, host, span, ours)]
            path = folder.next_segment_file(site, host, round)
            facts = {"windows": [_finite(s) for s in spans], "sittings": _sittings(folder, spans)}
            write_part(path, folder.study, slot, ours, provenance=facts)


def _silences(
    folder: SessionFolder, site: str, host: str, span: Span, ours: list[Record]
) -> list[Failure]:
    """A stream that gave no sample in a whole stretch of a round: not measured, and said so."""
    start, end = span
    if end - start < _SHORTEST_S:
        return []
    inside = [r for r in ours if isinstance(r, Measurement) and _inside(r, [span])]
    told = {stream_of(r.metric) for r in inside}
    for hole in gaps(folder, host):
        if hole.meets(start, end):
            told |= set(hole.streams)
    where = {"source": site, "target": host, "place": site, "time_s": start}
    return [
        Failure(
            kind="NothingMeasured",
            reason=f"no {stream} from {site} to {host}: {_why(folder, stream, site, host)}",
            **where,
        )
        for stream in EVERYTHING
        if stream not in told
    ]


def _why(folder: SessionFolder, stream: str, site: str, host: str) -> str:
    """The last that is known of a stream: output that nobody can read, or what it complained of."""
    for _, text in reversed(list(_raw(folder, f"{stream}-{site}", host))):
        try:
            ping.parse(text, interval_s=INTERVAL_S) if stream == "ping" else interaction.parse(text)
        except UnreadableOutput as odd:
            return str(odd)
    said = [p for p in folder.raw_folder(host).glob(f"{stream}-{site}.*.err") if p.stat().st_size]
    for path in sorted(said, key=lambda p: p.stat().st_mtime)[-1:]:
        return path.read_text(encoding="utf-8", errors="replace").strip()[-200:]
    return "it ran, and printed nothing"


def _gaps_inside(folder: SessionFolder, site: str, host: str, spans: list[Span]) -> list[Failure]:
    return [
        failure_of(hole, site, host, not_before_s=start)
        for hole in gaps(folder, host)
        for start, end in spans
        if hole.meets(start, end)
    ]


def _finite(span: Span) -> tuple[float, float | None]:
    return span[0], span[1] if math.isfinite(span[1]) else None


def _sittings(folder: SessionFolder, spans: list[Span]) -> list[int]:
    """The number of the sitting in which each stretch was measured."""
    begun = [n["time_s"] for n in folder.notes("sittings") if n["event"] == "begin"]
    return [sum(at <= start for at in begun) for start, _ in spans]


def _inside(record: Record, spans: list[Span]) -> bool:
    return any(start <= record.time_s < end for start, end in spans)
