"""What a reader needs to check a report: what was planned, what ran, how to run it again."""

import dataclasses
import shlex

import pytest
from report.test_html import Page

from homeport import report
from homeport.decide.decision import Decision
from homeport.report import coverage, provenance

HOST = {"address": "10.77.1.1", "mtu": 1500, "congestion_control": "cubic"}
SITTING = {
    "world": {
        "kind": "run",
        "hosts": {
            "guangdong": HOST,
            "hk": HOST | {"address": "10.77.2.1"},
            "la": HOST | {"address": "10.77.4.1", "congestion_control": "reno"},
        },
        "links": {"guangdong>hk": {"delay_ms": 15.5, "loss": 0.003004513}},
        "access": {"hk": {"up_mbit_s": None}},
        "relay": {"priority": "SCHED_RR 1", "cpu_s": 0.1},
    },
    "tools": {"hk": {"ping": "iputils"}, "la": {"ping": "iputils"}},
    "agents": {"hk": {"versions": {"torch": "2.13.0"}}},
    "controller": {},
}
CONTROLLER = {"git_sha": "abc123", "git_dirty": True, "tcp_congestion_control": "bbr"}


def written(recorded, content, folder, form="html"):
    [path] = report.write_report(recorded, Decision.model_validate(content), folder, [form])
    return path.read_text(encoding="utf-8")


def text(recorded, content, folder):
    return Page(written(recorded, content, folder)).text


def tables(facts):
    return {section.title: dict(section.rows) for section in provenance.sections(facts)}


def test_what_the_hosts_ran_is_not_mixed_with_the_controllers_settings():
    found = tables({"seed": 1, "sittings": [SITTING], "controller": CONTROLLER})
    assert list(found) == ["The session", "The hosts", "The controller"]
    hosts = found["The hosts"]
    assert next(iter(hosts)) == "congestion_control"
    assert hosts["congestion_control"] == "cubic (guangdong, hk); reno (la)"
    assert hosts["mtu"] == "1500 (guangdong, hk, la)"
    assert hosts["ping"] == "iputils (hk, la)"
    assert hosts["agent versions.torch"] == "2.13.0 (hk)"
    assert hosts["link guangdong>hk"] == "delay_ms 15.5, loss 0.003005"
    assert hosts["relay.priority"] == "SCHED_RR 1"
    assert found["The controller"]["tcp_congestion_control"] == "bbr"
    assert "bbr" not in "".join(hosts.values())


def test_every_sitting_and_what_changed_with_it_is_told():
    later = SITTING | {"controller": {"git_sha": "def456"}}
    found = tables({"sittings": [SITTING, later], "controller": CONTROLLER})
    assert list(found)[1:] == [
        "The hosts, sitting 1",
        "The hosts, sitting 2",
        "The controller",
        "The controller, sitting 2",
    ]
    assert found["The controller, sitting 2"] == {"git_sha": "def456"}


def test_a_sitting_or_a_session_of_which_little_is_known_is_told_as_that():
    assert tables({"sittings": [{}]})["The hosts"] == {"relay.priority": "not known"}
    assert tables({"sittings": []})["The hosts"] == {"in force on them": "not known"}
    assert "The controller" not in tables({})


def test_how_sound_the_emulation_was_has_a_table_of_its_own():
    relay = {"drops": 6, "cpu_share": 0.111329, "until_round": 4}
    found = tables({"relay": relay})["The emulating relay"]
    assert found == {"drops": "6", "cpu_share": "0.1113", "until_round": "4"}


@pytest.mark.usefixtures("same_figures")
def test_provenance_stands_in_the_page_and_unknown_facts_are_told_so(recorded, content, tmp_path):
    content["provenance"] |= {"sittings": [SITTING], "relay": {"drops": 6}}
    told = text(recorded, content, tmp_path).split(" Provenance ")[1]
    assert "congestion_control cubic (guangdong, hk); reno (la)" in told
    assert "packages.torch 2.13.0" in told and "cpu_model not known" in told
    assert "Its own settings, such as its congestion control, are not those of the hosts." in told
    markdown = written(recorded, content, tmp_path, "md")
    assert r"| congestion\_control | cubic (guangdong, hk); reno (la) |" in markdown
    assert "### The controller" in markdown


