"""One function per figure: what was recorded in, a figure out.

The colour of a host is the same in every figure. A host without samples says "not measured".
"""

from homeport.plots.chart import NOT_MEASURED, Chart, svg
from homeport.plots.differences import Ratio, paired_differences
from homeport.plots.ecdf import step_ecdf
from homeport.plots.over_time import latency_over_time
from homeport.plots.training import throughput_by_round, update_stages

__all__ = [
    "NOT_MEASURED",
    "Chart",
    "Ratio",
    "latency_over_time",
    "paired_differences",
    "step_ecdf",
    "svg",
    "throughput_by_round",
    "update_stages",
]
