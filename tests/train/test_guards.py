"""What must agree before ranks exchange anything, and who is named when it does not."""

from datetime import timedelta

import pytest
import torch.distributed as dist

from homeport.errors import GangFailed
from homeport.train import guards

PLACES = ["hk", "guangdong", "guangdong"]


def fact(address="10.77.1.1", advertised=None, **versions):
    shown = {"torch": "2.13.0", **versions}
    return {"address": address, "advertised": advertised or address, "versions": shown}


def test_like_places_pass():
    guards.check_places([fact("10.77.1.1"), fact("10.77.2.1"), fact("10.77.2.1")], PLACES)


def test_all_on_one_machine_may_use_loopback():
    guards.check_places([fact("127.0.0.1"), fact("127.0.0.2"), fact("127.0.0.2")], PLACES)


def test_a_loopback_address_among_others_is_named():
    facts = [fact("10.77.1.1"), fact("10.77.2.1"), fact("127.0.1.1")]
    with pytest.raises(GangFailed, match=r"rank 2 at guangdong.*127\.0\.1\.1"):
        guards.check_places(facts, PLACES)


def test_what_gloo_would_advertise_counts_too():
    facts = [fact("10.77.1.1", advertised="127.0.0.1"), fact("10.77.2.1"), fact("10.77.2.1")]
    with pytest.raises(GangFailed, match=r"rank 0 at hk.*127\.0\.0\.1"):
        guards.check_places(facts, PLACES)


def test_the_rank_with_another_version_is_named_even_if_it_is_the_learner():
    facts = [fact(torch="2.12.0"), fact(), fact()]
    with pytest.raises(GangFailed, match=r"rank 0 at hk: its versions differ.*2\.12\.0"):
        guards.check_places(facts, PLACES)


def test_of_two_that_differ_the_learner_is_right():
    with pytest.raises(GangFailed, match="rank 1 at guangdong: its parameters differ"):
        guards.check_equal(["8 x 4", "8 x 5"], PLACES, "parameters")


@pytest.fixture
def store():
    return dist.TCPStore("127.0.0.1", 0, is_master=True, timeout=timedelta(seconds=0.3))


def test_facts_come_back_by_rank(store):
    for rank in (2, 0, 1):
        guards.share(store, "place", rank, {"of": rank})
    assert guards.read(store, "place", PLACES) == [{"of": 0}, {"of": 1}, {"of": 2}]


def test_who_does_not_show_up_is_named(store):
    for rank in (0, 2):
        guards.share(store, "place", rank, {})
    with pytest.raises(GangFailed, match="rank 1 at guangdong: did not show up"):
        guards.read(store, "place", PLACES)


def test_the_versions_shown_are_those_installed():
    import torch

    assert guards.versions()["torch"] == torch.__version__
