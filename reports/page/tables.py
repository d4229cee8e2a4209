"""A report that consists of tables: sentences to be cited, what to change, and where the settings come from."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any
from xml.etree.ElementTree import Element

from neverlost.checker.engine.host.whole_files import write_text
from neverlost.reports.page.drawing import STYLE, embed, standalone
from neverlost.specs.setting import NoticeKind

DERIVED = "Nothing in this report was measured: all of it follows from question.json, and neverlost verify derives it again."


@dataclass(frozen=True)
class TableCell:
    """A cell of a table: its text `says`, the `kind` that gives its colour, and what it shows when a reader opens it."""

    says: str
    kind: str = ""
    opens: str = ""


@dataclass(frozen=True)
class Table:
    """A table with a heading for each column; the first cell of a row is the row's heading.  A table that `has_sentences`
    becomes a list on a phone."""

    name: str
    head: Sequence[str]
    rows: Sequence[Sequence[TableCell]]
    lines: Sequence[str] = ()
    has_sentences: bool = False


@dataclass(frozen=True)
class Section:
    """A section of a report: tables about some topics or a cluster, with their summary in few words (`verdict`) and a chart."""

    name: str
    about: str = ""
    verdict: TableCell = TableCell("")
    lines: Sequence[str] = ()
    picture: Element | None = None
    names: Sequence[str] = ()
    tables: Sequence[Table] = ()
    change: str = ""
    commands: Sequence[Mapping[str, str]] = ()
    notices: Sequence[Mapping[str, Any]] = ()
    settings: Sequence[Mapping[str, str]] = ()


@dataclass(frozen=True)
class TableReport:
    """How documents of one schema become tables: a title, what the tables show, their sections, and the answer in sentences,
    of which the first is the headline."""

    schema: str
    title: str
    says: str
    sections: Callable[[Mapping[str, Any]], Iterable[Section]]
    answer: Callable[[Mapping[str, Any]], Sequence[str]]


def write_tables(document: Mapping[str, Any], place: Path, report: TableReport) -> list[Path]:
    """Write `report.html`, `report.md` and, named after its section, an SVG file of each picture; return the reports' paths."""
    from neverlost.reports.page.templating import markdown_templates, page_templates

    sections = list(report.sections(document))
    noticed = [each for each in sections if each.notices] or sections[:1]
    general = [each for one in noticed[:1] for each in one.notices if all(each in other.notices for other in noticed)]
    headline, *more = report.answer(document)
    about = f"neverlost {document['version']}, question {document['question'].removeprefix('sha256:')[:16]}"
    data = {
        "title": report.title,
        "headline": headline,
        "more": more,
        "chart_style": STYLE if any(one.picture is not None for one in sections) else "",
        "embed": embed,
        "says": report.says,
        "about": about,
        "notices": list({each["says"]: each for each in (*general, *_assumed(document, general))}.values()),
        "sections": [replace(one, notices=[each for each in one.notices if each not in general]) for one in sections],
        "derived": f"{DERIVED} To cite a sentence, add: [{about}].",
    }
    page, text = place / "report.html", place / "report.md"
    write_text(page, page_templates().get_template("tables.html").render(**data))
    for each in sections:
        if each.picture is not None:
            write_text(place / f"{each.name.lower()}.svg", standalone(each.picture))
    write_text(text, markdown_templates().get_template("tables.md").render(**data))
    return [text, page]


def _assumed(document: Mapping[str, Any], noticed: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return a notice for each setting that the answer assumes and no notice in `noticed` names."""
    assumed = [f"{key}={value}" for key, value in document.get("assumed", {}).items()]
    return [
        {"kind": NoticeKind.ASSUMED, "matters": True, "says": each}
        for each in assumed
        if not any(each in one["says"] for one in noticed)
    ]
