"""What each profile may claim. A profile's rounds and minutes buy certainty; no wording does."""

from dataclasses import dataclass

from homeport.decide.decision import Verdict

ALPHA = 0.05  # of the family of comparisons, by Holm
COMPLETE = 0.75  # of the rounds: below that an option is not compared


@dataclass(frozen=True)
class Profile:
    """The strongest verdict a profile may give on throughput, and its design's rounds.

    `sla` says how to read its PASS and FAIL: as they are, or as indications.
    """

    rounds: int
    strongest: Verdict
    sla: str


PROFILES = {
    "demo": Profile(6, "INDICATIVE", "INDICATIVE"),
    "quick": Profile(6, "INDICATIVE", "INDICATIVE"),
    "standard": Profile(12, "CLEAR", "CLEAR"),
    "thorough": Profile(24, "CLEAR", "CLEAR"),
}
