"""A sitting: the emulated world, warm agents and background streams, from start to stop."""

import contextlib
import dataclasses
import json
import random
import threading
import time
import uuid

from homeport import emulate
from homeport.background import EVERYTHING, Background, open_gap, unwritten_rounds, write_segments
from homeport.background.record import settled_after_s
from homeport.errors import ClockSetBack, WorldBroken
from homeport.metrics import Failure, Measurement, Record
from homeport.places import Place
from homeport.session.watch import Watch
from homeport.store import SessionFolder, controller_provenance
from homeport.store.atomic import write_text
from homeport.train import Agent, GangResult, GangSpec, run_gang, start_agents

_CLOCK_STEP_S = 0.5  # within half a second; a clock that is slewed does not move so fast


class Live:
    """Everything of a session that runs. Use it as a context manager, in the main thread.

    `hosts` are the host names to be measured in this sitting. A lab that is up and fits the
    study is joined; otherwise a world is brought up and ended with the sitting.
    """

    def __init__(self, folder: SessionFolder, hosts: list[str]):
        self.folder, self.study, self.hosts = folder, folder.study, hosts
        self.agents: dict[str, Agent] = {}
        self._stack = contextlib.ExitStack()
        self._gang = threading.Lock()
        self._relay_since = (0.0, 0.0)
        self._round_began_s = 0.0
        self._world_gap: str | None = None
        self._ahead_s = time.time() - time.monotonic()  # the clock's lead over the one none sets
        self._set_back_s = 0.0

    def __enter__(self) -> "Live":
        try:
            self._open()
        except BaseException:
            self._stack.close()
            raise
        return self

    def __exit__(self, *_exc) -> None:
        self._stack.close()

    def _open(self) -> None:
        emulate.sweep()
        lab = emulate.lab.attached(self.study)
        self.world = lab or self._stack.enter_context(emulate.World.from_study(self.study))
        names = [*self.study.sites, *sorted({self.study.place_of(h) for h in self.hosts})]
        self.places = {name: self.world.place(name) for name in names}
        self.agents = start_agents(self.places.values())
        self._stack.callback(self._stop_agents)
        self.background = Background(self.folder, self.places, self.hosts)
        self._stack.callback(self.background.stop)
        self.background.start()
        self._relay_since = (time.monotonic(), self.world.cpu_s())
        self._write_provenance()
        self._note_relay()
        self._stack.enter_context(Watch(self._notice))

    def _notice(self) -> None:
        """Note at once what has ended: from here on, samples tell nothing of the paths."""
        ahead_s = time.time() - time.monotonic()
        if (step_s := ahead_s - self._ahead_s) < -_CLOCK_STEP_S:
            self._set_back_s -= step_s
        if abs(step_s) > _CLOCK_STEP_S:
            self.folder.note("troubles", time_s=time.time(), clock_step_s=step_s)
        self._ahead_s = ahead_s
        if not self.world.alive() and self._world_gap is None:
            self._world_gap = open_gap(
                self.folder,
                kind=WorldBroken.__name__,
                reason="the relay of the emulated world ended by itself",
                place=None,
                streams=EVERYTHING,
                open_s=settled_after_s(self.folder),
            )
        if self._world_gap is None:
            self.background.notice()

    def _write_provenance(self) -> None:
        facts = {
            "world": self.world.provenance(),
            "agents": {name: agent.facts for name, agent in self.agents.items()},
            "tools": {name: _version_of(place) for name, place in self.places.items()},
            "controller": controller_provenance(),
        }
        text = json.dumps(facts, indent=1, default=str)
        write_text(self.folder.path / f"sitting-{self.folder.sittings() + 1}.json", text)

    def _stop_agents(self) -> None:
        for agent in self.agents.values():
            agent.stop()

    def begin_round(self, round: int | None) -> None:
        """Note that a round begins: samples from here on belong to it (None: to none)."""
        self._round_began_s = time.time()
        self.folder.note("rounds", round=round, time_s=self._round_began_s)
        self._note_relay()

    def _note_relay(self) -> None:
        """How the emulation held up so far; a dead relay has nothing to tell."""
        with contextlib.suppress(WorldBroken):
            share, drops = self._relay()
            self.folder.note("relay", time_s=time.time(), cpu_share=share, drops=drops)

    def write_segments(self, *, but: int) -> None:
        """Write the background segments that are missing of every round other than `but`.

        Does nothing while a sample of an earlier round can still be under way.
        """
        if time.time() - self._round_began_s < settled_after_s(self.folder):
            return
        due = {r for host in self.hosts for r in unwritten_rounds(self.folder, host)}
        for round in sorted(due - {but}):
            write_segments(self.folder, round)

    def close_rounds(self) -> None:
        """End the round under way and write every segment, once no sample is under way."""
        self.begin_round(None)
        time.sleep(settled_after_s(self.folder))
        self.write_segments(but=0)

    def check(self) -> None:
        """Start again what ended by itself, streams and agents; call it from the main thread.

        Raises WorldBroken if the relay is gone, ClockSetBack if samples can no longer be told
        from earlier ones by their times.
        """
        if self._set_back_s:
            raise ClockSetBack(self._set_back_s)
        if not self.world.alive():
            raise WorldBroken("the relay of the emulated world ended by itself")
        self.background.revive()
        for name, agent in self.agents.items():
            if not agent.alive:
                agent.stop()
                self.folder.note("troubles", time_s=time.time(), agent=name)
                self.agents[name] = Agent.start(self.places[name])

    def strategies(self, host: str, round: int) -> list:
        """The study's strategies in this slot's random order, drawn from the study's seed."""
        drawn = list(self.study.strategies)
        random.Random(f"{self.study.seed}/{round}/{host}").shuffle(drawn)
        return drawn

    def train(self, host: str, round: int) -> GangResult:
        """Run every strategy of the study once on `host`; one gang at a time.

        What it yields is also kept as JSON lines beside the parts, whatever becomes of the page.
        """
        drawn = tuple(self.strategies(host, round))
        spec = dataclasses.replace(GangSpec.of(self.study, host, round), strategies=drawn)
        begun: dict[str, str] = {}
        with self._gang:
            result = run_gang(
                self.agents, spec, on_event=lambda event: self._note_began(event, spec, begun)
            )
            self._note_ended(result, spec, begun)
        self._keep_raw(host, round, result.records)
        return result

    def _note_began(self, event: dict, spec: GangSpec, begun: dict[str, str]) -> None:
        # Written at once: should the runner be killed, the samples from here on were loaded.
        if event["event"] == "began":
            begun[event["strategy"]] = uuid.uuid4().hex
            self._note_load("begin", event["time_s"], begun[event["strategy"]], spec)

    def _note_ended(self, result: GangResult, spec: GangSpec, begun: dict[str, str]) -> None:
        ends = {load.strategy: load.end_s for load in result.loads}
        for strategy, load in begun.items():
            self._note_load("end", ends.get(strategy, time.time()), load, spec)

    def _note_load(self, event: str, time_s: float, load: str, spec: GangSpec) -> None:
        where = {"place": spec.learner, "sites": sorted(set(spec.workers))}
        self.folder.note("loads", event=event, load=load, time_s=time_s, **where)

    def _keep_raw(self, host: str, round: int, records: list[Record]) -> None:
        folder = self.folder.raw_folder(host)
        attempt = len(list(folder.glob(f"gang-{round:02d}.*.jsonl"))) + 1
        lines = (json.dumps(dataclasses.asdict(record)) for record in records)
        write_text(folder / f"gang-{round:02d}.{attempt}.jsonl", "".join(f"{x}\n" for x in lines))

    def relay(self, host: str) -> list[Record]:
        """Is the emulation itself sound? The relay's share of a core, and what it dropped."""
        share, drops = self._relay()
        base = {"source": host, "target": host, "time_s": time.time()}
        return [
            Measurement(metric="relay_cpu_share", value=share, **base),
            Measurement(metric="relay_drops", value=float(drops), **base),
        ]

    def _relay(self) -> tuple[float, int]:
        """The relay's share of a core since the sitting began, and the packets it failed."""
        then, cpu_then = self._relay_since
        now, cpu_now = time.monotonic(), self.world.cpu_s()
        return (cpu_now - cpu_then) / max(now - then, 1e-9), self.world.relay_drops()


def _version_of(place: Place) -> dict[str, str]:
    return {"ping": place.run(["ping", "-V"], timeout_s=10).stdout.strip()}


def revived(row: dict) -> Record:
    """A record from its JSON form."""
    return Failure(**row) if "kind" in row else Measurement(**row)
