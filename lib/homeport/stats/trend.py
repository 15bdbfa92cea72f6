"""Does a series drift?"""

import numpy as np
from scipy import stats


def trend_p(values: np.ndarray) -> float:
    """Exact two-sided p of "the order of these values is chance", against a steady rise or fall.

    `values` has shape (n,), in order of time, any unit. Kendall's tau with the position (Mann 1945,
    Econometrica 13, 245-259). 1 where nothing can be told: fewer than 3 values, or all alike.
    """
    if len(values) < 3 or np.ptp(values) == 0:
        return 1.0
    return float(stats.kendalltau(np.arange(len(values)), values).pvalue)
