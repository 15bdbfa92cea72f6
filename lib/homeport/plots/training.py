"""What training achieved on each host, and where the time of an update went."""

import math

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from matplotlib.ticker import FuncFormatter, NullLocator

from homeport.params import Study
from homeport.plots.chart import (
    FAINT,
    INK,
    MUTED,
    NOT_MEASURED,
    SMALL,
    Chart,
    chart,
    log_ticks,
    spread,
    words,
)
from homeport.plots.labels import host_colour, host_label, text_colour
from homeport.store import Recorded

STAGES = {
    "collect_ms": ("stepping environments", "#cfd8dc"),
    "update_ms": ("gradients and optimiser", "#90a4ae"),
    "wait_ms": ("waiting for the slowest", "#ffd08a"),
    "wire_ms": ("on the wire", "#f08a4b"),
}
_MARKS = "os^DPX*vd<"


def throughput_by_round(recorded: Recorded) -> Chart:
    """Usable steps per second in each round: a panel a strategy, a line a host.

    Hosts measured in the same round stand above each other, so what disturbed all of them at
    once moves the lines together. A slot that failed is a cross on the lower edge.
    """
    study = recorded.study
    frame = recorded.values("throughput_steps_s")
    failed = _failed(recorded)
    columns = min(len(study.strategies), 2)
    rows = math.ceil(len(study.strategies) / columns)
    with chart(3.4 * rows + 0.3, "Training throughput in each round, one line a host") as figure:
        panels = list(figure.subplots(rows, columns, squeeze=False).flat)
        low, high = _range(frame["value"])
        told = []
        for axes, strategy in zip(panels, study.strategies, strict=False):
            axes.set_title(f"strategy {strategy.name}", parse_math=False, fontweight="bold")
            _rounds_axes(axes, study, low, high, columns)
            mine = frame[frame["strategy"] == strategy.name]
            told.append(_lines(axes, study, strategy.name, mine, failed))
        for axes in panels[len(study.strategies) :]:
            axes.set_visible(False)
        for axes in panels[::columns]:
            axes.set_ylabel("usable steps / s (log scale)")
        if failed:
            cross = Line2D([], [], marker="x", linestyle="none", color=INK, label="slot failed")
            figure.legend(handles=[cross], loc="outside lower center")
        figure.alt = "Median steps per second. " + " ".join(told)
    return figure


def _failed(recorded: Recorded) -> set[tuple[str, int]]:
    """Host and round of every training slot of which no throughput is stored."""
    rows = recorded.failures()
    rows = rows[rows["notebook"].str.contains("training", na=False)]
    done = recorded.values("throughput_steps_s")
    have = set(zip(done["host"], done["round"], strict=True))
    return {(h, int(r)) for h, r in zip(rows["host"], rows["round"], strict=True)} - have


def _range(values: pd.Series) -> tuple[float, float]:
    if not len(values):
        return 1.0, 10.0
    return 0.6 * max(values.min(), 0.01), 1.5 * values.max()


def _rounds_axes(axes: Axes, study: Study, low: float, high: float, columns: int) -> None:
    axes.set_yscale("log")
    axes.set_ylim(low, high)
    log_ticks(axes.yaxis, low, high)
    axes.set_xlim(0.6, study.rounds + 0.4 + (0.42 if columns == 2 else 0.18) * study.rounds)
    step = max(1, math.ceil(study.rounds / 12))
    axes.set_xticks(range(1, study.rounds + 1, step))
    axes.set_xlabel("round")
    axes.grid(axis="y", color=FAINT, linewidth=0.7)
    axes.set_axisbelow(True)


def _lines(axes: Axes, study: Study, strategy: str, mine: pd.DataFrame, failed: set) -> str:
    rounds = np.arange(1, study.rounds + 1)
    series, told = {}, []
    for host in study.measured:
        by_round = mine[mine["host"] == host].groupby("round")["value"].mean()
        series[host] = by_round.reindex(rounds).to_numpy(dtype=float)
    shown = [host for host, values in series.items() if np.isfinite(values).any()]
    for host in shown:
        _line(axes, study, host, rounds, series[host])
    _crosses(axes, study, failed)
    ends = [math.log10(np.nanmedian(series[host])) for host in shown]
    bounds = [math.log10(edge) for edge in axes.get_ylim()]
    gap = 0.052 * (bounds[1] - bounds[0])
    for host, y in zip(shown, spread(ends, gap, bounds[0] + gap, bounds[1] - gap), strict=True):
        text = f"{host} {_number(np.nanmedian(series[host]))}"
        colour = text_colour(host_colour(study, host))
        side = {"xytext": (7, 0), "va": "center", "bbox": None}
        words(axes, study.rounds, 10**y, text, color=colour, fontweight="bold", **side)
        told.append(text)
    missing = [f"{host}: {NOT_MEASURED}" for host in study.measured if host not in shown]
    if missing:
        corner = {"xycoords": "axes fraction", "xytext": (-2, 4), "ha": "right", "va": "bottom"}
        words(axes, 1, 0, "\n".join(missing), color=MUTED, fontstyle="italic", **corner)
    return f"{strategy}: {'; '.join(told + missing)}."


