import os
import subprocess
import sys
import textwrap
from types import SimpleNamespace

import pytest

from homeport.errors import GangFailed
from homeport.metrics import Failure, Measurement
from homeport.session.gateway import VARIABLE, Gateway, RunnerSaid, ask, ask_records

RTT = Measurement(metric="rtt_ms", value=31.0, source="guangdong", target="hk", rank=2)
FAILED = Failure(kind="GangFailed", reason="rank 1 died", place="hk", strategy="star")
WHERE = {"session": "s", "host": "hk", "round": 1, "timeout_s": 10}


class FakeLive:
    folder = SimpleNamespace(session="s")

    def train(self, host, round):
        if host == "la":
            raise GangFailed(1, "la", "no port")
        if host == "tokyo":
            raise RuntimeError("a bug")
        return SimpleNamespace(records=[RTT, FAILED])

    def relay(self, host):
        return [RTT]


@pytest.fixture
def gateway():
    with Gateway(FakeLive()) as open_gateway:
        open_gateway.about = {"position": 3, "attempt": 1}
        yield os.environ[VARIABLE]


def test_records_come_back_as_they_were(gateway):
    assert ask_records(gateway, ask="train", **WHERE) == [RTT, FAILED]
    assert ask_records(gateway, ask="relay", **WHERE) == [RTT]


def test_the_part_under_way_is_told(gateway):
    assert ask(gateway, ask="about", **WHERE) == {"position": 3, "attempt": 1}


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"host": "la"}, "GangFailed: rank 1 at la: no port"),
        ({"host": "tokyo"}, "RuntimeError.*a bug"),
        ({"session": "other"}, "NotFound.*'other'"),
        ({"ask": "dance"}, "NotFound.*'dance'"),
    ],
)
def test_the_runners_error_is_told_again_and_it_goes_on(gateway, changes, says):
    with pytest.raises(RunnerSaid, match=says):
        ask(gateway, **{"ask": "train", **WHERE, **changes})
    assert ask_records(gateway, ask="train", **WHERE)


def test_it_is_gone_with_the_run_and_leaves_no_file(gateway):
    assert not os.path.exists(gateway)  # noqa: PTH110 - a name, not a path
    with Gateway(FakeLive()):
        inner = os.environ[VARIABLE]
        assert inner != gateway
    assert os.environ[VARIABLE] == gateway
    with pytest.raises(ConnectionRefusedError):
        ask(inner, ask="train", **WHERE)


@pytest.mark.skipif(os.getuid() != 0, reason="needs the right to become another user")
def test_another_user_gets_no_answer(gateway):
    script = textwrap.dedent(f"""
        import os, socket
        os.setuid(65534)
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
            connection.connect("\\0{gateway}")
            connection.settimeout(10)
            try:
                connection.sendall(b'{{"session": "s"}}\\n')
                print("answer", connection.recv(100))
            except OSError as refused:
                print("answer", refused)
    """)
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert done.stdout.startswith("answer"), done.stderr
    assert "records" not in done.stdout and "position" not in done.stdout
    assert done.stdout.strip() in ("answer b''", "answer [Errno 32] Broken pipe") or (
        "reset" in done.stdout
    )
