"""The provenance of a decision as tables: what was asked for, what the hosts ran, who measured."""

import datetime
from collections.abc import Iterator
from dataclasses import dataclass

from homeport.report import words

Rows = list[tuple[str, str]]

_HOSTS = (
    "What was in force on the measured hosts, read there when the sitting began. Names after a "
    "value are the hosts that had it."
)
_CONTROLLER = (
    "The machine that homeport ran on. Its own settings, such as its congestion control, are not "
    "those of the hosts."
)
_RELAY = "Packets it failed (unread, unsent or late), and the largest share of a core it used."
_DIFFERS = "Where it differs from the controller above, which began the session."


@dataclass(frozen=True)
class Section:
    """One table: its title, how to read it, and (fact, value) rows."""

    title: str
    note: str
    rows: Rows


def sections(facts: dict) -> list[Section]:
    """Tables of a decision's `provenance`: the session, its sittings, the controller."""
    apart = ("sittings", "controller", "selection", "relay")
    rest = {k: v for k, v in facts.items() if k not in apart}
    asked = facts.get("selection") or {}
    hosts = {"hosts planned": asked["hosts"]} if asked.get("hosts") else {}
    told = {k: v for k, v in asked.items() if k != "hosts" and v is not None}
    sittings = facts.get("sittings") or []
    found = [Section("The session", "", flat({**rest, **hosts, **told}))]
    for number, sitting in enumerate(sittings, start=1):
        which = f", sitting {number}" if len(sittings) > 1 else ""
        found.append(Section(f"The hosts{which}", _HOSTS, list(_hosts(sitting))))
    if not sittings:
        found.append(Section("The hosts", "", [("in force on them", "not known")]))
    if facts.get("relay"):
        found.append(Section("The emulating relay", _RELAY, flat(facts["relay"])))
    if facts.get("controller"):
        found.append(Section("The controller", _CONTROLLER, flat(facts["controller"])))
    for number, sitting in enumerate(sittings, start=1):
        if sitting.get("controller"):
            title = f"The controller, sitting {number}"
            found.append(Section(title, _DIFFERS, flat(sitting["controller"])))
    return found


def _hosts(sitting: dict) -> Iterator[tuple[str, str]]:
    """A sitting's facts, those of several places with the places that share a value."""
    world = dict(sitting.get("world") or {})
    yield from _shared(_leading(world.pop("hosts", None) or {}), "")
    yield from _shared(sitting.get("tools") or {}, "")
    yield from _shared(sitting.get("agents") or {}, "agent ")
    for name, link in (world.pop("links", None) or {}).items():
        told = ", ".join(f"{key} {_short(value)}" for key, value in link.items())
        yield words.clean(f"link {name}", 100), words.clean(told, 300)
    # What the relay had spent when it began tells nothing; no study limits access links yet.
    # decision.json has both.
    yield from flat({"priority": (world.pop("relay", None) or {}).get("priority")}, "relay")
    world.pop("access", None)
    if world:
        yield from flat(world, "world")


def _leading(hosts: dict) -> dict:
    """The congestion control first: of all facts the one that readers look for."""
    first = "congestion_control"
    return {
        name: {**({first: own[first]} if first in own else {}), **own}
        for name, own in hosts.items()
    }


def _shared(places: dict, before: str) -> Iterator[tuple[str, str]]:
    """One row a fact: each value with the places where it holds, in their order."""
    told: dict[str, dict[str, list[str]]] = {}
    for place, facts in places.items():
        for key, value in flat(facts):
            told.setdefault(key, {}).setdefault(value, []).append(words.name(place))
    for key, values in told.items():
        text = "; ".join(f"{value} ({', '.join(names)})" for value, names in values.items())
        yield f"{before}{key}", text


def flat(facts: object, path: str = "") -> Rows:
    """A nested mapping as (dotted name, text); what is None is not known."""
    if isinstance(facts, dict) and facts:
        inner = (flat(value, f"{path}.{key}" if path else str(key)) for key, value in facts.items())
        return [pair for pairs in inner for pair in pairs]
    if isinstance(facts, (list, tuple)):
        text = ", ".join(words.clean(item, 200) for item in facts) or "none"
    else:
        text = "not known" if facts is None else words.clean(_readable(path, facts), 300)
    return [(words.clean(path, 100), text)]


def _readable(path: str, fact: object) -> object:
    """An epoch second as a date, other numbers without digits that mean nothing."""
    if isinstance(fact, bool):
        return "yes" if fact else "no"
    if path.endswith("_s") and isinstance(fact, (int, float)) and fact >= 1e9:
        when = datetime.datetime.fromtimestamp(fact, datetime.UTC)
        return f"{when:%Y-%m-%d %H:%M:%S} UTC"
    return _short(fact)


def _short(fact: object) -> object:
    return f"{fact:.4g}" if isinstance(fact, float) else fact
