"""Worlds in which the truth is known: latency series and throughputs with the faults of real ones.

Every generator is an argument, every result of shape (repetitions, samples).
"""

import numpy as np
from scipy.signal import lfilter

HZ = 5
QUARTER_HOUR = 15 * 60 * HZ  # samples


def waves(rng, shape, memory):
    """A standard normal series with correlation `memory` between neighbours (AR(1))."""
    repetitions, samples = shape
    settle = 400
    shocks = rng.standard_normal((repetitions, samples + settle)) * np.sqrt(1 - memory**2)
    return lfilter([1], [1, -memory], shocks, axis=1)[:, settle:]


def independent(rng, shape):
    """Latency in ms without memory: what real paths are not."""
    return 31 + np.exp(0.8 * rng.standard_normal(shape))


def queueing(rng, shape):
    """Latency in ms over a queue: neighbours within two seconds resemble each other."""
    return 31 + np.exp(0.8 * waves(rng, shape, 0.9))


def busy(rng, shape):
    """Latency in ms of a busy path: slow common drift, a queue, and bursts with a heavy tail."""
    steady = 31 + np.exp(0.5 * waves(rng, shape, 0.99) + 0.6 * waves(rng, shape, 0.8))
    burst = np.where(rng.random(shape) < 0.002, 8 * (1 + rng.pareto(2.0, shape)), 0)
    return steady + lfilter([1], [1, -0.7], burst, axis=1)


def sessions(rng, repetitions, hosts, rounds, *, lead=0.0, spread=0.1, lost=0.03, twin=True):
    """Throughputs (repetitions, hosts [+ the twin of the first], rounds), nan where lost.

    Rounds share a slow drift; each host's own noise is heavy-tailed (Student's t, 4 degrees). The
    first host is faster by `lead` (log scale), and so is its twin.
    """
    shape = (repetitions, hosts + twin, rounds)
    drift = np.cumsum(rng.normal(0, 0.08, (repetitions, 1, rounds)), axis=2)
    own = rng.standard_t(4, shape) / np.sqrt(2) * spread
    level = np.full((1, hosts + twin, 1), np.log(1000.0))
    level[0, [0, -1] if twin else [0]] += lead
    return np.where(rng.random(shape) < lost, np.nan, np.exp(level + drift + own))
