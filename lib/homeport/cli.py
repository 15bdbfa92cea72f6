"""The command line: parse, call one function, print, exit code."""

import importlib.metadata
import json
import os
import signal
import sys
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from homeport.errors import HomeportError, NoEmulation

app = typer.Typer(
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    help="Find the home port for your RL learner: measure candidate hosts, then decide.",
)
lab_app = typer.Typer(no_args_is_help=True, help="The emulated world, kept up until you end it.")
app.add_typer(lab_app, name="lab")

INTERRUPTED = 130  # as shells say it of SIGINT; typer gives it for a KeyboardInterrupt


class _Told(Console):
    """A console whose reader may go away: what is measured goes on without it."""

    def on_broken_pipe(self) -> None:
        os.dup2(os.open(os.devnull, os.O_WRONLY), self.file.fileno())


log = _Told(stderr=True, highlight=False)

JsonOut = Annotated[bool, typer.Option("--json", help="Only JSON on stdout; logs on stderr.")]
StudyName = Annotated[str, typer.Argument(help="A study in params/studies, or a path to one.")]


def _print_version(asked: bool) -> None:
    if asked:
        print(f"homeport {importlib.metadata.version('homeport')}")
        raise typer.Exit


@app.callback()
def top(
    _version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Which one.")
    ] = False,
) -> None:
    """Options before any command."""


@app.command()
def run(
    study: StudyName,
    resume: Annotated[bool, typer.Option(help="Go on with a session that lacks parts.")] = False,
    only: Annotated[str | None, typer.Option(metavar="HOST", help="Measure one host.")] = None,
    region: Annotated[str | None, typer.Option(help="Measure the hosts of one region.")] = None,
    rounds: Annotated[int | None, typer.Option(help="Fewer rounds than the study has.")] = None,
    dry_run: Annotated[bool, typer.Option(help="Show the plan and what it takes.")] = False,
    as_json: JsonOut = False,
) -> None:
    """Measure the candidates of a study, judge them, and write the report."""
    from homeport.params import load_study

    model = load_study(study)  # before the heavy imports: a wrong name is told at once
    from homeport import batch, emulate

    chosen = {"rounds": rounds, "only": only, "region": region}
    if dry_run:
        _show_plan(*batch.to_measure(model, resume=resume, **chosen), as_json)
        return
    emulate.privilege.ensure_privileges(sys.argv)
    outcome = batch.run(model, resume=resume, tell=_tell, **chosen)
    for note in outcome.notes:
        log.print(f"note: {note}", style="yellow")
    code = batch.exit_code(outcome.decision, len(outcome.missing))
    if outcome.missing:
        log.print(
            f"{len(outcome.missing)} parts are missing; go on with: homeport run {study} --resume",
            style="yellow",
        )
    _show(outcome.decision, outcome.folder, outcome.folder.path / "report", as_json)
    raise typer.Exit(code)


@app.command()
def report(
    source: Annotated[str, typer.Argument(help="A study with a run, or a session's folder.")],
    out: Annotated[
        Path | None, typer.Option(help="Where to write; default: in the session.")
    ] = None,
    formats: Annotated[str, typer.Option("--format", help="Of html,md,json.")] = "html,md,json",
    as_json: JsonOut = False,
) -> None:
    """Judge a recorded session again and write its report."""
    from homeport import store

    recorded = store.read(source)  # before the heavy imports: a wrong name is told at once
    from homeport import batch, decide
    from homeport import report as reports

    decision = decide.decide(recorded)
    folder = out or reports.folder_of(recorded)
    reports.write_report(recorded, decision, folder, tuple(formats.split(",")))
    _show(decision, recorded.folder, folder, as_json)
    raise typer.Exit(batch.exit_code(decision, len(batch.missing_parts(recorded.folder))))


@app.command()
def demo() -> None:
    """Run the demo study; where no world can be emulated, judge the recorded sample instead.

    Ends with 0 whenever a judgement was reached (exit codes 0, 4 and 5 of `run`).
    """
    from homeport import batch, emulate
    from homeport.params import root

    try:
        emulate.privilege.ensure_privileges(sys.argv)
        emulate.check()
        code = _code_of(run, "demo")
    except NoEmulation as reason:
        log.print(f"{reason}\nJudging the recorded sample instead of measuring.", style="yellow")
        code = _code_of(report, str(root() / "data" / "sample"))
    log.print(f"exit code of the study: {code}")
    raise typer.Exit(0 if code in batch.JUDGED else code)


