"""Prices and counted usage in, money out."""

from homeport.stats import Estimate

_SECONDS_PER_HOUR = 3600
_MILLION = 1e6


def usd_per_million_steps(usd_per_hour: float, steps_s: Estimate) -> Estimate:
    """What a million usable environment steps cost on a host.

    `usd_per_hour` is the host's price alone (its sites and its traffic are not in it), `steps_s`
    its usable steps a second. USD = usd_per_hour / (steps_s * 3600) * 1e6; the faster, the
    cheaper, so the interval turns round. Raises ValueError for a negative price.
    """
    if usd_per_hour < 0:
        raise ValueError(f"a price of 0 or more, got {usd_per_hour}")
    hourly = usd_per_hour * _MILLION / _SECONDS_PER_HOUR
    return steps_s.map(lambda steps: hourly / steps, falling=True)


def usd_per_hour_at(usd_per_million: float, steps_s: float) -> float:
    """The hourly price at which `steps_s` usable steps a second cost that much a million."""
    return usd_per_million * steps_s * _SECONDS_PER_HOUR / _MILLION
