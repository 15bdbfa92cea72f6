import io

from IPython.core.formatters import DisplayFormatter
from report.conftest import CANARY
from rich.console import Console

from homeport import report
from homeport.decide.decision import Decision


def printed(what, width=100):
    console = Console(file=io.StringIO(), width=width, force_terminal=False)
    console.print(what)
    return console.file.getvalue()


def test_the_answer_is_on_top_and_every_option_below(decision):
    text = printed(report.console(decision))
    lines = text.splitlines()
    assert "INDICATIVE" in lines[0]
    flat = " ".join(text.replace("│", " ").split())
    assert decision.recommendation in flat and decision.scope in flat
    assert "too few rounds for proof" in flat
    rows = [line.split() for line in lines if line.strip().startswith(("hk ", "tokyo ", "la "))]
    assert " ".join(rows[0]) == "hk local PASS 99.85 % 35.0 2,600 0.0100 leader"
    assert [row[:3] for row in rows] == [
        ["hk", "local", "PASS"],
        ["hk", "star", "PASS"],
        ["tokyo", "local", "FAIL"],
        ["tokyo", "star", "FAIL"],
        ["la", "local", "FAIL"],
        ["la", "star", "FAIL"],
    ]
    assert rows[-1][-3:] == ["-", "not", "compared"] and "- not measured" in flat
    assert "Noise floor: 3.8 %." in flat
    assert decision.warnings[0] in flat and decision.what_would_change_it[0] in flat


def test_many_warnings_are_cut_but_counted(content):
    content["warnings"] = [f"warning number {n}" for n in range(10)]
    text = printed(report.console(Decision.model_validate(content)))
    assert "warning number 5" in text and "warning number 6" not in text
    assert "4 more in the report" in text
    assert "warning number 9" in printed(report.warnings(Decision.model_validate(content)))


def test_rows_stand_unbroken_in_80_characters(content):
    content["options"][0]["sla"] = "UNDECIDED"
    content["options"][0]["verdict"] = "INDISTINGUISHABLE"
    lines = printed(report.console(Decision.model_validate(content)), 80).splitlines()
    for whole in (
        "hk local UNDECIDED 99.85 % 35.0 2,600 0.0100 not told",
        "hk star PASS 99.85 % 35.0 900 0.0289 worse",
        "la star FAIL 0 % 208 220 - not compared",
    ):
        assert whole in [" ".join(line.split()) for line in lines]


def test_hosts_that_were_not_measured_at_all_push_nothing_out_of_the_table(content):
    content["provenance"]["selection"] |= {"only": "hk", "hosts": ["hk", "hk-twin"]}
    for candidate in content["candidates"][1:]:
        candidate["sla"] |= {"share_within": None, "p99_ms": None, "verdict": "UNDECIDED"}
    for option in content["options"][2:]:
        option |= {"sla": "UNDECIDED", "throughput_steps_s": None, "usd_per_million_steps": None}
    text = printed(report.console(Decision.model_validate(content)), 80)
    lines = [" ".join(line.split()) for line in text.splitlines()]
    assert "hk local PASS 99.85 % 35.0 2,600 0.0100 leader" in lines
    assert lines.count("tokyo star UNDECIDED - - - - not part of") == 1
    assert lines.count("- not measured") == 1


def test_where_all_was_measured_no_dash_is_explained(content):
    content["options"].pop()
    assert "- not measured" not in printed(report.console(Decision.model_validate(content)))


def test_nothing_in_a_text_commands_the_terminal(nasty):
    _, decision = nasty
    text = printed(report.console(decision))
    assert "\x1b" not in text and "\u202e" not in text and "\x00" not in text
    assert CANARY in " ".join(text.replace("│", " ").split())
    assert len(text.splitlines()) < 140


def test_markup_of_rich_in_a_text_stays_text(content):
    content["recommendation"] = "Rent [bold]hk[/bold] [link=http://x]now[/]"
    text = printed(report.console(Decision.model_validate(content)))
    assert "Rent [bold]hk[/bold] [link=http://x]now[/]" in text


def test_every_verdict_has_its_words(content):
    for verdict in ("CLEAR", "EQUIVALENT", "INDICATIVE", "UNDECIDED", "NONE_MEETS_SLA"):
        content["verdict"] = verdict
        assert verdict.replace("_", " ") in printed(
            report.console(Decision.model_validate(content))
        )


def test_a_page_shows_all_of_it(decision):
    form = DisplayFormatter()
    for what in (report.console, report.reasons, report.warnings, report.options_table):
        content, _ = form.format(what(decision))
        assert "text/html" in content, what.__name__


def test_options_table_escapes_and_is_complete(nasty):
    _, decision = nasty
    table = report.options_table(decision)
    assert list(table.index) == ["hk", "hk", "tokyo", "tokyo", "la", "la"]
    assert table.iloc[5]["Per million usable steps"] == "not measured"
    assert table.iloc[0]["Throughput"] == "2,600 steps/s (2,520 to 2,680)"
    assert "<script" not in table._repr_html_()


def test_reasons_hold_what_would_change_it(decision):
    text = printed(report.reasons(decision))
    assert "Why" in text and "A latency target of 150 ms" in text


def test_no_warnings_are_told_as_none(content):
    content["warnings"] = []
    assert printed(report.warnings(Decision.model_validate(content))).strip() == "No warnings."
