"""What a profile may claim bounds what is said, whatever the figures."""

import dataclasses

import pytest

from homeport import store
from homeport.decide import decide


def under(recorded, profile):
    """The same measurements, had the study named another profile."""
    study = recorded.study.model_copy(update={"profile": profile})
    return dataclasses.replace(recorded, folder=dataclasses.replace(recorded.folder, study=study))


def sla(decision, host):
    return next(c.sla for c in decision.candidates if c.host == host)


@pytest.fixture(scope="module")
def late(measured):
    """Tokyo is near, but one step in twelve comes late: it misses the target, not grossly."""
    return store.read(measured(tokyo={"rtt_ms": 20.0, "loss": 0.08}))


@pytest.mark.parametrize(
    ("profile", "word"), [("demo", "FAIL"), ("quick", "UNDECIDED"), ("standard", "FAIL")]
)
def test_quick_says_fail_only_where_the_target_is_grossly_missed(late, profile, word):
    got = decide(under(late, profile))
    tokyo = next(c for c in got.candidates if c.host == "tokyo")
    assert tokyo.sla.verdict == tokyo.by_site[0].sla == word
    assert sla(got, "la").verdict == "FAIL"  # 204 ms against 50
    assert ("says FAIL only where fewer than 50 %" in tokyo.sla.reason) is (word == "UNDECIDED")


@pytest.mark.parametrize(
    ("profile", "mark"), [("demo", True), ("quick", True), ("standard", False)]
)
def test_short_profiles_mark_their_targets_as_indications(late, profile, mark):
    reasons = decide(under(late, profile)).reasons
    assert any("(PASS, INDICATIVE)" in r for r in reasons) is mark
    assert any("(PASS)" in r for r in reasons) is not mark


def test_six_rounds_under_the_standard_profile_say_what_they_lack(usual_recorded):
    got = decide(under(usual_recorded, "standard"))
    assert got.verdict == "INDICATIVE"
    assert "6 rounds may say INDICATIVE at most: CLEAR needs a session of 12." in got.reasons
    assert not any("Profile standard" in reason for reason in got.reasons)
