"""Sentences about which faults each setting survives: "survives any 1 lossy crash; loses acknowledged records after 2"."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from neverlost.checker.engine.outcome import Behaviour, Verdict
from neverlost.checker.questions.sweep.sweep import Cell, Sweep, again
from neverlost.model.limits import AT_ONCE, encoded
from neverlost.model.system import System, bind
from neverlost.reports.wording.merged_rows import settings_text
from neverlost.reports.wording.sentences import PREFIX, Budget, say_survived, sorted_faults
from neverlost.specs.configuration.choose import OUTSIDE
from neverlost.specs.configuration.keys import shown
from neverlost.specs.configuration.matrix import Matrix
from neverlost.specs.property import Property


def describe_tolerance(matrix: Matrix, sweep: Sweep) -> list[dict[str, Any]]:
    """Return an entry for each setting: the largest fault budgets under which every property holds, the smallest that break
    each property, and a sentence that says so."""
    settings: dict[str, list[int]] = {}
    rows = []
    for number, cell in enumerate(matrix.cells):
        row = {key: cell.coordinates.get(key) for key in matrix.varying if not key.startswith(PREFIX)}
        if settings_text(row) not in settings:
            rows.append(row)
        settings.setdefault(settings_text(row), []).append(number)
    return [_survived(sweep, row, settings[settings_text(row)]) for row in rows]


def _survived(sweep: Sweep, setting: Mapping[str, Any], cells: list[int]) -> dict[str, Any]:
    budgets = {n: sorted_faults({k: v for k, v in sweep.cells[n][1].items() if k.startswith(PREFIX)}) for n in cells}
    safe = _edge([budgets[n] for n in cells if sweep.verdict(n) is Verdict.HOLDS and not sweep.is_vacuous(n)], largest=True)
    broken: dict[Property, list[Budget]] = {}
    open_ones: list[Budget] = []
    at_once: dict[Budget, int] = {}
    for place, asked in enumerate(each.property for each in sweep.decisions[cells[0]]):
        decided = [(n, sweep.decisions[n][place]) for n in cells]
        for n, trace in ((n, one.trace) for n, one in decided if one.trace is not None):
            faults = sorted_faults(trace.faults(sweep.systems[n]))
            broken.setdefault(asked, []).append(faults)
            most = find_at_once(sweep.cells[n], sweep.systems[n], trace, asked)
            if most is not None:
                at_once[faults] = min(at_once.get(faults, most), most)
        open_ones += [budgets[n] for n, one in decided if one.verdict is Verdict.INCONCLUSIVE]
    fewest = {asked: _edge(every, largest=False) for asked, every in broken.items()}
    said = say_survived(
        [each.property.name for each in sweep.decisions[cells[0]]], safe, fewest, _edge(open_ones, False), at_once
    )
    return {
        "setting": {key: shown(value) for key, value in setting.items()},
        "survives": [_shown(each) for each in safe],
        "violated_at": {asked.name: [_shown(each) for each in every] for asked, every in fewest.items()},
        "says": "; ".join(map(str, said)) or "holds vacuously, which bounds nothing",
    }


def find_at_once(cell: Cell, system: System, trace: Behaviour, broken: Property) -> int | None:
    """Return the smallest limit of brokers impaired at once with which a counterexample's steps are still possible, plus how
    many are outside the ISR at the start; None if the model has no such limit, or the steps are possible under none."""
    model, configuration = cell
    if AT_ONCE not in model.keys:
        return None
    for most in range(1, int(configuration["replication.factor"]) + 1):
        if again(system, trace, bind(model, {**configuration, AT_ONCE: most}), broken) is not None:
            return most + int(configuration.get(OUTSIDE, 0))
    return None


def _shown(limits: Budget) -> dict[str, Any]:
    return {name: shown(limit) for name, limit in limits}


def _edge(found: Iterable[Budget], largest: bool) -> list[Budget]:
    """Return the largest budgets, those within no other one; if not `largest`, the smallest, those with no other in them."""
    distinct = list(dict.fromkeys(found))

    def within(one: Budget, other: Budget) -> bool:
        return all(encoded(dict(other).get(name, 0)) >= encoded(count) for name, count in one)

    return [
        each
        for each in distinct
        if not any(one != each and (within(each, one) if largest else within(one, each)) for one in distinct)
    ]
