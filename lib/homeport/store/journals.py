"""What the lines of a session's journals hold."""

import json
import math
from collections.abc import Callable

Check = Callable[[object], bool]


def _text(value: object) -> bool:
    return isinstance(value, str)


def _texts(value: object) -> bool:
    return isinstance(value, list) and all(map(_text, value))


def _number(value: object) -> bool:
    number = isinstance(value, int | float) and not isinstance(value, bool)
    return number and math.isfinite(value)


def _count(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _or_none(check: Check) -> Check:
    return lambda value: value is None or check(value)


# By journal; of gaps also by event. A journal that is not here is for people to read.
_NEEDED: dict[str, dict[str, Check]] = {
    "rounds": {"round": _or_none(_count), "time_s": _number},
    "sittings": {"event": _text, "time_s": _number},
    "loads": {
        "event": _text,
        "load": _text,
        "place": _text,
        "sites": _texts,
        "time_s": _number,
    },
    "gaps": {"gap": _text, "event": _text},
    "gaps/begin": {
        "kind": _text,
        "reason": _text,
        "place": _or_none(_text),
        "streams": _texts,
        "begin_s": _number,
        "noticed_s": _number,
    },
    "gaps/end": {"time_s": _number},
    "relay": {"drops": _number, "cpu_share": _number},
}


def read_note(journal: str, line: bytes) -> dict | None:
    """One line of a journal; None if it is torn or lacks what its readers need.

    A crash can tear a line anywhere, and the next one may continue it: what is left can be any
    JSON at all.
    """
    try:
        note = json.loads(line.decode("utf-8"))
    except (ValueError, RecursionError):
        return None
    if not isinstance(note, dict) or not _holds(note, _NEEDED.get(journal, {})):
        return None
    return note if _holds(note, _NEEDED.get(f"{journal}/{note.get('event')}", {})) else None


def _holds(note: dict, needed: dict[str, Check]) -> bool:
    return all(key in note and check(note[key]) for key, check in needed.items())
