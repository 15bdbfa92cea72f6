import re

import pytest
from markdown_it import MarkdownIt

from homeport import report
from homeport.decide.decision import Decision


def written(recorded, decision, folder):
    [path] = report.write_report(recorded, decision, folder, ["md"])
    return path.read_text(encoding="utf-8")


@pytest.fixture
def text(recorded, decision, tmp_path, same_figures):
    return written(recorded, decision, tmp_path)


def tables(text):
    """Every table as a list of rows of cells, read as GitHub reads it."""
    found = []
    for token in MarkdownIt("commonmark").enable("table").parse(text):
        if token.type == "table_open":
            found.append([])
        elif token.type == "tr_open":
            found[-1].append([])
        elif token.type == "inline" and token.map and found and text_in_table(token):
            found[-1][-1].append(rendered(token))
    return found


def text_in_table(token):
    return token.level == 4 or token.level == 5


def rendered(token):
    return "".join(child.content for child in token.children)


def test_first_line_is_the_answer(text, decision):
    assert text.splitlines()[0] == f"# INDICATIVE: {decision.recommendation}"


def test_options_table_has_a_row_an_option_and_ten_cells_each(text, decision):
    options = tables(text)[0]
    assert len(options) == 1 + len(decision.options)
    assert {len(row) for row in options} == {10}
    assert options[1] == [
        "hk (recommended)",
        "Hong Kong",
        "local",
        "PASS",
        "99.85 % (99.31 % to 99.998 %)",
        "35.0 ms (at least 34.0)",
        "31.0 ms (30.1 to 31.9)",
        "2,600 steps/s (2,520 to 2,680)",
        "0.0100 USD (0.00971 to 0.0103)",
        "LEADER",
    ]
    assert options[6][8] == "not measured"


def test_every_table_is_rectangular(text):
    found = tables(text)
    assert len(found) == 12
    for table in found:
        assert len({len(row) for row in table}) == 1 and len(table) > 1, table[0]
    for block in re.findall(r"(?:^\|.*\n)+", text, re.M):
        assert len({len(re.findall(r"(?<!\\)\|", line)) for line in block.splitlines()}) == 1


def test_failure_reason_with_a_bar_stays_in_its_cell(text):
    [failures] = [t for t in tables(text) if t[0][0] == "Round"]
    assert failures[1][-1] == "rank 2 at guangdong: no answer | within 30 s"


def test_figures_are_told_in_words(text):
    assert "**Share of interaction steps answered in time" in text
    assert "A/A star: 1.01 (0.981 to 1.04)" in text


def test_the_twins_intervals_stand_with_the_noise_floor(text):
    assert "hk-twin over hk: star 1.01 (0.981 to 1.04), local 0.995 (0.966 to 1.02)." in text


def test_emulation_is_told_before_the_options(text):
    assert text.index("Real packets over emulated links.") < text.index("## The options")


def test_no_text_becomes_markup(nasty, tmp_path):
    text = written(*nasty, tmp_path)
    reader = MarkdownIt("commonmark", {"html": True}).enable("table")
    kinds = set()
    for token in reader.parse(text):
        kinds.add(token.type)
        kinds |= {child.type for child in token.children or ()}
    assert not kinds & {"html_block", "html_inline", "link_open", "em_open", "image", "code_inline"}
    assert all(len({len(row) for row in table}) == 1 for table in tables(text))
    headings = re.findall(r"^#+ .*", text, re.M)
    assert len(headings) == 20 and not any(h.startswith("# heading") for h in headings[1:])
    assert not re.search(r"[\u202a-\u202e\u2066-\u2069\x00\x1b]", text)


@pytest.mark.usefixtures("same_figures")
def test_without_comparisons_there_is_no_table_of_them(recorded, content, tmp_path):
    content["comparisons"] = []
    assert "## Against the leader" not in written(
        recorded, Decision.model_validate(content), tmp_path
    )
