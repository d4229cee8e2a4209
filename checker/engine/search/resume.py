"""`--resume`: a search that keeps its levels is opened again, and what each level brought is read back."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from neverlost.checker.engine.search.level_report import LevelReport
from neverlost.checker.engine.search.options import Options
from neverlost.checker.engine.storage.levels import Level, Store, Violation, describe_search
from neverlost.model.system import System
from neverlost.specs.property import Property


def open_store(place: Path | str, system: System, properties: Sequence[Property], options: Options) -> Store:
    """Return the store of a search: a new one, or with `--resume` that of an earlier search for the same thing.

    Errors: `InputError` if a new one finds a store there; with `--resume`, if there is none, or one of another search.
    """
    forgets = options.every_configuration and not options.keep_going
    meta = describe_search(system, properties, options.symmetry) | {"forgets_decided": forgets}
    return Store.open(place, meta) if options.resume else Store.create(place, meta)


def describe_report(report: LevelReport, properties: Sequence[Property]) -> dict[str, Any]:
    """Return two arguments of `Level`: `violations`, a tuple of `Violation`, and `facts`: how many states each configuration
    has (`by_configuration`, empty if there is only one), and how many states the level's orbits hold (`orbits`)."""
    found = sorted(report.violations.items())
    homes = report.by_configuration
    return {
        "violations": tuple(Violation(properties[number].name, home, words) for (number, home), words in found),
        "facts": {"by_configuration": [] if homes is None else homes.tolist(), "orbits": report.orbits},
    }


def restore_report(level: Level, properties: Sequence[Property]) -> LevelReport:
    numbers = {each.name: number for number, each in enumerate(properties)}
    violations = {(numbers[each.property], each.configuration): each.state for each in level.violations}
    homes = level.facts.get("by_configuration")
    return LevelReport(level.rows, violations, np.array(homes, np.int64) if homes else None, level.facts.get("orbits", 0))
