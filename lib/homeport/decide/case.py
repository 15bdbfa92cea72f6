"""A session judged, before it is put into words."""

from dataclasses import dataclass

from homeport.decide.compare import Floor, Label, Pair, Ranking, noise_floor, rank, verdict
from homeport.decide.decision import Verdict
from homeport.decide.evidence import Evidence
from homeport.decide.figures import judged
from homeport.decide.profiles import PROFILES, Profile
from homeport.params import Study
from homeport.targets import Judged


@dataclass(frozen=True)
class Case:
    """The evidence with everything concluded from it; `sla` is by candidate."""

    evidence: Evidence
    sla: dict[str, Judged]
    floor: Floor
    ranking: Ranking
    verdict: Verdict

    @property
    def study(self) -> Study:
        """The study as it was when the session began."""
        return self.evidence.study

    @property
    def profile(self) -> Profile:
        """What the study's profile may claim."""
        return PROFILES[self.study.profile]

    @property
    def leader(self) -> Label | None:
        """The best option that the gate let through, recommended or not."""
        return self.ranking.leader

    @property
    def choice(self) -> Label | None:
        """The option recommended; None where nothing is."""
        return None if self.verdict in ("UNDECIDED", "NONE_MEETS_SLA") else self.leader

    @property
    def runner_up(self) -> Label | None:
        """The next best that was compared; None where nothing is recommended."""
        compared = [pair.other for pair in self.ranking.pairs if pair.complete]
        return compared[0] if self.choice and compared else None

    @property
    def failed(self) -> list[str]:
        """The candidates that the gate excludes."""
        return [host for host, judged in self.sla.items() if judged.verdict == "FAIL"]

    def pair(self, label: Label) -> Pair | None:
        """The leader's comparison with an option; None if it had none."""
        return next((pair for pair in self.ranking.pairs if pair.other == label), None)

    def standing(self, label: Label) -> str:
        """How an option compares with the leader, in the words of the decision."""
        if label == self.leader:
            return "LEADER"
        pair = self.pair(label)
        if pair is None or not pair.compared:
            return "NOT_COMPARED"
        return "WORSE" if pair.told_apart else "INDISTINGUISHABLE"


def conclude(evidence: Evidence) -> Case:
    """Judge the target first, then compare what it left, then say what may be said.

    The twin takes part in the noise floor and in nothing else.
    """
    study = evidence.study
    sla = judged(evidence)
    failed = [host for host, one in sla.items() if one.verdict == "FAIL"]
    floor = noise_floor(evidence.of_host(study.twin_of), evidence.of_host(study.twin))
    racing = [label for h in study.candidates if h not in failed for label in evidence.of_host(h)]
    ranking = rank({label: evidence.steps_s[label] for label in racing}, floor)
    if len(failed) == len(study.candidates):
        said = "NONE_MEETS_SLA"
    else:
        leader = ranking.leader
        own = sla[leader.host].verdict if leader else "UNDECIDED"
        said = verdict(ranking, own, PROFILES[study.profile], failed)
    return Case(evidence, sla, floor, ranking, said)
