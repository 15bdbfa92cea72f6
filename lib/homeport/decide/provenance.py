"""Where a decision's figures come from: what was asked for, what ran, and on what."""

from homeport.decide.evidence import Evidence
from homeport.decide.soundness import relay
from homeport.store import SCHEMA


def provenance(evidence: Evidence) -> dict:
    """Facts about the session, in plain values.

    `controller` is the machine that ran homeport; what was in force on the measured hosts stands
    in `sittings`, one for each stretch of measuring: the world, the tools and agents of every
    host, and the controller's facts as far as they differ from those of the first day. A session
    that kept no such record has no sittings. `relay` tells how sound the emulation was.
    """
    recorded, span = evidence.recorded, evidence.span_s
    folder, study, parts = recorded.folder, recorded.study, recorded.parts
    controller = dict(folder.provenance())
    predicted = controller.pop("predicted", None)
    return {
        "session": folder.session,
        "schema": SCHEMA,
        "seed": study.seed,
        "profile": study.profile,
        "started_s": span[0] if span else None,
        "ended_s": span[1] if span else None,
        "rounds": list(evidence.rounds),
        "parts": len(parts),
        "complete_parts": sum(part.complete for part in parts),
        "rows": len(recorded.frame),
        "selection": folder.selection,
        "predicted": predicted,
        "relay": relay(evidence),
        "sittings": [_sitting(facts, controller) for facts in folder.sitting_facts()],
        "controller": controller,
    }


def _sitting(facts, controller):
    agents = facts.get("agents", {})
    told = ("versions", "cpu")
    now = facts.get("controller", {})
    return {
        "world": facts.get("world", {}),
        "tools": facts.get("tools", {}),
        "agents": {name: {k: own[k] for k in told if k in own} for name, own in agents.items()},
        "controller": {k: v for k, v in now.items() if controller.get(k) != v},
    }
