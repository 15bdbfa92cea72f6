import pytest
from plots.studies import drawn, labelled, texts, words

from homeport import plots
from homeport.plots import Ratio

RATIOS = [
    Ratio("hk", "star", 2.89, 2.76, 3.02),
    Ratio("tokyo", "local", 1.73, 1.66, None),
    Ratio("la", "local", None, note="missed the latency target"),
    Ratio("la", "star", None),
    Ratio("hk", "local", 0.995, 0.966, 1.021, aa=True),
]


@pytest.fixture
def figure(demo):
    return plots.paired_differences(demo, "hk · Hong Kong, local", RATIOS, 3.8)


def test_points_are_the_ratios(figure):
    [x], [y] = drawn(figure, "ratio hk star").get_data()
    assert (x, y) == (2.89, 1)
    assert drawn(figure, "ratio tokyo local").get_xdata() == [1.73]
    assert drawn(figure, "leader").get_xdata() == [1]


def test_intervals_are_drawn_and_told(figure):
    assert list(drawn(figure, "interval 1").get_xdata()) == [2.76, 3.02]
    assert "2.89 (2.76 to 3.02)" in words(figure)


def test_an_unbounded_end_runs_to_the_edge(figure):
    axes = figure.axes[0]
    assert list(drawn(figure, "interval 2").get_xdata()) == [1.66, axes.get_xlim()[1]]
    assert "1.73 (1.66 to unbounded)" in words(figure)
    assert any(line.get_marker() == ">" for line in axes.lines)


def test_the_noise_floor_is_a_band_on_the_ratio_scale(figure):
    band = drawn(figure, "floor").get_extents().transformed(figure.axes[0].transData.inverted())
    assert (band.x0, band.x1) == (pytest.approx(1 / 1.038), pytest.approx(1.038))
    assert "noise floor 3.8 %" in figure.axes[0].get_xlabel()


def test_an_option_that_was_not_compared_says_why(figure):
    found = words(figure)
    assert "not compared: missed the latency target" in found
    assert "not measured" in found
    assert "la star: not measured." in figure.alt


def test_the_twin_stands_apart_below_all_options(figure):
    twin = drawn(figure, "aa hk local")
    assert twin.get_markerfacecolor() == "white"
    assert twin.get_ydata()[0] > len(RATIOS)
    assert "hk-twin over hk, local" in words(figure)


def test_every_option_has_its_row(figure):
    rows = [label.get_text() for label in figure.axes[0].get_yticklabels()]
    assert rows == [
        "hk · Hong Kong, local",
        "hk · Hong Kong, star",
        "tokyo · Tokyo, local",
        "la · Los Angeles, local",
        "la · Los Angeles, star",
        "hk-twin over hk, local",
    ]


def test_an_unknown_noise_floor_has_no_band(demo):
    figure = plots.paired_differences(demo, None, RATIOS[4:], None)
    assert not labelled(figure, "floor")
    assert "noise floor not measured" in figure.axes[0].get_xlabel()
    assert "no leading option" in words(figure)


@pytest.mark.parametrize(("ratio", "side"), [(3.0, "right"), (0.3, "left")])
def test_the_heading_of_the_twins_keeps_clear_of_the_line_at_one(demo, ratio, side):
    ratios = [Ratio("hk", "star", ratio, ratio * 0.99, ratio * 1.01), RATIOS[4]]
    figure = plots.paired_differences(demo, "hk", ratios, 3.8)
    [heading] = [text for text in texts(figure) if text.get_text().startswith("A/A: a host")]
    assert heading.get_horizontalalignment() == side
