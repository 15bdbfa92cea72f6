"""Percentiles of a series in time, with an interval that its clustering does not fool."""

import math

import numpy as np
from scipy import special

from homeport.stats.blocks import AT_LEAST, block_count, design_effect
from homeport.stats.estimate import Estimate


def block_quantile(
    values: np.ndarray,
    blocks: np.ndarray,
    q: float,
    *,
    confidence: float = 0.95,
    min_blocks: int = AT_LEAST,
) -> Estimate:
    """The q quantile of `values` (shape (n,), any unit), with its interval.

    What was never answered is inf in `values`: it takes its place above all others, and a
    quantile or an end that falls on it is inf. `blocks` (shape (n,)) numbers each value's block.

    The quantile is the smallest value with at least a share q at or below it. Its interval turns
    the interval of that share into order statistics (Woodruff 1952, JASA 47, 635-646): the
    share's standard error comes from the blocks and is laid off on the logit scale with Student's
    t (Korn & Graubard 1998, Survey Methodology 24, 193-201). An end is unbounded where even the
    outermost order statistic is too likely on the wrong side, and both with too few blocks.
    """
    n, count = len(values), block_count(blocks)
    if n == 0:
        return Estimate(math.nan, -math.inf, math.inf, 0)
    ordered = np.sort(values)
    value = _at(ordered, q)
    effect = _effect(values, blocks, ordered, q)
    if count < max(2, min_blocks):
        return Estimate(value, -math.inf, math.inf, n, effect)
    tail = (1 - confidence) / 2
    reach = special.stdtrit(count - 1, 1 - tail) * math.sqrt(effect / (n * q * (1 - q)))
    shares = special.expit(special.logit(q) + np.array([-reach, reach]))
    low, high = math.floor(n * shares[0]), math.floor(n * shares[1]) + 1
    bounded_low = low >= 1 and (1 - q) ** (n / effect) <= tail
    bounded_high = high <= n and q ** (n / effect) <= tail
    return Estimate(
        value,
        float(ordered[low - 1]) if bounded_low else -math.inf,
        float(ordered[high - 1]) if bounded_high else math.inf,
        n,
        effect,
    )


def _at(ordered, q):
    return float(ordered[max(0, math.ceil(q * len(ordered) - 1e-9) - 1)])


def _effect(values, blocks, ordered, q):
    """The larger design effect of the tail beyond q and of one twice as large.

    The values beyond a high percentile are few and understate their own clustering: with it
    alone, simulated p99 intervals cover .90 to .92, with both .94 to .96.
    """
    tail = min(1 - q, q)
    sides = {q} if tail > 0.25 else {q, q - tail if q > 0.5 else q + tail}
    cuts = [_at(ordered, side) for side in sides]
    below = [hits for cut in cuts for hits in (values <= cut, values < cut)]
    return max(design_effect(hits, blocks) for hits in below)
