"""The house rules that a machine can check."""

import re
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
SYSTEM = {"python", "pip", "inetutils"}


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


def test_readme_file_map_names_every_module():
    readme = (ROOT / "README.md").read_text()
    package = ROOT / "lib" / "homeport"
    modules = {f"{p.parent.name}/" for p in package.glob("*/__init__.py")}
    modules |= {p.name for p in package.glob("*.py") if p.stem != "__init__"}
    assert {m for m in modules if f"| `{m}` |" not in readme} == set()


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
