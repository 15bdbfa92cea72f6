"""What a sitting notices by itself, without a world to run in."""

import time
from types import SimpleNamespace

import pytest

from homeport import store
from homeport.background import gaps
from homeport.errors import ClockSetBack, WorldBroken
from homeport.session import Live, Page


@pytest.fixture
def live(demo, data_folder):
    """A sitting whose world can be told to have ended."""
    folder = store.SessionFolder.create(demo, provenance={})
    live = Live(folder, demo.measured)
    live.world = SimpleNamespace(alive=lambda: True)
    live.background = SimpleNamespace(notice=lambda: None, revive=list)
    return live


def test_a_sound_sitting_notices_nothing(live):
    live._notice()
    live.check()
    assert live.folder.notes("troubles") == [] and gaps(live.folder, "hk") == []


def test_a_clock_set_back_ends_the_measuring(live, monkeypatch):
    now = time.time
    monkeypatch.setattr(time, "time", lambda: now() - 3600)
    live._notice()
    with pytest.raises(ClockSetBack, match=r"set back by 3600\.0 s"):
        live.check()
    assert live.folder.notes("troubles")[0]["clock_step_s"] == pytest.approx(-3600, abs=1)


def test_a_clock_set_forward_is_noted_and_does_no_harm(live, monkeypatch):
    now = time.time
    monkeypatch.setattr(time, "time", lambda: now() + 3600)
    live._notice()
    live._notice()
    live.check()
    assert len(live.folder.notes("troubles")) == 1


def test_a_world_that_ended_is_noted_once_and_told(live):
    live.world = SimpleNamespace(alive=lambda: False)
    live._notice()
    live._notice()
    for host in live.study.measured:
        (gap,) = gaps(live.folder, host)
        assert gap.kind == "WorldBroken" and gap.streams == ("ping", "steps")
    with pytest.raises(WorldBroken, match="relay"):
        live.check()


def test_a_page_that_measured_nothing_leaves_an_attempt_not_a_part(demo, data_folder):
    folder = store.SessionFolder.create(demo, kind="single", provenance={})
    ended = SimpleNamespace(close_rounds=lambda: None, begin_round=lambda round: None)
    page = Page("20_training", folder, "hk", 1, live=ended)
    assert page.save().endswith("20_training.failure-1.parquet")
    (failed,) = store.read(folder).failures()["reason"]
    assert "no cell of the page measured anything" in failed
