"""Whether stored parts are what their places say: nothing swapped, copied, torn or impossible.

A report rests on every file under a session's folder. One that was put there by hand, moved or
changed would be judged like a measurement, so it is refused by name.
"""

import re
from collections.abc import Iterator
from pathlib import Path

import duckdb
import pandas as pd

from homeport.errors import Damaged
from homeport.metrics import METRICS
from homeport.store.layout import SessionFolder
from homeport.store.parts import Part, Slot, part_keys

BACKGROUND = "background"  # the notebook name under which background segments are stored
Heads = list[tuple[str, Part]]  # every file with its header

_POSITIVE = {"rtt_ms", "step_ms"}
_COUNTED = {"ms", "steps/s", "steps", "B", "packets"}  # no quantity in these falls below zero
_DUST = 1e-6  # stages are differences of clock readings: rounding may leave less than zero


def check_places(folder: SessionFolder, heads: Heads) -> None:
    """Refuse a part of another study, session or key, and one that lies where it must not."""
    key_of, numbers = part_keys(folder.study), {}
    for file, part in heads:
        slot = part.slot
        _check_slot(folder, file, slot)
        if part.key != (key := key_of(slot)):
            raise Damaged(file, f"key {part.key[:12]}", f"key {key[:12]} of this study")
        if Path(file).parent != (place := folder.round_folder(slot.host, slot.round)):
            raise Damaged(file, f"the part of {slot.host}, round {slot.round}", f"it in {place}")
        series, number = _numbered(folder, file, part)
        numbers.setdefault((slot, series), {})[number] = file
    for found in numbers.values():
        last = max(found)
        if missing := sorted({*range(1, last + 1)} - {*found} - {0}):
            raise Damaged(
                found[last], f"no number {missing[0]} before it", "numbers without a hole"
            )


def _check_slot(folder: SessionFolder, file: str, slot: Slot) -> None:
    if slot.host not in folder.study.measured:
        raise Damaged(file, f"host {slot.host!r}", f"one of {folder.study.measured}")
    ours = Slot.of(folder.study, folder.session, slot.host, slot.round, slot.notebook)
    for name, expected in vars(ours).items():
        if (seen := getattr(slot, name)) != expected:
            raise Damaged(file, f"a part of {name} {seen!r}", f"{name} {expected!r}")


def _numbered(folder: SessionFolder, file: str, part: Part) -> tuple[str, int]:
    """What a file is one of and which one: a site's segments, or attempts (the whole part is 0)."""
    name, notebook = Path(file).name, part.slot.notebook
    if notebook == BACKGROUND:
        for site in folder.study.sites:
            found = re.fullmatch(rf"{BACKGROUND}-{re.escape(site)}(\.([1-9]\d*))?\.parquet", name)
            if part.complete and found and found[2] != "1":
                return site, int(found[2] or 1)
        raise Damaged(file, f"the name {name}", f"the background of one of {[*folder.study.sites]}")
    if part.complete and name == f"{notebook}.parquet":
        return "", 0
    found = re.fullmatch(rf"{re.escape(notebook)}\.failure-([1-9]\d*)\.parquet", name)
    if found and not part.complete:
        return "", int(found[1])
    kind = "a complete part" if part.complete else "a failed attempt"
    raise Damaged(file, f"the name {name}", f"that of {kind} of {notebook}")


def check_rows(db: duckdb.DuckDBPyConnection, heads: Heads) -> None:
    """Refuse rows of another slot and values no measurement gives.

    `db` holds every row of the files as the table `rows`, its file in the column `filename`.
    """
    db.register("heads", pd.DataFrame(_head(file, part) for file, part in heads))
    db.register("limits", pd.DataFrame(_limits(), columns=["known", "least"]))
    for query in (_EMPTY, _WRONG, _TWICE):
        for file, seen, expected in db.execute(query).fetchall():
            raise Damaged(file, seen, expected)


def _head(file: str, part: Part) -> dict:
    slot, background = part.slot, part.slot.notebook == BACKGROUND
    # check_places has seen to the name: what stands before the number is a site of the study.
    name = Path(file).name.removeprefix(f"{BACKGROUND}-")
    sites = [s for s in slot.sites if re.fullmatch(rf"{re.escape(s)}(\.\d+)?\.parquet", name)]
    names = ("study", "session", "round", "host", "region", "notebook")
    return {
        "filename": file,
        **{f"head_{n}": getattr(slot, n) for n in names},
        "head_site": sites[0] if background else None,
        "further": background and name != f"{sites[0]}.parquet",
        "must_hold": part.complete and not background,
    }


def _limits() -> Iterator[tuple[str, float]]:
    for metric in METRICS.values():
        least = -_DUST if metric.unit in _COUNTED else float("-inf")
        yield metric.name, 5e-324 if metric.name in _POSITIVE else least


_EMPTY = """
    SELECT filename, 'no row', 'what a complete part measured'
    FROM heads ANTI JOIN rows USING (filename) WHERE must_hold ORDER BY filename LIMIT 1
"""

_WRONG = """
    WITH judged AS (
        SELECT filename, CASE
            WHEN (study, session, round, host, region, notebook) IS DISTINCT FROM (head_study,
                head_session, head_round::INT, head_host, head_region, head_notebook)
            THEN ['a row of ' || concat_ws(', ', study, session, round, host, region, notebook),
                'rows of its own slot']
            WHEN head_site IS NOT NULL AND site IS DISTINCT FROM head_site
            THEN ['a row of site ' || coalesce(site, 'null'), 'site ' || head_site]
            WHEN (metric IS NULL) = (failure IS NULL)
            THEN ['a row with ' || if(metric IS NULL, 'neither', 'both'), 'a metric or a failure']
            WHEN metric IS NULL AND value IS NOT NULL
            THEN ['a failure with the value ' || value, 'failures without one']
            WHEN metric IS NULL THEN NULL
            WHEN known IS NULL THEN ['metric ' || metric, 'a metric of this version']
            WHEN value IS NULL OR NOT isfinite(value) OR value < least
            THEN [metric || ' of ' || coalesce(value::VARCHAR, 'null'),
                if(least = '-inf', 'a finite number', if(least > 0, 'more than 0', '0 or more'))]
            END AS wrong
        FROM rows JOIN heads USING (filename) LEFT JOIN limits ON metric = known
    )
    SELECT filename, wrong[1], wrong[2] FROM judged WHERE wrong IS NOT NULL
    ORDER BY filename LIMIT 1
"""

# No two samples of a session share a number, so the same one again is a copy.
_TWICE = """
    SELECT max_by(filename, (length(filename), filename)) AS last,
        'a sample that another segment holds', 'every sample once'
    FROM rows SEMI JOIN
        (SELECT h.* FROM heads f JOIN heads h USING (head_host, head_round, head_site)
         WHERE f.further) AS several USING (filename)
    WHERE metric IS NOT NULL
    GROUP BY host, round, site, metric, sequence, time_s HAVING count(*) > 1
    ORDER BY last LIMIT 1
"""
