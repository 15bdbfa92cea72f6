"""What all figures share: the figure class, its look, and its form as SVG."""

import io
import re
from collections.abc import Iterator
from contextlib import contextmanager
from html import escape
from typing import Any

import matplotlib as mpl
import seaborn as sns
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator

from homeport.plots.labels import fonts

NOT_MEASURED = "not measured"
WIDTH = 8.6  # inches; the report shows it about as wide as its text
INK, MUTED, FAINT = "#222222", "#5f6368", "#e3e5e8"
SMALL = 8.0
_SCREEN_DPI = 96


class Chart(Figure):
    """A figure that shows itself in a notebook without pyplot, and tells what it shows.

    `alt` says in words what the figure shows, for readers who do not see it.
    """

    alt: str = ""

    def _repr_png_(self) -> tuple[bytes, dict[str, int]]:
        """For Jupyter: drawn at twice the resolution it is shown at."""
        file = io.BytesIO()
        self.savefig(file, format="png", dpi=2 * _SCREEN_DPI, facecolor="white")
        width, height = (round(inches * _SCREEN_DPI) for inches in self.get_size_inches())
        return file.getvalue(), {"width": width, "height": height}


@contextmanager
def chart(height: float, title: str) -> Iterator[Chart]:
    """A new chart; what is drawn inside the block gets the look of the house."""
    look = {
        **sns.axes_style("ticks"),
        "font.family": list(fonts()),
        "font.size": 9.0,
        "text.color": INK,
        "axes.labelcolor": INK,
        "axes.edgecolor": MUTED,
        "axes.titlesize": 9.0,
        "axes.titlelocation": "left",
        "axes.spines.top": False,
        "axes.spines.right": False,
        "xtick.color": MUTED,
        "ytick.color": MUTED,
        "xtick.labelcolor": INK,
        "ytick.labelcolor": INK,
        "legend.frameon": False,
        "legend.fontsize": SMALL,
        "axes.formatter.useoffset": False,
    }
    with mpl.rc_context(look):
        figure = Chart(figsize=(WIDTH, height), layout="constrained", facecolor="white")
        figure.suptitle(title, x=0.008, ha="left", fontsize=10.5, fontweight="bold")
        yield figure


def words(axes: Axes, x: float, y: float, text: str, **how: Any) -> None:
    """Write text that is never read as mathematics, on a light ground so lines do not cross it."""
    ground = {"facecolor": "white", "edgecolor": "none", "alpha": 0.8, "pad": 1.0}
    how = {"fontsize": SMALL, "bbox": ground, "parse_math": False, **how}
    axes.annotate(text, (x, y), textcoords="offset points", **{"xytext": (0, 0), **how})


def empty(axes: Axes, text: str) -> None:
    """Say in the middle of a panel why it is empty."""
    middle = {"xycoords": "axes fraction", "ha": "center", "va": "center"}
    words(axes, 0.5, 0.5, text, color=MUTED, fontstyle="italic", fontsize=9.0, **middle)


def log_ticks(axis: Any, low: float, high: float) -> None:
    """Put plain numbers at round steps between two positive bounds, at least three of them."""
    found: list[float] = []
    for steps in ((1, 2, 5), (1, 1.5, 2, 3, 4, 5, 6, 7, 8, 9), tuple(range(10, 100))):
        found = [s * 10.0**e for e in range(-5, 8) for s in steps if low <= s * 10.0**e <= high]
        if len(found) >= 3:
            break
    axis.set_major_locator(FixedLocator(found[:: max(1, len(found) // 8)]))
    axis.set_minor_locator(NullLocator())
    axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.10g}"))


def spread(wanted: list[float], gap: float, low: float, high: float) -> list[float]:
    """Move positions apart until neighbours are `gap` away, within bounds where there is room."""
    if not wanted:
        return []
    order = sorted(range(len(wanted)), key=wanted.__getitem__)
    gap = min(gap, (high - low) / max(len(wanted) - 1, 1))
    placed: list[float] = []
    for rank, index in enumerate(order):
        least = placed[-1] + gap if placed else low
        most = high - gap * (len(order) - 1 - rank)
        placed.append(min(max(wanted[index], least), most))
    result = [0.0] * len(wanted)
    for index, value in zip(order, placed, strict=True):
        result[index] = value
    return result


def svg(figure: Figure, name: str) -> str:
    """The figure as an SVG element to stand in a page: the same bytes every time.

    `name` is unique in the page: all ids begin with it. Text stays text, so it can be searched
    and takes the reader's fonts.
    """
    file = io.StringIO()
    with mpl.rc_context({"svg.hashsalt": name, "svg.fonttype": "none"}):
        nothing = {"Date": None, "Creator": None, "Format": None, "Type": None}
        figure.savefig(file, format="svg", dpi=150, metadata=nothing)
    text = file.getvalue()
    text = text[text.index("<svg") :]
    text = re.sub(r'\bid="([^"]+)"', rf'id="{name}-\1"', text)
    text = re.sub(r'href="#([^"]+)"', rf'href="#{name}-\1"', text)
    text = re.sub(r"url\(#([^)]+)\)", rf"url(#{name}-\1)", text)
    head, rest = text.split(">", 1)
    head = re.sub(r' (width|height)="[\d.]+pt"', "", head)
    title = figure.get_suptitle()
    labelled = f'{head} role="img" aria-labelledby="{name}-title {name}-desc">'
    told = getattr(figure, "alt", "")
    return (
        f'{labelled}\n<title id="{name}-title">{escape(title)}</title>'
        f'<desc id="{name}-desc">{escape(told)}</desc>{rest.rstrip()}'
    )
