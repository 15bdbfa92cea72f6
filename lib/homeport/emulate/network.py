"""A running world as its users see it: places, links that can be changed, and what was counted."""

import dataclasses
import time
from pathlib import Path
from typing import TYPE_CHECKING

from homeport.emulate import linux
from homeport.emulate.namespaces import INTERFACE
from homeport.emulate.profile import Access, Counters, Profile
from homeport.emulate.state import Process, State, inside
from homeport.emulate.table import DOWN, UP, Stamp, Table
from homeport.errors import NotFound, WorldBroken
from homeport.places import Namespace

if TYPE_CHECKING:
    from homeport.params import Study


class Network:
    """The hosts and links of a world whose relay is running.

    Hosts are named; an alias stands for its host everywhere. Every method raises NotFound for
    an unknown name, and WorldBroken once the relay is gone.
    """

    def __init__(self, state: State, table: Table):
        self._state, self._table = state, table

    def alive(self) -> bool:
        """Whether the relay still runs."""
        return self._state.relay.alive

    def close(self) -> None:
        """Let go of the shared memory; the world itself goes on."""
        self._table.close()

    @property
    def hosts(self) -> list[str]:
        """The hosts' names, without aliases."""
        return self._live().hosts

    @property
    def addresses(self) -> dict[str, str]:
        """The IPv4 address of each host."""
        return {fact["name"]: fact["address"] for fact in self._live().facts}

    def place(self, name: str) -> Namespace:
        """Where commands run on a host; under an alias it has the alias's name."""
        fact = self._fact(name)
        files = f"/proc/{self._state.relay.pid}/fd"
        network, mounts = f"{files}/{fact['network']}", f"{files}/{fact['mounts']}"
        return Namespace(name, fact["address"], network, mounts)

    def link(self, source: str, target: str, profile: Profile) -> None:
        """Link one direction of a pair, or change its link: at once, for packets still to come."""
        self._shared.set_profile(*self._pair(source, target), profile)

    def link_both(self, one: str, other: str, profile: Profile) -> None:
        """Link both directions of a pair alike."""
        self.link(one, other, profile)
        self.link(other, one, profile)

    def access(self, host: str, access: Access) -> None:
        """Set the access link of one host, which all its links share."""
        self._shared.set_access(self._number(host), access)

    def cut(self, one: str, other: str) -> None:
        """Take both directions of a link down: packets vanish, counted as refused."""
        self._set_states(one, other, DOWN)

    def mend(self, one: str, other: str) -> None:
        """Take both directions of a link up again, as they were before the cut."""
        self._set_states(one, other, UP)

    def links(self) -> dict[tuple[str, str], Profile]:
        """The profile of every ordered pair that is linked (up or down)."""
        hosts = list(enumerate(self.hosts))
        found = {(a, b): self._shared.profile(i, j) for i, a in hosts for j, b in hosts}
        return {pair: profile for pair, profile in found.items() if profile is not None}

    def is_up(self, source: str, target: str) -> bool:
        """Whether there is a link from source to target, and it is up."""
        return self._shared.state(*self._pair(source, target)) == UP

    def counters(self, source: str, target: str) -> Counters:
        """What became of the packets from source to target since the world began.

        A host with itself: `refused` counts its packets to addresses outside the world,
        `delivered` the answers it got from routers.
        """
        return self._shared.counters(self._number(source), self._number(target))

    def record_stamps(self, on: bool = True) -> None:
        """Have the relay stamp every packet from now on (starting anew), or stop that."""
        self._shared.set_stamping(on)

    def stamps(self) -> list[Stamp]:
        """The newest stamps, in the order in which packets left the relay."""
        return self._shared.stamps(self.hosts)

    def cpu_s(self) -> float:
        """CPU seconds the relay has used so far."""
        return time.clock_gettime(linux.cpu_clock(self._live().relay.pid))

    def cpu_share(self) -> float:
        """The share of one core the relay has used since the world was ready."""
        state = self._live()
        return (self.cpu_s() - state.spent_s) / max(time.monotonic() - state.began_s, 1e-3)

    def unread(self) -> dict[str, int]:
        """Packets of each host that were lost because the relay did not read them in time."""
        return {fact["name"]: self._interface_drops(fact) for fact in self._live().facts}

    def relay_drops(self) -> int:
        """Packets the relay failed: unread, unwritten, or delivered late (see Counters)."""
        numbers = range(len(self.hosts))
        counted = (self._shared.counters(i, j) for i in numbers for j in numbers)
        return sum(c.relay_drops for c in counted) + sum(self.unread().values())

    def inside(self) -> dict[Process, str]:
        """The processes that now live inside, each with its host."""
        state = self._live()
        return inside(state.id, state.inodes)

    def provenance(self) -> dict:
        """What this world is and what was in force in it: plain values, for the record."""
        state = self._live()
        told = ("address", "mtu", "qdisc", "congestion_control", "sysctls")
        return {
            "kind": state.kind,
            "study": state.study,
            "seed": state.seed,
            "interface": INTERFACE,
            "aliases": state.aliases,
            "hosts": {fact["name"]: {key: fact[key] for key in told} for fact in state.facts},
            "links": {f"{a}>{b}": profile.as_dict() for (a, b), profile in self.links().items()},
            "access": {
                name: dataclasses.asdict(self._shared.access(number))
                for number, name in enumerate(self.hosts)
            },
            "relay": {
                "priority": state.priority,
                "cpu_s": self.cpu_s(),
                "cpu_share": self.cpu_share(),
                "drops": self.relay_drops(),
            },
        }

    def _live(self) -> State:
        if not self.alive():
            raise WorldBroken("the relay of the emulated world has died")
        return self._state

    @property
    def _shared(self) -> Table:
        self._live()
        return self._table

    def _fact(self, name: str) -> dict:
        return self._live().facts[self._number(name)]

    def _number(self, name: str) -> int:
        state = self._live()
        host = state.aliases.get(name, name)
        if host not in state.hosts:
            raise NotFound("host in the emulated world", name, [*state.hosts, *state.aliases])
        return state.hosts.index(host)

    def _pair(self, source: str, target: str) -> tuple[int, int]:
        pair = self._number(source), self._number(target)
        if pair[0] == pair[1]:
            raise NotFound("link of a host with itself", source, [])
        return pair

    def _set_states(self, one: str, other: str, state: float) -> None:
        for pair in (self._pair(one, other), self._pair(other, one)):
            if self._shared.profile(*pair) is None:
                raise NotFound("link", f"{one} - {other}", [f"{a}>{b}" for a, b in self.links()])
            self._shared.set_state(*pair, state)

    def _interface_drops(self, fact: dict) -> int:
        text = Path(f"/proc/{self._state.relay.pid}/fd/{fact['devices']}").read_text()
        line = next(line for line in text.splitlines() if line.lstrip().startswith(INTERFACE))
        return int(line.split(":", 1)[1].split()[11])


def links_of(study: "Study") -> dict[tuple[str, str], Profile]:
    """The profiles of every ordered pair that a study links."""
    links = {}
    for link in study.links:
        links[link.site, link.host] = links[link.host, link.site] = Profile.of(link)
    return links


def hosts_of(study: "Study") -> list[str]:
    """The hosts a study needs: its sites and candidates; the twin is one of them."""
    return [*study.sites, *study.candidates]


def aliases_of(study: "Study") -> dict[str, str]:
    """The names under which hosts of a study are known besides their own: the twin's."""
    return {study.twin: study.twin_of}
