"""The exchange over real gloo groups: three ranks as threads of one process."""

import contextlib
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta

import pytest
import torch
import torch.distributed as dist

from homeport.errors import GangFailed
from homeport.train.exchange import Alone, star

PLACES = ["hk", "near", "far"]
SIZE = 9155  # CartPole's MlpPolicy


def join(timeouts_s):
    """The gloo groups of three ranks, each with its own timeout."""
    store = dist.HashStore()

    def one(rank):
        timeout = timedelta(seconds=timeouts_s[rank])
        return dist.ProcessGroupGloo(store, rank, len(PLACES), timeout)

    with ThreadPoolExecutor(len(PLACES)) as pool:
        return list(pool.map(one, range(len(PLACES))))


@pytest.fixture(autouse=True)
def _loopback(monkeypatch):
    monkeypatch.setenv("GLOO_SOCKET_IFNAME", "lo")


@pytest.fixture
def groups():
    """Groups that are patient: this machine may be busy."""
    return join((8, 8, 8))


class Ranks:
    """Calls something on every rank's exchange at once, each on a thread of its own."""

    def __init__(self, groups, size):
        self._pool = ThreadPoolExecutor(len(groups))
        make = lambda rank: star(groups[rank], rank, PLACES, size)  # noqa: E731
        self.exchanges = list(self._pool.map(make, range(len(groups))))

    def mean(self, vectors, weights, delays=(0, 0, 0), over=(False, False, False)):
        def one(rank):
            time.sleep(delays[rank])
            says = lambda: over[rank]  # noqa: E731
            return self.exchanges[rank].mean(vectors[rank], weights[rank], says)

        return list(self._pool.map(one, range(len(self.exchanges))))


@pytest.fixture
def ranks(groups):
    return Ranks(groups, SIZE)


def vectors(seed=0, size=SIZE):
    draw = torch.Generator().manual_seed(seed)
    return [torch.randn(size, generator=draw) for _ in PLACES]


def test_shards_of_unlike_size_weigh_by_their_samples(groups):
    """A far worker that was cut off with 64 of 256 samples must not count as much as a full one."""
    ranks = Ranks(groups, 2)
    given = [torch.tensor([1.0, 2.0]), torch.tensor([3.0, -1.0]), torch.tensor([9.0, 8.0])]
    means = [one.mean for one in ranks.mean(given, [256, 256, 64])]
    assert means[0].tolist() == pytest.approx([2.777777778, 1.333333333])
    assert all(torch.equal(mean, means[0]) for mean in means)


def test_every_rank_gets_the_same_bits_many_times_over(ranks):
    for turn in range(7):
        given, weights = vectors(turn), [0, 3 + turn, 5]
        synced = ranks.mean(given, weights)
        wanted = sum(w * v.double() for w, v in zip(weights, given, strict=True)) / sum(weights)
        torch.testing.assert_close(synced[0].mean.double(), wanted, rtol=1e-6, atol=1e-6)
        assert torch.equal(synced[0].mean, synced[1].mean)
        assert torch.equal(synced[0].mean, synced[2].mean)


def test_a_learner_without_samples_brings_nothing_but_gets_the_mean(ranks):
    given = vectors()
    given[0] = torch.full((SIZE,), float("nan"))
    synced = ranks.mean(given, [0, 1, 1])
    torch.testing.assert_close(synced[0].mean, (given[1] + given[2]) / 2)


def test_the_mean_is_the_callers_to_write_on(ranks):
    first = ranks.mean(vectors(1), [0, 1, 1])
    kept = first[1].mean.clone()
    for one in first:
        one.mean.mul_(0)
    second = ranks.mean(vectors(1), [0, 1, 1])
    assert all(torch.equal(one.mean, kept) for one in second)


def test_waiting_for_the_slowest_shows_at_the_others_and_is_not_wire_time(ranks):
    ranks.mean(vectors(), [0, 1, 1])
    learner, near, far = ranks.mean(vectors(), [0, 1, 1], delays=(0, 0, 0.2))
    assert near.times.wait_s == pytest.approx(0.2, abs=0.05)
    assert near.times.wire_s < 0.05
    assert far.times.wait_s < 0.05 and far.times.wire_s < 0.05
    assert learner.times.wait_s == pytest.approx(0.2, abs=0.05)


