"""Step latency through the session, with what the link was doing."""

import math
from collections.abc import Sequence

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from homeport.params import Study
from homeport.plots.chart import INK, MUTED, NOT_MEASURED, SMALL, Chart, chart, empty, log_ticks
from homeport.plots.labels import host_colour, host_label, text_colour
from homeport.store import Recorded

_KINDS = ("step_ms", "step_overdue_ms", "lost_echo")
_LOADED = "#e9e9ee"
_LATE, _LOST = "#b00020", "#444444"
_GAP_S = 3.0
_WINDOW = 15
_LINE_S = 1.0


def latency_over_time(recorded: Recorded) -> Chart:
    """Every step through the session: a row a host, a column a site, loaded spans shaded.

    Steps without an answer stand as triangles at their deadline, lost echoes as ticks below.
    """
    study = recorded.study
    frame = recorded.frame[recorded.frame["metric"].isin(_KINDS)]
    sites = list(study.sites)
    unit, size = _unit(frame)
    start = frame["time_s"].min() if len(frame) else 0.0
    groups = {key: group for key, group in frame.groupby(["host", "site"])}
    height = 1.1 + 0.95 * len(study.measured)
    with chart(height, "Interaction latency through the session, one panel a host") as figure:
        panels = figure.subplots(
            len(study.measured), len(sites), squeeze=False, sharex=True, sharey=True
        )
        low, high = _limits(study, frame)
        for row, host in zip(panels, study.measured, strict=True):
            for axes, site in zip(row, sites, strict=True):
                _frame(axes, study, low, high)
                found = groups.get((host, site), frame.iloc[:0])
                found = found.assign(x=(found["time_s"] - start) / size).sort_values("x")
                _panel(axes, study, host, found, size)
                _name(axes, study, host, site, len(sites))
        if not len(frame):
            panels[0, 0].set_xticks([])
        for axes in panels[-1]:
            axes.set_xlabel(f"{unit} since the session began")
        figure.supylabel("step latency (ms, log scale)", fontsize=9)
        _legend(figure, study)
        echoes = recorded.values("rtt_ms").groupby(["host", "site"]).size()
        figure.alt = _told(study, groups, sites, echoes)
    return figure


def _unit(frame: pd.DataFrame) -> tuple[str, float]:
    lasted = frame["time_s"].max() - frame["time_s"].min() if len(frame) else 0.0
    if lasted < 180:
        return "seconds", 1.0
    return ("minutes", 60.0) if lasted < 3 * 3600 else ("hours", 3600.0)


def _limits(study: Study, frame: pd.DataFrame) -> tuple[float, float]:
    steps = frame.loc[frame["metric"] != "lost_echo", "value"]
    least = min([study.sla.step_ms, *steps.nsmallest(1)])
    most = max([study.sla.step_ms, *steps.nlargest(1)])
    return 0.55 * max(least, 0.01), 1.5 * most


def _frame(axes: Axes, study: Study, low: float, high: float) -> None:
    axes.margins(x=0.01)
    axes.set_yscale("log")
    axes.set_ylim(low, high)
    log_ticks(axes.yaxis, low, high)
    few = _few(axes.yaxis.get_major_locator()(), low, high)
    axes.set_yticks(few, [f"{tick:,.10g}" for tick in few])
    axes.axhline(study.sla.step_ms, label="sla", color="#1b7837", linewidth=0.9, zorder=1)


def _few(ticks: Sequence[float], low: float, high: float) -> list[float]:
    """Ticks far enough apart for a low panel, from the top down, tens and fives before others."""
    least = 0.26 * math.log10(high / low)
    kept: list[float] = []
    for tick in sorted(ticks, key=lambda t: (f"{t:e}"[0] not in "15", -t)):
        if all(abs(math.log10(tick / other)) >= least for other in kept):
            kept.append(tick)
    return sorted(kept)


