"""Pings and interaction steps from every site to every candidate, all session long."""

from homeport.background.record import records, seen, unwritten_rounds, write_segments
from homeport.background.streams import Background

__all__ = ["Background", "records", "seen", "unwritten_rounds", "write_segments"]
