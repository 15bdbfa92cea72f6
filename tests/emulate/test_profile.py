import dataclasses
import math

import pytest

from homeport.emulate import Access, Bursts, Profile


def test_a_round_trip_over_both_directions_loses_what_the_study_says(demo):
    link = demo.link("guangdong", "tokyo")
    one_way = Profile.of(link).loss
    assert link.loss_percent == 0.6
    assert 1 - (1 - one_way) ** 2 == pytest.approx(0.006)


def test_each_direction_takes_half_of_the_round_trip_and_the_rest_whole(demo):
    link = demo.link("guangdong", "hk").model_copy(update={"jitter_ms": 2.0})
    profile = Profile.of(link)
    assert profile.delay_ms == 15.5
    assert (profile.jitter_ms, profile.rate_mbit_s) == (2.0, 100.0)
    assert (profile.queue_ms, profile.hops) == (100.0, 8)


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("delay_ms", -1),
        ("delay_ms", math.nan),
        ("jitter_ms", math.inf),
        ("loss", 1.01),
        ("rate_mbit_s", 0),
        ("queue_ms", -0.1),
        ("hops", 31),
    ],
)
def test_a_profile_that_no_link_can_have_is_refused_by_name(key, value):
    with pytest.raises(ValueError, match=key):
        Profile(**{key: value})


def test_bursts_and_access_links_are_checked_too():
    with pytest.raises(ValueError, match="leave"):
        Bursts(enter=0.1, leave=1.5)
    with pytest.raises(ValueError, match="down_mbit_s"):
        Access(down_mbit_s=-5)


def test_a_profile_with_bursts_becomes_plain_values():
    plain = Profile(loss=Bursts(enter=0.01, leave=0.2)).as_dict()
    assert plain["loss"] == {"enter": 0.01, "leave": 0.2, "bad": 1.0, "good": 0.0}
    assert plain == dataclasses.asdict(Profile(loss=Bursts(enter=0.01, leave=0.2)))
