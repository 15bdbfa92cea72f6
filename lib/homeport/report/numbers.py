"""Numbers as people read them: sensible digits, their interval, and what was not measured."""

import math
from dataclasses import dataclass

from homeport.decide.decision import Interval

NOT_MEASURED = "not measured"


@dataclass(frozen=True)
class Shown:
    """A number as text: the value, its 95 % interval, and on how many units it rests."""

    value: str
    interval: str = ""
    n: str = ""

    @property
    def measured(self) -> bool:
        """Whether there is a number at all."""
        return self.value != NOT_MEASURED

    def __str__(self) -> str:
        return f"{self.value} ({self.interval})" if self.interval else self.value


def plain(value: float, width: float = 0.0) -> str:
    """Three significant digits, thousands separated, never an exponent.

    `width` is that of the interval around it: a narrow one earns one digit more, so that its
    ends can be told apart.
    """
    if value == 0:
        return "0"
    rounded = float(f"{value:.3g}")
    digits = max(0, 2 - math.floor(math.log10(abs(rounded))))
    finest = min(-math.floor(math.log10(width)), digits + 1) if width > 0 else 0
    return f"{rounded:,.{digits}f}" if finest <= digits else f"{value:,.{finest}f}"


def percent(share: float, _width: float = 0.0) -> str:
    """A share as per cent; near 0 and 100 with enough digits never to be rounded onto them."""
    if share in (0, 1):
        return f"{100 * share:.0f} %"
    value = 100 * share
    edge = min(value, 100 - value)
    digits = min(max(1, 1 - math.floor(math.log10(edge))), 3) if edge > 0 else 3
    text = f"{value:.{digits}f}"
    if float(text) >= 100:
        return f"> {100 - 10**-digits:.{digits}f} %"
    return f"< {10**-digits:.{digits}f} %" if float(text) <= 0 else f"{text} %"


def show(interval: Interval | None, form=plain, unit: str = "", units: str = "") -> Shown:
    """An estimate as text; `form` writes one number, `units` names what `n` counts."""
    if interval is None:
        return Shown(NOT_MEASURED)
    tail = f" {unit}" if unit else ""
    n = f"n = {interval.n:,}" + (f" {units}" if units else "")
    width = _width(interval)
    low, high = (None if v is None else form(v, width) for v in (interval.low, interval.high))
    if interval.value is None:
        return _one_sided(low, high, tail, n)
    return Shown(f"{form(interval.value, width)}{tail}", _ends(low, high), n)


def _width(interval: Interval) -> float:
    ends = [v for v in (interval.low, interval.value, interval.high) if v is not None]
    return max(ends) - min(ends) if ends else 0.0


def _one_sided(low: str | None, high: str | None, tail: str, n: str) -> Shown:
    if low is not None:
        return Shown(f"over {low}{tail}", "" if high is None else f"at most {high}", n)
    if high is not None:
        return Shown(f"under {high}{tail}", "", n)
    return Shown(NOT_MEASURED)


def _ends(low: str | None, high: str | None) -> str:
    if low is None and high is None:
        return "no interval"
    if high is None:
        return f"at least {low}"
    return f"at most {high}" if low is None else f"{low} to {high}"


def p_value(p: float | None) -> str:
    """A p-value to three digits, or below the smallest worth telling."""
    if p is None:
        return NOT_MEASURED
    return "< 0.001" if p < 0.001 else f"{p:.3f}"
