"""From a decision to the figure of its differences."""

import pytest
from plots.studies import drawn, labelled, words

from homeport import report
from homeport.decide.decision import Decision


def test_points_are_the_comparisons_of_the_decision(recorded, decision):
    figure = report.paired_differences(recorded, decision)
    assert drawn(figure, "ratio hk star").get_xdata() == [2.89]
    assert drawn(figure, "aa hk star").get_xdata() == [1.01]
    assert drawn(figure, "aa hk local").get_xdata() == [0.995]
    assert words(figure).count("not compared: missed the latency target") == 4


def test_a_pair_with_too_few_rounds_is_not_drawn_as_a_comparison(recorded, content):
    content["comparisons"][0] |= {"p": None, "p_holm": None}
    figure = report.paired_differences(recorded, Decision.model_validate(content))
    assert not labelled(figure, "ratio hk star")
    assert "not compared: too few complete pairs" in words(figure)


@pytest.mark.parametrize(("verdict", "leader"), [("LEADER", True), ("NOT_COMPARED", False)])
def test_without_comparisons_the_leader_is_who_is_called_so(recorded, content, verdict, leader):
    content["comparisons"] = []
    content["options"][0]["verdict"] = verdict
    figure = report.paired_differences(recorded, Decision.model_validate(content))
    assert bool(labelled(figure, "leader")) is leader
    assert ("no leading option" in words(figure)) is not leader
