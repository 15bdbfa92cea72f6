"""Runs a gang: one rank at each place, until every strategy is trained or someone is lost.

Imports neither torch nor SB3: the processes that do are the agents'.
"""

import math
import queue
import time
import uuid
from collections.abc import Callable

from homeport.errors import GangFailed, NotFound
from homeport.params import Strategy
from homeport.train.blame import Sign, first_failure
from homeport.train.ledger import Ledger
from homeport.train.spec import GangResult, GangSpec
from homeport.train.warm import Agent

OnEvent = Callable[[dict], None]

_GRACE_S = 2.0  # after the first sign of a failure, for the victims to say what they saw
_KILL_S = 5.0  # for an agent to report the end of ranks it was told to kill
_PORT_S = 5.0  # for the learner's agent to name a port


def run_gang(
    agents: dict[str, Agent], spec: GangSpec, on_event: OnEvent | None = None
) -> GangResult:
    """Train every strategy of `spec` on the agents of its places, and return the records.

    What goes wrong is a Failure among the records, never raised: it names the rank at the root;
    what was measured before stays. After a failure the strategies that are left get a new gang.
    `on_event` sees every event of the agents as it comes in (a dict; see `agent`), in the thread
    that called this. Raises NotFound for a place without an agent.
    """
    ledger, left = Ledger(spec), list(spec.strategies)
    while left:
        ended = ledger.ended
        failure = _Gang(agents, spec, tuple(left), ledger, on_event or _ignore).run()
        left = left[ledger.ended - ended :]
        if left and failure:
            ledger.failed(left.pop(0).name, failure, time.time())
    return ledger.result()


def _ignore(event: dict) -> None:
    """Nobody asked for events."""


class _Gang:
    """One set of processes, from asking for them to the end of the last one."""

    def __init__(
        self,
        agents: dict[str, Agent],
        spec: GangSpec,
        strategies: tuple[Strategy, ...],
        ledger: Ledger,
        on_event: OnEvent,
    ):
        self._spec, self._ledger, self._on_event = spec, ledger, on_event
        self._strategies = strategies
        if missing := set(spec.places) - set(agents):
            raise NotFound("agent", min(missing), sorted(agents))
        self._agents = {place: agents[place] for place in dict.fromkeys(spec.places)}
        self._run = uuid.uuid4().hex[:12]
        self._inbox = queue.SimpleQueue()
        self._began = time.perf_counter()
        self._alive, self._joined, self._left = set(), set(), set()
        self._signs = []
        self._ends_at = time.monotonic() + spec.deadline_s + _KILL_S
        self._port_by = time.monotonic() + _PORT_S

    def run(self) -> GangFailed | None:
        """Train to the end; the failure that ended it early, if one did."""
        for agent in self._agents.values():
            agent.subscribe(self._run, self._inbox)
        try:
            self._start()
            while self._goes_on():
                self._next()
        finally:
            self._clean_up()
        return first_failure(self._signs, self._spec.places) if self._signs else None

    def _start(self) -> None:
        """Ask the learner's agent for a port; its answer starts the ranks."""
        self._agent(0).send("port", self._run)

    def _agent(self, rank: int) -> Agent:
        return self._agents[self._spec.places[rank]]

    def _goes_on(self) -> bool:
        now = time.monotonic()
        if now >= self._port_by and not self._signs:
            self._sign(0, f"its agent did not answer within {_PORT_S:g} s")
        if now >= self._ends_at:
            if not self._signs:
                self._sign(0, "the gang did not end by its deadline")
            return False
        everyone_left = len(self._left) == len(self._spec.places)
        return not (everyone_left or (self._signs and not self._alive))

    def _next(self) -> None:
        """Handle one event, if one comes before something is overdue."""
        until = min(self._ends_at, self._port_by)
        try:
            event = self._inbox.get(timeout=max(until - time.monotonic(), 0.001))
        except queue.Empty:
            return
        self._on_event(event)
        self._ledger.took(event)
        handle = getattr(self, f"_on_{event['event']}", None)
        if handle:
            handle(event)

    def _on_port(self, event: dict) -> None:
        self._port_by = math.inf
        job, master = self._spec.job(self._strategies), self._agent(0).address
        for rank in range(len(self._spec.places)):
            self._alive.add(rank)
            self._agent(rank).send(
                "spawn",
                self._run,
                rank=rank,
                master=master,
                port=event["port"],
                deadline_s=self._spec.deadline_s,
                job=job,
            )

    def _on_joined(self, event: dict) -> None:
        self._joined.add(event["rank"])
        if len(self._joined) == len(self._spec.places):
            self._ledger.ready(time.perf_counter() - self._began, time.time())

    def _on_left(self, event: dict) -> None:
        self._left.add(event["rank"])

    def _on_failed(self, event: dict) -> None:
        self._sign(event["rank"], event["cause"], event["blames"])

    def _on_exit(self, event: dict) -> None:
        rank = event["rank"]
        self._alive.discard(rank)
        if rank not in self._left and all(sign.rank != rank for sign in self._signs):
            how = f"killed by {event['signal']}" if event["signal"] else f"exit {event['code']}"
            self._sign(rank, f"its process ended early ({how})")

    def _on_refused(self, event: dict) -> None:
        rank = self._ranks_at(event["place"])[0]
        self._sign(rank, f"its agent refused: {event['reason']}")

    def _on_gone(self, event: dict) -> None:
        for rank in self._ranks_at(event["place"]):
            self._alive.discard(rank)
            self._sign(rank, f"the agent is gone: {event['reason']}")

    def _ranks_at(self, place: str) -> list[int]:
        return [rank for rank, name in enumerate(self._spec.places) if name == place]

    def _sign(self, rank: int, cause: str, blames: int | None = None) -> None:
        """Note a sign of failure; the first one leaves the others a short time to add theirs."""
        if not self._signs:
            self._ends_at = min(self._ends_at, time.monotonic() + _GRACE_S)
        self._signs.append(Sign(rank, rank if blames is None else blames, cause))

    def _clean_up(self) -> None:
        """End every rank that is left; an agent that does not manage is ended itself."""
        for agent in self._agents.values():
            agent.send("kill", self._run)
        ends_at = time.monotonic() + _KILL_S
        while self._alive and (left := ends_at - time.monotonic()) > 0:
            try:
                event = self._inbox.get(timeout=left)
            except queue.Empty:
                break
            self._ledger.took(event)
            self._note_end(event)
        for rank in self._alive:
            self._agent(rank).stop()
        for agent in self._agents.values():
            agent.unsubscribe(self._run)

    def _note_end(self, event: dict) -> None:
        """Keep track of who is left; an agent's answer to `kill` lists all that it still has."""
        if event["event"] == "exit":
            self._alive.discard(event["rank"])
        elif event["event"] in ("killed", "gone"):
            left = event.get("ranks", ())
            self._alive.difference_update(set(self._ranks_at(event["place"])).difference(left))
