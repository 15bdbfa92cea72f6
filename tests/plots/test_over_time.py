import itertools

import numpy as np
import pytest
from matplotlib.patches import Rectangle
from plots.studies import by_hand, drawn, labelled, reshaped, steps, words

from homeport import plots


def panel(figure, host):
    [axes] = [a for a in figure.axes if a.get_title("left").startswith(host)]
    return axes


def spans(axes):
    boxes = [p for p in axes.patches if isinstance(p, Rectangle)]
    return [(p.get_x(), p.get_x() + p.get_width()) for p in boxes]


@pytest.fixture
def rows():
    """Two seconds idle, two loaded, one idle; then two loaded after each of two gaps."""
    idle = steps("hk", range(30, 40), phase="idle") + steps("hk", [50.0] * 5, phase="idle", start=4)
    return (
        idle
        + steps("hk", range(40, 50), start=2)
        + steps("hk", [55.0] * 10, start=60)
        + steps("hk", [56.0] * 10, start=70)
    )


def test_loaded_spans_are_those_of_the_samples(demo, rows):
    axes = panel(plots.latency_over_time(by_hand(demo, rows)), "hk ·")
    assert spans(axes) == [
        pytest.approx((2.0, 3.8)),
        pytest.approx((60.0, 61.8)),
        pytest.approx((70.0, 71.8)),
    ]


def test_every_step_is_a_point(demo, rows):
    figure = plots.latency_over_time(by_hand(demo, rows))
    points = drawn(figure, "steps hk").get_offsets()
    assert len(points) == 45
    assert list(points[0]) == [0, 30] and list(points[-1]) == pytest.approx([71.8, 56])


def test_the_median_is_broken_where_nothing_was_measured(demo, rows):
    x, y = drawn(plots.latency_over_time(by_hand(demo, rows)), "median hk").get_data()
    broken = np.flatnonzero(np.isnan(y))
    assert len(broken) == 2
    assert x[broken[0] - 1] <= 4.8 and x[broken[0] + 1] >= 60


def test_steps_without_answer_and_lost_echoes_are_marked(demo, rows):
    late = steps("hk", [1000.0], metric="step_overdue_ms", start=3)
    lost = steps("hk", [1.0], metric="lost_echo", start=4)
    figure = plots.latency_over_time(by_hand(demo, rows + late + lost))
    assert drawn(figure, "overdue hk").get_offsets().tolist() == [[3, 1000]]
    assert drawn(figure, "lost hk").get_offsets()[:, 0].tolist() == [4]
    assert figure.axes[0].get_ylim()[1] > 1000
    assert "hk from guangdong: median 50 ms, 1 steps without an answer, 1 lost" in figure.alt


def test_a_host_without_samples_says_so(demo, rows):
    figure = plots.latency_over_time(by_hand(demo, rows))
    for host in ("tokyo", "la", "hk-twin"):
        assert "not measured" in words(panel(figure, host))
        assert f"{host} from guangdong: not measured." in figure.alt
    assert "not measured" not in words(panel(figure, "hk ·"))


def test_a_host_that_never_answered_was_measured(demo):
    rows = steps("hk", [1000.0] * 3, metric="step_overdue_ms")
    figure = plots.latency_over_time(by_hand(demo, rows))
    assert "not measured" not in words(panel(figure, "hk ·"))


def test_the_target_is_drawn_in_every_panel(demo, rows):
    figure = plots.latency_over_time(by_hand(demo, rows))
    lines = labelled(figure, "sla")
    assert len(lines) == len(demo.measured)
    assert {y for line in lines for y in line.get_ydata()} == {50.0}


def test_sites_stand_side_by_side(demo, rows):
    study = reshaped(demo, sites=("guangdong", "seoul"))
    figure = plots.latency_over_time(by_hand(study, rows + steps("hk", [77.0], site="seoul")))
    assert len(figure.axes) == 2 * len(study.measured)
    [axes] = [a for a in figure.axes if a.get_title("left") == "hk, seen from seoul"]
    [points] = [a for a in axes.collections if a.get_label() == "steps hk"]
    assert points.get_offsets()[:, 1].tolist() == [77]


@pytest.mark.parametrize(
    ("lasted_s", "unit"), [(100, "seconds"), (1000, "minutes"), (9e4, "hours")]
)
def test_time_is_told_in_a_fitting_unit(demo, lasted_s, unit):
    rows = steps("hk", [30.0]) + steps("hk", [30.0], start=lasted_s)
    assert f"{unit} since the session began" in words(plots.latency_over_time(by_hand(demo, rows)))


@pytest.mark.parametrize("most", [42.0, 55.0, 480.0, 1000.0])
def test_numbers_on_the_latency_axis_do_not_touch(demo, most):
    figure = plots.latency_over_time(by_hand(demo, steps("hk", [31.0, most])))
    figure.draw_without_rendering()
    for axes in figure.axes:
        boxes = [t.get_window_extent() for t in axes.get_yticklabels() if t.get_visible()]
        boxes = sorted(boxes, key=lambda box: box.y0)
        assert len(boxes) >= 2
        assert all(below.y1 < above.y0 for below, above in itertools.pairwise(boxes))


def test_no_lost_echo_and_no_echo_at_all_are_told_apart(demo, rows):
    assert "hk from guangdong: median 50 ms, 0 steps without an answer, echoes not measured" in (
        plots.latency_over_time(by_hand(demo, rows)).alt
    )
    echoes = steps("hk", [31.0] * 5, metric="rtt_ms")
    alt = plots.latency_over_time(by_hand(demo, rows + echoes)).alt
    assert "0 lost echoes" in alt and "hk from guangdong: echoes" not in alt
