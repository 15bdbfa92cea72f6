"""Every committed notebook is a page: clean, thin, in the house's order."""

import ast
import copy
from pathlib import Path

import nbformat
import papermill
import pytest

NOTEBOOKS = sorted((Path(__file__).parents[1] / "notebooks").glob("*.ipynb"))
assert NOTEBOOKS, "no notebooks found: every check below would pass unseen"
MAX_CELL_LINES = 12
MAX_CODE_LINES = 120
BANNED = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Try, ast.While, ast.Lambda)
BANNED_NAMES = {"subprocess", "os", "Path", "open"}
SCALARS = {"str", "int", "float", "bool"}


def code(nb):
    return [c for c in nb.cells if c.cell_type == "code"]


def tags(cell):
    return cell.metadata.get("tags", [])


def faults(nb):
    """Everything that keeps a notebook from being a page, in words."""
    found = []
    if any(c.outputs or c.execution_count is not None for c in code(nb)):
        found.append("carries results")
    if not set(nb.metadata) <= {"kernelspec", "language_info"}:
        found.append("carries metadata")
    if nb.metadata.get("kernelspec", {}).get("name") != "python3":
        found.append("no python3 kernelspec")
    first = nb.cells[0]
    if first.cell_type != "markdown" or not first.source.startswith("# "):
        found.append("no title")
    elif "?" not in first.source.splitlines()[0]:
        found.append("title is not a question")
    order = [tags(c) for c in code(nb)]
    if order[:2] != [["parameters"], ["setup"]] or order[-1] != ["save"]:
        found.append("cells out of order")
    lines = [len(c.source.splitlines()) for c in code(nb)[1:]]
    if max(lines) > MAX_CELL_LINES or sum(lines) > MAX_CODE_LINES:
        found.append("too much code")
    return found + [fault for c in code(nb) for fault in faults_of_cell(c)]


def faults_of_cell(cell):
    if any(line.lstrip().startswith(("%", "!")) for line in cell.source.splitlines()):
        return ["magic"]
    tree, found = ast.parse(cell.source), []
    for node in ast.walk(tree):
        if isinstance(node, BANNED):
            found.append(f"{type(node).__name__}: move it to lib/")
        if isinstance(node, ast.Name) and node.id in BANNED_NAMES:
            found.append(f"{node.id}: move it to lib/")
    if tags(cell) == ["parameters"]:
        for line, text in zip(tree.body, cell.source.splitlines(), strict=True):
            typed = isinstance(line, ast.AnnAssign) and ast.unparse(line.annotation) in SCALARS
            if not typed or "#" not in text or text.count("=") != 1:
                found.append(f"parameter {text!r}")
    return found


@pytest.fixture(params=NOTEBOOKS, ids=lambda p: p.stem)
def path(request):
    return request.param


@pytest.fixture
def nb(path):
    return nbformat.read(path, as_version=4)


def test_is_a_page(nb):
    nbformat.validate(nb)
    assert faults(nb) == []


def test_papermill_reads_every_parameter_with_its_meaning(path, nb):
    seen = papermill.inspect_notebook(str(path))
    written = [n.target.id for n in ast.parse(code(nb)[0].source).body]
    assert list(seen) == written
    for parameter in seen.values():
        assert parameter["inferred_type_name"] in SCALARS and parameter["help"], parameter


SPOILERS = {
    "carries results": lambda nb: code(nb)[0].update(execution_count=1),
    "carries metadata": lambda nb: nb.metadata.update(papermill={}),
    "no python3 kernelspec": lambda nb: nb.metadata.pop("kernelspec"),
    "no title": lambda nb: nb.cells.pop(0),
    "title is not a question": lambda nb: nb.cells[0].update(source="# Network"),
    "cells out of order": lambda nb: code(nb)[-1].metadata.pop("tags"),
    "too much code": lambda nb: code(nb)[-1].update(source="1\n" * 13),
    "magic": lambda nb: code(nb)[-1].update(source="%timeit 1"),
    "FunctionDef: move it to lib/": lambda nb: code(nb)[-1].update(source="def f(): pass"),
    "subprocess: move it to lib/": lambda nb: code(nb)[-1].update(source="subprocess.run([])"),
    "parameter 'x = 1'": lambda nb: code(nb)[0].update(source="x = 1"),
}


@pytest.mark.parametrize("fault", SPOILERS)
def test_the_check_sees_a_spoilt_page(fault):
    nb = copy.deepcopy(nbformat.read(NOTEBOOKS[0], as_version=4))
    assert faults(nb) == []
    SPOILERS[fault](nb)
    assert fault in faults(nb)
