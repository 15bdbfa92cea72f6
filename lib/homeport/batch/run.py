"""Running a study from its plan to its decision; stopped at any moment, it can go on."""

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from homeport import emulate, store
from homeport.background import unwritten_rounds, write_segments
from homeport.batch import pages
from homeport.batch.judge import judge
from homeport.batch.plan import PlannedPart, choose_hosts, plan, shorter
from homeport.batch.predict import PAGE_S, check_caps, part_s, predict
from homeport.errors import ClockSetBack, Damaged, HomeportError, NotFound, WorldBroken
from homeport.metrics import Failure
from homeport.params import Study, data_folder, notebooks_folder, root
from homeport.session import Gateway, Live, turn
from homeport.store import SessionFolder, Slot

if TYPE_CHECKING:
    from homeport.decide import Decision

STUDY_PAGES = ("30_comparison", "40_decision")
_RESUMABLE = "a session with the same parameters (to start a new one leave --resume out)"
_CLOCK_S = 5.0  # how far the clock may lag behind what was measured before
# A page may take this many times its predicted seconds, and this long besides, before it is ended.
_PATIENCE = 3.0
_PATIENCE_S = 90.0


@dataclass(frozen=True)
class Progress:
    """What just happened, for whoever shows it. `left_s`: estimated seconds of measuring to go."""

    done: int
    total: int
    part: PlannedPart | None
    status: str
    took_s: float
    left_s: float
    note: str = ""


@dataclass(frozen=True)
class Outcome:
    """How a run ended: where its data lies, what it says, and which parts are missing."""

    folder: SessionFolder
    decision: "Decision | None"
    missing: tuple[PlannedPart, ...]
    notes: tuple[str, ...] = ()


def _silent(_progress: Progress) -> None:
    """Show nothing."""


@dataclass
class _Run:
    """The state of one run while it goes."""

    folder: SessionFolder
    parts: list[PlannedPart]
    tell: Callable[[Progress], None]
    took_s: dict[tuple[str, str], list[float]] = field(default_factory=dict)

    @property
    def study(self) -> Study:
        return self.folder.study

    def todo(self) -> list[PlannedPart]:
        """The parts that are not complete yet, in order."""
        return [part for part in self.parts if not is_complete(self.folder, part)]

    def left_s(self, parts: list[PlannedPart]) -> float:
        """Seconds for these parts, from what like parts took so far, else as predicted."""
        return sum(self._expected_s(part) for part in parts)

    def _expected_s(self, part: PlannedPart) -> float:
        seen = self.took_s.get((part.host, part.notebook))
        return sum(seen) / len(seen) if seen else part_s(self.study, part) + PAGE_S


def is_complete(folder: SessionFolder, part: PlannedPart) -> bool:
    """Whether this part was measured to its end; Damaged if its file is of another measurement."""
    path = folder.part_file(part.host, part.round, part.notebook)
    if not path.exists():
        return False
    slot = Slot.of(folder.study, folder.session, part.host, part.round, part.notebook)
    header, key = store.read_part_header(path), store.part_key(folder.study, slot)
    if header.key != key:
        raise Damaged(str(path), f"key {header.key[:12]}", f"key {key[:12]} of this study")
    return header.complete


def missing_parts(folder: SessionFolder) -> list[PlannedPart]:
    """The parts that a session was to measure and lacks, in order."""
    parts = plan(folder.study, hosts=folder.selection["hosts"])
    return [part for part in parts if not is_complete(folder, part)]


def prepare(
    study: Study, *, rounds: int | None, only: str | None, region: str | None
) -> tuple[Study, list[PlannedPart]]:
    """The study as asked for and its plan; everything that can be refused is refused here."""
    study = shorter(study, rounds)
    parts = plan(study, hosts=choose_hosts(study, only=only, region=region))
    for notebook in study.notebooks:
        values = {"study": study.name, "host": "", "session": "", "round": 1}
        pages.check_parameters(page_file(notebook), values)
    for notebook in STUDY_PAGES:
        pages.check_parameters(page_file(notebook), {"study": study.name})
    return study, parts


