"""How many interaction steps are answered within a time."""

import math
from dataclasses import dataclass

import numpy as np
from matplotlib.axes import Axes
from matplotlib.ticker import NullLocator

from homeport.params import Study
from homeport.plots.chart import MUTED, NOT_MEASURED, Chart, chart, log_ticks, words
from homeport.plots.labels import host_colour, host_label, text_colour
from homeport.store import Recorded

_MOST_POINTS = 400
_TARGET = "#d9efe0"
_APART = 0.03  # log10: curves closer than this, such as a twin's, are passed by a label
_LETTER = 0.06  # inches, of a bold letter
_HAIR = {"color": "#1b7837", "linewidth": 0.9}


@dataclass(frozen=True)
class _Curve:
    """The steps of one host seen from one site: those answered, sorted, and how many tried."""

    host: str
    answered_ms: np.ndarray
    tried: int

    def share_within(self, limit_ms: float) -> float:
        return float(np.searchsorted(self.answered_ms, limit_ms, side="right")) / self.tried

    def at(self, share: float) -> float:
        """The time within which this share of all steps was answered (the last, where fewer)."""
        index = min(math.ceil(share * self.tried), len(self.answered_ms)) - 1
        return float(self.answered_ms[max(index, 0)])


def step_ecdf(recorded: Recorded) -> Chart:
    """Cumulative share of steps by latency, per host, with the latency target; one panel a site.

    Only steps with the label the target binds count. Steps without an answer count as tried, so
    their curve ends below 100 %. The upward axis is stretched towards 100 %, where targets lie.
    """
    study, label = recorded.study, recorded.study.sla.label
    curves = {site: _curves(recorded, site) for site in study.sites}
    columns = min(len(curves), 2)
    rows = math.ceil(len(curves) / columns)
    state = "while training loads the link" if label == "loaded" else "while the link is idle"
    with chart(3.9 * rows, f"Share of interaction steps answered in time, {state}") as figure:
        panels = figure.subplots(rows, columns, squeeze=False, sharex=True, sharey=True)
        panels = list(panels.flat)
        scale = _Nines.of(study.sla.share, [c.tried for site in curves.values() for c in site])
        edges = _edges(study, [c for site in curves.values() for c in site])
        for axes, (site, found) in zip(panels, curves.items(), strict=False):
            _axes(axes, study, scale, edges)
            axes.set_title(f"seen from {host_label(study, site)}", parse_math=False)
            axes.tick_params(labelbottom=True, labelleft=True)
            _draw(axes, study, scale, found)
        for axes in panels[len(curves) :]:
            axes.set_visible(False)
        figure.alt = _told(study, curves)
    return figure


def _curves(recorded: Recorded, site: str) -> list[_Curve]:
    frame = recorded.frame
    label = recorded.study.sla.label
    frame = frame[(frame["site"] == site) & (frame["phase"] == label)]
    answered = frame[frame["metric"] == "step_ms"].groupby("host")["value"]
    overdue = frame[frame["metric"] == "step_overdue_ms"].groupby("host").size()
    values = {str(host): np.sort(group.to_numpy()) for host, group in answered}
    found = []
    for host in recorded.study.measured:
        sample = values.get(host, np.empty(0))
        found.append(_Curve(host, sample, len(sample) + int(overdue.get(host, 0))))
    return found


@dataclass(frozen=True)
class _Nines:
    """An axis of shares on which 90, 99 and 99.9 % are equally far apart."""

    nines: int
    target: float

    @classmethod
    def of(cls, target: float, sizes: list[int]) -> "_Nines":
        most = max([*sizes, 1])
        seen = min(math.floor(math.log10(most)), 5)
        return cls(max(seen, math.ceil(-math.log10(1 - target) - 1e-9), 2), target)

    @property
    def _rest(self) -> float:
        return 0.4 * 10.0**-self.nines

    def forward(self, share):
        return -np.log10(1 - np.clip(share, 0, 1) + self._rest)

    def inverse(self, height):
        return 1 + self._rest - 10.0 ** -np.asarray(height, dtype=float)

    def ticks(self) -> list[float]:
        standard = [0, 0.5, *(1 - 10.0**-k for k in range(1, self.nines + 1)), 1]
        far = [t for t in standard if abs(self.forward(t) - self.forward(self.target)) > 0.12]
        return sorted([*far, self.target])

    def at_fraction(self, part: float) -> float:
        """The share drawn at this part of the height of the axis."""
        low, high = self.forward(0.0), self.forward(1.0)
        return float(self.inverse(low + part * (high - low)))


def _edges(study: Study, curves: list[_Curve]) -> tuple[float, float]:
    """Bounds of the latency axis, with room for labels beside the first and the last curve."""
    seen = [curve for curve in curves if len(curve.answered_ms)]
    first = min([study.sla.step_ms, *(curve.answered_ms[0] for curve in seen)])
    last = max([study.sla.step_ms, *(curve.answered_ms[-1] for curve in seen)])
    middle = max([study.sla.step_ms, *(curve.at(0.5) for curve in seen)])
    return 0.28 * max(first, 0.01), max(1.5 * last, 2.6 * middle)


