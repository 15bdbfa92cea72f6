"""What the relay fails at must be counted as its own failure, never as the link's loss."""

import os
import signal
import time
from contextlib import contextmanager

import pytest
from emulate.flows import pinging, round_trips, traffic

from homeport.emulate import Profile, World

pytestmark = [pytest.mark.world, pytest.mark.usefixtures("can_emulate")]


@pytest.fixture
def world(can_emulate):
    with World(["a", "b"]) as running_world:
        running_world.link_both("a", "b", Profile(delay_ms=20))
        yield running_world


@contextmanager
def held_up(world):
    """Stop the relay for the length of the block."""
    relay = world._state.relay.pid
    os.kill(relay, signal.SIGSTOP)
    yield
    os.kill(relay, signal.SIGCONT)


def test_packets_that_a_busy_relay_delivers_late_are_counted(world):
    a, b = world.place("a"), world.place("b")
    with pinging(a, b, 20, 0.02) as child:
        time.sleep(0.2)
        with held_up(world):
            time.sleep(0.1)
        rtts_ms = round_trips(child)
    assert len(rtts_ms) == 20
    assert max(rtts_ms.values()) > 60
    late = world.counters("a", "b").late + world.counters("b", "a").late
    assert 0 < late < 20
    assert world.relay_drops() == late


def test_packets_that_no_relay_read_are_counted(world):
    with held_up(world):
        traffic(world.place("a"), "udp-out", world.place("b").address, 9, 13_000, 20, 1e6)
    time.sleep(0.5)
    unread, read = world.unread()["a"], world.counters("a", "b").packets
    assert unread > 0
    assert unread + read == 13_000
    assert world.relay_drops() >= unread


def test_packets_that_cannot_be_handed_over_are_counted(world):
    world.place("b").run(["ip", "link", "set", "wan0", "down"], timeout_s=5)
    with pinging(world.place("a"), world.place("b"), 3, 0.02) as child:
        assert round_trips(child) == {}
    counted = world.counters("a", "b")
    assert (counted.packets, counted.unwritten, counted.delivered) == (3, 3, 0)
    assert counted.relay_drops == 3
    assert world.alive()
