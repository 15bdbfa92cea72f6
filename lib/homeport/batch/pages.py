"""Running one page: parameters checked first, success proven rather than believed.

papermill warns about a misspelt name, guesses types, calls sys.exit(0) a success and leaves
`exception: null` after a killed kernel or a timeout. So names and types are checked before it
sees them, and a page counts as run only if every code cell has an execution count.
"""

import ast
import contextlib
import difflib
import logging
import math
import secrets
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import nbformat
import papermill
from jupyter_client.kernelspec import NoSuchKernel
from nbclient.exceptions import CellTimeoutError, DeadKernelError
from papermill.exceptions import PapermillException, PapermillExecutionError
from traitlets.config import Config

from homeport.errors import BadParameter

_SCALARS = {"str": str, "int": int, "float": float, "bool": bool}


@dataclass(frozen=True)
class Parameter:
    """One line of a page's parameters cell; `type` is None where it cannot be told."""

    name: str
    type: type | None


@dataclass(frozen=True)
class PageRun:
    """How a page ended. Only `succeeded` means that every code cell ran to its end.

    reason: None, or in words what ended it. unexecuted_cells: indexes among the code cells.
    """

    status: Literal["succeeded", "failed", "incomplete"]
    reason: str | None
    error: str | None
    unexecuted_cells: tuple[int, ...]
    output: Path


def parameters_of(notebook: Path) -> dict[str, Parameter]:
    """The parameters a page declares, from its cell tagged `parameters`.

    Raises BadParameter if there is no such cell: papermill would inject at the top and the
    page's own defaults would win, so that every host gets the numbers of one.
    """
    tagged = [cell for cell in _code(notebook) if "parameters" in cell.metadata.get("tags", [])]
    if len(tagged) != 1:
        expected = "exactly one cell tagged 'parameters'"
        raise BadParameter(str(notebook), "cells", f"{len(tagged)} tagged cells", expected)
    found = {}
    for line in ast.parse(tagged[0].source).body:
        if isinstance(line, ast.AnnAssign) and isinstance(line.target, ast.Name):
            declared = _SCALARS.get(ast.unparse(line.annotation))
            found[line.target.id] = Parameter(line.target.id, declared)
        elif isinstance(line, ast.Assign) and isinstance(line.targets[0], ast.Name):
            name = line.targets[0].id
            found[name] = Parameter(name, _type_of(line.value))
    return found


def _type_of(node: ast.expr) -> type | None:
    with contextlib.suppress(ValueError):
        value = ast.literal_eval(node)
        return type(value) if type(value) in _SCALARS.values() else None
    return None


def _code(notebook: Path) -> list:
    try:
        cells = nbformat.read(notebook, as_version=4).cells
    except Exception as torn:
        raise BadParameter(str(notebook), "file", str(torn), "a Jupyter notebook") from torn
    return [cell for cell in cells if cell.cell_type == "code"]


def check_parameters(notebook: Path, given: dict[str, object]) -> None:
    """Refuse a name the page does not declare, and a value of another type.

    Raises BadParameter that names the key and, for a misspelt name, the nearest one.
    """
    declared = parameters_of(notebook)
    for name, value in given.items():
        if name not in declared:
            near = difflib.get_close_matches(name, declared, n=1)
            hint = f"Did you mean {near[0]!r}?" if near else ""
            raise BadParameter(str(notebook), name, value, f"one of {sorted(declared)}", hint)
        _check_type(notebook, declared[name], value)


def _check_type(notebook: Path, parameter: Parameter, value: object) -> None:
    wanted = parameter.type
    if wanted is None:
        return
    fits = type(value) is wanted or (wanted is float and type(value) is int)
    if fits and not (isinstance(value, float) and not math.isfinite(value)):
        return
    hint = "Text that looks like a number (1e3, 5e-2) is text in YAML 1.1; write 1.0e+3."
    number_like = wanted in (int, float) and isinstance(value, str)
    expected = (
        f"a finite {wanted.__name__}" if wanted is float else f"a value of type {wanted.__name__}"
    )
    raise BadParameter(str(notebook), parameter.name, value, expected, hint if number_like else "")


def execute(
    notebook: Path, output: Path, given: dict[str, object], *, timeout_s: float, cwd: Path
) -> PageRun:
    """Run a page with checked parameters and write the executed copy to a fresh path.

    The folder is made first; an older file at `output` is removed first, so that nothing stale
    can be taken for this run. Kernels talk over IPC sockets. Raises BadParameter before
    anything runs; a page that fails is not an error here but a PageRun that says so.
    """
    check_parameters(notebook, given)
    output.parent.mkdir(parents=True, exist_ok=True)
    output.unlink(missing_ok=True)
    failure = _run(notebook, output, given, timeout_s, cwd)
    left = _unexecuted(output)
    if failure is not None:
        reason, error = failure
        return PageRun("failed", reason, error, left, output)
    if left:
        reason = f"{len(left)} code cells never ran (the page ended itself early)"
        return PageRun("incomplete", reason, None, left, output)
    return PageRun("succeeded", None, None, (), output)


def _run(notebook: Path, output: Path, given: dict, timeout_s: float, cwd: Path):
    # What went wrong is in the PageRun; a killed kernel makes these loggers print tracebacks.
    for name in ("papermill", "traitlets", "nbclient", "asyncio"):
        logging.getLogger(name).setLevel(logging.CRITICAL)
    # Abstract sockets (@): no file in the working folder, none left after a kill.
    kernel = {"transport": "ipc", "ip": f"@homeport-kernel-{secrets.token_hex(8)}"}
    try:
        papermill.execute_notebook(
            str(notebook),
            str(output),
            parameters=given,
            progress_bar=False,
            log_output=False,
            cwd=str(cwd),
            execution_timeout=math.ceil(timeout_s),
            start_timeout=60,
            config=Config({"KernelManager": kernel}),
            extra_arguments=["--IPKernelApp.log_level=50"],
        )
    except DeadKernelError as dead:
        return "kernel died", _named(dead)
    except CellTimeoutError as late:
        return "timeout", _named(late)
    except PapermillExecutionError as raised:
        return f"{raised.ename}: {raised.evalue}", _named(raised)
    except (PapermillException, NoSuchKernel, ValueError, OSError, RuntimeError) as wrong:
        return str(wrong).splitlines()[0] if str(wrong) else type(wrong).__name__, _named(wrong)
    return None


def _named(error: Exception) -> str:
    return f"{type(error).__module__}.{type(error).__qualname__}"


def _unexecuted(output: Path) -> tuple[int, ...]:
    # The injected cell and the error notes papermill inserts move positions: count code cells
    # other than the injected one.
    if not output.exists():
        return ()
    try:
        code = _code(output)
    except BadParameter:
        return ()
    own = [c for c in code if "injected-parameters" not in c.metadata.get("tags", [])]
    return tuple(i for i, cell in enumerate(own) if cell.execution_count is None)
