"""Tables for per-host pages: description only; judging is done by the pages of the study."""

import dataclasses

import pandas as pd

from homeport.metrics import METRICS, Failure, Record

_STAGES = ["collect_ms", "update_ms", "wait_ms", "wire_ms", "wall_ms"]
_BYTES = ["payload_tx_bytes", "payload_rx_bytes", "counted_tx_bytes", "counted_rx_bytes"]


def frame(records: list[Record]) -> pd.DataFrame:
    """The measurements among records, a row each."""
    rows = [dataclasses.asdict(r) for r in records if not isinstance(r, Failure)]
    columns = ["metric", "value", "source", "target", "sequence", "time_s"]
    found = pd.DataFrame(rows, columns=[*columns, "strategy", "phase", "rank"])
    # Nothing measured must stay a table of numbers without rows, not become one of objects.
    return found.astype({"value": float, "sequence": int, "time_s": float, "rank": float})


def background(records: list[Record]) -> pd.DataFrame:
    """Round trips and interaction steps: how many, how many went unanswered, percentiles in ms.

    An unanswered echo or step counts as slower than any other; a percentile that falls among
    them has no number and shows as missing.
    """
    got = frame(records)
    rows = []
    for (site, label), group in got.groupby(["source", "phase"]):
        for name, lost in (("rtt_ms", "lost_echo"), ("step_ms", "step_overdue_ms")):
            times = group.loc[group["metric"] == name, "value"]
            unanswered = int((group["metric"] == lost).sum())
            if len(times) + unanswered == 0:
                continue
            filled = pd.concat([times, pd.Series([float("inf")] * unanswered, dtype=float)])
            cuts = filled.quantile([0.5, 0.95, 0.99], interpolation="higher")
            head = {"site": site, "label": label, "quantity": name, "samples": len(filled)}
            shares = dict(zip(["p50", "p95", "p99"], cuts, strict=True))
            rows.append({**head, "unanswered": unanswered, **shares})
    table = pd.DataFrame(
        rows, columns=["site", "label", "quantity", "samples", "unanswered", "p50", "p95", "p99"]
    )
    return table.replace(float("inf"), float("nan")).round(2)


def plain(records: list[Record]) -> pd.DataFrame:
    """Metric, value, unit and meaning, a row each."""
    got = frame(records)
    meaning = got["metric"].map(lambda name: METRICS[name].meaning)
    unit = got["metric"].map(lambda name: METRICS[name].unit)
    return got[["metric", "value"]].assign(unit=unit, meaning=meaning).round(4)


def training(records: list[Record]) -> pd.DataFrame:
    """A row per strategy: usable steps a second, updates measured, one synchronisation."""
    got = frame(records)
    loaded = got[got["phase"] == "loaded"]
    table = loaded[loaded["metric"] == "throughput_steps_s"].set_index("strategy")[["value"]]
    table = table.rename(columns={"value": "throughput_steps_s"})
    learner = loaded[(loaded["metric"] == "wall_ms") & (loaded["rank"] == 0)]
    table["updates"] = learner.groupby("strategy").size()
    for name in ("sync_wire_ms", "sync_wait_ms"):
        by = loaded[loaded["metric"] == name].groupby("strategy")["value"]
        table[f"{name} p50"], table[f"{name} p95"] = by.median(), by.quantile(0.95)
    return table.round(1).reset_index()


def stages(records: list[Record]) -> pd.DataFrame:
    """Mean milliseconds of each stage of an update, a row per strategy and rank.

    Means add up to wall_ms, as medians of parts would not.
    """
    got = frame(records)
    ours = got[got["metric"].isin(_STAGES) & (got["phase"] == "loaded")]
    table = ours.pivot_table(
        index=["strategy", "rank", "source"], columns="metric", values="value", aggfunc="mean"
    )
    table = table.reindex(columns=_STAGES).round(1).reset_index()
    return table.astype({"rank": int})


def traffic(records: list[Record], host: str) -> pd.DataFrame:
    """Median bytes of an update, a row per strategy and place; the learner at `host` comes first.

    Payload by theory is that of all ranks at the place; beside it what their common interface
    counted. Updates in which the place synchronised nothing are left out.
    """
    got = frame(records)
    ours = got[got["metric"].isin([*_BYTES, "syncs"]) & (got["phase"] == "loaded")]
    ours = ours.rename(columns={"source": "place"})
    each = ours.pivot_table(
        index=["strategy", "place", "sequence"], columns="metric", values="value", aggfunc="sum"
    ).reindex(columns=[*_BYTES, "syncs"])
    table = each[each["syncs"] > 0].groupby(["strategy", "place"])[_BYTES].median()
    learner_first = table.reset_index().sort_values(
        ["strategy", "place"], key=lambda names: names.where(names != host, "")
    )
    return learner_first.round(0).astype(dict.fromkeys(_BYTES, "Int64")).reset_index(drop=True)


def failures(records: list[Record]) -> pd.DataFrame:
    """What failed, where and why; empty when nothing did."""
    rows = [dataclasses.asdict(r) for r in records if isinstance(r, Failure)]
    return pd.DataFrame(rows, columns=["kind", "place", "strategy", "reason"])
