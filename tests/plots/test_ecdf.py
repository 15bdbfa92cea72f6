import numpy as np
import pytest
from plots.studies import by_hand, drawn, reshaped, steps, texts, words

from homeport import plots


def curve(figure, host):
    return drawn(figure, f"ecdf {host}").get_data()


def test_target_stands_where_the_study_puts_it(demo):
    figure = plots.step_ecdf(by_hand(demo, steps("hk", [30.0])))
    assert set(drawn(figure, "sla").get_xdata()) == {50.0}
    assert set(drawn(figure, "share").get_ydata()) == {0.99}
    assert "target: 99 % within 50 ms" in words(figure)


def test_curve_rises_by_one_step_at_each_latency(demo):
    figure = plots.step_ecdf(by_hand(demo, steps("hk", [40.0, 20.0, 60.0, 30.0])))
    x, y = curve(figure, "hk")
    assert list(x) == [20, 20, 30, 40, 60]
    assert list(y) == [0, 0.25, 0.5, 0.75, 1]
    assert drawn(figure, "ecdf hk").get_drawstyle() == "steps-post"
    assert "hk · Hong Kong: 75 % in time" in words(figure)


def test_steps_without_an_answer_keep_the_curve_below_one(demo):
    late = steps("tokyo", [1000.0], metric="step_overdue_ms")
    figure = plots.step_ecdf(by_hand(demo, steps("tokyo", [40.0, 41.0, 42.0]) + late))
    x, y = curve(figure, "tokyo")
    assert (x[-1], y[-1]) == (42, 0.75)
    assert "tokyo · Tokyo: 75 % in time, 1 unanswered" in words(figure)


def test_a_step_exactly_at_the_target_is_in_time(demo):
    figure = plots.step_ecdf(by_hand(demo, steps("hk", [50.0, 50.001])))
    assert "hk · Hong Kong: 50 % in time" in words(figure)


def test_almost_all_is_never_told_as_all(demo):
    figure = plots.step_ecdf(by_hand(demo, steps("hk", [30.0] * 9999 + [70.0])))
    assert "hk · Hong Kong: > 99.9 % in time" in words(figure)


@pytest.mark.parametrize("label", ["loaded", "idle"])
def test_only_steps_with_the_label_that_binds_count(demo, label):
    study = demo.model_copy(update={"sla": demo.sla.model_copy(update={"label": label})})
    rows = steps("hk", [10.0], phase="idle") + steps("hk", [90.0], phase="loaded")
    rows += steps("hk", [1000.0], metric="step_overdue_ms", phase="warmup")
    x, y = curve(plots.step_ecdf(by_hand(study, rows)), "hk")
    assert list(x) == [{"idle": 10, "loaded": 90}[label]] * 2
    assert y[-1] == 1


def test_silence_and_absence_are_told_apart(demo):
    rows = steps("hk", [30.0]) + steps("tokyo", [1000.0] * 7, metric="step_overdue_ms")
    figure = plots.step_ecdf(by_hand(demo, rows))
    [missing] = [text for text in words(figure) if "la" in text and "measured" in text]
    assert missing.splitlines() == [
        "tokyo · Tokyo: none of 7 steps answered",
        "la · Los Angeles: not measured",
        "hk-twin (A/A): not measured",
    ]
    assert "la · Los Angeles: not measured" in figure.alt


def test_a_long_curve_is_thinned_but_its_tail_is_whole(demo):
    values = np.random.default_rng(1).lognormal(3.4, 0.3, 4500)
    x, y = curve(plots.step_ecdf(by_hand(demo, steps("hk", values))), "hk")
    assert len(x) <= 402
    assert list(x[-200:]) == sorted(values)[-200:]
    assert np.allclose(y[1:], np.searchsorted(np.sort(values), x[1:], side="right") / 4500)


def test_every_site_has_its_panel(demo):
    study = reshaped(demo, sites=("guangdong", "seoul", "taipei"))
    rows = steps("hk", [30.0]) + steps("hk", [60.0], site="seoul")
    figure = plots.step_ecdf(by_hand(study, rows))
    shown = [axes for axes in figure.axes if axes.get_visible()]
    titles = [axes.get_title("left") for axes in shown]
    assert titles == [f"seen from {s} · {s.title()}" for s in study.sites]
    assert "hk · Hk: 100 % in time" in words(shown[0])
    assert "hk · Hk: 0 % in time" in words(shown[1])
    assert any("hk · Hk: not measured" in text for text in words(shown[2]))


def test_planted_latency_is_where_the_curve_stands(recorded):
    figure = plots.step_ecdf(recorded)
    for host, rtt_ms in (("hk", 31), ("tokyo", 142), ("la", 204)):
        x, y = curve(figure, host)
        assert np.interp(0.5, y, x) == pytest.approx(rtt_ms + 1.7, abs=0.5)


def label_of(figure, host):
    """Where the words beside a curve stand: `left` or `right` of it."""
    found = [t for t in texts(figure) if t.get_text().startswith(host)]
    return {"right": "left", "left": "right"}[found[0].get_horizontalalignment()]


@pytest.mark.parametrize(
    ("ms", "sides"),
    [
        # Towards the target there is less room than towards the axis.
        ({"hk": 31.0, "hk-twin": 31.2}, {"hk ": "left", "hk-twin": "left"}),
        (
            {"hk": 31.0, "tokyo": 142.0, "la": 204.0},
            {"hk ": "left", "tokyo": "left", "la": "right"},
        ),
        ({"hk": 5.0}, {"hk ": "right"}),
    ],
)
def test_words_stand_where_they_cross_neither_curve_nor_target(demo, ms, sides):
    rows = [row for host, value in ms.items() for row in steps(host, [value, value * 1.01])]
    figure = plots.step_ecdf(by_hand(demo, rows))
    assert {host: label_of(figure, host) for host in sides} == sides


def test_words_stand_below_the_slowest_tenth(demo):
    rows = [row for host in demo.measured for row in steps(host, np.linspace(140, 160, 200))]
    figure = plots.step_ecdf(by_hand(demo, rows))
    beside = [text for text in texts(figure) if "% in time" in text.get_text()]
    assert len(beside) == len(demo.measured)
    assert all(text.xy[1] < 0.92 for text in beside)