def test_a_learner_that_comes_last_is_waited_for_when_it_collects(ranks):
    ranks.mean(vectors(), [1, 1, 1])
    learner, near, far = ranks.mean(vectors(), [1, 1, 1], delays=(0.2, 0, 0))
    assert near.times.wait_s == pytest.approx(0.2, abs=0.05)
    assert far.times.wait_s == pytest.approx(0.2, abs=0.05)
    assert learner.times.wait_s < 0.05


def test_a_busy_learner_is_averaging_time_when_it_only_learns(ranks):
    ranks.mean(vectors(), [0, 1, 1])
    _, near, _ = ranks.mean(vectors(), [0, 1, 1], delays=(0.2, 0, 0))
    assert near.times.average_s == pytest.approx(0.2, abs=0.05)
    assert near.times.wait_s < 0.05 and near.times.wire_s < 0.05


def test_only_the_learner_says_when_to_stop(ranks):
    deaf = ranks.mean(vectors(), [0, 1, 1], over=(False, True, True))
    assert [one.stop for one in deaf] == [False, False, False]
    heard = ranks.mean(vectors(), [0, 1, 1], over=(True, False, False))
    assert [one.stop for one in heard] == [True, True, True]


def test_bytes_are_exact(ranks):
    """CartPole's 9155 parameters are 36 620 bytes; the header adds 32."""
    learner, near, _ = ranks.exchanges
    assert near.payload_bytes == (36_652, 36_652)
    assert learner.payload_bytes == (2 * 36_652, 2 * 36_652)


def test_a_silent_worker_is_named():
    ranks = Ranks(join((1, 3, 3)), SIZE)
    with pytest.raises(GangFailed, match="rank 2 at far: silent for longer"):
        learner_hears_only_rank_1(ranks)


def test_a_worker_that_left_is_named_before_the_one_that_is_only_late(groups):
    """Rank 1 is late, rank 2 gone: the closed connection shows at once, whoever comes first."""
    ranks = Ranks(groups, SIZE)
    del ranks.exchanges[2], groups[2]  # the last references: its connections close
    began = time.monotonic()
    with pytest.raises(GangFailed) as caught:
        ranks.exchanges[0].mean(vectors()[0], 0, bool)
    assert caught.value.rank == 2 and time.monotonic() - began < 4


def learner_hears_only_rank_1(ranks):
    given = vectors()
    late = threading.Thread(target=ignoring(ranks.exchanges[1].mean), args=(given[1], 1, bool))
    late.start()
    try:
        ranks.exchanges[0].mean(given[0], 0, bool)
    finally:
        late.join()


def ignoring(function):
    def call(*args):
        with contextlib.suppress(GangFailed):
            function(*args)

    return call


def test_a_worker_names_the_learner():
    ranks = Ranks(join((3, 0.3, 3)), SIZE)
    with pytest.raises(GangFailed, match="rank 0 at hk: silent for longer"):
        ranks.exchanges[1].mean(vectors()[1], 1, bool)


def test_patience_begins_with_the_answer_not_with_the_last_arrival():
    """A worker held up by another for most of the timeout may take its own time after that."""
    ranks = Ranks(join((1, 3, 3)), SIZE)
    ranks.mean(vectors(), [0, 1, 1], delays=(0, 0, 0.7))
    synced = ranks.mean(vectors(), [0, 1, 1], delays=(0, 0.6, 0.6))
    assert len(synced) == 3


def test_a_message_out_of_order_is_refused(ranks):
    ranks.exchanges[1]._sent = 5
    with pytest.raises(GangFailed, match="rank 1 at near: sent message 5 where 0 was due"):
        ranks.mean(vectors(), [0, 1, 1])


def test_alone_the_mean_is_what_it_brought():
    mine = torch.arange(3.0)
    synced = Alone().mean(mine, 1, lambda: True)
    assert synced.mean is mine and synced.stop and Alone.payload_bytes == (0, 0)
    assert isinstance(star(None, 0, ["hk"], 3), Alone)
