"""What each profile may claim. A profile's rounds and minutes buy certainty; no wording does."""

from dataclasses import dataclass

from homeport.decide.decision import Verdict

ALPHA = 0.05  # of the family of comparisons, by Holm
COMPLETE = 0.75  # of the rounds: below that an option is not compared
CLEAR_ROUNDS = 12  # the shortest design that may say CLEAR, whatever the profile is called
_GROSS = 0.5  # in time: below that the median step itself is late, and a median is what is claimed


@dataclass(frozen=True)
class Profile:
    """The strongest verdict a profile may give on throughput, and its design's rounds.

    `sla` says how to read its PASS and FAIL: as they are, or as indications. A FAIL is said only
    where the share of steps in time is shown to lie below `fail_below` (1: wherever the bound
    allows it).
    """

    rounds: int
    strongest: Verdict
    sla: str
    fail_below: float = 1.0


PROFILES = {
    "demo": Profile(6, "INDICATIVE", "INDICATIVE"),
    "quick": Profile(6, "INDICATIVE", "INDICATIVE", fail_below=_GROSS),
    "standard": Profile(CLEAR_ROUNDS, "CLEAR", "CLEAR"),
    "thorough": Profile(24, "CLEAR", "CLEAR"),
}