@pytest.mark.parametrize(
    ("asked", "line"),
    [
        ({}, "homeport run demo"),
        ({"only": "hk", "rounds": 2}, "homeport run demo --only hk --rounds 2"),
        ({"region": "Los Angeles"}, "homeport run demo --region 'Los Angeles'"),
        ({"region": "a'; rm -rf /"}, """homeport run demo --region 'a'"'"'; rm -rf /'"""),
    ],
)
@pytest.mark.usefixtures("same_figures")
def test_the_command_that_repeats_the_run_is_told_exactly(recorded, content, tmp_path, asked, line):
    content["provenance"]["selection"] |= asked
    decision = Decision.model_validate(content)
    assert coverage.command(decision) == line
    values = [str(value) for value in asked.values()]
    assert [word for word in shlex.split(line) if word in values] == values
    last = text(recorded, content, tmp_path).split("Do it again ")[1]
    assert last.startswith(f"{line} # seed 20181104, 6 rounds homeport report ")
    assert f"\n{line}        # seed" in written(recorded, content, tmp_path, "md")
    assert str(recorded.folder.path) not in last


@pytest.mark.usefixtures("same_figures")
def test_the_commit_is_told_where_it_is_known(recorded, content, tmp_path):
    before = text(recorded, content, tmp_path)
    assert "Which commit measured this is not known." in before
    content["provenance"]["controller"] |= CONTROLLER
    told = text(recorded, content, tmp_path)
    assert "git checkout abc123 homeport run demo" in told
    assert "changes that were not committed" in told and "is not known." not in told


def without(recorded, *gone):
    """The session less some complete parts (host, round, page), and without failures."""
    parts = tuple(
        part
        for part in recorded.parts
        if (part.slot.host, part.slot.round, part.slot.notebook) not in gone
    )
    frame = recorded.frame[recorded.frame["failure"].isna()]
    return dataclasses.replace(recorded, frame=frame, parts=parts)


def whole(recorded):
    """As if the attempt that failed had been repeated."""
    failed = ("tokyo", 3, "20_training")
    parts = tuple(
        dataclasses.replace(p, complete=True)
        if (p.slot.host, p.slot.round, p.slot.notebook) == failed
        else p
        for p in recorded.parts
    )
    return dataclasses.replace(recorded, parts=parts)


def test_a_planned_part_that_is_missing_is_told_without_any_failure(recorded, decision):
    less = without(recorded, ("la", 2, "20_training"), ("la", 5, "20_training"))
    assert coverage.gaps(less, decision, any_failure=False) == [
        "3 of 32 planned parts were not measured: tokyo 20_training in round 3; "
        "la 20_training in rounds 2 and 5."
    ]


def test_all_is_said_to_be_measured_only_where_it_was(recorded, decision):
    every = whole(recorded)
    assert coverage.gaps(every, decision, any_failure=False) == [
        "None: every part that was planned was measured."
    ]
    assert coverage.gaps(every, decision, any_failure=True)[0].startswith("Every part that was")


@pytest.mark.usefixtures("same_figures")
def test_hosts_that_were_not_planned_are_told_and_are_no_gap(recorded, content, tmp_path):
    content["provenance"]["selection"] |= {"only": "hk", "hosts": ["hk", "hk-twin"]}
    told = text(without(recorded), content, tmp_path)
    failures = told.split(" Failures ")[1].split("What the links")[0]
    assert failures.strip() == (
        "None: every part that was planned was measured. Not measured, as not part of this run "
        "(homeport run demo --only hk): Tokyo (tokyo), Los Angeles (la)."
    )
    rows = told.split("The options")[1].split("Noise floor")[0]
    assert rows.count("not part of this run") == 4
    assert "hk Hong Kong not part" not in rows


def test_a_host_that_was_not_planned_is_told_in_the_figure_of_differences(recorded, content):
    content["provenance"]["selection"]["hosts"] = ["hk", "hk-twin", "la"]
    figure = report.paired_differences(recorded, Decision.model_validate(content))
    assert figure.alt.count("not compared: not part of this run") == 2
    assert figure.alt.count("not compared: missed the latency target") == 2
