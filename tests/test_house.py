"""The house rules that a machine can check."""

import re
import shlex
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).parents[1]
SOURCES = sorted(p for room in ("lib", "tests") for p in (ROOT / room).rglob("*.py"))
PYPROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
# conda-forge's name where it differs from PyPI's.
CONDA = {"torch": "pytorch", "duckdb": "python-duckdb", "matplotlib": "matplotlib-base"}
SYSTEM = {"python", "pip"}
# What `make demo` and `make test` never install, by extra.
APART = {
    "hosts": {"ansible-core", "ansible-runner"},
    "grpc": {"grpcio"},
    "machine": {"redis", "pymemcache", "fsspec", "s3fs"},
    "report": {"weasyprint", "babel"},
    "bench": {"ray"},
}
# Of these, two come into the locks all the same, with packages of our own list.
COMPANIONS = {"babel": "jupyterlab", "fsspec": "torch"}


def split(requirement):
    name = re.match(r"[A-Za-z0-9._-]+", requirement)[0]
    return name, requirement[len(name) :].split("#")[0].strip()


@pytest.mark.parametrize("path", SOURCES, ids=lambda p: str(p.relative_to(ROOT)))
def test_no_file_is_longer_than_400_lines(path):
    assert len(path.read_text().splitlines()) <= 400


