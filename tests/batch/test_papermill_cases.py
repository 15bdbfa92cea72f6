"""Real traps of papermill (tests/cases/papermill, each with its source), by case number."""

import json
import shutil
from pathlib import Path

import nbformat
import papermill
import pytest
import yaml

from homeport.batch import pages
from homeport.errors import BadParameter

CASES = Path(__file__).parents[1] / "cases" / "papermill"
HANDLED = {
    "001",
    "002",
    "003",
    "004",
    "006",
    "007",
    "008",
    "010",
    "012",
    "014",
    "015",
}  # 015 stands in tests/batch/test_run.py
pytestmark = pytest.mark.notebook


def expect(case):
    return json.loads((CASES / case / "expect.json").read_text())


def run(case, tmp_path, given=None, *, timeout_s=30, output="out/2026/page.ipynb"):
    notebook = CASES / case / "in.ipynb"
    return pages.execute(
        notebook, tmp_path / output, given or {}, timeout_s=timeout_s, cwd=tmp_path
    )


def test_every_visible_case_is_handled():
    assert {p.name for p in CASES.iterdir()} == HANDLED


@pytest.mark.parametrize("case", ["001", "002"])
def test_a_dead_kernel_and_a_timeout_are_failures_whatever_the_copy_claims(case, tmp_path):
    right = expect(case)
    ended = run(case, tmp_path, timeout_s=3 if case == "002" else 30)
    assert (ended.status, ended.reason, ended.error) == (
        right["run_status"],
        right["reason"],
        right["exception"],
    )
    assert list(ended.unexecuted_cells) == right["unexecuted_cells"]
    # What papermill wrote would have fooled whoever believed it.
    copy = nbformat.read(ended.output, as_version=4)
    assert copy.metadata.papermill.exception is None
    assert {c.metadata.papermill.status for c in copy.cells} == {right["output_cell_status_all"]}


def test_003_an_exception_is_told_although_cells_have_moved(tmp_path):
    right = expect("003")
    ended = run("003", tmp_path)
    assert (ended.status, ended.error) == (right["run_status"], right["exception"])
    assert ended.reason == "ValueError: iperf3 server unreachable"
    copy = nbformat.read(ended.output, as_version=4)
    inserted = [c for c in copy.cells if c.cell_type == "markdown"]
    assert len(inserted) == right["error_cells_inserted"]


def test_004_a_page_that_ends_itself_early_is_incomplete(tmp_path):
    right = expect("004")
    ended = run("004", tmp_path)
    assert (ended.status, list(ended.unexecuted_cells)) == (
        right["run_status"],
        right["unexecuted_cells"],
    )


def test_006_a_misspelt_parameter_is_refused_before_anything_runs(tmp_path):
    given = yaml.safe_load((CASES / "006" / "params.yaml").read_text())
    with pytest.raises(BadParameter) as caught:
        run("006", tmp_path, given)
    assert (caught.value.key, expect("006")["suggestion"] in caught.value.hint) == (
        "candiate_host",
        True,
    )
    assert not (tmp_path / "out").exists()


def test_007_a_page_without_a_parameters_cell_is_refused(tmp_path):
    with pytest.raises(BadParameter, match="exactly one cell tagged 'parameters'"):
        run("007", tmp_path, {"candidate_host": "sg-1"})
    assert not (tmp_path / "out").exists()


def test_008_values_survive_the_way_into_the_kernel(tmp_path):
    given = json.loads((CASES / "008" / "params.json").read_text())
    ended = run("008", tmp_path, {"host": given["host"]})
    assert (ended.status, printed(ended)) == ("succeeded", f"1 {expect('008')['host_repr']}")


def test_008_so_do_mappings_where_a_page_declares_no_type(tmp_path):
    # The case's page says `x = 1` and its x is a mapping: papermill lets that pass, we refuse it,
    # as case 010 asks ("type check against the defaults of the parameters cell"). So the case is
    # run with the one default changed that says nothing of a type; all else is as given.
    given = json.loads((CASES / "008" / "params.json").read_text())
    with pytest.raises(BadParameter, match="x: expected a value of type int"):
        run("008", tmp_path, given)
    assert not (tmp_path / "out").exists()
    page = nbformat.read(CASES / "008" / "in.ipynb", as_version=4)
    page.cells[0].source = page.cells[0].source.replace("x = 1", "x = None")
    nbformat.write(page, tmp_path / "page.ipynb")
    ended = pages.execute(
        tmp_path / "page.ipynb", tmp_path / "out.ipynb", given, timeout_s=30, cwd=tmp_path
    )
    assert ended.status == "succeeded" and expect("008")["round_trip_equal"]
    assert printed(ended) == f"{given['x']!r} {expect('008')['host_repr']}"


def printed(ended):
    return nbformat.read(ended.output, as_version=4).cells[-1].outputs[0].text.rstrip("\n")


# What the parameters cell of a page would declare for the values of case 010.
DECLARED = {
    "region_no": "str",
    "limit": "float",
    "port_octal": "int",
    "start": "str",
    "day": "str",
    "cap": "float",
    "host": "str",
    "big": "int",
    "switch": "bool",
    "lr": "float",
    "lr2": "float",
    "zip": "str",
}
SURPRISES = {"region_no", "limit", "start", "day", "cap", "lr"}


def test_010_yaml_surprises_are_named_by_their_key(tmp_path):
    given = yaml.safe_load((CASES / "010" / "params.yaml").read_text())
    cell = nbformat.v4.new_code_cell(
        "\n".join(f"{name}: {kind} = {kind}()  # x" for name, kind in DECLARED.items())
    )
    cell.metadata["tags"] = ["parameters"]
    page = tmp_path / "page.ipynb"
    nbformat.write(nbformat.v4.new_notebook(cells=[cell]), page)
    refused = set()
    for name in DECLARED:
        try:
            pages.check_parameters(page, {name: given[name]})
        except BadParameter as wrong:
            refused.add(wrong.key)
    assert refused == SURPRISES
    with pytest.raises(BadParameter, match=r"write 1\.0e\+3"):
        pages.check_parameters(page, {"lr": given["lr"]})


def test_012_the_output_folder_is_made(tmp_path):
    with pytest.raises(FileNotFoundError):
        papermill.execute_notebook(
            str(CASES / "012" / "in.ipynb"), str(tmp_path / "no" / "out.ipynb")
        )
    assert run("012", tmp_path).status == "succeeded"


def test_014_last_months_copy_is_not_taken_for_this_run(tmp_path):
    shutil.copy(CASES / "014" / "out_before.ipynb", tmp_path / "page.ipynb")
    ended = run("014", tmp_path, output="page.ipynb")
    assert (ended.status, ended.error) == ("failed", "builtins." + expect("014")["exception"])
    assert not ended.output.exists()
    shutil.copy(CASES / "014" / "out_before.ipynb", tmp_path / "page.ipynb")
    page = nbformat.read(CASES / "014" / "in.ipynb", as_version=4)
    page.metadata["kernelspec"] = {"name": "nosuch", "display_name": "x", "language": "python"}
    nbformat.write(page, tmp_path / "in.ipynb")
    ended = pages.execute(
        tmp_path / "in.ipynb", tmp_path / "page.ipynb", {}, timeout_s=30, cwd=tmp_path
    )
    assert ended.status == "failed" and "nosuch" in ended.reason
