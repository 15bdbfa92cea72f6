import math

import numpy as np
import pytest
from plots.studies import by_hand, drawn, labelled, words

from homeport import plots

STAGES = ("collect_ms", "update_ms", "wait_ms", "wire_ms")


def throughput(host, values, strategy="local"):
    return [
        {
            "metric": "throughput_steps_s",
            "value": value,
            "host": host,
            "round": round,
            "strategy": strategy,
            "notebook": "20_training",
        }
        for round, value in values.items()
    ]


def failure(host, round, notebook="20_training"):
    return {
        "failure": "GangFailed",
        "reason": "no answer",
        "host": host,
        "round": round,
        "notebook": notebook,
    }


def update(host, stages, *, source="guangdong", phase="loaded", strategy="local", rank=1):
    row = {"host": host, "source": source, "phase": phase, "strategy": strategy, "rank": rank}
    return [
        {**row, "metric": metric, "value": value}
        for metric, value in zip(STAGES, stages, strict=True)
    ]


@pytest.fixture
def local(demo):
    """A study with one strategy."""
    return demo.model_copy(update={"strategies": demo.strategies[1:]})


def test_each_round_is_a_point_and_a_missing_one_a_gap(local):
    rows = throughput("hk", {1: 100.0, 2: 110.0, 4: 90.0, 5: 95.0, 6: 105.0})
    x, y = drawn(plots.throughput_by_round(by_hand(local, rows)), "rounds hk").get_data()
    assert list(x) == [1, 2, 3, 4, 5, 6]
    assert np.array_equal(y, [100, 110, math.nan, 90, 95, 105], equal_nan=True)


def test_lines_carry_name_and_median(local):
    rows = throughput("hk", {1: 2500.0, 2: 2614.0, 3: 9999.0}) + throughput("la", {1: 0.5})
    found = words(plots.throughput_by_round(by_hand(local, rows)))
    assert "hk 2,610" in found and "la 0.500" in found


def test_failed_slots_are_crosses_at_their_round(local):
    rows = [*throughput("tokyo", {1: 100.0, 3: 90.0}), failure("tokyo", 2)]
    figure = plots.throughput_by_round(by_hand(local, rows))
    [[x, y]] = drawn(figure, "failed tokyo").get_offsets().tolist()
    assert round(x) == 2 and y < 0.1
    assert "slot failed" in words(figure)


def test_a_failed_attempt_that_was_repeated_is_no_cross(local):
    rows = [*throughput("tokyo", {1: 100.0, 2: 90.0}), failure("tokyo", 2)]
    rows.append(failure("hk", 1, "10_network"))
    figure = plots.throughput_by_round(by_hand(local, rows))
    assert "slot failed" not in words(figure)


def test_a_host_without_throughput_says_so(local):
    figure = plots.throughput_by_round(by_hand(local, throughput("hk", {1: 100.0})))
    assert "tokyo: not measured\nla: not measured\nhk-twin: not measured" in words(figure)
    assert "la: not measured" in figure.alt


def test_the_twin_is_dashed_and_has_the_colour_of_its_host(local):
    rows = throughput("hk", {1: 100.0}) + throughput("hk-twin", {1: 101.0})
    figure = plots.throughput_by_round(by_hand(local, rows))
    host, twin = drawn(figure, "rounds hk"), drawn(figure, "rounds hk-twin")
    assert host.get_color() == twin.get_color()
    assert host.get_linestyle() == "-" and twin.get_linestyle() == "--"


def test_strategies_have_panels_on_one_scale(demo):
    rows = throughput("hk", {1: 100.0}, "star") + throughput("hk", {1: 2000.0})
    figure = plots.throughput_by_round(by_hand(demo, rows))
    titles = [axes.get_title("left") for axes in figure.axes]
    assert titles == ["strategy star", "strategy local"]
    assert figure.axes[0].get_ylim() == figure.axes[1].get_ylim()
    assert "hk 100" in words(figure.axes[0]) and "hk 2,000" in words(figure.axes[1])


def bars(figure, label):
    return [bar for stage in labelled(figure, label) for bar in stage.patches]


def heights(figure, label):
    return [bar.get_width() for bar in bars(figure, label)]


def test_bars_are_the_means_of_the_stages(local):
    rows = update("hk", [10, 20, 30, 40]) + update("hk", [12, 26, 38, 44])
    rows += update("hk", [11, 20, 33, 90], rank=2)
    figure = plots.update_stages(by_hand(local, rows))
    assert heights(figure, "local hk") == pytest.approx([11, 22, 101 / 3, 58])
    assert "125 ms, 74 % network" in words(figure)
    assert "hk with local: 125 ms, 74 % network." in figure.alt


def test_an_average_every_few_updates_is_part_of_the_bar(local):
    rows = [row for _ in range(3) for row in update("hk", [10, 20, 0, 0])]
    figure = plots.update_stages(by_hand(local, rows + update("hk", [10, 20, 40, 400])))
    assert heights(figure, "local hk") == [10, 20, 10, 100]


def test_bars_leave_out_the_learner_and_the_warm_up(local):
    rows = update("hk", [1, 2, 3, 4]) + update("hk", [900] * 4, source="hk", rank=0)
    rows += update("hk", [900] * 4, phase="warmup")
    assert heights(plots.update_stages(by_hand(local, rows)), "local hk") == [1, 2, 3, 4]


def test_bars_stand_end_to_end(local):
    figure = plots.update_stages(by_hand(local, update("hk", [10, 20, 30, 40])))
    assert [bar.get_x() for bar in bars(figure, "local hk")] == [0, 10, 30, 60]


def test_an_option_without_updates_says_so(demo):
    figure = plots.update_stages(by_hand(demo, update("hk", [1, 2, 3, 4])))
    assert words(figure).count("not measured") == 2 * len(demo.measured) - 1
    assert heights(figure, "star hk") == []
    assert "hk with star: not measured." in figure.alt


def test_a_stage_that_is_missing_is_not_taken_for_zero(local):
    rows = update("hk", [10, 20, 30, 40])[:3]
    figure = plots.update_stages(by_hand(local, rows))
    assert words(figure).count("not measured") == len(local.measured)


def test_planted_throughput_is_where_the_lines_stand(recorded):
    figure = plots.throughput_by_round(recorded)
    values = recorded.values("throughput_steps_s")
    for axes, strategy in zip(figure.axes, ("star", "local"), strict=True):
        [line] = [a for a in axes.lines if a.get_label() == "rounds la"]
        mine = values[(values["host"] == "la") & (values["strategy"] == strategy)]
        assert list(line.get_ydata()) == list(mine.sort_values("round")["value"])
