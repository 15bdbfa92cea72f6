"""What must agree before ranks may exchange anything; a mismatch names the odd rank.

gloo checks neither shapes nor types: with unlike models one side gets a plausible wrong mean and
the other a closed connection. So everyone shows its facts in the store first.
"""

import functools
import importlib.metadata
import json
import platform
from collections import Counter

from torch.distributed import Store

from homeport.errors import GangFailed
from homeport.train.interfaces import is_loopback

_PACKAGES = ("homeport", "torch", "stable-baselines3", "gymnasium", "numpy")


@functools.cache
def versions() -> dict[str, str]:
    """The versions that must be the same on all ranks; looked up once, before any fork."""
    of = {name: importlib.metadata.version(name) for name in _PACKAGES}
    return {"python": platform.python_version(), **of}


def share(store: Store, topic: str, rank: int, fact: object) -> None:
    """Show `fact` (anything JSON can hold) to the other ranks under `topic`."""
    store.set(f"{topic}/{rank}", json.dumps(fact))


def read(store: Store, topic: str, places: list[str]) -> list:
    """The facts of all ranks under `topic`, by rank.

    Waits as long as the store's timeout; then GangFailed names the first rank that is missing,
    or rank 0 when the store itself (which is rank 0's) is gone.
    """
    keys = [f"{topic}/{rank}" for rank in range(len(places))]
    try:
        return [json.loads(text) for text in store.multi_get(keys)]
    except RuntimeError as broken:
        missing = _first_missing(store, keys)
        cause = "is gone" if missing is None else "did not show up in time"
        rank = missing or 0
        raise GangFailed(rank, places[rank], f"{cause} ({topic})") from broken


def _first_missing(store: Store, keys: list[str]) -> int | None:
    try:
        return next((rank for rank, key in enumerate(keys) if not store.check([key])), None)
    except RuntimeError:
        return None


def check_places(facts: list[dict], places: list[str]) -> None:
    """Compare what each rank says of its place: `address`, `advertised` and `versions`."""
    _check_addresses(facts, places)
    check_equal([fact["versions"] for fact in facts], places, "versions")


def _check_addresses(facts: list[dict], places: list[str]) -> None:
    """A loopback address leads every peer to itself: fine only when all share one machine."""
    local = [is_loopback(fact["address"]) for fact in facts]
    for rank, fact in enumerate(facts):
        for key in ("address", "advertised"):
            if is_loopback(fact[key]) and not all(local):
                raise GangFailed(
                    rank,
                    places[rank],
                    f"would advertise the loopback address {fact[key]} to other machines; give "
                    "the place the address its peers reach it at",
                )


def check_equal(values: list, places: list[str], what: str) -> None:
    """Raise GangFailed for the first rank whose value is not the most common one.

    Where no value is more common than another, rank 0's is taken for the right one.
    """
    texts = [json.dumps(value, sort_keys=True) for value in values]
    usual = Counter(texts).most_common(1)[0][0]
    for rank, text in enumerate(texts):
        if text != usual:
            cause = f"its {what} differ: {text}, where the others have {usual}"
            raise GangFailed(rank, places[rank], cause)
