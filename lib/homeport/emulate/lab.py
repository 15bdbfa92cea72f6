"""The lasting lab: a world that stays up until it is told otherwise, for shells and later runs.

There is one lab per runtime folder. Its relay is nobody's child; the state file leads to it.
"""

import dataclasses
import os
import shutil
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from homeport.emulate import state
from homeport.emulate.network import Network, aliases_of, hosts_of, links_of
from homeport.emulate.profile import Counters, Profile
from homeport.emulate.starting import end_relay
from homeport.emulate.state import Ended, State
from homeport.emulate.table import Table
from homeport.emulate.world import bring_up
from homeport.errors import Busy, LabDiffers, NoLab, WorldBroken

if TYPE_CHECKING:
    from rich.console import RenderableType

    from homeport.params import Study


@dataclass(frozen=True)
class Inhabitant:
    """A process inside the lab."""

    pid: int
    host: str
    command: str


@dataclass(frozen=True)
class LabStatus:
    """The lab as it is now.

    addresses: of each host. links and counters: by ordered pair; `cut` lists the pairs that are
    down. cpu_share: of one core, by the relay since the lab came up. up_s: seconds since then.
    """

    study: str
    addresses: dict[str, str]
    aliases: dict[str, str]
    links: dict[tuple[str, str], Profile]
    cut: tuple[tuple[str, str], ...]
    counters: dict[tuple[str, str], Counters]
    relay_pid: int
    priority: str
    cpu_share: float
    drops: int
    up_s: float
    inside: tuple[Inhabitant, ...]

    @property
    def hosts(self) -> list[str]:
        """The names of the hosts."""
        return list(self.addresses)


def up(study: "Study") -> LabStatus:
    """Bring the world of a study up and leave it up.

    Raises Busy if a lab is up already, NoEmulation where the machine cannot do it.
    """
    with state.alone():
        state.sweep()
        if (running := state.running_lab()) is not None:
            raise Busy("the lab", f"the study {running.study}, relay process {running.relay.pid}")
        starter, table, _ = bring_up(
            hosts_of(study),
            aliases_of(study),
            links_of(study),
            lasting=True,
            congestion_control=study.congestion_control,
            mtu=1500,
            seed=study.seed,
            study=study.name,
        )
        end_relay(starter)  # the starter alone: the relay has left it
        table.close()
    now = status()
    if now is None:
        raise WorldBroken("the relay of the lab died at once")
    return now


def down() -> list[Ended]:
    """End the lab with everything in it, and whatever killed runs have left behind."""
    with state.alone():
        running = state.running_lab()
        ended = [] if running is None else state.clear(running.id, running)
        return ended + state.sweep()


def status() -> LabStatus | None:
    """The lab as it is now; None if none is up."""
    if (running := state.running_lab()) is None:
        return None
    network = _open(running)
    try:
        links = network.links()
        return LabStatus(
            study=running.study,
            addresses=network.addresses,
            aliases=running.aliases,
            links=links,
            cut=tuple(pair for pair in links if not network.is_up(*pair)),
            counters={pair: network.counters(*pair) for pair in links},
            relay_pid=running.relay.pid,
            priority=running.priority,
            cpu_share=network.cpu_share(),
            drops=network.relay_drops(),
            up_s=time.monotonic() - running.began_s,
            inside=tuple(
                Inhabitant(process.pid, host, process.command())
                for process, host in network.inside().items()
            ),
        )
    finally:
        network.close()


