"""The command line: what `make demo` does without a world, exit codes, only JSON on stdout."""

import json
import re
import subprocess

import pytest
import small
import synthetic

from homeport.batch import exit_code
from homeport.batch.judge import JUDGED
from homeport.params import root

SAMPLE = root() / "data" / "sample"
HIDE_TUN = ["unshare", "--mount", "--propagation", "private", "sh", "-c"]


def can_hide_tun():
    done = subprocess.run([*HIDE_TUN, "mount --bind /dev/null /dev/net/tun"], capture_output=True)
    return done.returncode == 0


@pytest.mark.world
def test_demo_without_a_world_says_so_and_judges_the_recorded_sample(tmp_path):
    if not can_hide_tun():
        pytest.skip("needs the right to hide /dev/net/tun")
    script = f"mount --bind /dev/null /dev/net/tun && exec {small.HOMEPORT} demo"
    done = subprocess.run(
        [*HIDE_TUN, script], env=small.environment(tmp_path), capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    told = " ".join(done.stderr.split())
    assert "/dev/net/tun" in told and "Judging the recorded sample" in told
    assert "exit code of the study: 0" in told
    assert "recorded" in done.stdout.lower() and "Hong Kong" in done.stdout


def test_the_sample_is_small_whole_and_decides_as_it_did_when_recorded(tmp_path):
    kept = [p for p in SAMPLE.rglob("*") if p.is_file() and p.parent.name != "report"]
    assert 100_000 < sum(p.stat().st_size for p in kept) < 1_000_000
    done = small.homeport(tmp_path, "report", SAMPLE, "--out", tmp_path / "out", "--json")
    assert done.returncode == 0, done.stderr
    said = json.loads(done.stdout)
    assert said["choice"]["host"] == "hk" and said["verdict"] == "INDICATIVE"
    by_host = {c["host"]: c["sla"]["verdict"] for c in said["candidates"]}
    assert by_host == {"hk": "PASS", "tokyo": "FAIL", "la": "FAIL"}
    html = (tmp_path / "out" / "decision.html").read_text()
    assert "recorded" in html.lower()


def test_every_command_the_readme_names_exists():
    readme = (root() / "README.md").read_text()
    named = set(re.findall(r"\.venv/bin/homeport ((?:lab )?[a-z]+)", readme))
    assert {"run", "report", "lab up", "lab shell", "lab status", "lab down"} <= named
    for command in sorted(named):
        done = subprocess.run([small.HOMEPORT, *command.split(), "--help"], capture_output=True)
        assert done.returncode == 0, command


TRUTHS = {
    "hk": synthetic.Truth(31.0, {"star": 4500.0, "local": 9500.0}),
    "tokyo": synthetic.Truth(142.0, {"star": 600.0, "local": 2200.0}),
    "la": synthetic.Truth(204.0, {"star": 1100.0, "local": 3800.0}),
}


@pytest.mark.parametrize(
    ("rtt_ms", "code", "verdict"), [(31.0, 0, "INDICATIVE"), (120.0, 4, "NONE_MEETS_SLA")]
)
def test_exit_codes_follow_the_verdict(demo, data_folder, tmp_path, rtt_ms, code, verdict):
    truths = {**TRUTHS, "hk": synthetic.Truth(rtt_ms, {"star": 4500.0, "local": 9500.0})}
    folder = synthetic.session(demo, truths)
    done = small.homeport(data_folder, "report", folder.path, "--json")
    assert done.returncode == code, done.stderr
    assert json.loads(done.stdout)["verdict"] == verdict
    assert code in JUDGED and 3 not in JUDGED


def test_missing_parts_end_with_3_whatever_the_rest_says(demo, data_folder):
    failing = {(2, "20_training"): "rank 1 died"}
    truth = synthetic.Truth(142.0, {"star": 600.0, "local": 2200.0}, failing=failing)
    folder = synthetic.session(demo, {**TRUTHS, "tokyo": truth})
    done = small.homeport(data_folder, "report", folder.path, "--json")
    assert done.returncode == 3
    said = json.loads(done.stdout)
    assert next(c for c in said["candidates"] if c["host"] == "tokyo")["failures"] == 1
    assert exit_code(None, 0) == 3


def test_a_damaged_session_ends_with_6(demo, data_folder):
    folder = synthetic.session(demo, TRUTHS)
    part = folder.part_file("hk", 1, "20_training")
    part.write_bytes(part.read_bytes()[:100])
    done = small.homeport(data_folder, "report", folder.path)
    assert done.returncode == 6 and "Traceback" not in done.stderr


@pytest.mark.world
@pytest.mark.parametrize("words", [(), ("--json",)])
def test_status_without_a_lab_is_an_answer_not_an_error(tmp_path, words):
    done = small.homeport(tmp_path / "runs", "lab", "status", *words)
    assert done.returncode == 0, done.stderr
    if words:
        assert json.loads(done.stdout) == {"up": False}
    else:
        assert "no lab is up" in done.stderr and done.stdout == ""


@pytest.mark.parametrize(
    ("words", "hosts"),
    [
        ((), {"hk", "hk-twin", "tokyo", "la"}),
        (("--region", "Los Angeles"), {"la"}),
        (("--region", "hong kong"), {"hk", "hk-twin"}),
        (("--only", "tokyo"), {"tokyo"}),
    ],
)
def test_a_plan_names_the_hosts_that_were_asked_for(data_folder, demo, words, hosts):
    done = small.homeport(data_folder, "run", "demo", *words, "--dry-run", "--json")
    assert done.returncode == 0, done.stderr
    said = json.loads(done.stdout)
    assert {part["host"] for part in said["parts"]} == hosts
    trained = [part for part in said["parts"] if part["notebook"] == "20_training"]
    assert len(trained) == len(hosts) * demo.rounds
    assert said["predicted"]["parts"] == len(said["parts"])
    assert not data_folder.exists(), "a plan measures nothing"


def test_a_region_without_hosts_is_refused_with_those_that_have_some(data_folder):
    done = small.homeport(data_folder, "run", "demo", "--region", "Atlantis", "--dry-run")
    assert done.returncode == 2 and done.stdout == ""
    assert "Atlantis" in done.stderr and "Los Angeles" in done.stderr


def test_a_reader_that_goes_away_changes_no_exit_code(tmp_path):
    words = f"{small.HOMEPORT} report {SAMPLE} --out {tmp_path} "
    for tail in ("| head -1", "--json | head -c 5"):
        script = f"{words}{tail}; exit ${{PIPESTATUS[0]}}"
        done = subprocess.run(["bash", "-c", script], capture_output=True, text=True)
        assert done.returncode == 0 and "Traceback" not in done.stderr, done.stderr


@pytest.mark.parametrize("closed", ["2>&-", ">&-", "<&- >&- 2>&-"])
def test_closed_streams_are_no_fault(tmp_path, closed):
    script = f"{small.HOMEPORT} report {SAMPLE} --out {tmp_path} {closed}"
    assert subprocess.run(["bash", "-c", script], capture_output=True).returncode == 0
    assert (tmp_path / "decision.json").is_file()


def test_what_the_system_refuses_is_one_line(tmp_path):
    done = small.homeport(tmp_path, "report", "x" * 5000)
    assert done.returncode in (1, 2) and "Traceback" not in done.stderr


def test_the_file_told_of_is_one_that_was_written(tmp_path):
    done = small.homeport(tmp_path, "report", SAMPLE, "--out", tmp_path, "--format", "md")
    assert done.stdout.splitlines()[-1].endswith("decision.md")
