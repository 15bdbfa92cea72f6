import numpy as np
import pytest
from statsmodels.stats.multitest import multipletests

from homeport.stats import holm


def test_six_pairs_of_four_regions():
    raw = [0.0004, 0.001, 0.012, 0.03, 0.045, 0.2]
    assert holm(raw) == pytest.approx([0.0024, 0.005, 0.048, 0.09, 0.09, 0.2])


@pytest.mark.parametrize("seed", range(5))
def test_agrees_with_statsmodels_in_any_order_and_with_ties(seed):
    p = np.random.default_rng(seed).integers(0, 12, 9) / 30
    assert holm(p) == pytest.approx(multipletests(p, method="holm")[1])


def test_one_comparison_needs_no_correction_and_none_is_none():
    assert holm([0.031]).tolist() == [0.031]
    assert holm([]).tolist() == []


def test_never_exceeds_one():
    assert holm([0.6, 0.7, 0.9]).max() == 1.0


@pytest.mark.parametrize("wrong", [-0.1, 1.1, np.nan])
def test_what_is_no_probability_is_refused(wrong):
    with pytest.raises(ValueError, match="from 0 to 1"):
        holm([0.5, wrong])
