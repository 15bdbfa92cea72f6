"""Many comparisons at once, without finding a difference too many."""

import numpy as np


def holm(p: np.ndarray) -> np.ndarray:
    """Holm's step-down corrected p values, in the order given, each at most 1.

    Rejecting where the result is at most alpha keeps the chance of even one false rejection
    within alpha, whatever the dependence between the tests (Holm 1979, Scandinavian Journal of
    Statistics 6, 65-70). Raises ValueError for values outside 0 to 1.
    """
    p = np.asarray(p, dtype=float)
    if not ((p >= 0) & (p <= 1)).all():
        raise ValueError(f"p values from 0 to 1, got {p.tolist()}")
    order = np.argsort(p, kind="stable")
    stepped = np.maximum.accumulate(p[order] * np.arange(len(p), 0, -1))
    corrected = np.empty_like(p)
    corrected[order] = np.minimum(stepped, 1.0)
    return corrected
