import json

import pytest

from homeport import decide, report
from homeport.decide.decision import Decision
from homeport.errors import CannotWrite, NotFound
from homeport.store import atomic


def test_json_is_the_decision(recorded, decision, tmp_path):
    [path] = report.write_report(recorded, decision, tmp_path, ["json"])
    text = path.read_text(encoding="utf-8")
    assert text == decision.to_json()
    assert Decision.model_validate(json.loads(text)) == decision
    assert json.loads(text)["options"][5]["usd_per_million_steps"] is None


def test_all_formats_are_written_unless_told_otherwise(recorded, decision, tmp_path):
    paths = report.write_report(recorded, decision, tmp_path / "new" / "folder")
    assert [p.name for p in paths] == ["decision.html", "decision.md", "decision.json"]
    assert sorted(p.name for p in (tmp_path / "new" / "folder").iterdir()) == [
        "decision.html",
        "decision.json",
        "decision.md",
    ]


def test_an_unknown_format_is_refused_before_anything_is_written(recorded, decision, tmp_path):
    with pytest.raises(NotFound, match="report format called 'docx'; there is: html, md, json"):
        report.write_report(recorded, decision, tmp_path, ["json", "docx"])
    assert not list(tmp_path.iterdir())


def test_an_old_report_survives_a_disk_that_refuses(recorded, decision, tmp_path, monkeypatch):
    [path] = report.write_report(recorded, decision, tmp_path, ["json"])
    before = path.read_bytes()

    def refuse(handle):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(atomic.os, "fsync", refuse)
    with pytest.raises(CannotWrite, match="No space"):
        report.write_report(recorded, decision, tmp_path, ["json"])
    assert path.read_bytes() == before and list(tmp_path.iterdir()) == [path]


def test_report_lies_beside_what_was_measured(recorded):
    assert report.folder_of(recorded) == recorded.folder.path / "report"


def test_what_the_judge_decides_can_be_reported(recorded, tmp_path):
    decision = decide.decide(recorded)
    html, md, _ = report.write_report(recorded, decision, tmp_path)
    for path in (html, md):
        text = path.read_text(encoding="utf-8")
        for host in recorded.study.measured:
            assert host in text
        assert decision.recommendation.split(":")[0] in text


def test_figures_come_by_name_in_the_order_of_the_page(recorded, decision):
    assert list(report.figures(recorded, decision)) == [
        "step-latency",
        "over-time",
        "throughput",
        "update-time",
        "differences",
    ]
