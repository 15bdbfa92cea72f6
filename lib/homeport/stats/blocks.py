"""Blocks in time: how much a series of neighbours that resemble each other really says.

Pings and steps a fifth of a second apart share queues and routes. Counting them as independent
gives intervals that cover 14 to 59 % instead of 95 %. Blocks of neighbours do not resemble each
other nearly as much, so the spread between blocks measures what the estimate is worth.
"""

import numpy as np

AT_LEAST = 10  # blocks: fewer say too little about their own spread
_GAP_S = 2.0  # a pause that long ends a stretch of neighbours


def time_blocks(time_s: np.ndarray, *, at_least: int = AT_LEAST) -> np.ndarray:
    """Number each sample's block: stretches without a pause, the long ones cut.

    `time_s` has shape (n,), seconds in any order; so has the result. A stretch of more than
    1/at_least of all samples is cut into equal parts, so n >= at_least samples give at least
    `at_least` blocks, and no block spans a pause.
    """
    n = len(time_s)
    order = np.argsort(time_s, kind="stable")
    pauses = np.flatnonzero(np.diff(np.asarray(time_s)[order]) > _GAP_S) + 1
    numbered, block = np.empty(n, dtype=int), 0
    for stretch in np.split(order, pauses) if n else []:
        for part in np.array_split(stretch, -(-len(stretch) * at_least // n)):
            numbered[part] = block
            block += 1
    return numbered


def block_count(blocks: np.ndarray) -> int:
    """How many different blocks there are."""
    return len(np.unique(blocks))


def design_effect(hits: np.ndarray, blocks: np.ndarray) -> float:
    """Variance of the share of hits between blocks, over that of independent samples.

    `hits` (bool) and `blocks` have shape (n,). The share is a ratio estimator over blocks of
    unequal size (Cochran, Sampling Techniques, 3rd ed., section 9.7; Kish 1965 for the name).
    At least 1: that clustering should help is chance. 1 where all samples are alike, since then
    nothing can be told; so it is with a single block.
    """
    n, share = len(hits), float(np.mean(hits)) if len(hits) else 0.0
    _, index = np.unique(blocks, return_inverse=True)
    sizes = np.bincount(index)
    if share in (0.0, 1.0) or len(sizes) < 2:
        return 1.0
    residual = np.bincount(index, weights=hits) - share * sizes
    variance = len(sizes) / (len(sizes) - 1) * float(residual @ residual) / n**2
    return max(1.0, variance / (share * (1 - share) / n))


def run_length(values: np.ndarray, blocks: np.ndarray, *, upper: float = 0.1) -> float:
    """How long the highest values of a series stay high: 1 if they come singly, as by chance.

    `values` and `blocks` have shape (n,), in order of time; the unit drops out. The highest share
    `upper` of every block, ties with it included, is counted and divided by the number of
    unbroken runs it forms: the inverse of the runs estimator of the extremal index (Smith &
    Weissman 1994, J. R. Statist. Soc. B 56, 515-528), over the run length that chance alone would
    give. It tells how exceedances would cluster that were not seen. 1 where all values are alike.
    """
    high = np.zeros(len(values), dtype=bool)
    for block in np.unique(blocks):
        here = np.sort(values[blocks == block])
        first = min(int(np.ceil((1 - upper) * len(here))), len(here) - 1)
        high[blocks == block] = values[blocks == block] >= here[first]
    began = high & ~np.concatenate([[False], high[:-1] & (blocks[1:] == blocks[:-1])])
    runs = int(began.sum())
    return max(1.0, int(high.sum()) / runs * (1 - float(high.mean()))) if runs else 1.0
