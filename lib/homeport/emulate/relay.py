"""The relay process: reads every packet of the world's hosts and hands it over when it is due.

Started by World and lab as `python -m homeport.emulate.relay`; `start` is its other end.
"""

# Per packet only: segmentation offload (VNET_HDR) would carry a gigabit at a quarter of the CPU,
# but a super-packet that is lost is not a packet that is lost, so it must wait for links that
# lose nothing.

import contextlib
import gc
import json
import os
import select
import signal
import sys
import time
import traceback
from heapq import heappop, heappush

from homeport.emulate import linux, namespaces, packets
from homeport.emulate.addresses import router
from homeport.emulate.path import DELIVERED, EXPIRED, LATE, OVERFLOWED, UNWRITTEN, Doors, Path
from homeport.emulate.profile import LATE_S
from homeport.emulate.table import UP, Table

_LARGEST = 65536  # bytes: no IPv4 packet is larger
_BURST = 32  # packets taken from one host before the others and the due ones have their turn
_NEVER = float("inf")

clock = time.monotonic


class Outlet:
    """Where packets of one ordered pair are handed over, and how that is counted."""

    __slots__ = ("at", "beyond", "down", "fd", "source", "target")

    def __init__(self, fd: int, at: int, source: int, target: int):
        self.fd, self.at, self.source, self.target = fd, at, source, target
        self.down = None  # the queue of the target's access link, where that limits anything
        self.beyond = self  # the outlet after that queue


class Source:
    """One host as packets come from it: its TUN and, by destination address, its paths."""

    def __init__(self, number: int, fd: int):
        self.number, self.fd = number, fd
        self.ways: dict[bytes, tuple[Path, Outlet]] = {}
        self.astray: Path | None = None  # counts what is for no host of this world
        self.routers: Outlet | None = None  # hands over what routers answer to this host


class Relay:
    """The packets on their way, and the loop that moves them."""

    def __init__(self, table: Table, tuns: list[int], addresses: list[bytes], seed: int):
        self._table, self._words = table, table.words
        self._seen = -1
        self._stamping = False
        self._doors = [Doors() for _ in tuns]
        self._paths: dict[tuple[int, int], Path] = {}
        self._outlets: dict[tuple[int, int], Outlet] = {}
        self._sources = {fd: self._source(i, tuns, addresses, seed) for i, fd in enumerate(tuns)}
        self._heap: list[tuple[float, int, Outlet, bytes, float]] = []
        self._serial = 0  # keeps the order of packets that are due at the same time

    def _source(self, number: int, tuns: list[int], addresses: list[bytes], seed: int) -> Source:
        source = Source(number, tuns[number])
        for other, address in enumerate(addresses):
            at = self._table.counts_at(number, other)
            up = self._doors[number].up
            path = Path(self._words, at, up, f"{seed}/{number}/{other}")
            outlet = Outlet(tuns[other], at, number, other)
            if other == number:
                source.astray, source.routers = path, outlet
                continue
            outlet.beyond = Outlet(tuns[other], at, number, other)
            self._paths[number, other] = path
            self._outlets[number, other] = outlet
            source.ways[address] = path, outlet
        return source

    def run(self) -> None:
        """Move packets until the process is ended; idle, it sleeps."""
        alarm = linux.Alarm()
        poll = select.epoll()
        for fd in self._sources:
            poll.register(fd, select.EPOLLIN)
        poll.register(alarm.fd, select.EPOLLIN | select.EPOLLET)  # by edge: never read
        heap, armed = self._heap, _NEVER
        while True:
            self._release()
            if heap and heap[0][0] != armed:
                armed = heap[0][0]
                alarm.set(armed)
            for fd, _ in poll.poll():
                if fd == alarm.fd:
                    armed = _NEVER
                else:
                    self._take_in(self._sources[fd])

    def _follow_table(self) -> None:
        """Take over what the owner changed, unless a change is just being written."""
        table = self._table
        generation = table.generation
        if generation % 2:
            return
        for host, doors in enumerate(self._doors):
            doors.set(table.access(host))
        for pair, path in self._paths.items():
            path.set(table.profile(*pair), table.state(*pair) == UP)
            down = self._doors[pair[1]].down
            self._outlets[pair].down = down if down.limited else None
        self._stamping = table.stamping
        if table.generation == generation:
            self._seen = generation

    def _take_in(self, source: Source) -> None:
        """Read what one host sent and decide for each packet when it is due, if at all."""
        if self._table.generation != self._seen:
            self._follow_table()
        read, fd, ways = os.read, source.fd, source.ways
        with contextlib.suppress(BlockingIOError):
            for _ in range(_BURST):
                packet = read(fd, _LARGEST)
                now = clock()
                way = ways.get(packet[16:20])
                if way is None:
                    source.astray.depart(now, len(packet))
                else:
                    self._send(way[0], way[1], packet, now)

    def _send(self, path: Path, outlet: Outlet, packet: bytes, now: float) -> None:
        left = path.depart(now, len(packet))
        if left is None:
            self._stamp(outlet, packet, now, -1.0)
            return
        if path.hops:
            if packet[8] <= path.hops:
                self._expire(path, outlet, packet, left)
                return
            packet = packets.aged(packet, path.hops)
        self._push(path.arrive(left), outlet, packet, now)

    def _push(self, due: float, outlet: Outlet, packet: bytes, came: float) -> None:
        self._serial += 1
        heappush(self._heap, (due, self._serial, outlet, packet, came))

    def _expire(self, path: Path, outlet: Outlet, packet: bytes, left: float) -> None:
        """Let the router at which the TTL ended answer, after its share of the way and back.

        The answers of each router keep their own times: no answer waits for a farther one's.
        """
        path.count(EXPIRED)
        back = self._paths[outlet.target, outlet.source]
        hop = max(1, packet[8])
        answer = packets.time_exceeded(packet, router(outlet.source, outlet.target, hop), hop)
        if answer is not None and back.is_open:
            there_and_back = (path.delay_s + back.delay_s) * hop / (path.hops + 1)
            routers = self._sources[self._outlets[outlet.target, outlet.source].fd].routers
            self._push(left + there_and_back, routers, answer, left)

    def _release(self) -> None:
        """Hand over everything that is due."""
        heap = self._heap
        while heap:
            now = clock()
            if heap[0][0] > now:
                return
            due, _, outlet, packet, came = heappop(heap)
            if outlet.down is None:
                self._hand_over(outlet, packet, came, now, now - due > LATE_S)
                continue
            left = outlet.down.through(due, len(packet))
            if left is None:
                self._words[outlet.at + OVERFLOWED] += 1
                self._stamp(outlet, packet, came, -1.0)
            else:
                self._push(left, outlet.beyond, packet, came)

    def _hand_over(
        self, outlet: Outlet, packet: bytes, came: float, now: float, late: bool
    ) -> None:
        words, at = self._words, outlet.at
        try:
            os.write(outlet.fd, packet)
        except OSError:  # the interface is down, or memory is short
            words[at + UNWRITTEN] += 1
            now = -1.0
        else:
            words[at + DELIVERED] += 1
            if late:
                words[at + LATE] += 1
        if self._stamping:
            self._stamp(outlet, packet, came, now)

    def _stamp(self, outlet: Outlet, packet: bytes, came: float, gone: float) -> None:
        if self._stamping:
            pair = outlet.source, outlet.target
            key = packets.key(packet)
            self._table.stamp(came, gone, *pair, packet[9], *key, len(packet))


