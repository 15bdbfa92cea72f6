"""What the words of a decision mean, and text from elsewhere made fit to print."""

import unicodedata

from homeport.decide.decision import Choice, StrategyName

CONFIDENCE = {
    "CLEAR": "The leader beat every other option beyond chance and beyond the noise floor.",
    "EQUIVALENT": "The best options differ by less than what matters; the cheapest is named.",
    "INDICATIVE": "Seen in this short session, too few rounds for proof: a lead to follow, not a "
    "claim to defend.",
    "UNDECIDED": "The data do not decide between the options; what would settle it stands below.",
    "NONE_MEETS_SLA": "No candidate keeps the latency target, so none is recommended.",
}
OPTION = {
    "LEADER": "the option the others are compared with",
    "WORSE": "less throughput than the leader, beyond chance and noise",
    "EQUIVALENT": "differs from the leader by less than what matters",
    "INDISTINGUISHABLE": "cannot be told apart from the leader here",
    "NOT_COMPARED": "failed the latency target, or has too few complete rounds",
}
SLA = {
    "PASS": "keeps the target, even at the lower bound of its share of steps in time",
    "FAIL": "misses the target, even at the upper bound",
    "UNDECIDED": "more steps are needed to say whether the target is kept",
}
TOPOLOGY = {
    "star": "workers send every gradient to the learner and get the mean back",
    "local": "workers train alone and average their parameters after each update, or after N (/N)",
}
EMULATED = (
    "Real packets over emulated links. Real programs sent every byte; the delay, loss and rate of "
    "each path were set from the sources named below, and from assumptions where no source is. The "
    "answer holds for paths like these, not for what a provider delivers today."
)
SAMPLE = (
    "Recorded sample. Nothing was measured for this report; it reads a session kept as example."
)
SINGLE = "A single page, not a run. What was measured alone may be described, not compared."
_KEPT = {"\u200c", "\u200d"}  # joiners, without which some scripts cannot be written


def clean(text: object, longest: int = 2000) -> str:
    """One line, without control and direction characters, cut where it grows past reading."""
    kept = (
        c if c in _KEPT or unicodedata.category(c)[0] != "C" else " " for c in str(text)[:20_000]
    )
    flat = " ".join("".join(kept).split())
    return flat if len(flat) <= longest else flat[: longest - 1].rstrip() + "…"


def headline(sentence: str) -> tuple[str, str]:
    """A sentence as what to do and the rest, split at its first colon where that comes early."""
    head, colon, rest = clean(sentence).partition(": ")
    return (head, rest) if colon and len(head) <= 100 else (clean(sentence), "")


def name(text: object) -> str:
    """A region, host or site, cut to what fits in a cell."""
    return clean(text, 60)


def strategy(spelt: StrategyName) -> str:
    """A strategy as it is called in the store and on the command line."""
    codec = "" if spelt.codec == "none" else f"+{spelt.codec}"
    every = "" if spelt.sync_every == 1 else f"/{spelt.sync_every}"
    return f"{spelt.topology}{codec}{every}"


def option(choice: Choice) -> str:
    """An option in one line: host, region and strategy."""
    return f"{name(choice.host)} · {name(choice.region)}, {strategy(choice.strategy)}"


def word(verdict: str) -> str:
    """A verdict as it is printed."""
    return verdict.replace("_", " ")