def _panel(axes: Axes, study: Study, host: str, found: pd.DataFrame, size: float) -> None:
    for begin, end in _loaded_spans(found, _GAP_S / size):
        axes.axvspan(begin, end, color=_LOADED, linewidth=0, zorder=0)
    steps = found[found["metric"] == "step_ms"]
    late = found[found["metric"] == "step_overdue_ms"]
    lost = found[found["metric"] == "lost_echo"]
    if not len(steps) and not len(late):
        empty(axes, NOT_MEASURED)
    colour = host_colour(study, host)
    dots = {"s": 6, "color": colour, "alpha": 0.45, "linewidth": 0, "rasterized": True}
    axes.scatter(steps["x"], steps["value"], label=f"steps {host}", **dots)
    x, y = _rolling(steps, size)
    axes.plot(x, y, color=text_colour(colour), linewidth=1.1, label=f"median {host}")
    above = {"marker": "v", "s": 26, "color": _LATE, "linewidth": 0, "zorder": 4}
    axes.scatter(late["x"], late["value"], label=f"overdue {host}", **above)
    below = axes.get_xaxis_transform()
    ticks = {"marker": "|", "s": 22, "color": _LOST, "linewidth": 0.9, "transform": below}
    axes.scatter(lost["x"], np.full(len(lost), 0.07), label=f"lost {host}", **ticks)


def _loaded_spans(found: pd.DataFrame, gap: float) -> list[tuple[float, float]]:
    """Stretches of samples labelled loaded; another label or a gap ends one."""
    if not len(found):
        return []
    loaded = (found["phase"] == "loaded").to_numpy()
    x = found["x"].to_numpy()
    cut = np.flatnonzero((loaded[1:] != loaded[:-1]) | (np.diff(x) > gap)) + 1
    pieces = np.split(np.arange(len(x)), cut)
    return [(x[p[0]], x[p[-1]]) for p in pieces if loaded[p[0]]]


def _rolling(steps: pd.DataFrame, size: float) -> tuple[np.ndarray, np.ndarray]:
    """The rolling median, thinned to one point a second, broken where samples are missing."""
    x = steps["x"].to_numpy()
    y = steps["value"].rolling(_WINDOW, center=True, min_periods=1).median().to_numpy()
    if not len(x):
        return x, y
    keep = np.unique(np.floor(x * size / _LINE_S), return_index=True)[1]
    x, y = x[keep], y[keep]
    gaps = np.flatnonzero(np.diff(x) > _GAP_S / size) + 1
    return np.insert(x, gaps, np.nan), np.insert(y, gaps, np.nan)


def _name(axes: Axes, study: Study, host: str, site: str, sites: int) -> None:
    name = f"{host}, seen from {site}" if sites > 1 else host_label(study, host)
    colour = text_colour(host_colour(study, host))
    axes.set_title(name, color=colour, fontweight="bold", fontsize=SMALL, pad=3, parse_math=False)


def _legend(figure: Chart, study: Study) -> None:
    deadline = f"no answer within {study.sla.deadline_ms:g} ms"
    point = {"linestyle": "none"}
    entries = [
        Patch(color=_LOADED, label="training loads this link"),
        Line2D([], [], marker="o", markersize=3, color=MUTED, alpha=0.6, label="a step", **point),
        Line2D([], [], color=INK, linewidth=1.1, label=f"median of {_WINDOW} steps"),
        Line2D([], [], color="#1b7837", linewidth=0.9, label=f"target {study.sla.step_ms:g} ms"),
        Line2D([], [], marker="v", markersize=5, color=_LATE, label=deadline, **point),
        Line2D([], [], marker="|", markersize=6, color=_LOST, label="lost echo", **point),
    ]
    figure.legend(handles=entries, loc="outside lower center", ncols=6, columnspacing=1.2)


def _told(study: Study, groups: dict, sites: list[str], echoes: pd.Series) -> str:
    told = []
    for host in study.measured:
        for site in sites:
            found = groups.get((host, site))
            answered = int(echoes.get((host, site), 0))
            told.append(f"{host} from {site}: {_summary(found, answered)}.")
    return " ".join(told)


def _summary(found: pd.DataFrame | None, answered_echoes: int) -> str:
    counts = {} if found is None else found.groupby("metric").size().to_dict()
    if not counts.get("step_ms") and not counts.get("step_overdue_ms"):
        return NOT_MEASURED
    late, lost = counts.get("step_overdue_ms", 0), counts.get("lost_echo", 0)
    steps = found.loc[found["metric"] == "step_ms", "value"]
    middle = f"median {steps.median():.3g} ms, " if len(steps) else ""
    echoes = f"{lost} lost echoes" if lost or answered_echoes else "echoes not measured"
    return f"{middle}{late} steps without an answer, {echoes}"
