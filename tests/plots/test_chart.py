"""What all figures share: shapes of studies, names, colours, and their forms on paper."""

import logging
import re
import xml.etree.ElementTree as ET

import matplotlib as mpl
import pytest
from IPython.core.formatters import DisplayFormatter
from plots.studies import by_hand, drawn, labelled, renamed, reshaped, session, steps, words

from homeport import plots
from homeport.plots import labels

FIGURES = (
    plots.step_ecdf,
    plots.latency_over_time,
    plots.throughput_by_round,
    plots.update_stages,
)
SHAPES = {
    "one host, one strategy": {"hosts": {"hk": 31.0}, "strategies": [{"topology": "star"}]},
    "ten hosts": {"hosts": {f"h{n}": 20 * 1.3**n for n in range(10)}},
    "two sites": {"sites": ("guangdong", "seoul")},
}


def every_name(figure, study):
    text = "\n".join(words(figure))
    return all(re.search(rf"(?<![\w-]){host}(?![\w-])", text) for host in study.measured)


@pytest.mark.parametrize("shape", SHAPES.values(), ids=SHAPES)
def test_studies_of_every_shape_are_drawn_with_every_host(demo, data_folder, shape):
    study = reshaped(demo, **shape)
    recorded = session(study)
    for draw in FIGURES:
        figure = draw(recorded)
        assert every_name(figure, study), draw.__name__
        assert figure.alt and figure.get_suptitle()
        assert "not measured" not in "\n".join(words(figure)) + figure.alt
        ET.fromstring(plots.svg(figure, "x"))


@pytest.mark.parametrize("draw", FIGURES)
def test_a_session_without_any_number_is_drawn_and_says_so(demo, draw):
    figure = draw(by_hand(demo, []))
    assert every_name(figure, demo)
    text = "\n".join(words(figure))
    assert text.count("not measured") >= len(demo.measured)
    figure._repr_png_()


NASTY = {
    "hk": "香港 $x_{ \\frac{",
    "tokyo": "$\\frac{$ <script>alert(1)</script>" + "long " * 2000,
    "la": "\u202eرجل\n\x00\x1b[31m$",
    "guangdong": "广东",
}


@pytest.mark.parametrize("draw", FIGURES)
def test_no_text_of_a_region_breaks_a_figure(recorded, draw):
    figure = draw(renamed(recorded, NASTY))
    figure._repr_png_()
    image = plots.svg(figure, "x")
    ET.fromstring(image)
    assert "<script" not in image
    assert max(len(line) for text in words(figure) for line in text.splitlines()) < 90


def test_a_region_no_font_can_draw_leaves_the_name(demo, monkeypatch):
    monkeypatch.setattr(labels, "_drawable", lambda: frozenset(range(128)))
    study = renamed(by_hand(demo, []), {"hk": "香港"}).study
    assert labels.host_label(study, "hk") == "hk"
    assert labels.host_label(study, "la") == "la · Los Angeles"


def test_a_region_that_a_font_can_draw_is_shown(demo, monkeypatch):
    monkeypatch.setattr(labels, "_drawable", lambda: frozenset(map(ord, "香港")))
    study = renamed(by_hand(demo, []), {"hk": "香港"}).study
    assert labels.host_label(study, "hk") == "hk · 香港"


def test_a_font_for_chinese_is_used_where_there_is_one_without_a_word(monkeypatch, caplog):
    log = logging.getLogger("matplotlib.font_manager")
    monkeypatch.setattr(log, "filters", [])
    assert labels.fonts.__wrapped__()[0] == "DejaVu Sans"
    monkeypatch.setattr(labels, "_CJK", ("No Such Font", "DejaVu Serif", "DejaVu Sans Mono"))
    assert labels.fonts.__wrapped__() == ("DejaVu Sans", "DejaVu Serif")
    log.warning("findfont: Failed to find font weight bold for DejaVu Serif, now using 400.")
    log.warning("something else")
    assert [record.getMessage() for record in caplog.records] == ["something else"]


def test_long_and_many_lined_text_becomes_one_short_line():
    assert labels.short("a\n b\t\u202ec" + "x" * 99) == "a b c" + "x" * 16 + "…"


def test_a_host_has_one_colour_in_all_figures(demo, recorded):
    for host in demo.measured:
        colour = labels.host_colour(demo, host)
        assert drawn(plots.step_ecdf(recorded), f"ecdf {host}").get_color() == colour
        rounds = labelled(plots.throughput_by_round(recorded), f"rounds {host}")
        assert {line.get_color() for line in rounds} == {colour}
        dots = drawn(plots.latency_over_time(recorded), f"steps {host}").get_facecolor()[0]
        assert mpl.colors.to_hex(dots) == colour


def test_ten_hosts_have_ten_colours_that_read_well_as_text(demo):
    study = reshaped(demo, hosts={f"h{n}": 30.0 for n in range(10)})
    colours = [labels.host_colour(study, host) for host in study.candidates]
    assert len(set(colours)) == 10
    for colour in colours:
        ink = labels._luminance(mpl.colors.to_rgb(labels.text_colour(colour)))
        assert 1.05 / (ink + 0.05) >= 4.4


def test_a_notebook_shows_a_picture_without_pyplot(demo):
    figure = plots.step_ecdf(by_hand(demo, steps("hk", [30.0])))
    content, about = DisplayFormatter().format(figure)
    assert content["image/png"].startswith(b"\x89PNG")
    assert about["image/png"] == {"width": 826, "height": 374}


def test_svg_is_the_same_every_time_and_carries_no_date(recorded):
    one, two = (plots.svg(plots.latency_over_time(recorded), "x") for _ in range(2))
    assert one == two
    assert "<metadata" not in one and "dc:date" not in one and "Matplotlib" not in one


def test_svg_ids_begin_with_the_name_and_lead_somewhere(recorded):
    image = plots.svg(plots.latency_over_time(recorded), "fig-1")
    ids = re.findall(r'\bid="([^"]*)"', image)
    assert len(set(ids)) == len(ids) and all(i.startswith("fig-1-") for i in ids)
    used = re.findall(r'href="#([^"]+)"|url\(#([^)]+)\)', image)
    assert used and {a or b for a, b in used} <= set(ids)


def test_svg_says_in_words_what_it_shows(demo):
    figure = plots.step_ecdf(by_hand(demo, steps("hk", [30.0])))
    image = ET.fromstring(plots.svg(figure, "x"))
    space = {"s": "http://www.w3.org/2000/svg"}
    assert image.get("role") == "img"
    assert image.get("aria-labelledby") == "x-title x-desc"
    assert image.find("s:title", space).text == figure.get_suptitle()
    assert image.find("s:desc", space).text == figure.alt


def test_drawing_leaves_the_settings_of_matplotlib_alone(demo):
    recorded = by_hand(demo, steps("hk", [30.0]))
    with mpl.rc_context({"font.size": 17.0}):
        before = dict(mpl.rcParams)
        plots.svg(plots.step_ecdf(recorded), "x")
        assert dict(mpl.rcParams) == before


def test_positions_are_spread_no_more_than_needed():
    spread = plots.chart.spread
    assert spread([1.0, 5.0], 1, 0, 10) == [1, 5]
    assert spread([5.0, 5.1, 0.0], 1, 0, 10) == [5, 6, 0]
    assert spread([10.0, 10.0], 1, 0, 10) == [9, 10]
    assert spread([5.0] * 11, 3, 0, 10) == pytest.approx(range(11))
    assert spread([], 1, 0, 10) == []
