"""The emulated world of one run: it lives as long as its `with` block, and leaves nothing."""

import subprocess
from types import TracebackType
from typing import TYPE_CHECKING

from homeport.emulate import state
from homeport.emulate.addresses import MAX_HOSTS
from homeport.emulate.network import Network, aliases_of, hosts_of, links_of
from homeport.emulate.privilege import check
from homeport.emulate.profile import Access, Profile
from homeport.emulate.starting import end_relay, start_relay
from homeport.emulate.table import Table
from homeport.errors import WorldBroken

if TYPE_CHECKING:
    from homeport.params import Study


class World(Network):
    """Hosts joined by emulated links, while its `with` block lasts.

    hosts: RFC 1123 names. aliases: further names of hosts. mtu: of every interface, in bytes.
    seed: equal seeds lose and delay the same packets of a pair. Enter it in a thread that
    outlives it: the relay dies with the thread that started it. Entering raises NoEmulation
    where the machine cannot do it.
    """

    def __init__(
        self,
        hosts: list[str],
        *,
        congestion_control: str = "cubic",
        aliases: dict[str, str] | None = None,
        mtu: int = 1500,
        seed: int = 0,
        study: str = "",
    ):
        if not 1 <= len(hosts) <= MAX_HOSTS or len(set(hosts)) < len(hosts):
            raise ValueError(f"1 to {MAX_HOSTS} hosts of different names, got {hosts}")
        self._hosts, self._aliases = list(hosts), dict(aliases or {})
        self._settings = {
            "congestion_control": congestion_control,
            "mtu": mtu,
            "seed": seed,
            "study": study,
        }
        self._planned: dict[tuple[str, str], Profile] = {}
        self._relay: subprocess.Popen | None = None
        self._said = ""  # by a relay that has died

    @classmethod
    def from_study(cls, study: "Study") -> "World":
        """The world of a study: its sites and candidates, its links, the twin as an alias."""
        world = cls(
            hosts_of(study),
            congestion_control=study.congestion_control,
            aliases=aliases_of(study),
            seed=study.seed,
            study=study.name,
        )
        world._planned = links_of(study)
        return world

    def __enter__(self) -> "World":
        relay, table, about = bring_up(
            self._hosts, self._aliases, self._planned, lasting=False, **self._settings
        )
        self._relay = relay
        super().__init__(about, table)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        try:
            state.clear(self._state.id, self._state)
        finally:
            end_relay(self._relay)
            self._relay = None
            self._table.close()

    def alive(self) -> bool:
        """Whether the relay runs: not before the `with` block, nor after it."""
        return self._relay is not None and self._relay.poll() is None

    def _live(self) -> state.State:
        if self._relay is None:
            raise WorldBroken("this world is not running: use it inside its `with` block")
        if self._relay.poll() is not None and not self._said:
            self._said = self._relay.stderr.read().strip()[-300:]
        if not self.alive():
            raise WorldBroken(f"the relay of the emulated world has died: {self._said}")
        return self._state


def bring_up(
    hosts: list[str],
    aliases: dict[str, str],
    links: dict[tuple[str, str], Profile],
    *,
    lasting: bool,
    **settings: object,
) -> tuple[subprocess.Popen, Table, state.State]:
    """Start a relay with these hosts and links, and put its state on file."""
    check()
    table = Table.new(len(hosts))
    about = None
    try:
        for number in range(len(hosts)):
            table.set_access(number, Access())
        for (source, target), profile in links.items():
            table.set_profile(hosts.index(source), hosts.index(target), profile)
        relay, about = start_relay(hosts, aliases, table, lasting=lasting, **settings)
        state.write(about)
    except BaseException:
        if about is not None:
            about.relay.kill()
            end_relay(relay)
        table.close()
        raise
    return relay, table, about
