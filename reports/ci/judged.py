"""A sweep as a gate sees it: each verdict, and whether it was expected."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from neverlost.reports.documents.sweep import cell_name
from neverlost.reports.page.render import sentence


@dataclass(frozen=True)
class Judged:
    """The verdict on one property of one cell; `change` is set where the baseline has another verdict."""

    cell: Mapping[str, Any]
    entry: Mapping[str, Any]
    change: Mapping[str, Any] | None
    says: str

    @property
    def about(self) -> str:
        """The property's name."""
        return str(self.entry["name"])

    @property
    def verdict(self) -> str:
        """What was found."""
        return str(self.entry["verdict"])

    @property
    def name(self) -> str:
        """What the cell is called."""
        return cell_name(self.cell)


@dataclass(frozen=True)
class JudgedSweep:
    """A sweep's result document; `folder` has its traces."""

    document: Mapping[str, Any]
    folder: Path

    @property
    def changes(self) -> Sequence[Mapping[str, Any]] | None:
        """What differs from the baseline; None without one."""
        found: Sequence[Mapping[str, Any]] | None = self.document.get("changes")
        return found

    @property
    def name(self) -> str:
        """What the matrix is called."""
        return str(self.document["matrix"]["name"])

    @cached_property
    def verdicts(self) -> tuple[Judged, ...]:
        """Every cell's verdict on every property."""
        return tuple(self._judged())

    def _judged(self) -> Iterator[Judged]:
        unexpected = {(each["cell"], each["property"]): each for each in self.changes or ()}
        for cell in self.document["cells"]:
            for entry in cell["properties"]:
                says = sentence(cell, entry, self.document)
                yield Judged(cell, entry, unexpected.get((cell_name(cell), entry["name"])), says)

    @property
    def gone(self) -> list[Mapping[str, Any]]:
        """What the baseline has and the matrix has no more."""
        here = {(each.name, each.about) for each in self.verdicts}
        return [each for each in self.changes or () if (each["cell"], each["property"]) not in here]