def page_file(notebook: str):
    """The committed page called `notebook`; NotFound names those there are."""
    path = notebooks_folder() / f"{notebook}.ipynb"
    if not path.is_file():
        known = sorted(p.stem for p in notebooks_folder().glob("*.ipynb"))
        raise NotFound("page", notebook, known)
    return path


def run(
    study: Study,
    *,
    resume: bool = False,
    only: str | None = None,
    region: str | None = None,
    rounds: int | None = None,
    tell: Callable[[Progress], None] = _silent,
) -> Outcome:
    """Measure what is missing of a study, then judge it.

    Call it from the main thread. With `resume`, a session of the same study goes on as it was
    asked for (see `to_resume`); complete parts are kept. Raises BadParameter, NotFound and
    CapExceeded before anything runs, Busy when another run holds the lock, NoEmulation without
    the means for a world, CannotWrite when the disk refuses.
    """
    asked = {"only": only, "region": region, "rounds": rounds}
    old, asked = _resumed(study, asked) if resume else (None, asked)
    study, parts = prepare(study, **asked)
    check_caps(study, predict(study, parts))
    with turn(f"homeport run {study.name}"):
        emulate.sweep()
        folder = old or _new(study, parts, asked)
        run_state = _Run(folder, parts, tell)
        notes = _measure(run_state)
        _write_left_over_segments(folder)
        decision, judged = judge(folder, STUDY_PAGES)
        return Outcome(folder, decision, tuple(run_state.todo()), (*notes, *judged))


def to_measure(
    study: Study, *, resume: bool, only: str | None, region: str | None, rounds: int | None
) -> tuple[Study, list[PlannedPart]]:
    """What `run` would measure with these words, for --dry-run: the study and its parts."""
    asked = {"only": only, "region": region, "rounds": rounds}
    old, asked = _resumed(study, asked) if resume else (None, asked)
    study, parts = prepare(study, **asked)
    return study, [part for part in parts if old is None or not is_complete(old, part)]


def _resumed(study: Study, asked: dict) -> tuple[SessionFolder, dict]:
    """The session to go on with, and what it was asked for."""
    old = to_resume(study, asked)
    return old, {key: old.selection[key] for key in asked}


def _refuse_the_future(folder: SessionFolder) -> None:
    last_s = max((note["time_s"] for note in folder.notes("rounds")), default=0.0)
    if last_s > time.time() + _CLOCK_S:
        seen = f"a session that was measured until {time.ctime(last_s)}, later than now"
        raise Damaged(str(folder.path), seen, "a clock that goes on (or a new session)")


def _new(study: Study, parts: list[PlannedPart], asked: dict) -> SessionFolder:
    emulate.check()
    prediction = predict(study, parts)
    facts = {"predicted": prediction.__dict__, **store.controller_provenance()}
    hosts = [host for host in study.measured if host in {part.host for part in parts}]
    return SessionFolder.create(study, provenance=facts, selection={**asked, "hosts": hosts})


def to_resume(study: Study, asked: dict) -> SessionFolder:
    """The session that --resume goes on with: the newest that lacks something, else the newest.

    Only sessions with today's parameters count; of what was `asked` for (only, region, rounds),
    what is given must be what that session was asked for, and what is None is taken from it.
    Raises NotFound without a session, Damaged if all there are have other parameters.
    """
    names = store.session_names(study.name, kind="run")
    fitting, other = [], []
    for name in reversed(names):
        try:
            folder = store.open_session(study.name, name)
            selection = folder.selection
            same = folder.study == shorter(study, selection["rounds"])
        except HomeportError as wrong:
            other.append(str(wrong))
            continue
        if not same:
            other.append(f"{folder.path}: its parameters differ from those of today")
        elif all(value in (None, selection[key]) for key, value in asked.items()):
            fitting.append(folder)
    for folder in fitting:
        if missing_parts(folder):
            _refuse_the_future(folder)
            return folder
    if fitting:
        return fitting[0]
    if other:
        raise Damaged(str(data_folder() / study.name), other[0], _RESUMABLE)
    raise NotFound("session to resume", study.name, names)


