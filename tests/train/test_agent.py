"""The warm agent: what it answers, what it survives, and that it leaves nothing behind."""

import contextlib
import json
import os
import queue
import signal
import subprocess
import sys
import uuid

import pytest

from homeport.errors import AgentDied
from homeport.places import Local
from homeport.train import Agent, run_gang

from .conftest import alive, make_gang, small, until_gone

NONSENSE = [
    "",
    "hello",
    "{",
    "[]",
    "null",
    '"spawn"',
    "{}",
    '{"do": "dance", "id": "1"}',
    '{"do": ["spawn"], "id": "1"}',
    '{"do": "ping"}',
    '{"do": "port", "id": {}}',
    '{"do": "spawn", "id": "1"}',
    '{"do": "spawn", "id": "1", "rank": -1, "master": "x", "port": 0, "deadline_s": "soon"}',
    '{"do": "kill"}',
    "[" * 100_000,
    "\x00\x01",
    '{"do": "ping", "id": "1"' + " " * 2_000_000,
]


def test_hello_says_what_the_place_is(agents):
    facts = agents["hk"].facts
    assert facts["interface"] == "lo" and facts["place"] == "hk"
    assert 0 < facts["warmup_s"] < 90
    assert set(facts["versions"]) >= {"python", "torch", "stable-baselines3"}
    assert facts["cpu"]["usable"] >= 1 and alive(facts["pid"])


def test_a_warm_agent_has_one_thread_and_can_be_forked(agents):
    assert len(os.listdir(f"/proc/{agents['hk'].facts['pid']}/task")) == 1  # noqa: PTH208


def test_it_answers_quickly(agents):
    assert agents["hk"].ping() < 0.5


@pytest.mark.fault
@pytest.mark.parametrize("line", NONSENSE, ids=lambda line: line[:30] or "empty")
def test_one_bad_request_does_not_end_it(agents, line):
    agent = agents["hk"]
    agent._process.stdin.write(line + "\n")
    agent._process.stdin.flush()
    agent.ping()


def test_a_refusal_says_what_was_wrong(agents):
    inbox = queue.SimpleQueue()
    agents["hk"].subscribe("bad", inbox)
    agents["hk"].send("spawn", "bad", rank=0, master="127.0.0.1", port=1, deadline_s=1.0, job={})
    answer = inbox.get(timeout=5)
    agents["hk"].unsubscribe("bad")
    assert answer["event"] == "refused" and "spawn.job.seed" in answer["reason"]


@contextlib.contextmanager
def sleeping_rank(agent, deadline_s=60.0):
    """A rank that waits for peers that never come: its run, its pid, and what is said of it."""
    run, inbox = uuid.uuid4().hex, queue.SimpleQueue()
    spec = make_gang(workers=("nowhere", "nowhere"))
    agent.subscribe(run, inbox)
    agent.send("port", run)
    request = {"rank": 0, "master": agent.address, "port": inbox.get(timeout=5)["port"]}
    job = spec.job(spec.strategies)
    agent.send("spawn", run, **request, deadline_s=deadline_s, job=job)
    yield run, inbox.get(timeout=5)["pid"], inbox
    agent.send("kill", run)
    agent.unsubscribe(run)


def test_a_port_is_open_from_when_it_is_named_on_the_places_address_only(agents):
    import socket

    inbox = queue.SimpleQueue()
    agents["hk"].subscribe("door", inbox)
    agents["hk"].send("port", "door")
    port = inbox.get(timeout=5)["port"]
    socket.create_connection(("127.0.0.1", port), timeout=1).close()
    with pytest.raises(OSError, match="refused"):
        socket.create_connection(("127.0.0.2", port), timeout=1)
    agents["hk"].send("kill", "door")
    assert inbox.get(timeout=5)["event"] == "killed"
    agents["hk"].unsubscribe("door")
    with pytest.raises(OSError, match="refused"):
        socket.create_connection(("127.0.0.1", port), timeout=1)


@pytest.mark.fault
def test_it_kills_what_it_is_told_to(agents):
    with sleeping_rank(agents["guangdong"]) as (run, pid, inbox):
        assert alive(pid)
        agents["guangdong"].send("kill", run)
        said = {"id": run, "place": "guangdong"}
        assert inbox.get(timeout=5) == {"event": "killed", "ranks": [0], **said}
        end = {"event": "exit", "rank": 0, "code": None, "signal": "SIGKILL"}
        assert inbox.get(timeout=5) == {**end, **said}
    assert not until_gone([pid])


@pytest.mark.fault
@pytest.mark.parametrize("stopped", [False, True], ids=["running", "stopped"])
def test_a_rank_does_not_outlive_its_deadline(agents, stopped):
    """The rank's own alarm ends it; a stopped one, which gets no alarm, is killed."""
    with sleeping_rank(agents["guangdong"], deadline_s=0.5) as (_, pid, inbox):
        if stopped:
            os.kill(pid, signal.SIGSTOP)
        said = []
        while not said or said[-1]["event"] != "exit":
            said.append(inbox.get(timeout=5))
    assert said[-1]["signal"] in ("SIGALRM", "SIGKILL")
    assert not until_gone([pid])


ENDS = ["its pipe closes", "SIGKILL"]


@pytest.fixture(scope="module")
def bare_agents():
    """An agent of its own for every way to end one, each with a rank that waits."""
    command = [sys.executable, "-m", "homeport.train.agent"]
    command += ["--name", "hk", "--address", "127.0.0.1"]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    pipes["stderr"] = subprocess.DEVNULL
    started = {end: subprocess.Popen(command, **pipes) for end in ENDS}
    for process in started.values():
        assert json.loads(process.stdout.readline())["event"] == "hello"
    yield started
    for process in started.values():
        process.kill()
        process.wait()
        process.stdout.close()
        with contextlib.suppress(BrokenPipeError):
            process.stdin.close()


def spawn_sleeper(process):
    def ask(**request):
        process.stdin.write(json.dumps(request) + "\n")
        process.stdin.flush()
        return json.loads(process.stdout.readline())

    spec = make_gang(workers=("nowhere", "nowhere"))
    port = ask(do="port", id="r")["port"]
    request = {"do": "spawn", "id": "r", "rank": 0, "master": "127.0.0.1", "port": port}
    return ask(**request, deadline_s=60.0, job=spec.job(spec.strategies))["pid"]


@pytest.mark.fault
@pytest.mark.parametrize("end", ENDS)
def test_its_ranks_die_with_it(bare_agents, end):
    process = bare_agents[end]
    pid = spawn_sleeper(process)
    assert alive(pid)
    if end == "its pipe closes":
        process.stdin.close()
    else:
        process.kill()
    process.wait(5)
    assert not until_gone([pid])


def test_what_environments_print_does_not_disturb_the_protocol(agents):
    result = run_gang(agents, make_gang(workload=small(env_id="sleepy:ChattyCartPole-v0")))
    assert not [r for r in result.records if hasattr(r, "reason")]
    assert len([r for r in result.records if r.metric == "wall_ms"]) == 3 * 6


@pytest.mark.fault
def test_an_agent_that_cannot_start_says_why():
    with pytest.raises(AgentDied, match=r"nowhere.*203\.0\.113\.9"):
        Agent.start(Local("nowhere", "203.0.113.9"))


@pytest.mark.fault
def test_an_agent_that_is_not_warm_in_time_is_ended():
    with pytest.raises(AgentDied, match="not warm after 0 s"):
        Agent.start(Local("hk"), timeout_s=0.2)
