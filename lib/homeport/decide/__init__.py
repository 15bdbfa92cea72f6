"""Options in, a decision out: what to rent, why, and what would change it."""

from homeport.decide.decision import Decision
from homeport.decide.judge import decide
from homeport.decide.profiles import PROFILES, Profile

__all__ = ["PROFILES", "Decision", "Profile", "decide"]