def _line(axes: Axes, study: Study, host: str, rounds: np.ndarray, values: np.ndarray) -> None:
    colour = host_colour(study, host)
    twin = host == study.twin
    mark = _MARKS[study.candidates.index(study.place_of(host)) % len(_MARKS)]
    axes.plot(
        rounds,
        values,
        color=colour,
        linewidth=1.3,
        linestyle=(0, (2, 1.2)) if twin else "solid",
        marker=mark,
        markersize=5,
        markerfacecolor="white" if twin else colour,
        label=f"rounds {host}",
    )


def _crosses(axes: Axes, study: Study, failed: set) -> None:
    step = 0.6 / len(study.measured)
    for rank, host in enumerate(study.measured):
        x = [round + step * (rank - len(study.measured) / 2) for h, round in failed if h == host]
        place = {"transform": axes.get_xaxis_transform(), "marker": "x", "s": 30, "zorder": 4}
        colour = text_colour(host_colour(study, host))
        axes.scatter(sorted(x), [0.03] * len(x), color=colour, label=f"failed {host}", **place)


def _number(value: float) -> str:
    digits = max(0, 2 - math.floor(math.log10(abs(value)))) if value else 0
    return f"{value:,.{digits}f}" if value < 1000 else f"{float(f'{value:.3g}'):,.0f}"


def update_stages(recorded: Recorded) -> Chart:
    """Where the time of one update goes at a sampling worker: means after warm-up, stacked.

    Means, since they add up, and since an average every few updates is no part of the median one.
    """
    study = recorded.study
    means = _stage_means(recorded)
    options = [(s.name, host) for s in study.strategies for host in study.measured]
    height = 1.3 + 0.27 * len(options) + 0.2 * len(study.strategies)
    with chart(height, "Time of one update at a sampling worker (means, link loaded)") as figure:
        axes = figure.subplots()
        longest = max([sum(stages) for stages in means.values()], default=1.0) or 1.0
        axes.set_xlim(0, 1.36 * longest)
        told = []
        for rank, option in enumerate(options):
            y = rank + 0.9 * (rank // len(study.measured))
            told.append(_bar(axes, y, option, means.get(option), longest))
        rows = [rank + 0.9 * (rank // len(study.measured)) for rank in range(len(options))]
        axes.set_yticks(rows, [host_label(study, host) for _, host in options], parse_math=False)
        for tick, (_, host) in zip(axes.get_yticklabels(), options, strict=True):
            tick.set_color(text_colour(host_colour(study, host)))
        _headings(axes, study)
        axes.set_ylim(rows[-1] + 0.6, -1.3)
        axes.yaxis.set_minor_locator(NullLocator())
        axes.tick_params(axis="y", length=0)
        axes.spines["left"].set_visible(False)
        axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.10g}"))
        axes.set_xlabel("milliseconds an update")
        boxes = [Patch(color=colour, label=name) for name, colour in STAGES.values()]
        figure.legend(handles=boxes, loc="outside lower center", ncols=4)
        figure.alt = "Mean milliseconds an update. " + " ".join(told)
    return figure


def _stage_means(recorded: Recorded) -> dict[tuple[str, str], list[float]]:
    frame = recorded.frame
    worker = frame["source"].isin(list(recorded.study.sites)) & (frame["phase"] == "loaded")
    stages = frame[worker & frame["metric"].isin(list(STAGES))]
    table = stages.groupby(["strategy", "host", "metric"])["value"].mean().unstack("metric")
    table = table.reindex(columns=list(STAGES)).dropna()
    return {
        option: [float(v) for v in row]
        for option, row in zip(table.index, table.to_numpy(), strict=True)
    }


def _bar(axes: Axes, y: float, option: tuple[str, str], stages: list[float] | None, longest: float):
    strategy, host = option
    beside = {"va": "center", "bbox": None}
    if stages is None:
        grey = {"color": MUTED, "fontstyle": "italic"}
        words(axes, 0, y, NOT_MEASURED, xytext=(4, 0), **beside, **grey)
        return f"{host} with {strategy}: {NOT_MEASURED}."
    left = 0.0
    for (_, colour), width in zip(STAGES.values(), stages, strict=True):
        box = {"height": 0.78, "color": colour, "edgecolor": "white", "linewidth": 0.8}
        axes.barh(y, width, left=left, label=f"{strategy} {host}", **box)
        if width > 0.07 * longest:
            words(axes, left + width / 2, y, _number(width), ha="center", color=INK, **beside)
        left += width
    network = sum(stages[2:]) / left if left else 0.0
    text = f"{_number(left)} ms, {100 * network:.0f} % network"
    words(axes, left, y, text, xytext=(5, 0), color=INK, **beside)
    return f"{host} with {strategy}: {text}."


def _headings(axes: Axes, study: Study) -> None:
    for rank, strategy in enumerate(study.strategies):
        y = rank * (len(study.measured) + 0.9) - 0.75
        bold = {"fontweight": "bold", "va": "center", "bbox": None, "fontsize": SMALL + 0.5}
        words(axes, 0, y, f"strategy {strategy.name}", xytext=(2, 0), color=INK, **bold)
