"""What every statistic here gives back: a value with the interval it can be trusted in."""

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np


@dataclass(frozen=True)
class Estimate:
    """A value with its interval, in the unit of the input.

    `low` is -inf and `high` inf where the data bound nothing; `value` is nan where there was
    nothing to estimate. `n` counts the units it rests on. Where the input was a batch, value and
    ends are arrays of the batch's shape. `design_effect` says how many times more variance
    clustering gave the estimate than independent units would have; None where it has no meaning.
    """

    value: float | np.ndarray
    low: float | np.ndarray
    high: float | np.ndarray
    n: int
    design_effect: float | None = None

    def map(self, change: Callable[[np.ndarray], np.ndarray], *, falling: bool = False):
        """The same estimate on another scale; `falling` says that `change` turns the order round.

        An end that was unbounded stays so: exp(-inf) is 0, which nobody measured.
        """
        low, high = (self.high, self.low) if falling else (self.low, self.high)
        ends = {"low": _finite(change, low, -np.inf), "high": _finite(change, high, np.inf)}
        return replace(self, value=_finite(change, self.value, np.nan), **ends)


def _finite(change, end, otherwise):
    known = np.isfinite(end)
    got = np.where(known, change(np.where(known, end, 1.0)), otherwise)
    return got if np.ndim(end) else float(got)
