"""One measurement at a time on this machine."""

import subprocess
import sys
import time

import pytest

from homeport.errors import Busy
from homeport.session import open_page, turn

HOLD = """
import sys, time
from homeport.session import turn
with turn("homeport run demo"):
    print("held", flush=True)
    time.sleep(float(sys.argv[1]))
"""


@pytest.fixture(autouse=True)
def runtime(tmp_path, monkeypatch):
    monkeypatch.setenv("HOMEPORT_RUNTIME", str(tmp_path / "runtime"))


@pytest.fixture
def holder():
    """Starts a process that holds the turn for some seconds, or until it is killed."""
    children = []

    def hold(seconds):
        child = subprocess.Popen(
            [sys.executable, "-c", HOLD, str(seconds)], stdout=subprocess.PIPE, text=True
        )
        children.append(child)
        assert child.stdout.readline() == "held\n"
        return child

    yield hold
    for child in children:
        child.kill()
        child.communicate()


def test_who_comes_second_is_told_who_holds_it(holder):
    child = holder(60)
    with pytest.raises(Busy, match=f"homeport run demo.*process {child.pid}"), turn("another"):
        pass


def test_a_page_opened_while_a_run_measures_disturbs_nothing(holder, data_folder):
    holder(60)
    with pytest.raises(Busy, match="homeport run demo"):
        open_page("10_network", "demo", "hk")
    assert not data_folder.exists()


def test_the_turn_comes_to_who_waits(holder):
    holder(1.0)
    begun = time.monotonic()
    with turn("another", wait_s=30.0):
        assert time.monotonic() - begun < 20


def test_a_killed_holder_holds_nothing(holder):
    child = holder(60)
    child.kill()
    child.wait()
    with turn("another"), pytest.raises(Busy, match="another"), turn("a third"):
        pass
    with turn("again"):
        pass
