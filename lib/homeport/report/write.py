"""The report as files."""

import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import jinja2
from markupsafe import Markup, escape

from homeport import plots
from homeport.decide.decision import Decision
from homeport.errors import NotFound
from homeport.params import Link, Study, root
from homeport.report import coverage, described, page, provenance, words
from homeport.report.figures import figures, leading
from homeport.store import Recorded, SessionFolder
from homeport.store.atomic import write_text

_FORMATS = ("html", "md", "json")
_TORN = re.compile(r"(?<=\d) (?=(?:%|ms|usable|steps/s|rounds?)(?!\w))|(?<=USD) (?=\d)")


def write_report(
    recorded: Recorded,
    decision: Decision,
    out_dir: Path,
    formats: Iterable[str] = _FORMATS,
) -> list[Path]:
    """Write decision.html, decision.md and decision.json to a folder; returns their paths.

    The same session and decision give the same bytes. Each file is written atomically. Raises
    NotFound for an unknown format, before anything is written, CannotWrite if the disk refuses.
    """
    wanted = list(formats)
    for form in wanted:
        if form not in _FORMATS:
            raise NotFound("report format", form, list(_FORMATS))
    made = {form: Path(out_dir) / f"decision.{form}" for form in wanted}
    content = _content(recorded, decision) if set(wanted) - {"json"} else {}
    for form, path in made.items():
        write_text(path, decision.to_json() if form == "json" else _render(form, content))
    return list(made.values())


def folder_of(recorded: Recorded) -> Path:
    """Where the report of a session lies unless told otherwise: beside what was measured."""
    return recorded.folder.path / "report"


def _render(form: str, content: dict[str, Any]) -> str:
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("homeport.report"),
        autoescape=form == "html",
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    environment.filters["md"] = _markdown
    environment.filters["word"] = words.word
    environment.filters["clean"] = words.clean
    environment.filters["prose"] = _prose
    return environment.get_template(f"decision.{form}.j2").render(content)


def _prose(text: object) -> Markup:
    """Text for HTML: what stands between backticks as code, no unit torn from its number."""
    whole = _TORN.sub("\xa0", words.clean(text))
    return Markup(re.sub(r"`([^`]+)`", r"<code>\1</code>", str(escape(whole))))


def _markdown(text: object) -> str:
    """Text in which nothing is markup: HTML, emphasis, links and table bars are escaped."""
    escaped = re.sub(r"([\\`*_{}\[\]<>|~$#!])", r"\\\1", words.clean(text))
    return escaped.replace("&", "&amp;")


def _content(recorded: Recorded, decision: Decision) -> dict[str, Any]:
    study, folder = recorded.study, recorded.folder
    drawn = figures(recorded, decision)
    failed, more = page.failures(recorded.failures())
    controller = decision.provenance.get("controller") or {}
    leader = leading(decision)
    return {
        "decision": decision,
        "study": study,
        "notices": notices(folder),
        "confidence": words.CONFIDENCE[decision.verdict],
        "meaning": {"option": words.OPTION, "sla": words.SLA, "strategy": _strategies(study)},
        "facts": page.facts(decision),
        "rows": page.rows(decision),
        "target": page.target(decision.candidates[0].sla) if decision.candidates else "",
        "floor": page.floor(decision.noise_floor),
        "figures": {key: _Drawn(key, chart) for key, chart in drawn.items()},
        "leader": None if leader is None else words.option(leader),
        "comparisons": page.comparisons(decision),
        "headline": words.headline(decision.recommendation),
        "by_target": page.by_target(decision),
        "other_label": _other_label(study),
        "by_site": page.by_site(decision),
        "by_strategy": page.by_strategy(decision),
        "step_parts": described.step_parts(recorded),
        "traffic": described.traffic(recorded),
        "failures": failed,
        "more_failures": more,
        "gaps": coverage.gaps(recorded, decision, bool(failed)),
        "command": coverage.command(decision),
        "provenance": provenance.sections(decision.provenance),
        "links": [_link(study, link, decision.warnings) for link in study.links],
        "git_sha": controller.get("git_sha"),
        "git_dirty": controller.get("git_dirty"),
        "session_path": _path(recorded),
    }


class _Drawn:
    """A figure as the templates use it; drawn as SVG only where a template asks for it."""

    def __init__(self, key: str, chart: plots.Chart):
        self.key, self.title, self.alt = key, chart.get_suptitle(), chart.alt
        self._chart = chart

    @property
    def svg(self) -> str:
        return plots.svg(self._chart, self.key)


def notices(session: SessionFolder) -> list[str]:
    """What a reader must know of the data before the answer: emulated, recorded, single."""
    folders = [session.path.resolve(), *session.path.resolve().parents]
    sample = any(p.name == "sample" and p.parent.name == "data" for p in folders)
    told = [words.EMULATED] if session.study.world == "emulated" else []
    told += [words.SAMPLE] if sample else []
    return told + ([words.SINGLE] if session.kind == "single" else [])


def _strategies(study: Study) -> dict[str, str]:
    """What each strategy of the study does, for readers who meet its name for the first time."""
    told = {s.name: words.TOPOLOGY.get(s.topology, "") for s in study.strategies}
    return {name: meaning for name, meaning in told.items() if meaning}


def _other_label(study: Study) -> str:
    return "idle" if study.sla.label == "loaded" else "loaded"


def _link(study: Study, link: Link, warned: list[str]) -> dict[str, Any]:
    """Where a link and the price of its host come from; cautions not among the warnings yet."""
    price = study.prices[link.host]
    return {
        "site": words.name(link.site),
        "host": words.name(link.host),
        "region": words.name(study.region_of(link.host)),
        "rtt": f"{link.rtt_ms:g} ms",
        "loss": f"{link.loss_percent:g} %",
        "rate": f"{link.rate_mbit_s:g} Mbit/s",
        "assumed": ", ".join(link.assumed) or "nothing",
        "source": _spaced(link.source),
        "measured_on": link.measured_on.isoformat(),
        "cautions": [words.clean(c) for c in link.cautions if not any(c in w for w in warned)],
        "price": f"{price.usd_per_hour:.4g} USD/h",
        "price_source": _spaced(f"{price.source}, {price.valid_on.isoformat()}"),
    }


def _spaced(source: str) -> str:
    """A table and its row, with places where a line can break: no space follows a CSV's commas."""
    return words.clean(re.sub(r",(?=\S)", ", ", source), 200)


def _path(recorded: Recorded) -> str:
    """The session's folder as the project names it; no path of this machine is told."""
    path = recorded.folder.path.resolve()
    try:
        return path.relative_to(root().resolve()).as_posix()
    except (ValueError, NotFound):
        return recorded.study.name
