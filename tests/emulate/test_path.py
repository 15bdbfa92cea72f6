"""The arithmetic of a link, on clock times of our own making: exact, and without privileges."""

import random
import statistics

import pytest

from homeport.emulate import Access, Bursts, Counters, Profile
from homeport.emulate.path import Doors, Path, Queue


class Lane:
    """A path with its counters, and packets sent through it at given times."""

    def __init__(self, profile, *, seed="1", up=True, access=None):
        self.words = memoryview(bytearray(9 * 8)).cast("Q")
        doors = Doors()
        doors.set(access or Access())
        self.path = Path(self.words, 0, doors.up, seed)
        self.path.set(profile, up)

    def send(self, at, size=1500):
        left = self.path.depart(at, size)
        return None if left is None else self.path.arrive(left)

    @property
    def counters(self):
        return Counters(*self.words)


def test_a_packet_is_due_after_the_delay():
    assert Lane(Profile(delay_ms=15.5)).send(10.0) == pytest.approx(10.0155)


def test_the_rate_spaces_packets_out():
    lane = Lane(Profile(rate_mbit_s=12, queue_ms=1000))
    due = [lane.send(5.0) for _ in range(4)]
    assert due == pytest.approx([5.001, 5.002, 5.003, 5.004])  # 1500 bytes at 12 Mbit/s: 1 ms
    assert lane.send(6.0) == pytest.approx(6.001)


def test_a_packet_that_finds_a_full_queue_is_dropped_and_counted():
    lane = Lane(Profile(rate_mbit_s=12, queue_ms=10.5))
    fates = [lane.send(5.0) for _ in range(30)]
    kept = [due for due in fates if due is not None]
    assert len(kept) == 11  # the last one finds 10 ms waiting
    assert lane.counters == Counters(packets=30, bytes=45_000, overflowed=19)


def test_a_path_without_an_open_link_refuses_everything():
    for lane in (Lane(None), Lane(Profile(), up=False)):
        assert lane.send(1.0) is None
        assert lane.counters == Counters(packets=1, bytes=1500, refused=1)


def test_loss_is_as_frequent_as_asked_for_and_the_same_for_the_same_seed():
    def fates(seed):
        lane = Lane(Profile(loss=0.02), seed=seed)
        return [lane.send(n / 1000) is None for n in range(50_000)]

    assert fates("a") == fates("a")
    assert fates("a") != fates("b")
    assert sum(fates("a")) == pytest.approx(1000, abs=4 * (50_000 * 0.02 * 0.98) ** 0.5)


def test_jitter_does_not_change_which_packets_are_lost():
    plain, shaky = Lane(Profile(loss=0.1)), Lane(Profile(loss=0.1, jitter_ms=3, delay_ms=30))
    times = [n / 500 for n in range(2000)]
    assert [plain.send(t) is None for t in times] == [shaky.send(t) is None for t in times]


def test_bursts_lose_runs_of_packets():
    lane = Lane(Profile(loss=Bursts(enter=0.01, leave=0.25)))
    lost = [lane.send(n / 1000) is None for n in range(100_000)]
    runs, length = [], 0
    for one in [*lost, False]:
        if one:
            length += 1
        elif length:
            runs.append(length)
            length = 0
    assert sum(lost) / len(lost) == pytest.approx(0.01 / 0.26, rel=0.15)
    assert statistics.mean(runs) == pytest.approx(1 / 0.25, rel=0.15)


def test_jitter_has_the_deviation_asked_for_and_leaves_the_mean_alone():
    lane = Lane(Profile(delay_ms=80, jitter_ms=4))
    delays = [(lane.send(t) - t) * 1000 for t in (n * 0.1 for n in range(20_000))]
    assert statistics.mean(delays) == pytest.approx(80, abs=0.2)
    assert statistics.stdev(delays) == pytest.approx(4, rel=0.05)


def test_on_a_busy_link_jitter_hardly_biases_the_mean_and_never_reorders():
    lane = Lane(Profile(delay_ms=80, jitter_ms=4))
    due = [(t, lane.send(t)) for t in (n * 0.001 for n in range(50_000))]
    arrivals = [arrival for _, arrival in due]
    assert arrivals == sorted(arrivals)
    assert statistics.mean(d - t for t, d in due) * 1000 == pytest.approx(80, abs=2)


def test_jitter_never_makes_a_packet_arrive_before_it_was_sent():
    lane = Lane(Profile(delay_ms=1, jitter_ms=10))
    assert all(lane.send(t) >= t for t in (n * 0.05 for n in range(5000)))


def test_a_shorter_delay_set_while_packets_fly_does_not_reorder_them():
    lane = Lane(Profile(delay_ms=200))
    first = lane.send(1.0)
    lane.path.set(Profile(delay_ms=5), True)
    assert lane.send(1.01) == first
    assert lane.send(2.0) == pytest.approx(2.005)


def test_taking_a_rate_away_does_not_confuse_the_jitter():
    lane = Lane(Profile(rate_mbit_s=1, queue_ms=1000, jitter_ms=2, delay_ms=5))
    for _ in range(20):
        lane.send(1.0)
    lane.path.set(Profile(jitter_ms=2, delay_ms=5), True)
    assert lane.send(1.0) is not None


def test_paths_of_one_host_share_its_access_link():
    doors = Doors()
    doors.set(Access(up_mbit_s=12))
    words = memoryview(bytearray(18 * 8)).cast("Q")
    one, other = (Path(words, at, doors.up, "s") for at in (0, 9))
    for path in (one, other):
        path.set(Profile(), True)
    assert one.depart(1.0, 1500) == pytest.approx(1.001)
    assert other.depart(1.0, 1500) == pytest.approx(1.002)


def test_the_slower_of_access_link_and_path_decides():
    lane = Lane(Profile(rate_mbit_s=6, queue_ms=1000), access=Access(up_mbit_s=12, queue_ms=1000))
    due = [lane.send(1.0) for _ in range(10)]
    assert due[-1] - due[0] == pytest.approx(9 * 0.002)


def test_an_unlimited_queue_never_holds_anything_up():
    queue = Queue()
    times = sorted(random.Random(3).uniform(0, 10) for _ in range(100))
    assert [queue.through(t, 65_000) for t in times] == times
