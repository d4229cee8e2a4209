"""The golden counts and verdicts of `instances.toml`."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

NOT_CONFIGURATION = ("model", "distinct", "depth", "tlc_generated", "origin", "property", "verdict", "steps")


@dataclass(frozen=True)
class Golden:
    """One row: a model, its configuration, and what an independent checker found."""

    model: str
    configuration: dict[str, Any]
    expected: dict[str, Any]

    @property
    def name(self) -> str:
        """A short name for tests."""
        parts = [self.model, *map(str, self.configuration.values())]
        return "-".join(parts + ([self.expected["property"]] if "property" in self.expected else []))


def _rows(kind: str) -> list[Golden]:
    document = tomllib.loads((files("neverlost.specs") / "instances.toml").read_text(encoding="utf-8"))
    return [
        Golden(
            row["model"],
            {key: value for key, value in row.items() if key not in NOT_CONFIGURATION},
            {key: value for key, value in row.items() if key in NOT_CONFIGURATION and key != "model"},
        )
        for row in document[kind]
    ]


@cache
def golden_counts() -> list[Golden]:
    """Rows with `distinct` and `depth`."""
    return _rows("count")


@cache
def golden_verdicts() -> list[Golden]:
    """Rows with `property`, `verdict` and, where violated, `steps`."""
    return _rows("verdict")