def _measure(state: _Run) -> list[str]:
    todo = state.todo()
    if not todo:
        return []
    began, notes = time.monotonic(), []
    hosts = [h for h in state.study.measured if h in {part.host for part in state.parts}]
    state.tell(Progress(0, len(todo), None, "starting", 0.0, state.left_s(todo)))
    with Live(state.folder, hosts) as live, Gateway(live) as gateway:
        round = None
        for number, part in enumerate(todo):
            if time.monotonic() - began > 60 * state.study.caps.minutes:
                notes.append(f"stopped at the cap of {state.study.caps.minutes:g} minutes")
                break
            if part.round != round:
                round = part.round
                live.begin_round(round)
            attempt = 1 + state.folder.attempts(part.host, part.round, part.notebook)
            gateway.about = {"position": part.position, "attempt": attempt}
            try:
                live.check()
                _one(state, live, part, number, todo)
                live.check()
            except (WorldBroken, ClockSetBack) as broken:
                # Nothing of what comes would be a measurement, and what went wrong is ours.
                notes.append(f"stopped: {broken}")
                _blame(state.folder, part, broken)
                break
        live.close_rounds()
    return notes


def _blame(folder: SessionFolder, part: PlannedPart, broken: HomeportError) -> None:
    """What the part's own failure says is a consequence: the cause stands last, and counts."""
    if not is_complete(folder, part):
        _write_failure(folder, part, type(broken).__name__, str(broken), {})


def _one(state: _Run, live: Live, part: PlannedPart, number: int, todo: list[PlannedPart]):
    began = time.monotonic()
    ended = _execute(state.folder, part, state._expected_s(part))
    took_s = time.monotonic() - began
    good = is_complete(state.folder, part)
    if good:
        state.took_s.setdefault((part.host, part.notebook), []).append(took_s)
    live.write_segments(but=part.round)
    status, rest = ("done" if good else "failed"), todo[number + 1 :]
    why = "" if good else ended
    state.tell(Progress(number + 1, len(todo), part, status, took_s, state.left_s(rest), why))


def _execute(folder: SessionFolder, part: PlannedPart, expected_s: float) -> str:
    """Run one page; what goes wrong becomes a failure file. Gives the reason in words."""
    output = folder.round_folder(part.host, part.round) / f"{part.notebook}.ipynb"
    given = {"study": folder.study.name, "session": folder.session}
    began_s, attempts = time.time(), folder.attempts(part.host, part.round, part.notebook)
    ended = pages.execute(
        page_file(part.notebook),
        output,
        {**given, "host": part.host, "round": part.round},
        timeout_s=_PATIENCE * expected_s + _PATIENCE_S,
        cwd=root(),
    )
    folder.note(
        "parts",
        position=part.position,
        part=part.name,
        status=ended.status,
        started_s=began_s,
        ended_s=time.time(),
    )
    if folder.part_file(part.host, part.round, part.notebook).exists():
        return ""
    if folder.attempts(part.host, part.round, part.notebook) == attempts:
        return _record_failure(folder, part, ended)
    name = f"{part.notebook}.failure-{attempts + 1}.parquet"
    return "; ".join(store.reasons_in(folder.round_folder(part.host, part.round) / name))


def _record_failure(folder: SessionFolder, part: PlannedPart, ended: pages.PageRun) -> str:
    reason = ended.reason or "the page ran but left no part"
    kind = (ended.error or "PageFailed").rsplit(".", 1)[-1]
    facts = {"page": ended.status, "unexecuted_cells": list(ended.unexecuted_cells)}
    _write_failure(folder, part, kind, reason, facts)
    return reason


def _write_failure(folder: SessionFolder, part: PlannedPart, kind: str, reason: str, facts: dict):
    place = folder.study.place_of(part.host)
    record = Failure(kind=kind, reason=reason, place=place, time_s=time.time())
    slot = Slot.of(folder.study, folder.session, part.host, part.round, part.notebook)
    path = folder.failure_file(part.host, part.round, part.notebook)
    store.write_part(path, folder.study, slot, [record], complete=False, provenance=facts)


def _write_left_over_segments(folder: SessionFolder) -> None:
    """Segments a killed run owes: its raw files hold the samples."""
    due = {r for host in folder.study.measured for r in unwritten_rounds(folder, host)}
    for round in sorted(due):
        write_segments(folder, round)
