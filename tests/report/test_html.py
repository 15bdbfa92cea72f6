import dataclasses
import re
from html.parser import HTMLParser

import pytest
from report.conftest import CANARY

from homeport import report
from homeport.decide.decision import Decision

VOID = {"meta", "br", "link", "img", "hr", "input"}


class Page(HTMLParser):
    """Reads a page strictly: every element that opens must close, in order."""

    def __init__(self, text):
        super().__init__(convert_charrefs=True)
        self.open, self.elements, self.words = [], [], []
        self.feed(text)
        self.close()
        assert not self.open, self.open

    def handle_starttag(self, tag, attributes):
        self.elements.append((tag, dict(attributes)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attributes):
        self.elements.append((tag, dict(attributes)))

    def handle_endtag(self, tag):
        assert self.open.pop() == tag, (tag, self.getpos())

    def handle_data(self, text):
        if self.open[-1:] not in (["style"], ["title"]) and text.strip():
            self.words.append(text.strip())

    def of(self, tag):
        return [attributes for name, attributes in self.elements if name == tag]

    @property
    def text(self):
        return " ".join(" ".join(self.words).split())


def written(recorded, decision, folder):
    [path] = report.write_report(recorded, decision, folder, ("html",))
    assert path == folder / "decision.html"
    return path.read_text(encoding="utf-8")


@pytest.fixture(scope="session")
def cached():
    return {}


@pytest.fixture
def html(recorded, decision, tmp_path, cached):
    """The page of the session; drawn once for all tests that only look at it."""
    if "html" not in cached:
        cached["html"] = written(recorded, decision, tmp_path)
    return cached["html"]


@pytest.fixture
def page(html):
    return Page(html)


def test_page_is_whole_and_declares_what_it_is(html, page):
    assert html.lstrip().startswith("<!DOCTYPE html>")
    assert page.of("html") == [{"lang": "en"}]
    assert {"charset": "utf-8"} in page.of("meta")
    assert any(m.get("name") == "viewport" for m in page.of("meta"))


def test_page_forbids_itself_to_load_anything(page):
    [policy] = [m["content"] for m in page.of("meta") if "http-equiv" in m]
    assert policy == "default-src 'none'; style-src 'unsafe-inline'; img-src data:"


def test_page_names_nothing_outside_itself(html, page):
    for tag, attributes in page.elements:
        assert tag not in {"script", "link", "iframe", "object", "embed", "base", "form"}
        for name, value in attributes.items():
            assert not name.startswith("on"), (tag, name)
            if name in {"src", "href", "xlink:href", "srcset", "action", "data", "poster"}:
                assert value.startswith(("#", "data:image/png;base64,")), (tag, name, value[:60])
    assert "@import" not in html
    assert all(link.startswith("#") for link in re.findall(r"url\(([^)]*)\)", html))
    outside = set(re.findall(r"\w+://[^\s\"'<]+", html))
    assert outside <= {"http://www.w3.org/2000/svg", "http://www.w3.org/1999/xlink"}


def test_all_ids_are_unique_and_all_references_lead_somewhere(html, page):
    ids = [a["id"] for _, a in page.elements if "id" in a]
    assert len(ids) == len(set(ids))
    named = [name for _, a in page.elements for name in a.get("aria-labelledby", "").split()]
    used = re.findall(r"url\(#([^)]+)\)", html) + named
    used += [a["xlink:href"][1:] for _, a in page.elements if a.get("xlink:href", "")[:1] == "#"]
    assert used and set(used) <= set(ids)


def test_the_answer_comes_before_everything_else(page, decision):
    text = page.text
    order = [
        "Real packets over emulated links.",
        "INDICATIVE",
        "Put the learner on hk (Hong Kong) and train with local",
        decision.scope,
        "too few rounds for proof",
        "99.85 %",
        "The options",
    ]
    places = [text.index(part) for part in order]
    assert places == sorted(places)


def test_the_page_is_in_the_order_in_which_it_is_read(html, page, decision):
    said = page.text.split("The options")[1]
    places = [said.index(f" {part} ") for part in ("What would change it", "Warnings", "Why")]
    assert places == sorted(places)
    headings = [
        "The options",
        "What would change it",
        "Share of interaction steps answered in time",
        "Interaction latency through the session",
        "Training throughput in each round",
        "Time of one update at a sampling worker",
        "Throughput of the leader over that of each other option",
        "Throughput of the leader, hk · Hong Kong, local",
        ">Failures<",
        ">What the links and prices rest on<",
        ">Provenance<",
        ">Do it again<",
    ]
    places = [html.index(part) for part in headings]
    assert places == sorted(places)


def test_facts_of_the_choice_carry_their_intervals(page):
    answer = page.text.split("The options")[0]
    for part in (
        "steps in time 99.85 % 95 %: 99.31 % to 99.998 % target 99 % in 50 ms",
        "step latency, p99 35.0 ms 95 %: at least 34.0 link loaded",
        "training throughput 2,600 steps/s 95 %: 2,520 to 2,680 strategy local",
        "cost of a million usable steps 0.0100 USD 95 %: 0.00971 to 0.0103 compute only",
    ):
        assert part in answer, part


def test_every_option_and_every_number_of_it_stands_in_the_table(html, page):
    rows = re.findall(r"<tr.*?</tr>", html.split('id="options"')[1].split("</table>")[0], re.S)
    told = [Page(row).text for row in rows[1:]]
    assert [re.match(r"(\S+) .*?(local|star) (PASS|FAIL)", row).groups() for row in told] == [
        ("hk", "local", "PASS"),
        ("hk", "star", "PASS"),
        ("tokyo", "local", "FAIL"),
        ("tokyo", "star", "FAIL"),
        ("la", "local", "FAIL"),
        ("la", "star", "FAIL"),
    ]
    first = told[0]
    for part in (
        "Hong Kong recommended",
        "99.85 % 99.31 % to 99.998 % n = 413 steps",
        "35.0 ms at least 34.0",
        "31.0 ms 30.1 to 31.9 n = 1,277 echoes",
        "2,600 steps/s 2,520 to 2,680 n = 6 rounds",
        "0.0100 USD 0.00971 to 0.0103",
        "LEADER",
    ):
        assert part in first, part
    assert "Hong Kong runner-up" in told[1]
    assert "not measured" in told[5] and "not measured" not in told[4]


def test_every_word_of_the_table_is_explained_below_it(page):
    below = page.text.split("Noise floor:")[1].split("What would change it")[0]
    for term in ("LEADER the option", "WORSE less", "target PASS keeps", "star workers send every"):
        assert term in below
    assert "local workers train alone" in below


def test_no_unit_is_torn_from_its_number(html):
    whole = "99\xa0% of steps within 50\xa0ms, at 2,600\xa0steps/s"
    assert whole in html.split("The options")[0]


@pytest.mark.usefixtures("same_figures")
def test_a_pair_that_could_not_be_compared_is_not_said_to_be_within_the_noise(
    recorded, content, tmp_path
):
    content["comparisons"][0] |= {"p": None, "p_holm": None, "beyond_noise": False}
    html = written(recorded, Decision.model_validate(content), tmp_path)
    table = html.split("Beyond the noise floor")[1].split("</table>")[0]
    [row] = re.findall(r"<tr>.*?</tr>", table)
    assert Page(row).text.endswith(" not measured not measured not compared")


def test_tables_have_headers_with_scope(page):
    assert len(page.of("table")) >= 7
    assert page.of("th") and all(th.get("scope") in {"col", "row"} for th in page.of("th"))


def test_figures_are_named_and_told_in_words(page):
    images = page.of("svg")
    assert len(images) == 5 and len(page.of("figure")) == len(page.of("figcaption")) == 5
    assert all(image["role"] == "img" for image in images)
    assert "From guangdong, within 50 ms: hk · Hong Kong: 100 % in time" in page.text


def test_reasons_changes_and_warnings_are_all_there(page, decision):
    for line in (*decision.reasons, *decision.what_would_change_it, *decision.warnings):
        assert line in page.text


def test_failures_are_told_with_their_reason(page):
    assert (
        "3 tokyo 20_training tokyo GangFailed rank 2 at guangdong: no answer | within 30 s"
        in page.text
    )


def test_links_prices_and_cautions_are_traceable(page, recorded):
    for link in recorded.study.links:
        for source in (link.source, recorded.study.prices[link.host].source):
            assert re.sub(r",(?=\S)", ", ", source) in page.text
    assert "Public records disagree tenfold" in page.text
    assert "assumed: rate_mbit_s, queue_ms, hops, jitter_ms" in page.text


@pytest.mark.usefixtures("same_figures")
def test_a_caution_that_is_a_warning_already_is_told_once(recorded, content, tmp_path):
    caution = recorded.study.links[0].cautions[0]
    content["warnings"] = [f"Link guangdong to hk: {caution}"]
    text = Page(written(recorded, Decision.model_validate(content), tmp_path)).text
    assert text.count(caution) == 1


def test_no_text_becomes_markup(nasty, tmp_path):
    html = written(*nasty, tmp_path)
    page = Page(html)
    assert not page.of("script") and "<script" not in html
    assert CANARY in page.text
    assert "{{ 7*7 }}" in page.text
    assert all(not name.startswith("on") for _, a in page.elements for name in a)
    assert not re.search(r"[\u202a-\u202e\u2066-\u2069\x00\x1b]", html)
    assert len(html) < 400_000 and max(len(word) for word in page.words) < 4000


def test_a_decision_without_a_choice_shows_no_facts_of_one(recorded, content, tmp_path):
    content |= {"verdict": "NONE_MEETS_SLA", "choice": None, "runner_up": None}
    content |= {"comparisons": [], "recommendation": "Rent none of these: no one is near."}
    for option in content["options"]:
        option |= {"sla": "FAIL", "verdict": "NOT_COMPARED"}
    page = Page(written(recorded, Decision.model_validate(content), tmp_path))
    assert "NONE MEETS SLA Rent none of these" in page.text
    assert "recommended" not in page.text.split("The options")[1].split("Why")[0]
    assert not page.of("dt") or "steps in time" not in page.text.split("The options")[0]
    assert "no leading option" in page.text


@pytest.mark.usefixtures("same_figures")
def test_nothing_measured_is_told_as_that_everywhere(recorded, content, tmp_path):
    blank = {"value": None, "low": None, "high": None, "n": 0}
    for candidate in content["candidates"]:
        candidate["sla"] |= {"share_within": None, "p99_ms": blank, "site": None}
        candidate["by_site"] = []
    for option in content["options"]:
        option |= {"throughput_steps_s": None, "usd_per_million_steps": blank}
    content["noise_floor"] |= {"floor_percent": None, "ratio": {"star": None, "local": blank}}
    html = written(recorded, Decision.model_validate(content), tmp_path)
    table = Page(re.search(r"<table.*?</table>", html, re.S).group())
    assert table.text.count("not measured") == 5 * 6
    assert not re.search(r"\bn = 0|\bnan\b|\bNone\b|\bnull\b", Page(html).text, re.I)
    assert "Noise floor: not measured" in Page(html).text


@pytest.mark.usefixtures("same_figures")
def test_a_recorded_sample_and_a_single_page_are_told_at_the_top(
    recorded, decision, tmp_path, monkeypatch
):
    for path, kind, told in (
        (tmp_path / "data" / "sample", "run", "Recorded sample. Nothing was measured"),
        (tmp_path / "runs" / "demo", "single", "A single page, not a run."),
    ):
        folder = dataclasses.replace(recorded.folder, path=path, kind=kind)
        monkeypatch.setattr(type(folder), "provenance", lambda self: {})
        other = dataclasses.replace(recorded, folder=folder)
        text = Page(written(other, decision, tmp_path)).text
        assert told in text.split("INDICATIVE")[0]


def test_an_ordinary_run_is_not_told_to_be_a_sample(page):
    assert "Recorded sample" not in page.text and "A single page" not in page.text


def test_the_same_session_gives_the_same_bytes(recorded, decision, html, tmp_path):
    assert written(recorded, decision, tmp_path / "again") == html


def test_page_of_the_demo_is_small(html):
    assert len(html.encode()) < 1_500_000