def _take_priority() -> str:
    """Run before everything else if the kernel allows; returns what was granted.

    The relay stands for the network, which does not wait for the hosts' CPU.
    """
    with contextlib.suppress(OSError):
        os.sched_setscheduler(0, os.SCHED_RR | os.SCHED_RESET_ON_FORK, os.sched_param(1))
        return "SCHED_RR 1"
    with contextlib.suppress(OSError):
        return f"nice {os.nice(-20)}"
    return f"nice {os.nice(0)}"


def _prepare(order: dict) -> tuple[Relay, dict]:
    """Build what the order asks for; the second is what the starter wants to know."""
    table = Table(order["table"], len(order["hosts"]))
    built = namespaces.build_all(order)
    addresses = [host.packed for host in built]
    relay = Relay(table, [host.tun for host in built], addresses, order["seed"])
    gc.disable()  # nothing in the loop makes cycles, and a collection would delay packets
    gc.freeze()
    facts = {"hosts": [host.facts() for host in built], "priority": _take_priority()}
    return relay, {**facts, "pid": os.getpid(), "cpu_s": time.process_time()}


def main() -> None:
    """Read the order from stdin, answer with one line of JSON on stdout, then relay for good."""
    order = json.loads(sys.stdin.readline())
    lasting = order["owner"] is None
    if lasting:
        if os.fork():
            os._exit(0)  # our starter need not wait for us
    else:
        linux.die_with_parent()
        if os.getppid() != order["owner"]:
            return  # the owner died before we could tie ourselves to it
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)  # there is nothing to put in order at the end
    try:
        relay, answer = _prepare(order)
    except OSError as refused:
        relay, answer = None, {"error": str(refused), "number": refused.errno}
        traceback.print_exc()
    sys.stdout.write(json.dumps(answer) + "\n")
    sys.stdout.flush()
    if relay is not None:
        nowhere = os.open(os.devnull, os.O_RDWR)
        for fd in (0, 1, 2) if lasting else (0, 1):
            os.dup2(nowhere, fd)
        relay.run()


if __name__ == "__main__":
    main()
