import contextlib
import json
import select
import socket
import subprocess
import threading
import time

import numpy as np
import pytest

from homeport.errors import UnreadableOutput
from homeport.places import Local, stop
from homeport.probes import interaction
from homeport.probes.interaction import server
from homeport.probes.interaction.client import Client
from homeport.probes.interaction.wire import REPLY, REQUEST, receive_exactly

HERE = Local("here")
SHAPE = {"observation_size": 4, "hidden": [64, 64], "actions": 2}


@pytest.fixture
def port():
    command = interaction.server_command(HERE.address, deadline_s=60, **SHAPE)
    child = HERE.start(command)
    assert select.select([child.stdout], [], [], 20)[0], "the server did not come up"
    yield int(child.stdout.readline().split()[1])
    stop(child)


def drive(tmp_path, port, *, seconds, deadline_s=1.0, interval_s=0.05, meanwhile=lambda: None):
    raw = tmp_path / "steps.txt"
    command = interaction.client_command(
        HERE.address, port, interval_s=interval_s, deadline_s=deadline_s, observation_size=4
    )
    with raw.open("w") as out:
        child = HERE.start(command, stdout=out)
        meanwhile()
        time.sleep(seconds)
        stop(child)
    return raw.read_text()


def test_steps_are_answered_and_their_parts_add_up(tmp_path, port):
    steps = interaction.parse(drive(tmp_path, port, seconds=1.5))
    assert len(steps) >= 20
    assert [s.sequence for s in steps] == list(range(1, len(steps) + 1)), "the first one too"
    for step in steps:
        assert 0 < step.inference_ms <= step.server_ms < step.step_ms < 100
    by_metric = {}
    for m in interaction.measurements(steps[:1], source="here", target="hk"):
        by_metric[m.metric] = m.value
    parts = [by_metric[f"step_{part}_ms"] for part in ("network", "inference", "rest")]
    assert sum(parts) == pytest.approx(by_metric["step_ms"], abs=1e-3)


class SlowServer:
    """Answers every step after `delay_s`, in order; `drop` decides what is never answered."""

    def __init__(self, delay_s, drop=lambda sequence: False):
        self.listener = socket.create_server((HERE.address, 0))
        self.port = self.listener.getsockname()[1]
        self.delay_s, self.drop = delay_s, drop
        threading.Thread(target=self.serve, daemon=True).start()

    def serve(self):
        with self.listener:
            connection, _ = self.listener.accept()
        with connection:
            self.answer(connection)

    def answer(self, connection):
        try:
            while True:
                sequence, length = REQUEST.unpack(receive_exactly(connection, REQUEST.size))
                receive_exactly(connection, 4 * length)
                if not self.drop(sequence):
                    reply = REPLY.pack(sequence, 0, 1000, 500)
                    at = threading.Timer(self.delay_s, self.send, [connection, reply])
                    at.daemon = True
                    at.start()
        except (EOFError, ConnectionError):
            pass

    def send(self, connection, reply):
        with contextlib.suppress(OSError):  # the client was ended meanwhile
            connection.sendall(reply)


def test_steps_leave_on_the_beat_although_earlier_ones_are_unanswered(tmp_path):
    # 200 ms at 20 steps a second: waiting for each answer would send five a second.
    steps = interaction.parse(drive(tmp_path, SlowServer(0.2).port, seconds=2))
    assert len(steps) >= 25
    assert np.median([s.step_ms for s in steps]) == pytest.approx(200, abs=30)


def test_an_unanswered_step_counts_as_overdue_after_its_deadline(tmp_path):
    server = SlowServer(0.0, drop=lambda sequence: sequence % 4 == 0)
    steps = interaction.parse(drive(tmp_path, server.port, seconds=1.5, deadline_s=0.3))
    overdue = [s.sequence for s in steps if s.overdue_ms is not None]
    assert overdue and all(n % 4 == 0 for n in overdue)
    records = list(interaction.measurements(steps, source="s", target="h"))
    late = [r for r in records if r.metric == "step_overdue_ms"]
    assert len(late) == len(overdue) and {r.value for r in late} == {300.0}


def test_an_answer_after_the_deadline_does_not_turn_overdue_into_answered(tmp_path):
    text = drive(tmp_path, SlowServer(0.5).port, seconds=2, deadline_s=0.3)
    steps = interaction.parse(text)
    assert len(steps) > 10 and all(s.overdue_ms == 300 for s in steps)


def test_without_a_server_every_step_is_overdue_and_the_trouble_is_told(tmp_path):
    with socket.create_server((HERE.address, 0)) as taken:
        port = taken.getsockname()[1]
    text = drive(tmp_path, port, seconds=1.2, deadline_s=0.2)
    steps = interaction.parse(text)
    assert steps and all(s.overdue_ms == 200 for s in steps)
    failure = interaction.failures(text, source="guangdong", target="hk")[0]
    assert failure.kind == "StepConnection" and "refused" in failure.reason


def test_a_server_that_closes_is_found_again(tmp_path, port):
    closing = {"done": False}

    def close_all():
        time.sleep(0.5)
        subprocess.run(
            ["ss", "-K", "dst", HERE.address, "dport", "=", str(port)], capture_output=True
        )
        closing["done"] = True

    text = drive(tmp_path, port, seconds=2.5, deadline_s=0.4, meanwhile=close_all)
    steps = interaction.parse(text)
    assert closing["done"] and steps[-1].step_ms is not None
    numbers = [s.sequence for s in steps]
    assert len(numbers) == len(set(numbers))


def test_a_late_step_is_timed_from_when_it_was_due(port, capsys):
    # A site blocked for half a second must not hide that half second.
    client = Client((HERE.address, port), size=4, interval_s=0.05, deadline_s=5)
    client._connect()
    client._send(time.monotonic() - 0.5)
    client._receive(1.0)
    client.connection.close()
    step = json.loads(capsys.readouterr().out)
    assert step["step_ms"] > 500


def test_only_the_clients_own_lines_are_read():
    whole = '{"seq": 1, "sent_s": 1.0, "step_ms": 2.0, "server_ms": 0.2, "inference_ms": 0.1}\n'
    assert len(interaction.parse(whole + whole[:20])) == 1, "a line under way is left out"
    for text in ("PING 10.0.0.1\n", "[1]\n", '{"other": 1}\n'):
        with pytest.raises(UnreadableOutput):
            interaction.parse(text)


def test_the_server_survives_a_garbled_length(port):
    with socket.create_connection((HERE.address, port)) as bad:
        bad.sendall(REQUEST.pack(1, 0))
        assert bad.recv(1) == b""
    with socket.create_connection((HERE.address, port)) as good:
        good.sendall(REQUEST.pack(7, 4) + bytes(16))
        assert REPLY.unpack(receive_exactly(good, REPLY.size))[0] == 7


def test_the_server_listens_on_its_named_address_only(port):
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection(("127.0.0.2", port), timeout=2)


def test_the_server_ends_at_its_deadline():
    child = HERE.start(interaction.server_command(HERE.address, deadline_s=1.0, **SHAPE))
    try:
        assert child.wait(20) == 0
    finally:
        stop(child)


def test_the_policy_is_a_forward_pass_of_the_stated_size():
    policy = server.Policy(4, [64, 64], 2)
    assert [w.shape for w, _ in policy.layers] == [(4, 64), (64, 64), (64, 2)]
    actions = {policy.act(np.array(x, np.float32)) for x in np.eye(4) * 9 - 4}
    assert actions <= {0, 1}
