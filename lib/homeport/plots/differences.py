"""How the options compare with the leading one, and a host with itself."""

from collections.abc import Sequence
from dataclasses import dataclass

from matplotlib.axes import Axes
from matplotlib.ticker import NullLocator

from homeport.params import Study
from homeport.plots.chart import INK, MUTED, NOT_MEASURED, Chart, chart, words
from homeport.plots.labels import host_colour, host_label, text_colour

_BAND = "#e6e6ea"


@dataclass(frozen=True)
class Ratio:
    """How many times its throughput the leader has, with the 95 % interval.

    `aa` marks the twin over its host instead. A missing value is not measured, a missing end
    unbounded. `note` says why an option with a throughput was not compared.
    """

    host: str
    strategy: str
    value: float | None
    low: float | None = None
    high: float | None = None
    aa: bool = False
    note: str = ""


def paired_differences(
    study: Study, leader: str | None, ratios: Sequence[Ratio], floor_percent: float | None
) -> Chart:
    """The leader over each other option, with intervals, the noise floor as a band, A/A below.

    `leader` is how the leading option is called; None where nothing could be compared.
    """
    options = [r for r in ratios if not r.aa]
    twins = [r for r in ratios if r.aa]
    title = "Throughput of the leader over that of each other option, with 95 % intervals"
    with chart(1.5 + 0.3 * (len(ratios) + 2), title) as figure:
        axes = figure.subplots()
        _axes(axes, ratios, floor_percent)
        rows: list[tuple[float, str, str]] = []
        rows.append((0, leader or "no leading option", INK))
        told = [f"{leader or 'No leading option'} is 1."]
        if leader:
            axes.plot([1], [0], marker="D", color=INK, markersize=6, label="leader")
            _beside(axes, 0, "1 (the leader)")
        for y, ratio in enumerate(options, start=1):
            rows.append(
                (y, f"{host_label(study, ratio.host)}, {ratio.strategy}", _ink(study, ratio))
            )
            told.append(f"{ratio.host} {ratio.strategy}: {_row(axes, study, y, ratio)}.")
        for y, ratio in enumerate(twins, start=len(options) + 2):
            pair = f"{study.twin} over {study.twin_of}, {ratio.strategy}"
            rows.append((y, pair, _ink(study, ratio)))
            told.append(f"A/A {ratio.strategy}: {_row(axes, study, y, ratio)}.")
        _name_rows(axes, rows)
        if twins:
            between = len(options) + 1
            axes.axhline(between - 0.45, color=MUTED, linewidth=0.6)
            _twins_heading(axes, between)
        figure.alt = f"{_floor(floor_percent)}. " + " ".join(told)
    return figure


def _twins_heading(axes: Axes, y: float) -> None:
    """Written on the side that the line at 1 and the noise floor leave free."""
    text = "A/A: a host against itself; any difference here is noise"
    low, high = axes.get_xlim()
    right = low * high > 1  # on a log scale: 1 lies in the left half
    side = {"ha": "right", "xytext": (-2, 0)} if right else {"ha": "left", "xytext": (2, 0)}
    at = {"xycoords": axes.get_yaxis_transform(), "va": "center", "bbox": None}
    words(axes, 1 if right else 0, y, text, color=MUTED, **side, **at)


def _axes(axes: Axes, ratios: Sequence[Ratio], floor_percent: float | None) -> None:
    ends = [v for r in ratios for v in (r.value, r.low, r.high) if v is not None and v > 0]
    floor = (floor_percent or 0.0) / 100
    low = 0.92 * min([*ends, 0.9, 1 / (1 + floor)])
    high = 1.08 * max([*ends, 1.2, 1 + floor])
    axes.set_xscale("log")
    axes.set_xlim(low, high)
    ticks = [0.1, 0.2, 0.5, 0.7, 1, 1.5, 2, 3, 5, 10, 20, 50, 100]
    ticks += [0.8, 0.9, 1.1, 1.2] if high / low < 2 else []
    shown = sorted(t for t in ticks if low <= t <= high)
    axes.set_xticks(shown, [f"{tick:g}" for tick in shown])
    axes.xaxis.set_minor_locator(NullLocator())
    if floor_percent is not None:
        axes.axvspan(1 / (1 + floor), 1 + floor, color=_BAND, zorder=0, label="floor")
    axes.axvline(1, color=MUTED, linewidth=0.9, zorder=1)
    axes.set_xlabel(
        f"the leader's throughput over the option's (log scale); grey: {_floor(floor_percent)}"
    )


def _floor(floor_percent: float | None) -> str:
    if floor_percent is None:
        return f"noise floor {NOT_MEASURED}"
    return f"noise floor {floor_percent:.2g} %"


def _row(axes: Axes, study: Study, y: float, ratio: Ratio) -> str:
    if ratio.value is None:
        text = f"not compared: {ratio.note}" if ratio.note else NOT_MEASURED
        _beside(axes, y, text, color=MUTED, fontstyle="italic")
        return text
    colour = host_colour(study, ratio.host)
    left, right = axes.get_xlim()
    low = left if ratio.low is None else ratio.low
    high = right if ratio.high is None else ratio.high
    axes.plot([low, high], [y, y], color=colour, linewidth=1.6, label=f"interval {y}")
    for end, mark, open_end in ((low, "<", ratio.low is None), (high, ">", ratio.high is None)):
        axes.plot([end], [y], marker=mark if open_end else "|", color=colour, markersize=6)
    face = "white" if ratio.aa else colour
    dot = {"marker": "o", "markersize": 6, "color": colour, "markerfacecolor": face}
    kind = "aa" if ratio.aa else "ratio"
    axes.plot([ratio.value], [y], label=f"{kind} {ratio.host} {ratio.strategy}", **dot)
    text = f"{ratio.value:#.3g} ({_ends(ratio)})"
    _beside(axes, y, text)
    return text


def _ends(ratio: Ratio) -> str:
    if ratio.low is None and ratio.high is None:
        return "no interval"
    ends = ["unbounded" if v is None else f"{v:#.3g}" for v in (ratio.low, ratio.high)]
    return " to ".join(ends)


def _beside(axes: Axes, y: float, text: str, **how) -> None:
    right = {"xycoords": axes.get_yaxis_transform(), "ha": "left", "va": "center", "bbox": None}
    words(axes, 1, y, text, xytext=(8, 0), **{"color": INK, **right, **how})


def _ink(study: Study, ratio: Ratio) -> str:
    return text_colour(host_colour(study, ratio.host))


def _name_rows(axes: Axes, rows: list[tuple[float, str, str]]) -> None:
    axes.set_yticks([y for y, _, _ in rows], [name for _, name, _ in rows], parse_math=False)
    for tick, (_, _, colour) in zip(axes.get_yticklabels(), rows, strict=True):
        tick.set_color(colour)
    axes.set_ylim(rows[-1][0] + 0.7, -0.7)
    axes.tick_params(axis="y", length=0)
    axes.spines["left"].set_visible(False)
