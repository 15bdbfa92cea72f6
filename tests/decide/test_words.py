import numpy as np
import pytest

from homeport.decide import words
from homeport.stats import Estimate


@pytest.mark.parametrize(
    ("x", "text"),
    [
        (4012.3, "4,010"),
        (999.6, "1,000"),
        (1.0, "1.00"),
        (0.006514, "0.00651"),
        (33.74, "33.7"),
        (0, "0"),
        (-2.345, "-2.35"),
        (9_876_543.0, "9,880,000"),
    ],
)
def test_numbers_have_three_digits_and_no_exponent(x, text):
    assert words.number(x) == text


@pytest.mark.parametrize(
    ("share", "text"),
    [(1.0, "100 %"), (0.999999, "over 99.99 %"), (0.9958, "99.58 %"), (0.0, "0 %")],
)
def test_a_share_is_never_rounded_up_to_all(share, text):
    assert words.percent(share) == text


def test_an_interval_says_which_ends_it_has():
    inf = np.inf
    assert words.span(Estimate(2, 1, 3, 6)) == "(1.00 to 3.00)"
    assert words.span(Estimate(2, 1, inf, 6)) == "(at least 1.00)"
    assert words.span(Estimate(2, -inf, 3, 6)) == "(at most 3.00)"
    assert words.span(Estimate(2, -inf, inf, 2)) == "(no interval from so few)"


def test_lists_read_like_sentences():
    assert words.listed(["a"]) == "a"
    assert words.listed(["a", "b"]) == "a and b"
    assert words.listed(["a", "b", "c"]) == "a, b and c"
    assert words.rounds([3]) == "round 3" and words.rounds([1, 2]) == "rounds 1 and 2"
