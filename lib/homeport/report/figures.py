"""The figures of a report, from a session and its decision."""

from homeport import plots
from homeport.decide.decision import Choice, Decision, Option
from homeport.decide.evidence import NOT_PLANNED
from homeport.plots import Chart, Ratio
from homeport.report import words
from homeport.report.coverage import asked_for
from homeport.store import Recorded


def figures(recorded: Recorded, decision: Decision) -> dict[str, Chart]:
    """Every figure of the report, by name, in the order of the page."""
    return {
        "step-latency": plots.step_ecdf(recorded),
        "over-time": plots.latency_over_time(recorded),
        "throughput": plots.throughput_by_round(recorded),
        "update-time": plots.update_stages(recorded),
        "differences": paired_differences(recorded, decision),
    }


def paired_differences(recorded: Recorded, decision: Decision) -> Chart:
    """The options against the leading one, and the twin against its host."""
    leader = leading(decision)
    told = None if leader is None else words.option(leader)
    return plots.paired_differences(
        recorded.study, told, _ratios(decision), decision.noise_floor.floor_percent
    )


def leading(decision: Decision) -> Choice | None:
    """The option the others were compared with; None where there was none."""
    for comparison in decision.comparisons:
        return comparison.leader
    leaders = [option.choice for option in decision.options if option.verdict == "LEADER"]
    return leaders[0] if leaders else None


def _ratios(decision: Decision) -> list[Ratio]:
    compared = {_key(c.other): c for c in decision.comparisons}
    leader = leading(decision)
    ratios = []
    for option in decision.options:
        if leader is not None and _key(option.choice) == _key(leader):
            continue
        key, found = _key(option.choice), compared.get(_key(option.choice))
        if found is None or found.p is None:
            ratios.append(Ratio(*key, None, note=_why_not(decision, option)))
        else:
            ends = found.ratio
            ratios.append(Ratio(*key, ends.value, ends.low, ends.high))
    twin = decision.noise_floor
    for strategy, ratio in twin.ratio.items():
        ends = (None, None, None) if ratio is None else (ratio.value, ratio.low, ratio.high)
        ratios.append(Ratio(twin.twin_of, strategy, *ends, aa=True))
    return ratios


def _why_not(decision: Decision, option: Option) -> str:
    if not asked_for(decision, option.choice.host):
        return NOT_PLANNED
    return "missed the latency target" if option.sla == "FAIL" else "too few complete pairs"


def _key(choice: Choice) -> tuple[str, str]:
    return choice.host, words.strategy(choice.strategy)
