"""The pages of the study and the report, once the measuring is over."""

import json
from collections.abc import Iterable
from typing import TYPE_CHECKING

from homeport import store
from homeport.batch import pages
from homeport.errors import NothingRecorded
from homeport.params import notebooks_folder, root
from homeport.store import SessionFolder

if TYPE_CHECKING:
    from homeport.decide import Decision

# papermill's own overhead and the imports of seaborn and SciPy, on a slow machine.
_PAGE_TIMEOUT_S = 180.0

# The exit codes with which a study has come to a judgement, whatever it says.
JUDGED = (0, 4, 5)


def judge(folder: SessionFolder, study_pages: Iterable[str]) -> "tuple[Decision | None, list[str]]":
    """Execute the pages of the study on a session and give its decision.

    The last page writes the report; if a page fails, the report is written all the same and
    the failure is among the notes. None and a note when nothing was measured at all.
    """
    # SciPy and seaborn take seconds to import: not before there is something to judge.
    from homeport import decide, report

    try:
        recorded = store.read(folder)
    except NothingRecorded as nothing:
        return None, [str(nothing)]
    notes = []
    for notebook in study_pages:
        given = {"study": folder.study.name, "session": folder.session}
        source, copy = notebooks_folder() / f"{notebook}.ipynb", folder.path / f"{notebook}.ipynb"
        ended = pages.execute(source, copy, given, timeout_s=_PAGE_TIMEOUT_S, cwd=root())
        if ended.status != "succeeded":
            notes.append(f"page {notebook} {ended.status}: {ended.reason}")
    written = report.folder_of(recorded) / "decision.json"
    if notes or not written.exists():
        decision = decide.decide(recorded)
        report.write_report(recorded, decision, report.folder_of(recorded))
        return decision, notes
    return decide.Decision.model_validate(json.loads(written.read_text(encoding="utf-8"))), notes


def exit_code(decision: "Decision | None", missing: int) -> int:
    """What `homeport` ends with: 0 recommended and within the SLA, 3 measurement incomplete,
    4 no candidate meets the SLA, 5 undecided.
    """
    if decision is None or missing:
        return 3
    if decision.verdict == "NONE_MEETS_SLA":
        return 4
    if decision.verdict == "UNDECIDED" or decision.choice is None:
        return 5
    chosen = next(c for c in decision.candidates if c.host == decision.choice.host)
    return 0 if chosen.sla.verdict == "PASS" else 5
