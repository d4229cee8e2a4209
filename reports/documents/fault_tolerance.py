"""Sentences about which faults each setting survives: "survives any 1 lossy crash; loses acknowledged records at 2"."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from neverlost.checker.engine.outcome import Verdict
from neverlost.checker.questions.sweep.sweep import Sweep
from neverlost.model import faults
from neverlost.model.any_number import AnyNumber
from neverlost.model.limits import encoded
from neverlost.reports.wording.merged_rows import settings_text
from neverlost.specs.configuration.keys import shown
from neverlost.specs.configuration.matrix import Matrix
from neverlost.specs.property import Property

FAULTS = {each.name: (each.one, each.many) for each in faults.FAULTS} | {
    "at_once": ("broker impaired at once", "brokers impaired at once")
}
ORDER = {name: place for place, name in enumerate(FAULTS)}
PREFIX = "faults."

Budget = tuple[tuple[str, int | AnyNumber], ...]
"""Faults with how often each may happen (`at_once`: how many brokers they may impair together); others are left out."""


def sorted_faults(counts: Mapping[str, int | AnyNumber]) -> Budget:
    """Return numbers of faults by kind, in the declared order of kinds."""
    found = {name.removeprefix(PREFIX): count for name, count in counts.items() if count}
    return tuple(sorted(found.items(), key=lambda each: (ORDER.get(each[0], len(ORDER)), each)))


def fault_words(counts: Budget) -> str:
    """Return numbers of faults as text, such as `1 crash and 2 kills`."""
    parts = [_fault(name, limit) for name, limit in counts]
    return " and ".join([", ".join(parts[:-1]), parts[-1]] if len(parts) > 1 else parts)


def _fault(name: str, limit: int | AnyNumber) -> str:
    one, many = FAULTS.get(name, (name, name))
    if isinstance(limit, int):
        return f"{limit} {many if limit > 1 else one}"
    if limit.counts_as:
        return f"number of {many}, each counted as a {FAULTS[limit.counts_as][0]}"
    if limit.beside:
        return f"number of {many}, at once " + ", ".join(
            f"{n} beside {lost} that lose data" for lost, n in enumerate(limit.beside)
        )
    return f"number of {many}" + ("" if limit.at_once is None else f", {limit.at_once} at once")


def describe_tolerance(matrix: Matrix, sweep: Sweep) -> list[dict[str, Any]]:
    """Return for each setting the largest fault budgets under which every property holds, the smallest that break each, and a
    sentence."""
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
    held = _edge([budgets[n] for n in cells if sweep.verdict(n) is Verdict.HOLDS], largest=True)
    asked = [each.property for each in sweep.decisions[cells[0]]]
    broken: dict[str, list[Budget]] = {}
    open_ones: list[Budget] = []
    for place, each in enumerate(asked):
        decided = [(n, sweep.decisions[n][place]) for n in cells]
        fewest = [sorted_faults(one.trace.faults(sweep.systems[n])) for n, one in decided if one.trace is not None]
        broken[each.name] = _edge(fewest, largest=False)
        open_ones += [budgets[n] for n, one in decided if one.verdict is Verdict.INCONCLUSIVE]
    return {
        "setting": {key: shown(value) for key, value in setting.items()},
        "survives": [_shown(each) for each in held],
        "violated_at": {name: [_shown(each) for each in found] for name, found in broken.items() if found},
        "says": _sentence(held, {each: broken[each.name] for each in asked}, _edge(open_ones, largest=False)),
    }


def _shown(limits: Budget) -> dict[str, Any]:
    return {name: shown(limit) for name, limit in limits}


def _edge(found: Iterable[Budget], largest: bool) -> list[Budget]:
    """Return the largest, or the smallest, of the budgets that can be compared."""
    distinct = list(dict.fromkeys(found))

    def within(one: Budget, other: Budget) -> bool:
        return all(encoded(dict(other).get(name, 0)) >= encoded(count) for name, count in one)

    return [
        each
        for each in distinct
        if not any(one != each and (within(each, one) if largest else within(one, each)) for one in distinct)
    ]


def _sentence(held: list[Budget], broken: Mapping[Property, list[Budget]], undecided: list[Budget]) -> str:
    parts = []
    worth_saying = [fault_words(each) for each in held if each]
    failures: dict[tuple[Budget, ...], list[str]] = {}
    for each, fewest in broken.items():
        if fewest:
            failures.setdefault(tuple(fewest), []).append(each.failure or f"breaks {each.name}")
    if worth_saying:
        most = "" if failures or undecided else ", the most that was tried"
        parts.append("survives any " + ", or any ".join(worth_saying) + most)
    elif held and not failures and not undecided:
        parts.append("holds without faults, the only case that was tried")
    for limits, phrases in failures.items():
        parts.append(f"{' and '.join(phrases)} {_at(limits)}")
    if undecided:
        parts.append(f"undecided {_at(undecided)}")
    return "; ".join(parts)


def _at(fewest: Iterable[Budget]) -> str:
    return " or ".join("at " + fault_words(each) if each else "without any fault" for each in fewest)
