"""Hodges and Lehmann's estimate with the exact interval and p of Wilcoxon's signed ranks.

Why not a bootstrap: on 5 to 20 paired differences its 95 % interval covers 83 to 88 %; this one
covers at least what it says whenever the differences are symmetric about their centre.
"""

from functools import lru_cache

import numpy as np
from scipy import stats

from homeport.stats.estimate import Estimate

_SMALLEST = 1e-9  # a measured rate of 0 as the logarithm sees it: far below any other


def hodges_lehmann(differences: np.ndarray, *, confidence: float = 0.95) -> Estimate:
    """The centre of symmetric differences: median of the Walsh averages, with its interval.

    `differences` has shape (..., n), one pair a column, in any unit; the result is in that unit
    and has shape (...). The interval's ends are the Walsh averages that the exact null
    distribution of the signed-rank sum picks (Hollander, Wolfe & Chicken, Nonparametric
    Statistical Methods, 3rd ed., sections 3.2 and 3.3); with ties it covers more, never less.
    Where no interval of that confidence exists (95 %: fewer than 6 pairs) it is unbounded.
    Raises ValueError on nan.
    """
    d = np.asarray(differences, dtype=float)
    if np.isnan(d).any():
        raise ValueError("differences without nan: leave out incomplete pairs first")
    n = d.shape[-1]
    unbounded = np.full(d.shape[:-1], np.inf)
    if n == 0:
        return Estimate(_plain(unbounded * np.nan), _plain(-unbounded), _plain(unbounded), 0)
    first, second = np.triu_indices(n)
    walsh = np.sort((d[..., first] + d[..., second]) / 2, axis=-1)
    value = np.median(walsh, axis=-1)
    cut = _cut(n, 1 - confidence)
    if cut is None:
        return Estimate(_plain(value), _plain(-unbounded), _plain(unbounded), n)
    return Estimate(_plain(value), _plain(walsh[..., cut]), _plain(walsh[..., -1 - cut]), n)


def signed_rank_p(differences: np.ndarray) -> float | np.ndarray:
    """Exact two-sided p of "the differences are symmetric about 0", shape (..., n) to (...).

    Every sign of every difference is equally likely under that hypothesis. Equal sizes share
    their midrank and zeros drop out, so ties need no approximation (Lehmann, Nonparametrics,
    section 3.2; Hollander & Wolfe, section 3.1). Differences that are all zero, or none, give 1.
    """
    d = np.asarray(differences, dtype=float)
    batch = d.shape[:-1]
    p = np.array([_one_p(d[k]) for k in np.ndindex(batch)]).reshape(batch)
    return p if batch else float(p)


def smallest_p(n: int) -> float:
    """The smallest two-sided p that n pairs can give: all signs alike, 2 of 2**n ways."""
    return min(1.0, 2.0 ** (1 - n))


def typical(values: np.ndarray) -> Estimate:
    """The typical size of positive values, shape (..., n): Hodges-Lehmann on the log scale.

    The result is in the unit of the input, its interval symmetric in ratio. A measured 0 counts
    as smaller than anything else.
    """
    return hodges_lehmann(_log(values)).map(np.exp)


def ratio(ours: np.ndarray, theirs: np.ndarray) -> tuple[Estimate, float | np.ndarray]:
    """How many times `theirs` is `ours`, paired by round, with the exact p of "no difference".

    Both have shape (..., n) and one unit; the ratio has none. Pairs, not means, are compared, so
    whatever slowed both hosts in a round drops out.
    """
    difference = _log(ours) - _log(theirs)
    return hodges_lehmann(difference).map(np.exp), signed_rank_p(difference)


def _log(values):
    return np.log(np.maximum(np.asarray(values, dtype=float), _SMALLEST))


def _one_p(row):
    row = row[row != 0]
    doubled = np.rint(2 * stats.rankdata(np.abs(row))).astype(int)  # midranks are halves
    below = _cumulative(tuple(sorted(doubled.tolist())))
    seen = int(doubled[row > 0].sum())
    return min(1.0, 2 * below[min(seen, int(doubled.sum()) - seen)])


@lru_cache(maxsize=4096)
def _cumulative(weights: tuple[int, ...]) -> np.ndarray:
    """P(sum <= s) for s = 0, 1, ..., each weight being in the sum with probability 1/2."""
    ways = np.ones(1)
    for weight in weights:
        more = np.zeros(len(ways) + weight)
        more[: len(ways)] += ways / 2
        more[weight:] += ways / 2
        ways = more
    return np.cumsum(ways)


def _cut(n: int, alpha: float) -> int | None:
    """How many Walsh averages to leave out at each end; None if even none is too many."""
    allowed = np.flatnonzero(_cumulative(tuple(range(1, n + 1))) <= alpha / 2)
    return int(allowed[-1]) if len(allowed) else None


def _plain(x):
    return x if np.ndim(x) else float(x)