def test_imports_only_fall_and_the_wings_stay_apart():
    done = subprocess.run(
        [Path(sys.executable).parent / "lint-imports", "--no-cache"],
        cwd=ROOT,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout


def test_an_import_that_climbs_is_caught(tmp_path):
    package = tmp_path / "homeport"
    for module in (ROOT / "lib" / "homeport").rglob("*.py"):
        copy = package / module.relative_to(ROOT / "lib" / "homeport")
        copy.parent.mkdir(parents=True, exist_ok=True)
        copy.write_text(module.read_text())
    errors = package / "errors.py"
    errors.write_text(errors.read_text() + "\nfrom homeport import cli\n")
    (tmp_path / "pyproject.toml").write_text((ROOT / "pyproject.toml").read_text())
    done = subprocess.run(
        [Path(sys.executable).parent / "lint-imports", "--no-cache"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        env={"PYTHONPATH": str(tmp_path)},
    )
    assert done.returncode == 1
    assert "homeport.errors is not allowed to import homeport.cli" in done.stdout


def test_conda_environment_asks_for_the_same_versions():
    listed = yaml.safe_load((ROOT / "environment.yml").read_text())["dependencies"]
    conda = dict(split(line) for line in listed if isinstance(line, str))
    pip = dict(split(line) for line in PYPROJECT["project"]["dependencies"])
    wanted = {CONDA.get(name, name): versions for name, versions in pip.items()}
    assert {k: v for k, v in conda.items() if k not in SYSTEM} == wanted
    assert conda["python"] == PYPROJECT["project"]["requires-python"]


def test_extras_are_bounded_and_named_as_planned():
    extras = PYPROJECT["project"]["optional-dependencies"]
    named = {extra: {split(line)[0] for line in lines} for extra, lines in extras.items()}
    assert named.pop("test")
    named["bench"] = {name.split("[")[0] for name in named["bench"]}
    assert named == APART
    for line in (line for lines in extras.values() for line in lines):
        assert re.search(r">=\d[\d.]*,<\d[\d.]*$", line), f"{line}: no bounds"


@pytest.mark.parametrize("lock", ["requirements.lock", "requirements-test.lock"])
def test_locks_install_no_other_extra(lock):
    text = (ROOT / lock).read_text()
    pinned = set(re.findall(r"^([a-z0-9._-]+)==", text, re.M))
    assert pinned & (set().union(*APART.values()) - COMPANIONS.keys()) == set()
    for name in pinned & COMPANIONS.keys():
        reasons = re.search(rf"^{name}==.*?# via(.*?)(?=^\S|\Z)", text, re.M | re.S)[1]
        assert "homeport" not in reasons and COMPANIONS[name] in reasons, reasons


@pytest.mark.parametrize(
    ("lock", "extras"), [("requirements.lock", []), ("requirements-test.lock", ["test"])]
)
def test_lock_pins_every_dependency_with_a_hash_and_leaves_torch_out(lock, extras):
    text = (ROOT / lock).read_text()
    pinned = dict(re.findall(r"^([a-z0-9._-]+)==(\S+) \\$", text, re.M))
    wanted = list(PYPROJECT["project"]["dependencies"])
    for extra in extras:
        wanted += PYPROJECT["project"]["optional-dependencies"][extra]
    names = {split(line)[0] for line in wanted}
    assert names - set(pinned) == {"torch"}
    assert text.count("--hash=sha256:") >= len(pinned)


def test_both_locks_agree():
    first, second = (
        dict(re.findall(r"^([a-z0-9._-]+)==(\S+) \\$", (ROOT / name).read_text(), re.M))
        for name in ("requirements.lock", "requirements-test.lock")
    )
    assert {k: (first[k], second[k]) for k in first.keys() & second if first[k] != second[k]} == {}


README = (ROOT / "README.md").read_text()
MAP = README.partition("## File map")[2].partition("\n## ")[0]
PROJECT, _, PACKAGE = MAP.partition("### lib/homeport")


def rows(table):
    """The first column of a table in the README with the second: {path: what it says}."""
    return dict(re.findall(r"^\| `([^`]+)` \| (.+) \|$", table, re.M))


def tracked():
    listed = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True)
    if listed.returncode:
        pytest.skip("not a git checkout: what belongs to the project cannot be told")
    return listed.stdout.split("\n")[:-1]


def test_readme_file_map_names_every_module():
    package = ROOT / "lib" / "homeport"
    modules = {f"{p.parent.name}/" for p in package.glob("*/__init__.py")}
    modules |= {p.name for p in package.glob("*.py") if p.stem != "__init__"}
    assert set(rows(PACKAGE)) == modules


def test_readme_file_map_names_main_files_that_exist():
    package = ROOT / "lib" / "homeport"
    for row, said in rows(PACKAGE).items():
        for name in re.findall(r"`([a-z_/]+\.py)`", said):
            assert (package / row / name).is_file(), f"{row}: {name}"


def test_readme_file_map_has_a_line_for_every_file_outside_the_package():
    files = tracked()
    wanted = {file for file in files if "/" not in file}
    wanted |= {file for file in files if file.startswith(("params/", "notebooks/", ".ci/"))}
    mapped = rows(PROJECT)
    assert wanted - mapped.keys() == set()
    for file in files:  # every folder, too
        top = file.split("/")[0]
        assert any(row == top or row.startswith(f"{top}/") for row in mapped), file
    for row in mapped:
        assert any(file == row or file.startswith(row) for file in files), f"{row} is gone"


def test_readme_leads_nobody_outside_of_the_project():
    blocks = re.findall(r"^```\n(.*?)^```", README, re.M | re.S)
    assert blocks
    assert [block for block in blocks if re.search(r"(^|\s)/\w", block)] == []


def test_make_offers_the_two_commands_and_the_others():
    makefile = (ROOT / "Makefile").read_text()
    for target in ("demo", "test", "check", "bench", "clean"):
        assert re.search(rf"^{target}:", makefile, re.M), target


def test_demo_installs_no_test_or_bench_packages():
    done = subprocess.run(
        ["make", "-n", "-B", "demo", "VENV=/nowhere"], cwd=ROOT, capture_output=True, text=True
    )
    assert "requirements.lock" in done.stdout
    assert "requirements-test.lock" not in done.stdout
    assert "pytest" not in done.stdout


@pytest.mark.parametrize(
    ("torch", "words"),
    [
        (None, ["torch==2.13.0"]),
        (
            "torch==2.13.0 --index-url https://download.pytorch.org/whl/cpu",
            ["torch==2.13.0", "--index-url", "https://download.pytorch.org/whl/cpu"],
        ),
        ("./torch-2.13.0+cpu.whl", ["./torch-2.13.0+cpu.whl"]),
    ],
)
def test_make_hands_torch_to_pip_word_by_word(torch, words):
    given = [] if torch is None else [f"TORCH={torch}"]
    command = ["make", "-n", "-B", "setup", "VENV=/nowhere", *given]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    (line,) = [line for line in done.stdout.splitlines() if "torch" in line]
    assert shlex.split(line)[1:4] == ["-m", "pip", "install"]
    assert shlex.split(line)[-len(words) :] == words
    assert [word for word in shlex.split(line)[4 : -len(words)] if word[0] != "-"] == []


def test_readme_says_what_torch_is_for():
    said = " ".join(README.split())
    assert "CUDA" in said and '--index-url https://download.pytorch.org/whl/cpu"' in said