def _code_of(command, argument: str) -> int:
    try:
        command(argument)
    except typer.Exit as ended:
        return ended.exit_code
    return 0


@lab_app.command()
def up(study: StudyName) -> None:
    """Bring the hosts and links of a study up and keep them."""
    from homeport import emulate
    from homeport.params import load_study

    model = load_study(study)
    emulate.privilege.ensure_privileges(sys.argv)
    _print_status(emulate.lab.up(model), as_json=False)


@lab_app.command()
def down() -> None:
    """End the lab, and whatever a killed run has left behind."""
    from homeport import emulate

    emulate.privilege.ensure_privileges(sys.argv)
    ended = emulate.lab.down()
    log.print("\n".join(f"ended: {what}" for what in ended) or "nothing was up")


@lab_app.command()
def shell(host: Annotated[str, typer.Argument(help="A host of the lab.")]) -> None:
    """Open a shell on a host of the lab; ping, traceroute and other tools work unmodified."""
    from homeport import emulate

    emulate.privilege.ensure_privileges(sys.argv)
    emulate.lab.shell(host)


@lab_app.command()
def status(as_json: JsonOut = False) -> None:
    """Show hosts, links and counters of the lab."""
    from homeport import emulate

    emulate.privilege.ensure_privileges(sys.argv)
    _print_status(emulate.lab.status(), as_json)


def _print_status(status, as_json: bool) -> None:
    from homeport import emulate

    if as_json:
        print(json.dumps(emulate.lab.as_dict(status), indent=1))
    elif status is None:
        log.print("no lab is up; bring one up with: homeport lab up STUDY")
    else:
        Console().print(emulate.lab.as_table(status))


def _show_plan(study, parts, as_json: bool) -> None:
    from homeport import batch

    prediction = batch.predict(study, parts)
    if as_json:
        facts = {"study": study.name, "predicted": prediction.__dict__}
        print(json.dumps({**facts, "parts": batch.describe(parts)}, indent=1))
    else:
        for part in parts:
            print(f"{part.position + 1:4d}  {part.name}")
        print(
            f"{prediction.parts} parts, about {prediction.minutes:.1f} min, "
            f"at most {prediction.gigabytes:.2g} GB and {prediction.usd:.2g} USD"
        )
    batch.check_caps(study, prediction)


def _tell(progress) -> None:
    left = f"about {progress.left_s / 60:.1f} min left" if progress.left_s else "measured"
    if progress.part is None:
        log.print(f"{progress.total} parts to measure, {left}")
        return
    style = None if progress.status == "done" else "red"
    why = f" ({progress.note})" if progress.note else ""
    log.print(
        f"[{progress.done}/{progress.total}] {progress.part.name}: {progress.status}{why} "
        f"in {progress.took_s:.1f} s, {left}",
        style=style,
        markup=False,
    )


def _show(decision, session, folder: Path, as_json: bool) -> None:
    from homeport import report as reports

    if as_json:
        _say(decision.to_json() if decision else "null")
    elif decision is not None:
        _Told().print(reports.console(decision, reports.notices(session)))
        written = [folder / f"decision.{kind}" for kind in ("html", "md", "json")]
        _say(f"report: {next((path for path in written if path.is_file()), folder)}")


def _say(text: str) -> None:
    try:
        print(text, flush=True)
    except BrokenPipeError:  # such as `| head`: the exit code still tells the verdict
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _open_standard_streams() -> None:
    """A closed stream's number would go to the next file opened, and kernels would talk into it."""
    for number in (0, 1, 2):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)


def main() -> None:
    """Entry point: every error of ours becomes one line and its exit code."""
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    _open_standard_streams()
    try:
        ended = app(standalone_mode=False)
        if ended == INTERRUPTED:
            raise KeyboardInterrupt
        sys.exit(ended if isinstance(ended, int) else 0)
    except HomeportError as wrong:
        log.print(f"homeport: {wrong}", style="red", markup=False)
        sys.exit(wrong.exit_code)
    except (KeyboardInterrupt, typer.Abort):
        log.print("homeport: interrupted; what was measured so far is kept, go on with --resume")
        sys.exit(INTERRUPTED)
    except OSError as refused:
        log.print(f"homeport: {refused}", style="red", markup=False)
        sys.exit(1)
    except Exception as usage:
        if hasattr(usage, "show") and hasattr(usage, "exit_code"):  # click's usage errors
            usage.show()
            sys.exit(2)
        raise


if __name__ == "__main__":
    main()
