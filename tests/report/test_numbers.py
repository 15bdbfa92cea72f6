import pandas as pd
import pytest

from homeport.decide.decision import Interval
from homeport.report import page, provenance, words
from homeport.report.numbers import p_value, percent, plain, show


@pytest.mark.parametrize(
    ("value", "width", "text"),
    [
        (0, 0, "0"),
        (2571.3, 140, "2,570"),
        (31.04, 0, "31.0"),
        (9.996, 0, "10.0"),
        (0.009713, 0, "0.00971"),
        (1234567, 0, "1,230,000"),
        (-31.04, 0, "-31.0"),
        (142.87, 0.18, "142.9"),
        (32.34, 0.0001, "32.34"),
        (2571.3, 0.5, "2,571.3"),
    ],
)
def test_digits_are_sensible(value, width, text):
    assert plain(value, width) == text


@pytest.mark.parametrize(
    ("share", "text"),
    [
        (0, "0 %"),
        (1, "100 %"),
        (0.5, "50.0 %"),
        (0.9985, "99.85 %"),
        (0.99931, "99.931 %"),
        (0.9999999, "> 99.999 %"),
        (0.0000001, "< 0.001 %"),
        (0.0142, "1.4 %"),
    ],
)
def test_a_share_is_never_rounded_onto_its_edge(share, text):
    assert percent(share) == text


@pytest.mark.parametrize(
    ("given", "text"),
    [
        (None, "not measured"),
        ({"value": None, "n": 0}, "not measured"),
        ({"value": None, "low": 1000.0, "n": 9}, "over 1,000 ms"),
        ({"value": None, "low": 1.0, "high": 2.0, "n": 9}, "over 1.00 ms (at most 2.00)"),
        ({"value": None, "high": 2.0, "n": 9}, "under 2.00 ms"),
        ({"value": 31.0, "low": 30.0, "high": 32.0, "n": 9}, "31.0 ms (30.0 to 32.0)"),
        ({"value": 31.0, "low": 30.0, "n": 9}, "31.0 ms (at least 30.0)"),
        ({"value": 31.0, "high": 32.0, "n": 9}, "31.0 ms (at most 32.0)"),
        ({"value": 31.0, "n": 1}, "31.0 ms (no interval)"),
        ({"value": 0.0, "low": 0.0, "high": 0.0, "n": 9}, "0 ms (0 to 0)"),
    ],
)
def test_an_interval_says_what_is_known(given, text):
    assert str(show(given and Interval(**given), unit="ms")) == text


def test_zero_is_not_taken_for_missing():
    assert show(Interval(value=0.0, low=0.0, high=0.007, n=420), percent).measured


def test_n_is_told_with_what_it_counts():
    assert show(Interval(value=1.0, n=1234), units="steps").n == "n = 1,234 steps"


@pytest.mark.parametrize(
    ("p", "text"), [(None, "not measured"), (0.03125, "0.031"), (0.0004, "< 0.001"), (1, "1.000")]
)
def test_p_values(p, text):
    assert p_value(p) == text


def test_text_is_cleaned_but_scripts_keep_their_joiners():
    assert words.clean("a\u202eb\x00c\x1b[31m\n\n d") == "a b c [31m d"
    assert (
        words.clean("\u0645\u06cc\u200c\u062e\u0648\u0627\u0647\u0645")
        == "\u0645\u06cc\u200c\u062e\u0648\u0627\u0647\u0645"
    )
    assert words.clean("x" * 50, 10) == "x" * 9 + "…"
    assert words.clean("\ud800") == ""


def test_headline_splits_at_an_early_colon_only():
    assert words.headline("Rent hk: it is best: yes") == ("Rent hk", "it is best: yes")
    assert words.headline("No colon here") == ("No colon here", "")
    late = "x" * 120 + ": rest"
    assert words.headline(late) == (late, "")


def test_provenance_is_flat_and_dates_are_dates():
    facts = {"a": {"b": None, "c": [1, 2]}, "started_s": 1790000000.0, "took_s": 3.5, "e": {}}
    assert provenance.flat({**facts, "minutes": 7.655733333333331, "dirty": False}) == [
        ("a.b", "not known"),
        ("a.c", "1, 2"),
        ("started_s", "2026-09-21 14:13:20 UTC"),
        ("took_s", "3.5"),
        ("e", "{}"),
        ("minutes", "7.656"),
        ("dirty", "no"),
    ]


def test_failures_are_cut_but_counted(recorded):
    one = recorded.failures()
    many = pd.concat([one] * 50, ignore_index=True)
    told, more = page.failures(many)
    assert (len(told), more) == (40, 10)
    assert page.failures(one.iloc[:0]) == ([], 0)
