"""Running tests/emulate/traffic.py and ping inside hosts, and reading what they print."""

import json
import re
import statistics
import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path

from homeport.places import stop

TRAFFIC = [sys.executable, str(Path(__file__).parent / "traffic.py")]
_REPLY = re.compile(r"icmp_seq=(\d+) .*time=([\d.]+) ms")


@contextmanager
def running(place, *command):
    """A command in the background, ended with the block."""
    child = place.start(list(command))
    try:
        yield child
    finally:
        stop(child)


@contextmanager
def receiving(place, kind, port, *more):
    """A receiver of traffic.py that is ready; `report(child)` waits for what it says at last."""
    with running(place, *TRAFFIC, kind, place.address, str(port), *more) as child:
        assert json.loads(child.stdout.readline()) == {"ready": True}
        yield child


def leave_stray(place):
    """Leave a process behind that left its starter's group and outlives it, as daemons do."""
    child = place.start(["setsid", "--fork", "sleep", "305"], stdout=subprocess.DEVNULL)
    child.wait(5)
    child.stdin.close()


def report(child):
    return json.loads(child.stdout.readline())


def traffic(place, *words, timeout_s=30):
    done = place.run([*TRAFFIC, *map(str, words)], timeout_s=timeout_s)
    return json.loads(done.stdout)


def udp(source, target, port, count, *, size=100, rate=2500):
    """Send numbered packets; the numbers that came, in the order they came."""
    with receiving(target, "udp-in", port, "0.5") as sink:
        traffic(source, "udp-out", target.address, port, count, size, rate)
        return report(sink)["numbers"]


def steady_mbit_s(bins, after_s=1.0):
    """Payload rate of a receiver, without the start."""
    first = next(one for one in bins if one[0] > bins[0][0] + after_s)
    return (bins[-1][1] - first[1]) * 8 / (bins[-1][0] - first[0]) / 1e6


def pinging(source, target, count, interval_s):
    """Start a ping; `round_trips(child)` waits for its end."""
    words = ["-n", "-c", str(count), "-i", str(interval_s), "-W", "2", "--", target.address]
    return running(source, "ping", *words)


def round_trips(child):
    """Round trips in ms by sequence number."""
    text, _ = child.communicate(timeout=60)
    return {int(sequence): float(ms) for sequence, ms in _REPLY.findall(text)}


def ping(source, target, count=20, interval_s=0.02):
    with pinging(source, target, count, interval_s) as child:
        return round_trips(child)


def median(values):
    return statistics.median(list(values))
