"""Shares of a series in time: how many steps exceed, how many echoes are lost."""

import math

import numpy as np
from scipy import special

from homeport.stats.blocks import block_count, design_effect
from homeport.stats.estimate import Estimate

_ALPHA = 0.05


def block_share(
    hits: np.ndarray,
    blocks: np.ndarray,
    *,
    tail: float = _ALPHA / 2,
    least_effect: float = 1.0,
    unseen_effect: float = 1.0,
) -> Estimate:
    """The share of hits, from 0 to 1, with an interval that is never of no width.

    `hits` (bool) and `blocks` have shape (n,). `tail` is the risk of each end: .025 for a 95 %
    interval, .05 where each end is to be a 95 % bound of its own.

    Clopper and Pearson's exact interval on the effective sample size: n over the design effect of
    the blocks, less what Student's t asks for so few blocks (Korn & Graubard 1998, Survey
    Methodology 24, 193-201). Few hits show little of their clustering and understate it, so the
    caller may give the `least_effect` it knows of. Where all samples are alike nothing shows how
    hits would cluster: `unseen_effect` is then taken as design effect, the open end gets the whole
    risk of 5 % (the rule of three: Hanley & Lippman-Hand 1983, JAMA 249, 1743-1745), and a few
    hits never give a better bound than none would have.
    """
    n = len(hits)
    if n == 0:
        return Estimate(math.nan, -math.inf, math.inf, 0)
    share = float(np.mean(hits))
    none = 1 - _ALPHA ** (unseen_effect / n)  # the bound if none had been seen
    if share in (0.0, 1.0):
        low, high = (0.0, none) if share == 0 else (1 - none, 1.0)
        return Estimate(share, low, high, n, unseen_effect)
    effect = max(least_effect, design_effect(hits, blocks))
    units = n / effect * _few_blocks(n, block_count(blocks), tail)
    seen = share * units
    low = special.betaincinv(seen, units - seen + 1, tail)
    high = special.betaincinv(seen + 1, units - seen, 1 - tail)
    return Estimate(share, float(min(low, 1 - none)), float(max(high, none)), n, effect)


def _few_blocks(n: int, count: int, tail: float) -> float:
    """By how much to shrink the sample because few blocks tell its design effect badly."""
    if count < 2:
        return 1 / n
    wide, narrow = special.stdtrit([count - 1, n - 1], 1 - tail)
    return float((narrow / wide) ** 2)
