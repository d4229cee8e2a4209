"""`report.md` and `report.html` of a tolerance and of a rolling restart: their sentences, to be cited."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from neverlost.checker.machine.whole_files import write_text
from neverlost.reports.documents import roll
from neverlost.reports.page.templating import for_markdown, for_pages

DERIVED = "Nothing in this report was measured: all of it follows from question.json, and `neverlost verify` derives it again."


def write_tables(document: Mapping[str, Any], place: Path) -> None:
    """Both reports, where the document is one of these."""
    made = SECTIONS.get(str(document.get("schema")))
    if made is None:
        return
    title, sections = made[0], made[1](document)
    data = {"title": title, "version": document["version"], "verdict": document["verdict"], "sections": sections}
    write_text(place / "report.html", for_pages().get_template("tables.html").render(**data, derived=DERIVED))
    write_text(place / "report.md", for_markdown().get_template("tables.md").render(**data) + f"\n{DERIVED}\n")


def _tolerance(document: Mapping[str, Any]) -> dict[str, list[str]]:
    return {subject: list(says) for subject, says in document["says"].items()}


def _roll(document: Mapping[str, Any]) -> dict[str, list[str]]:
    return {"Brokers": list(roll.lines(document))}


SECTIONS = {
    "neverlost.tolerance/1": ("what a configuration survives", _tolerance),
    "neverlost.roll/1": ("which brokers may be stopped", _roll),
}
"""By the schema of a document: the title of its reports, and their sections."""
