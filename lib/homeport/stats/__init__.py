"""Arrays in, estimates out. Knows no hosts; a random generator is always an argument."""

from homeport.stats.blocks import AT_LEAST, block_count, design_effect, run_length, time_blocks
from homeport.stats.estimate import Estimate
from homeport.stats.holm import holm
from homeport.stats.quantile import block_quantile
from homeport.stats.share import block_share
from homeport.stats.signed_rank import (
    hodges_lehmann,
    ratio,
    signed_rank_p,
    smallest_p,
    typical,
)
from homeport.stats.trend import trend_p

__all__ = [
    "AT_LEAST",
    "Estimate",
    "block_count",
    "block_quantile",
    "block_share",
    "design_effect",
    "hodges_lehmann",
    "holm",
    "ratio",
    "run_length",
    "signed_rank_p",
    "smallest_p",
    "time_blocks",
    "trend_p",
    "typical",
]
