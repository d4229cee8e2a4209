"""A result as a CI gate needs it: each verdict, its topics, whether it was expected, and the lines of the user's files."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from neverlost.reports.documents.sweep_and_baseline import cell_name
from neverlost.reports.documents.topic_groups import brief_settings, cause, remedy_lines
from neverlost.reports.page.render import cite
from neverlost.specs.setting import Origin

LINE = re.compile(r"(?P<file>.+) line (?P<line>\d+)")


@dataclass(frozen=True)
class SourceLine:
    file: str
    number: int


@dataclass(frozen=True)
class GateVerdict:
    """The verdict on one property of one cell, or configuration; `change` is None unless the baseline's differs.
    `name` is that of the cell, `says` the verdict in a sentence; `places` are lines of the user's files, by topic."""

    name: str
    cell: Mapping[str, Any]
    entry: Mapping[str, Any]
    change: Mapping[str, Any] | None
    says: str
    places: Mapping[str, SourceLine]

    @property
    def about(self) -> str:
        """The property's name."""
        return str(self.entry["name"])

    @property
    def verdict(self) -> str:
        return str(self.entry["verdict"])

    @property
    def brief(self) -> str:
        """The verdict in few words: how it is violated, why it is undecided, what never happened; else the verdict itself."""
        return cause({**self.cell, "verdict": self.verdict, "properties": [self.entry]}) or self.verdict

    @property
    def advice(self) -> str:
        """What to change, as a sentence after a blank, to append; an empty text where no change is known that helps."""
        remedy = self.cell.get("remedy") or {}
        return f" {remedy_lines(remedy)[0]}" if remedy.get("changes") else ""

    @property
    def assumed(self) -> str:
        """The settings that were assumed because no input gives them, as one text `KEY=VALUE, ...`; empty for none."""
        settings = self.cell.get("settings", {}).items()
        return ", ".join(f"{key}={each['value']}" for key, each in settings if each["how"] == Origin.ASSUMED)

    @property
    def message(self) -> str:
        """Return the full text: the verdict's sentence, what is assumed, and what to change."""
        return self.says + (f" Assumed: {self.assumed}." if self.assumed else "") + self.advice

    @property
    def subjects(self) -> list[str]:
        """The topics that the verdict is about; without topics the name of the cell alone."""
        return list(self.cell.get("topics", ())) or [self.name]


@dataclass(frozen=True)
class GateResult:
    """The result document of a check or a sweep; `folder` has its traces."""

    document: Mapping[str, Any]
    folder: Path

    @property
    def is_sweep(self) -> bool:
        return "matrix" in self.document

    @property
    def changes(self) -> Sequence[Mapping[str, Any]] | None:
        """The differences from the baseline, empty if there are none; None without a baseline."""
        found: Sequence[Mapping[str, Any]] | None = self.document.get("changes")
        return found

    @property
    def name(self) -> str:
        """The name of a sweep's matrix; for a check the word `check`."""
        return str(self.document["matrix"]["name"]) if self.is_sweep else "check"

    @property
    def cells(self) -> Sequence[Mapping[str, Any]]:
        found: Sequence[Mapping[str, Any]] = self.document.get("cells", [self.document])
        return found

    @property
    def version(self) -> str:
        return str(self.document.get("version") or self.cells[0]["version"])

    @property
    def seconds(self) -> float:
        return float(self.document.get("seconds") or sum(each.get("seconds", 0) for each in self.cells))

    @cached_property
    def verdicts(self) -> tuple[GateVerdict, ...]:
        """Return a `GateVerdict` for each property of each cell."""
        unexpected = {(each["cell"], each["property"]): each for each in self.changes or ()}
        found = []
        for cell in self.cells:
            name, places = self._called(cell), self._places(cell)
            for entry in cell["properties"]:
                says = cite(cell, entry, self.document)
                found.append(GateVerdict(name, cell, entry, unexpected.get((name, entry["name"])), says, places))
        return tuple(found)

    def _called(self, cell: Mapping[str, Any]) -> str:
        if self.is_sweep:
            return cell_name(cell)
        return ", ".join(cell.get("topics", ())) or f"{cell['model']}: {brief_settings(cell)}"

    def _places(self, cell: Mapping[str, Any]) -> dict[str, SourceLine]:
        """Return the lines of the user's files about a cell: by topic or, by its name, the matrix's or the first setting's."""
        if self.is_sweep:
            about = self.document["matrix"]
            number = _line(about.get("lines", {}), cell, about["varying"])
            return {self._called(cell): SourceLine(about["file"], number)} if about.get("file") else {}
        found = {topic: line for topic, where in cell.get("places", {}).items() if (line := line_of(where))}
        if found or cell.get("topics"):
            return found
        settings = [line for each in cell.get("settings", {}).values() if (line := line_of(each["where"]))]
        return {self._called(cell): settings[0]} if settings else {}

    @property
    def gone(self) -> list[Mapping[str, Any]]:
        """The differences from the baseline about cells or properties that it has and this result lacks."""
        here = {(each.name, each.about) for each in self.verdicts}
        return [each for each in self.changes or () if (each["cell"], each["property"]) not in here]


def line_of(where: str) -> SourceLine | None:
    """Parse `topics.txt line 4`, also after `[...] of `, as a line of a file; return None for any other text."""
    found = LINE.fullmatch(where.partition("] of ")[2] if where.startswith("[") else where)
    return None if found is None else SourceLine(found["file"], int(found["line"]))


def _line(lines: Mapping[str, int], cell: Mapping[str, Any], varying: Sequence[str]) -> int:
    """Return the line of the first key that differs from the nearest safe cell, else of the first that varies; 1 if unknown."""
    changed = [key for each in cell["properties"] for key in (each.get("sibling") or {}).get("changed", ())]
    return next((lines[key] for key in (*changed, *varying) if key in lines), 1)
