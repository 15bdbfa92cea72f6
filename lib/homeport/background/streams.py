"""The running streams: they print straight into raw files, so a killed runner loses nothing."""

import select
import subprocess
import time
from dataclasses import dataclass, field
from pathlib import Path

from homeport.errors import CommandFailed
from homeport.params import Study
from homeport.places import Place, stop
from homeport.probes import interaction, ping
from homeport.store import SessionFolder

HZ = 5.0
INTERVAL_S = 1 / HZ
_READY_S = 20.0
_LONGER_THAN_ANY_SESSION_S = 7 * 24 * 3600.0


@dataclass
class _Stream:
    """One running command and how to start it again."""

    place: Place
    command: list[str]
    raw_stem: Path  # without the running number
    child: subprocess.Popen | None = None


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
    _servers: dict[str, tuple[subprocess.Popen, int]] = field(default_factory=dict)
    _streams: list[_Stream] = field(default_factory=list)

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

    def _serve(self, place: Place) -> tuple[subprocess.Popen, int]:
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
        return child, int(line.split()[1])

    def _watch(self, site: str, host: str, *, offset_s: float) -> None:
        here, there = self.places[site], self.places[self.study.place_of(host)]
        raw = self.folder.raw_folder(host)
        raw.mkdir(parents=True, exist_ok=True)
        echo = ping.command(there.address, interval_s=INTERVAL_S)
        step = interaction.client_command(
            there.address,
            self._servers[there.name][1],
            interval_s=INTERVAL_S,
            deadline_s=self.study.sla.deadline_ms / 1000,
            observation_size=self.study.workload.observation_size,
            offset_s=offset_s,
        )
        for kind, command in (("ping", echo), ("steps", step)):
            stream = _Stream(here, command, raw / f"{kind}-{site}")
            self._begin(stream)
            self._streams.append(stream)

    def _begin(self, stream: _Stream) -> None:
        number = 1 + len(list(stream.raw_stem.parent.glob(f"{stream.raw_stem.name}.*.txt")))
        path = stream.raw_stem.with_name(f"{stream.raw_stem.name}.{number}.txt")
        with path.open("x", encoding="utf-8") as raw:
            stream.child = stream.place.start(stream.command, stdout=raw)

    def revive(self) -> list[str]:
        """Start again what has ended by itself; gives the names of what had.

        Call it from the thread that called `start`.
        """
        ended = []
        for stream in self._streams:
            if stream.child.poll() is not None:
                stop(stream.child)
                ended.append(f"{stream.raw_stem.name} to {stream.command[-1]}")
                facts = {"stream": stream.raw_stem.name, "code": stream.child.returncode}
                self.folder.note("troubles", time_s=time.time(), **facts)
                self._begin(stream)
        return ended

    def stop(self) -> None:
        """End every stream and server; what they printed stays."""
        for child in [s.child for s in self._streams] + [c for c, _ in self._servers.values()]:
            if child is not None:
                stop(child)
        if self._streams:
            self.folder.note("sittings", event="end", time_s=time.time())
        self._streams.clear()
        self._servers.clear()
