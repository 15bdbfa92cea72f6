"""Is the latency target kept? Three answers: yes, no, and not enough seen to say."""

from bisect import bisect_left
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

import numpy as np

from homeport import stats
from homeport.params import Sla
from homeport.stats import Estimate

Verdict = Literal["PASS", "FAIL", "UNDECIDED"]

RISK = 0.05  # of a wrong PASS, and of a wrong FAIL
MIN_STEPS = 50  # ten blocks of a second each at 5 Hz
_LONGEST_UNSEEN_RUN = 2.0
_ORDER = ("FAIL", "UNDECIDED", "PASS")


@dataclass(frozen=True)
class Replies:
    """What one site asked of one candidate: steps or echoes, each array of shape (n,).

    ms: how long each reply took, inf where none came by its deadline. time_s: when, in seconds.
    label: `loaded` or `idle`, as the link was at that moment.
    """

    ms: np.ndarray
    time_s: np.ndarray
    label: np.ndarray

    @property
    def slowest_ms(self) -> float:
        """The slowest reply that did come; nan where none did."""
        came = self.ms[np.isfinite(self.ms)]
        return float(came.max()) if len(came) else float("nan")

    def labelled(self, label: str) -> tuple[np.ndarray, np.ndarray]:
        """Those of one label in order of time, and the time block of each."""
        order = np.flatnonzero(self.label == label)
        order = order[np.argsort(self.time_s[order], kind="stable")]
        return self.ms[order], stats.time_blocks(self.time_s[order])


@dataclass(frozen=True)
class Judged:
    """What one site's steps, or all sites' together, say about the target.

    `share_within` is the share of steps inside the target on the label that binds; each of its
    ends is a 95 % bound of its own, and the verdict is read off them. `p99_ms` is the 99th
    percentile, `at_share_ms` the percentile that the target's share names, `other_label` the share
    inside the target on the label that does not bind; None where there was no step. `reason` says
    why a verdict is UNDECIDED.
    """

    verdict: Verdict
    site: str | None
    share_within: Estimate | None
    p99_ms: Estimate | None
    at_share_ms: Estimate | None
    other_label: Estimate | None
    reason: str = ""


def judge_site(site: str, steps: Replies, sla: Sla) -> Judged:
    """Judge "at least `share` of the steps take at most `step_ms`" at one site.

    PASS if the lower bound of the share inside the target is at least `share`, FAIL if its upper
    bound is below, else UNDECIDED; never decided on fewer than MIN_STEPS steps.
    """
    ms, blocks = steps.labelled(sla.label)
    other_ms, other_blocks = steps.labelled("idle" if sla.label == "loaded" else "loaded")
    other = _share_within(other_ms, other_blocks, sla) if len(other_ms) else None
    if not len(ms):
        return Judged(
            "UNDECIDED", site, None, None, None, other, f"no {sla.label} step was measured"
        )
    within = _share_within(ms, blocks, sla)
    verdict = _verdict(within, sla)
    reason = _reason(within, sla) if verdict == "UNDECIDED" else ""
    p99, at_share = (stats.block_quantile(ms, blocks, q) for q in (0.99, sla.share))
    return Judged(verdict, site, within, p99, at_share, other, reason)


def judge(by_site: Mapping[str, Replies], sla: Sla) -> Judged:
    """Judge a candidate by its worst site.

    PASS needs a PASS at every site (an intersection-union test: Berger 1982, Technometrics 24,
    295-300, so its risk is no larger than one site's); one FAIL is enough to fail. Among sites
    with the same verdict the one with the smallest share inside the target speaks.
    """
    judged = [judge_site(site, steps, sla) for site, steps in by_site.items()]
    if not judged:
        return Judged("UNDECIDED", None, None, None, None, None, "no step was measured")
    return min(judged, key=_badness)


def passing_target(by_site: Mapping[str, Replies], sla: Sla) -> float | None:
    """The smallest target, in ms, at which `judge` would say PASS; None if it never would.

    Found by halving over the latencies seen, as a looser target is judged better, but for the
    noise in how the steps beyond it cluster.
    """
    ms = [replies.ms[replies.label == sla.label] for replies in by_site.values()]
    seen = np.unique(np.concatenate(ms)) if ms else np.empty(0)
    seen = seen[np.isfinite(seen)]
    first = bisect_left(seen, True, key=lambda target: _passes(by_site, sla, float(target)))
    return float(seen[first]) if first < len(seen) else None


def _passes(by_site, sla, step_ms):
    return judge(by_site, sla.model_copy(update={"step_ms": step_ms})).verdict == "PASS"


def _badness(judged):
    share = judged.share_within.value if judged.share_within else 1.0
    return _ORDER.index(judged.verdict), share, judged.site


def _share_within(ms, blocks, sla):
    """Share of steps inside the target; its ends are bounds of RISK each.

    The design effect is at least that of the slowest 1 - share of the steps, wherever the target
    lies: few exceedances understate how they cluster (simulated at the boundary, 15 minutes of
    autocorrelated steps: 5 to 10 % false PASS without, 4 to 6 % with). Where no step exceeds, the
    runs of the slowest tenth stand in for it, but at most runs of 2: the further out, the shorter
    the runs, and a host far inside its target must be able to show it in two minutes.
    """
    slowest = ms > np.quantile(ms, sla.share, method="inverted_cdf")
    exceeding = stats.block_share(
        ms > sla.step_ms,
        blocks,
        tail=RISK,
        least_effect=stats.design_effect(slowest, blocks),
        unseen_effect=min(_LONGEST_UNSEEN_RUN, stats.run_length(ms, blocks)),
    )
    return exceeding.map(lambda share: 1 - share, falling=True)


def _verdict(within, sla):
    if within.n < MIN_STEPS:
        return "UNDECIDED"
    if within.low >= sla.share:
        return "PASS"
    return "FAIL" if within.high < sla.share else "UNDECIDED"


def _reason(within, sla):
    n = within.n
    if n < MIN_STEPS:
        return f"only {n} {sla.label} steps were measured, at least {MIN_STEPS} are needed"
    if within.value == 1.0:
        need = int(np.ceil(within.design_effect * np.log(RISK) / np.log(sla.share)))
        return f"none of {n} {sla.label} steps exceeded, but it takes {need} to show it"
    return (
        f"{100 * within.value:.4g} % of {n} {sla.label} steps kept it, and with a design effect "
        f"of {within.design_effect:.2g} the true share may lie on either side of "
        f"{100 * sla.share:g} %"
    )
