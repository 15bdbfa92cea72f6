"""How the decision's sentences write names and numbers."""

import math

from homeport.decide.compare import Label
from homeport.params import Study
from homeport.stats import Estimate


def number(x: float) -> str:
    """Three significant digits, without an exponent, thousands apart."""
    if not math.isfinite(x) or x == 0:
        return f"{x:g}"
    digits = max(0, 2 - math.floor(math.log10(abs(x))))
    return f"{round(x, 2 - math.floor(math.log10(abs(x)))):,.{digits}f}"


def percent(share: float) -> str:
    """A share as a percentage, never rounded up to 100 where 100 was not reached."""
    if 0.99995 <= share < 1:
        return "over 99.99 %"
    return f"{100 * share:.4g} %"


def span(estimate: Estimate) -> str:
    """The interval in brackets, or that there is none."""
    low, high = math.isfinite(estimate.low), math.isfinite(estimate.high)
    if low and high:
        return f"({number(estimate.low)} to {number(estimate.high)})"
    if low:
        return f"(at least {number(estimate.low)})"
    return f"(at most {number(estimate.high)})" if high else "(no interval from so few)"


def host(study: Study, name: str) -> str:
    """A host as people call it: `Hong Kong (hk)`."""
    return f"{study.region_of(name)} ({name})"


def option(label: Label) -> str:
    """An option in short: `hk with local`."""
    return f"{label.host} with {label.strategy}"


def listed(names: list[str]) -> str:
    """`a`, `a and b`, `a, b and c`."""
    return " and ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)


def counted(many: int, unit: str) -> str:
    """`1 round`, `6 rounds`."""
    return f"{many:,} {unit}{'' if many == 1 else 's'}"


def rounds(numbers: list[int]) -> str:
    """`round 3`, `rounds 1, 2 and 5`."""
    return f"round{'s' if len(numbers) > 1 else ''} {listed([str(n) for n in numbers])}"


def target(study: Study) -> str:
    """The latency target: `99 % of loaded steps within 50 ms`."""
    sla = study.sla
    return f"{100 * sla.share:g} % of {sla.label} steps within {sla.step_ms:g} ms"
