"""The launcher's end of the warm agents: started once, asked often, ended with everything."""

import contextlib
import json
import queue
import subprocess
import sys
import threading
import time
import uuid
from collections import deque
from collections.abc import Iterable

from homeport.errors import AgentDied
from homeport.places import Place, stop

_WARM_UP_S = 90.0
_STDERR_LINES = 20


class Agent:
    """The warm agent of one place. Start it from the main thread; any thread may use it.

    `facts` is its hello: pid, warmup_s, interface, versions, cpu.
    """

    def __init__(self, place: Place):
        """Start the process; `wait_until_warm` follows. Most callers want `Agent.start`."""
        self.place, self.address = place.name, place.address
        self.facts = {}
        command = [sys.executable, "-P", "-m", "homeport.train.agent"]
        command += ["--name", place.name, "--address", place.address]
        self._process: subprocess.Popen = place.start(command)
        self._complaints = deque(maxlen=_STDERR_LINES)
        self._inboxes = {"hello": queue.SimpleQueue()}
        self._gone = None
        self._lock = threading.Lock()
        self._readers = [
            threading.Thread(target=target, name=f"{target.__name__} of {place.name}", daemon=True)
            for target in (self._read_answers, self._read_complaints)
        ]
        for reader in self._readers:
            reader.start()

    @classmethod
    def start(cls, place: Place, *, timeout_s: float = _WARM_UP_S) -> "Agent":
        """Start an agent at `place` and wait until it is warm; AgentDied if it never is."""
        return start_agents([place], timeout_s=timeout_s)[place.name]

    def wait_until_warm(self, timeout_s: float) -> None:
        """Wait for the hello. Raises AgentDied, with what it printed last, if there is none."""
        with contextlib.suppress(queue.Empty):
            answer = self._inboxes["hello"].get(timeout=max(timeout_s, 0.01))
            if answer["event"] == "hello":
                self.facts = answer
                return
        cause = self._gone or f"not warm after {timeout_s:.0f} s"
        self.stop()
        raise AgentDied(self.place, cause)

    @property
    def alive(self) -> bool:
        """Whether the process runs and its pipe is open."""
        return self._gone is None and self._process.poll() is None

    def subscribe(self, run: str, inbox: queue.SimpleQueue) -> None:
        """From now on put what concerns `run` into `inbox`, and the agent's end (event `gone`)."""
        with self._lock:
            self._inboxes[run] = inbox
            if self._gone:
                inbox.put({"event": "gone", "place": self.place, "reason": self._gone})

    def unsubscribe(self, run: str) -> None:
        """Forget about `run`."""
        with self._lock:
            self._inboxes.pop(run, None)

    def send(self, do: str, run: str, **content) -> None:
        """Write one request. A broken pipe is no error here: the inbox gets a `gone`."""
        line = json.dumps({"do": do, "id": run, **content}) + "\n"
        with self._lock, contextlib.suppress(BrokenPipeError, ValueError):
            self._process.stdin.write(line)
            self._process.stdin.flush()

    def ping(self, *, timeout_s: float = 5.0) -> float:
        """Seconds until the agent answers; AgentDied if it does not."""
        run, inbox, began = uuid.uuid4().hex, queue.SimpleQueue(), time.perf_counter()
        self.subscribe(run, inbox)
        try:
            self.send("ping", run)
            answer = inbox.get(timeout=timeout_s)
        except queue.Empty:
            raise AgentDied(self.place, f"no answer within {timeout_s:g} s") from None
        finally:
            self.unsubscribe(run)
        if answer["event"] == "gone":
            raise AgentDied(self.place, answer["reason"])
        return time.perf_counter() - began

    def stop(self) -> None:
        """End the agent and every rank it has forked; safe to call twice."""
        with contextlib.suppress(ProcessLookupError):
            self._process.kill()
        self._process.wait()
        for reader in self._readers:
            reader.join(timeout=5)
        stop(self._process)

    def _read_answers(self) -> None:
        for line in self._process.stdout:
            try:
                answer = json.loads(line)
                run = "hello" if answer["event"] == "hello" else answer["id"]
                answer["place"] = self.place
            except (ValueError, LookupError, TypeError):
                self._complaints.append(line)
                continue
            with self._lock:
                if inbox := self._inboxes.get(run):
                    inbox.put(answer)
        self._readers[1].join(timeout=1)
        self._say_gone()

    def _say_gone(self) -> None:
        said = " ".join("".join(self._complaints).split())[-300:]
        with self._lock:
            self._gone = f"it ended; it last said: {said or 'nothing'}"
            for inbox in self._inboxes.values():
                inbox.put({"event": "gone", "place": self.place, "reason": self._gone})

    def _read_complaints(self) -> None:
        for line in self._process.stderr:
            self._complaints.append(line)


def start_agents(places: Iterable[Place], *, timeout_s: float = _WARM_UP_S) -> dict[str, Agent]:
    """Start an agent at every place, all at once; {place name: agent} when all are warm.

    Call from the main thread (agents die with the thread that started them). Raises AgentDied for
    the first that does not get warm, after ending the others.
    """
    agents, ends_at = {}, time.monotonic() + timeout_s
    try:
        for place in places:
            agents[place.name] = Agent(place)
        for agent in agents.values():
            agent.wait_until_warm(ends_at - time.monotonic())
    except BaseException:
        for agent in agents.values():
            agent.stop()
        raise
    return agents
