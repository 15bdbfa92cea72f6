"""Tables that describe without judging: where a step's time went, and what an update weighed."""

import pandas as pd

from homeport.store import BACKGROUND, Recorded

_STEP = ("step_network_ms", "step_inference_ms", "step_rest_ms")
_BYTES = ("payload_tx_bytes", "counted_tx_bytes", "payload_rx_bytes", "counted_rx_bytes")


def step_parts(recorded: Recorded) -> list[dict[str, str]]:
    """Medians of the three parts of an interaction step, a row per host, site and label."""
    frame = recorded.frame
    steps = frame[(frame["notebook"] == BACKGROUND) & frame["metric"].isin(_STEP)]
    rows = []
    for (host, site, label), group in steps.groupby(["host", "site", "phase"]):
        medians = group.groupby("metric")["value"].median()
        parts = {name: _shown(medians.get(name), "ms") for name in _STEP}
        many = int((group["metric"] == _STEP[0]).sum())
        rows.append({"host": host, "site": site, "label": label, "steps": f"{many:,}", **parts})
    return rows


def traffic(recorded: Recorded) -> list[dict[str, str]]:
    """Median kilobytes of an update, a row per host, strategy and place, the learner's first.

    Payload by theory is that of all ranks at the place; beside it what their common interface
    counted. Updates in which the place synchronised nothing are left out.
    """
    frame = recorded.frame
    ours = frame[frame["metric"].isin([*_BYTES, "syncs"]) & (frame["phase"] == "loaded")]
    update = ["host", "strategy", "source", "round", "sequence"]
    each = ours.pivot_table(index=update, columns="metric", values="value", aggfunc="sum")
    each = each.reindex(columns=[*_BYTES, "syncs"])
    medians = each[each["syncs"] > 0].groupby(["host", "strategy", "source"])[[*_BYTES]].median()
    rows = []
    for (host, strategy, place), row in medians.iterrows():
        kilobytes = {name: _shown(row[name] / 1000, "kB") for name in _BYTES}
        rows.append({"host": host, "strategy": strategy, "place": place, **kilobytes})
    return sorted(rows, key=lambda r: (r["host"], r["strategy"], r["place"] != r["host"]))


def _shown(value: float | None, unit: str) -> str:
    return "not measured" if value is None or pd.isna(value) else f"{value:,.3g} {unit}"
