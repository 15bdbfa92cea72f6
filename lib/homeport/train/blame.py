"""Who failed first: the rank at the root, told apart from those that only noticed.

A lost rank shows itself twice: by its own end, and by the others, who see a closed connection or
silence. "Connection closed by peer" is what victims say; whoever gave up first says who it waited
for. So: a rank that ended by itself is the root; else follow who blames whom, from the earliest
sign, to a rank that says nothing.
"""

from dataclasses import dataclass

from homeport.errors import GangFailed


@dataclass(frozen=True)
class Sign:
    """What showed that something is wrong at `rank`: who it says is to blame (maybe itself)."""

    rank: int
    blames: int
    cause: str

    @property
    def own(self) -> bool:
        """Whether the rank failed by itself."""
        return self.rank == self.blames


def first_failure(signs: list[Sign], places: list[str]) -> GangFailed:
    """The root of all `signs`, which stand in the order they were seen."""
    root = next((sign for sign in signs if sign.own), None) or _follow(signs)
    victims = sorted({sign.rank for sign in signs} - {root.blames})
    return GangFailed(root.blames, places[root.blames], root.cause, tuple(victims))


def _follow(signs: list[Sign]) -> Sign:
    """Follow the blame from the earliest sign, once round where ranks blame each other."""
    first_of = {}
    for sign in signs:
        first_of.setdefault(sign.rank, sign)
    sign, seen = signs[0], set()
    while sign.blames in first_of and sign.rank not in seen:
        seen.add(sign.rank)
        sign = first_of[sign.blames]
    return sign
