"""The decision in a terminal, and in the cells of a page."""

from collections.abc import Iterable

import pandas as pd
from rich import box
from rich.console import Group
from rich.jupyter import JupyterMixin
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from homeport.decide.decision import Decision
from homeport.decide.evidence import NOT_PLANNED
from homeport.report import page, words
from homeport.report.numbers import Shown

_COLOUR = {
    "CLEAR": "green",
    "EQUIVALENT": "green",
    "INDICATIVE": "cyan",
    "UNDECIDED": "yellow",
    "NONE_MEETS_SLA": "red",
    "PASS": "green",
    "FAIL": "red",
    "LEADER": "bold",
}
_SHORT = {"INDISTINGUISHABLE": "not told apart"}
_MOST_LINES = 6
_NOT_MEASURED = "-"


class Lines(JupyterMixin, Group):
    """What rich prints in a terminal and Jupyter shows in a cell."""


def console(decision: Decision, notices: Iterable[str] = ()) -> Lines:
    """The recommendation, the options, the noise floor and the warnings, for rich to print.

    `notices` say what kind of data this is (see `write.notices`) and come first.
    """
    floor = Text(words.clean(page.floor(decision.noise_floor)), style="dim")
    change = _list("What would change it", decision.what_would_change_it, _MOST_LINES)
    return Lines(
        *(Text(words.clean(notice), style="yellow") for notice in notices),
        _panel(decision),
        _options(decision),
        floor,
        *change,
        *_list("Warnings", decision.warnings, _MOST_LINES),
    )


def options_table(decision: Decision) -> pd.DataFrame:
    """The options as text, best first: what Jupyter shows as a table."""
    columns = {
        "Host": lambda row: row.host,
        "Region": lambda row: row.region,
        "Strategy": lambda row: row.strategy,
        "Target": lambda row: row.sla,
        "Steps in time": lambda row: str(row.within),
        "Step p99": lambda row: str(row.p99),
        "RTT p50": lambda row: str(row.rtt),
        "Throughput": lambda row: str(row.throughput),
        "Per million usable steps": lambda row: str(row.usd),
        "Verdict": lambda row: words.word(row.verdict),
    }
    found = page.rows(decision)
    table = pd.DataFrame({name: [told(row) for row in found] for name, told in columns.items()})
    return table.set_index("Host")


def reasons(decision: Decision) -> Lines:
    """Why the decision is what it is, and what would change it."""
    change = _list("What would change it", decision.what_would_change_it)
    return Lines(*_list("Why", decision.reasons), *change)


def warnings(decision: Decision) -> Lines:
    """What to know before acting on the decision."""
    return Lines(*(_list("Warnings", decision.warnings) or [Text("No warnings.")]))


def _list(title: str, lines: list[str], most: int | None = None) -> list[Text | Table]:
    if not lines:
        return []
    left = 0 if most is None else max(0, len(lines) - most)
    more = [f"{left} more in the report"] if left else []
    return [Text(f"\n{title}", style="bold"), *_bullets([*lines[:most], *more])]


def _bullets(lines: Iterable[str]) -> Iterable[Table]:
    for line in lines:
        grid = Table.grid(padding=(0, 1))
        grid.add_row(Text("-"), Text(words.clean(line, 400)))
        yield grid


def _panel(decision: Decision) -> Panel:
    colour = _COLOUR[decision.verdict]
    said = Text(words.clean(decision.recommendation), style="bold")
    scope = Text(words.clean(decision.scope), style="dim")
    meaning = Text(f"{words.word(decision.verdict)}: {words.CONFIDENCE[decision.verdict]}")
    title = Text(words.word(decision.verdict), style=f"bold {colour}")
    return Panel(Group(said, scope, meaning), title=title, border_style=colour, padding=(0, 1))


def _options(decision: Decision) -> Table:
    """As many columns as stand unbroken in 80 characters; Msteps are million usable steps.

    A dash is what was not measured: the words are too wide, and would push out the host's name.
    """
    table = Table(box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0), pad_edge=False)
    table.add_column("Host", overflow="fold")
    table.add_column("Strategy", no_wrap=True)
    table.add_column("Target", no_wrap=True)
    for column in ("In time", "p99 ms", "Steps/s", "USD/Msteps"):
        table.add_column(column, justify="right", no_wrap=True)
    table.add_column("Verdict")
    rows = page.rows(decision)
    for row in rows:
        table.add_row(
            Text(row.host, style="bold" if row.tag == "recommended" else ""),
            Text(row.strategy),
            Text(row.sla, style=_COLOUR.get(row.sla, "yellow")),
            Text(_short(row.within)),
            Text(_short(row.p99, " ms")),
            Text(_short(row.throughput, " steps/s")),
            Text(_short(row.usd, " USD")),
            Text(_verdict(row), style=_COLOUR.get(row.verdict, "")),
        )
    if not all(shown.measured for row in rows for shown in (row.p99, row.throughput, row.usd)):
        table.caption, table.caption_justify = f"{_NOT_MEASURED} not measured", "left"
    return table


def _verdict(row: page.Row) -> str:
    if row.tag == NOT_PLANNED:
        return NOT_PLANNED
    return _SHORT.get(row.verdict, words.word(row.verdict).lower())


def _short(shown: Shown, unit: str = "") -> str:
    return shown.value.removesuffix(unit) if shown.measured else _NOT_MEASURED