def _axes(axes: Axes, study: Study, scale: _Nines, edges: tuple[float, float]) -> None:
    sla = study.sla
    axes.set_xscale("log")
    axes.set_xlim(edges)
    log_ticks(axes.xaxis, *edges)
    axes.set_yscale("function", functions=(scale.forward, scale.inverse))
    axes.set_ylim(0, 1)
    axes.set_yticks(scale.ticks(), [f"{100 * tick:.6g} %" for tick in scale.ticks()])
    axes.yaxis.set_minor_locator(NullLocator())
    axes.set_xlabel("step latency: observation out to action back (ms, log scale)")
    axes.set_ylabel("share of steps (stretched towards 100 %)")
    axes.fill_between([edges[0], sla.step_ms], sla.share, 1, color=_TARGET, linewidth=0, zorder=0)
    axes.axvline(sla.step_ms, label="sla", zorder=1, **_HAIR)
    axes.axhline(sla.share, label="share", zorder=1, linestyle=(0, (4, 3)), **_HAIR)
    target = f"target: {100 * sla.share:g} % within {sla.step_ms:g} ms"
    at = {"xytext": (5, -3), "ha": "left", "va": "top", "color": "#1b5e20"}
    words(axes, sla.step_ms, 1, target, **at)


def _draw(axes: Axes, study: Study, scale: _Nines, curves: list[_Curve]) -> None:
    drawn = sorted((c for c in curves if len(c.answered_ms)), key=lambda c: c.at(0.5))
    for rank, curve in enumerate(drawn):
        colour = host_colour(study, curve.host)
        x, y = _line(curve)
        dash = (0, (2, 1.2)) if curve.host == study.twin else "solid"
        axes.plot(
            x,
            y,
            color=colour,
            linewidth=1.8,
            linestyle=dash,
            label=f"ecdf {curve.host}",
            drawstyle="steps-post",
        )
        # Below the slowest tenth, where curves run flat and would cross the labels.
        height = scale.at_fraction(0.07 + 0.42 * (rank + 0.5) / len(drawn))
        left = _left(axes, study, curve, drawn)
        side = {"xytext": (-6, 0), "ha": "right"} if left else {"xytext": (6, 0), "ha": "left"}
        how = {"va": "center", "color": text_colour(colour), "fontweight": "bold", **side}
        words(axes, curve.at(height), height, _label(study, curve), **how)
    silent = [_label(study, c) for c in curves if not len(c.answered_ms)]
    if silent:
        corner = {"xycoords": "axes fraction", "xytext": (-4, 4), "ha": "right", "va": "bottom"}
        words(axes, 1, 0, "\n".join(silent), color=MUTED, fontstyle="italic", **corner)


def _left(axes: Axes, study: Study, curve: _Curve, drawn: list[_Curve]) -> bool:
    """Whether a curve's label has more room left of it, up to the next curve or the target."""
    x = math.log10(curve.at(0.5))
    edges = [math.log10(edge) for edge in axes.get_xlim()]
    apart = [math.log10(other.at(0.5)) for other in drawn]
    apart = [*(other for other in apart if abs(other - x) > _APART), math.log10(study.sla.step_ms)]
    room_left = x - max([edges[0], *(at for at in apart if at < x)])
    room_right = min([edges[1], *(at for at in apart if at > x)]) - x
    inches = axes.get_position().width * axes.get_figure().get_size_inches()[0]
    needed = len(_label(study, curve)) * _LETTER / inches * (edges[1] - edges[0])
    return min(room_left, needed) > min(room_right, needed)


def _line(curve: _Curve) -> tuple[np.ndarray, np.ndarray]:
    """Every point of the slowest tenth, and of the rest as many as can be told apart."""
    count = len(curve.answered_ms)
    ranks = np.arange(1, count + 1)
    if count > _MOST_POINTS:
        body, tail = ranks[: -_MOST_POINTS // 2], ranks[-_MOST_POINTS // 2 :]
        body = np.unique(np.linspace(1, body[-1], _MOST_POINTS // 2).round().astype(int))
        ranks = np.concatenate([body, tail])
    x = curve.answered_ms[ranks - 1]
    return np.concatenate([x[:1], x]), np.concatenate([[0], ranks / curve.tried])


def _percent(share: float) -> str:
    text = f"{100 * share:.1f}"
    if share < 1 and text == "100.0":
        return "> 99.9 %"
    return f"{text.removesuffix('.0')} %"


def _label(study: Study, curve: _Curve) -> str:
    name = host_label(study, curve.host)
    if not curve.tried:
        return f"{name}: {NOT_MEASURED}"
    if not len(curve.answered_ms):
        return f"{name}: none of {curve.tried} steps answered"
    late = curve.tried - len(curve.answered_ms)
    silent = f", {late} unanswered" if late else ""
    return f"{name}: {_percent(curve.share_within(study.sla.step_ms))} in time{silent}"


def _told(study: Study, curves: dict[str, list[_Curve]]) -> str:
    within = f"within {study.sla.step_ms:g} ms"
    sites = [
        f"From {site}, {within}: " + "; ".join(_label(study, curve) for curve in found) + "."
        for site, found in curves.items()
    ]
    return " ".join(sites)
