"""The running streams: they print straight into raw files, so a killed runner loses nothing."""

import select
import subprocess
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from homeport.background.gaps import close_gap, open_gap
from homeport.errors import CommandFailed
from homeport.params import Study
from homeport.places import Place, stop
from homeport.probes import interaction, ping
from homeport.store import SessionFolder, writing

HZ = 5.0
INTERVAL_S = 1 / HZ
_READY_S = 20.0
_LONGER_THAN_ANY_SESSION_S = 7 * 24 * 3600.0


@dataclass
class _Stream:
    """One running command and how to start it again."""

    place: Place
    command: Callable[[], list[str]]  # told anew each time: a server that came back has a new port
    server: str | None  # the place whose answers it needs; None for a ping
    raw_stem: Path  # without the running number
    child: subprocess.Popen | None = None


@dataclass
class _Server:
    """One answering policy; `gap` is open while it is known to be gone."""

    child: subprocess.Popen
    port: int
    gap: str | None = None


@dataclass
class Background:
    """The background evidence of one sitting (one stretch of a session by one process).

    `places` maps site and candidate names to places; `hosts` are the names to watch (a
    candidate, or the twin, which stands at its candidate's place). Start it from the main
    thread: its processes die with the thread that started them.
    """

    folder: SessionFolder
    places: dict[str, Place]
    hosts: list[str]
    _servers: dict[str, _Server] = field(default_factory=dict)
    _streams: list[_Stream] = field(default_factory=list)
    _noticing: threading.Lock = field(default_factory=threading.Lock)

    @property
    def study(self) -> Study:
        return self.folder.study

    def start(self) -> None:
        """Start one answering policy per place, then a ping and a step stream per site and host.

        Raises MissingTool without ping, CommandFailed if a policy server does not come up.
        """
        for place in sorted({self.study.place_of(host) for host in self.hosts}):
            self._servers[place] = self._serve(self.places[place])
        pairs = [(site, host) for site in self.study.sites for host in self.hosts]
        for number, (site, host) in enumerate(pairs):
            # Spread over the beat, so that the streams of one site do not meet in its queue.
            self._watch(site, host, offset_s=INTERVAL_S * number / len(pairs))
        self.folder.note("sittings", event="begin", time_s=time.time())

    def _serve(self, place: Place) -> _Server:
        work = self.study.workload
        command = interaction.server_command(
            place.address,
            deadline_s=_LONGER_THAN_ANY_SESSION_S,
            observation_size=work.observation_size,
            hidden=work.hidden,
            actions=work.actions,
        )
        child = place.start(command)
        ready, _, _ = select.select([child.stdout], [], [], _READY_S)
        line = child.stdout.readline() if ready else ""
        if not line.startswith("listening "):
            stop(child)
            what = f"no answer within {_READY_S:g} s" if not ready else line
            raise CommandFailed(place.name, command, child.returncode, what)
        return _Server(child, int(line.split()[1]))

    def _watch(self, site: str, host: str, *, offset_s: float) -> None:
        here, there = self.places[site], self.places[self.study.place_of(host)]
        raw = self.folder.raw_folder(host)
        with writing(raw):
            raw.mkdir(parents=True, exist_ok=True)

        def echo() -> list[str]:
            return ping.command(there.address, interval_s=INTERVAL_S)

        def step() -> list[str]:
            return interaction.client_command(
                there.address,
                self._servers[there.name].port,
                interval_s=INTERVAL_S,
                deadline_s=self.study.sla.deadline_ms / 1000,
                observation_size=self.study.workload.observation_size,
                offset_s=offset_s,
            )

        for stream in (
            _Stream(here, echo, None, raw / f"ping-{site}"),
            _Stream(here, step, there.name, raw / f"steps-{site}"),
        ):
            self._begin(stream)
            self._streams.append(stream)

    def _begin(self, stream: _Stream) -> None:
        number = 1 + len(list(stream.raw_stem.parent.glob(f"{stream.raw_stem.name}.*.txt")))
        path = stream.raw_stem.with_name(f"{stream.raw_stem.name}.{number}.txt")
        with writing(path):
            path.touch(exist_ok=False)
        errors = path.with_suffix(".err")
        with path.open("w", encoding="utf-8") as raw, errors.open("w", encoding="utf-8") as told:
            stream.child = stream.place.start(stream.command(), stdout=raw, stderr=told)

    def notice(self) -> None:
        """Open a gap for every server that has ended by itself: what follows is not the path.

        May be called from any thread.
        """
        with self._noticing:
            for place, server in self._servers.items():
                if server.gap is None and server.child.poll() is not None:
                    server.gap = self._gap(place, server.child.returncode)

    def _gap(self, place: str, code: int) -> str:
        return open_gap(
            self.folder,
            kind="PolicyServerEnded",
            reason=f"the answering policy at {place} ended by itself (exit code {code}); "
            "its steps tell nothing until it is back",
            place=place,
            streams=("steps",),
            open_s=self.study.sla.deadline_ms / 1000 + INTERVAL_S,
        )

    def revive(self) -> list[str]:
        """Start again what has ended by itself; gives the names of what had.

        Call it from the thread that called `start`.
        """
        self.notice()
        ended = []
        for place, server in self._servers.items():
            if server.gap is not None:
                ended.append(f"policy at {place}")
                self._restart(place, server)
        for stream in self._streams:
            if stream.child.poll() is not None:
                stop(stream.child)
                ended.append(f"{stream.raw_stem.name} at {stream.place.name}")
                host = stream.raw_stem.parent.parent.name
                facts = {"stream": stream.raw_stem.name, "host": host}
                facts["code"] = stream.child.returncode
                self.folder.note("troubles", time_s=time.time(), **facts)
                self._begin(stream)
        return ended

    def _restart(self, place: str, server: _Server) -> None:
        stop(server.child)
        self.folder.note("troubles", time_s=time.time(), server=place)
        self._servers[place] = self._serve(self.places[place])
        for stream in self._streams:
            if stream.server == place:
                stop(stream.child)
                self._begin(stream)
        close_gap(self.folder, server.gap)

    def stop(self) -> None:
        """End every stream and server; what they printed stays."""
        running = [s.child for s in (*self._streams, *self._servers.values())]
        streams = bool(self._streams)
        self._streams.clear()
        self._servers.clear()
        for child in running:
            if child is not None:
                stop(child)
        if streams:
            self.folder.note("sittings", event="end", time_s=time.time())