def shell(host: str) -> None:
    """Become a shell on a host of the lab; does not return.

    It is interactive on a terminal; otherwise it reads its commands from stdin.

    Raises NoLab if none is up, NotFound for an unknown host.
    """
    if (running := state.running_lab()) is None:
        raise NoLab()
    network = _open(running)
    place = network.place(host)
    network.close()
    prompt = rf"[{host} {place.address}] \w\$ "
    program = shutil.which("bash") or "/bin/sh"
    # bash sets PS1 from its start-up files, so it is told again before each prompt.
    told = {"PS1": prompt, "PROMPT_COMMAND": f"PS1='{prompt}'"}
    files = [f"--net={place.network}", f"--mount={place.mounts}", f"--wdns={Path.cwd()}"]
    how = ["-i"] if os.isatty(0) else []
    os.execvpe("nsenter", ["nsenter", *files, "--", program, *how], {**os.environ, **told})


def attached(study: "Study") -> Network | None:
    """The lab that is up, for use by a run of `study`; None if no lab is up.

    Raises LabDiffers, which says what differs, if it is not exactly the world of the study.
    """
    if (running := state.running_lab()) is None:
        return None
    network = _open(running)
    if differences := _differences(network, running, study):
        network.close()
        raise LabDiffers(study.name, differences)
    return network


def as_dict(now: LabStatus | None) -> dict:
    """A status as plain values for JSON; pairs are written `source>target`."""
    if now is None:
        return {"up": False}
    facts = dataclasses.asdict(now)
    for key in ("links", "counters"):
        facts[key] = {f"{a}>{b}": value for (a, b), value in facts[key].items()}
    facts["cut"] = [f"{a}>{b}" for a, b in now.cut]
    return {"up": True, **facts}


def as_table(now: LabStatus) -> "RenderableType":
    """A status as tables for the terminal."""
    from rich.console import Group
    from rich.table import Table as Grid

    hosts = Grid("host", "address", "processes", title=f"lab of {now.study}, {now.up_s:.0f} s up")
    for name, address in now.addresses.items():
        living = [f"{one.pid} {one.command[:50]}" for one in now.inside if one.host == name]
        hosts.add_row(name, address, "\n".join(living))
    title = f"relay {now.relay_pid} ({now.priority}): {now.cpu_share:.1%} of a core"
    links = Grid("link", "delay", "loss", "rate", "sent", "lost", "dropped", title=title)
    for pair, profile in now.links.items():
        count, lossy = now.counters[pair], profile.loss
        links.add_row(
            f"{pair[0]} > {pair[1]}" + (" (cut)" if pair in now.cut else ""),
            f"{profile.delay_ms:g} ± {profile.jitter_ms:g} ms",
            f"{lossy:.2%}" if isinstance(lossy, float) else "bursts",
            "-" if profile.rate_mbit_s is None else f"{profile.rate_mbit_s:g} Mbit/s",
            str(count.packets),
            str(count.lost),
            str(count.overflowed + count.refused + count.relay_drops),
        )
    return Group(hosts, links)


def _open(running: State) -> Network:
    try:
        shared = f"/proc/{running.relay.pid}/fd/{running.table}"
        fd = os.open(shared, os.O_RDWR | os.O_CLOEXEC)
    except OSError as gone:
        raise WorldBroken(f"the lab cannot be reached: {gone}") from gone
    return Network(running, Table(fd, len(running.facts)))


def _differences(network: Network, running: State, study: "Study") -> list[str]:
    facts = {
        "hosts": (sorted(running.hosts), sorted(hosts_of(study))),
        "seed": (running.seed, study.seed),
        "aliases": (running.aliases, aliases_of(study)),
        "congestion control": (
            sorted({fact["congestion_control"] for fact in running.facts}),
            [study.congestion_control],
        ),
    }
    found = [
        f"{what} {is_!r} instead of {want!r}" for what, (is_, want) in facts.items() if is_ != want
    ]
    have, wanted = network.links(), links_of(study)
    for pair in sorted(have.keys() | wanted.keys()):
        name = " > ".join(pair)
        if have.get(pair) != wanted.get(pair):
            found.append(f"{name} is {have.get(pair)} instead of {wanted.get(pair)}")
        elif not network.is_up(*pair):
            found.append(f"{name} is cut")
    return found
