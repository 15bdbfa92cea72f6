"""Running a study: pages through papermill, once per part, in randomised interleaved blocks."""

from homeport.batch.judge import JUDGED, exit_code, judge
from homeport.batch.pages import PageRun, check_parameters, execute, parameters_of
from homeport.batch.plan import PlannedPart, describe, plan
from homeport.batch.predict import Prediction, check_caps, predict
from homeport.batch.run import (
    STUDY_PAGES,
    Outcome,
    Progress,
    missing_parts,
    prepare,
    run,
    to_measure,
)

__all__ = [
    "JUDGED",
    "STUDY_PAGES",
    "Outcome",
    "PageRun",
    "PlannedPart",
    "Prediction",
    "Progress",
    "check_caps",
    "check_parameters",
    "describe",
    "execute",
    "exit_code",
    "judge",
    "missing_parts",
    "parameters_of",
    "plan",
    "predict",
    "prepare",
    "run",
    "to_measure",
]
