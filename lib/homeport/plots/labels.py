"""How hosts are named and coloured in figures: alike in every one of them."""

import functools
import logging
import unicodedata

import seaborn as sns
from matplotlib import font_manager

from homeport.params import Study

_CJK = (
    "Noto Sans CJK SC",
    "Noto Sans SC",
    "Source Han Sans SC",
    "PingFang SC",
    "Microsoft YaHei",
    "Hiragino Sans GB",
    "WenQuanYi Micro Hei",
    "WenQuanYi Zen Hei",
    "SimHei",
    "Noto Sans CJK JP",
    "Droid Sans Fallback",
)
# seaborn's colour-blind-safe colours, less the two that vanish on white, then two darker ones.
_PALETTE = [c for i, c in enumerate(sns.color_palette("colorblind").as_hex()) if i not in (6, 8)]
_PALETTE += ["#7a6f00", "#4b0082"]
_LONGEST = 22


@functools.cache
def fonts() -> tuple[str, ...]:
    """DejaVu Sans, which matplotlib brings along, and a font for Chinese if there is one."""
    have = set(font_manager.fontManager.get_font_names())
    chosen = ("DejaVu Sans", *[name for name in _CJK if name in have][:1])
    if len(chosen) > 1:  # few of them have a bold face; the plain one will do, without a word
        logging.getLogger("matplotlib.font_manager").addFilter(_no_word_of_weights)
    return chosen


def _no_word_of_weights(record: logging.LogRecord) -> bool:
    return "Failed to find font weight" not in record.getMessage()


@functools.cache
def _drawable() -> frozenset[int]:
    paths = [font_manager.findfont(name) for name in fonts()]
    return frozenset().union(*(font_manager.get_font(path).get_charmap() for path in paths))


def short(text: str, longest: int = _LONGEST) -> str:
    """One line without control characters, cut to a length that fits in a figure."""
    flat = "".join(" " if unicodedata.category(c)[0] in "CZ" else c for c in text[: 8 * longest])
    flat = " ".join(flat.split())
    return flat if len(flat) <= longest else flat[: longest - 1].rstrip() + "…"


def host_label(study: Study, host: str) -> str:
    """Name and region; the name alone where no font here can draw the region."""
    if host == study.twin:
        return f"{host} (A/A)"
    region = short(study.region_of(host))
    drawable = region and all(ord(c) in _drawable() for c in region)
    return f"{host} · {region}" if drawable else host


def host_colour(study: Study, host: str) -> str:
    """A host keeps its colour in every figure of a study; the twin has that of its host."""
    return _PALETTE[study.candidates.index(study.place_of(host)) % len(_PALETTE)]


def text_colour(colour: str) -> str:
    """The colour, darkened until text in it reads well on white (WCAG contrast 4.5)."""
    rgb = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    while 1.05 / (_luminance(rgb) + 0.05) < 4.5:
        rgb = [0.95 * part for part in rgb]
    return "#" + "".join(f"{round(255 * part):02x}" for part in rgb)


def _luminance(rgb: list[float]) -> float:
    linear = [p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in rgb]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]
