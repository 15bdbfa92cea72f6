"""Pings and interaction steps from every site to every candidate, all session long."""

from homeport.background.gaps import EVERYTHING, Gap, close_gap, gaps, open_gap
from homeport.background.record import records, seen, unwritten_rounds, write_segments
from homeport.background.streams import Background

__all__ = [
    "EVERYTHING",
    "Background",
    "Gap",
    "close_gap",
    "gaps",
    "open_gap",
    "records",
    "seen",
    "unwritten_rounds",
    "write_segments",
]
