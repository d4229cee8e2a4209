"""`sweep` decides every cell of a configuration matrix."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from os import PathLike
from typing import Any, Unpack

from neverlost.checker.engine.host.whole_files import writable_directory
from neverlost.checker.engine.search.options import Reporter
from neverlost.checker.questions.sweep.sweep import Sweep, Sweeper
from neverlost.model.system import bind
from neverlost.reports.bundle import question, seal
from neverlost.reports.counterexample.saved import SUFFIX, Counterexample
from neverlost.reports.documents import sweep_and_baseline as describe_sweep
from neverlost.reports.request.keywords import Searching, Settings
from neverlost.reports.request.run_options import RunOptions, list_names
from neverlost.reports.results.results import Answer, PropertyVerdict, Trace, verdicts
from neverlost.specs.configuration.choose import read_settings
from neverlost.specs.configuration.input import provide
from neverlost.specs.configuration.keys import GROWING
from neverlost.specs.configuration.matrix import Matrix, as_toml, read_matrix
from neverlost.specs.errors import InputError
from neverlost.specs.properties import choose_properties, require_fields
from neverlost.specs.setting import Sources


@dataclass(frozen=True)
class Cell:
    """A configuration of a matrix: the values of the keys that vary, and its verdicts."""

    id: str
    cell: Mapping[str, Any]
    model: str
    config: Mapping[str, Any]
    bounds: Mapping[str, Any]
    verdict: str
    properties: tuple[PropertyVerdict, ...]


@dataclass(frozen=True, repr=False)
class SweepResult(Answer):
    """The verdicts over a matrix, the boundary between safe and unsafe cells, and which faults each setting survives."""

    id: str
    matrix: Mapping[str, Any]
    engine: str
    symmetry: bool
    verdict: str
    verdicts: Mapping[str, int]
    decided_by: Mapping[str, int]
    searches: Sequence[Mapping[str, Any]] = field(repr=False)
    seconds: float
    peak_memory_bytes: int
    version: str
    model_digests: Mapping[str, str] = field(repr=False)
    boundary: Sequence[Mapping[str, Any]] = field(repr=False)
    fault_tolerance: Sequence[Mapping[str, Any]] = field(repr=False)
    cells: tuple[Cell, ...] = field(repr=False)
    sources: Sources = field(repr=False)
    identity: str = "exact"
    changes: Sequence[Mapping[str, Any]] | None = None
    """What differs from the baseline; None without one."""
    spanned: Matrix | None = field(default=None, repr=False)
    """The matrix that was read."""
    swept: Sweep | None = field(default=None, repr=False)
    """What the engine found."""
    expected: Mapping[str, Any] | None = field(default=None, repr=False)
    """The baseline."""

    @property
    def trace(self) -> Trace | None:
        found = [each.trace for cell in self.cells for each in cell.properties if each.trace is not None]
        return min(found, key=lambda each: len(each.steps), default=None)

    def rows(self) -> list[dict[str, Any]]:
        return [
            {**cell.cell, "property": each.name, "verdict": each.verdict, "steps": each.steps, "faults": dict(each.faults)}
            for cell in self.cells
            for each in cell.properties
        ]


def sweep(
    matrix: str | PathLike[str] | Mapping[str, Any],
    settings: Settings = None,
    *,
    properties: Iterable[str] | None = None,
    baseline: str | PathLike[str] | None = None,
    out: str | PathLike[str] | None = None,
    redact: bool = False,
    progress: Reporter | None = None,
    **search: Unpack[Searching],
) -> SweepResult:
    """Decide every cell of a matrix: a TOML file, the name of a shipped one, or a dictionary of keys with a value or a list of
    values, such as `{"acks": ["1", "all"], "faults.kill": 1}` (and `pair` and `exclude`, lists of such dictionaries).

    `settings` replace keys of the matrix; `baseline` is the JSON of an earlier sweep to compare with; with `out` an evidence
    bundle is written into that directory.  `symmetry` is as the matrix says unless it is given.

    Errors: `InputError` for bad input, before anything is searched.
    """
    properties = list_names(properties)
    if isinstance(matrix, Mapping):
        provide(DICTIONARY, as_toml(matrix).encode())
        matrix = DICTIONARY
    elif not isinstance(matrix, str | PathLike):
        raise InputError(f"bad matrix {matrix!r}: give a TOML file, a shipped name, or a dictionary of keys with their values")
    asked, (found, expected) = question.read_question(
        "sweep", {"matrix": matrix, "settings": settings, "baseline": baseline}, _read, lambda _: (), redact
    )
    sweeper, request = _sweeper(found, str(asked.arguments["matrix"]), properties, progress, search)
    asked = asked.with_arguments(properties=properties).with_effort(RunOptions(**search))
    if out is not None:
        writable_directory(out)
    swept = sweeper.run()
    known = counterexamples(swept)
    files = {place: name for place, (name, _) in known.items()} if out is not None else {}
    document = describe_sweep.document(found, swept, request.engine, bool(request.symmetry), files)
    if expected is not None:
        document["changes"] = describe_sweep.changes(expected, document)
    if out is not None:
        document |= asked.answered
        seal.write_bundle(out, asked, document, swept.cells, dict(known.values()))
    return SweepResult.of(document, cells=_cells(document, known), spanned=found, swept=swept, expected=expected)


DICTIONARY = "dictionary.toml"
"""What a matrix is called that was given as a dictionary."""


def _read(matrix: str, settings: Settings = None, baseline: str | None = None) -> tuple[Matrix, Mapping[str, Any] | None]:
    expected = None if baseline is None else describe_sweep.read_baseline(baseline)
    return read_matrix(matrix, read_settings(settings)), expected


def _sweeper(
    found: Matrix, name: str, properties: Iterable[str] | None, progress: Reporter | None, search: Searching
) -> tuple[Sweeper, RunOptions]:
    """Return the `Sweeper` that decides a matrix, and its options; symmetry is as the matrix says unless it was given.
    Errors: `InputError` for a property without its fields, and for symmetry where replicas differ."""
    reduced = search.get("symmetry")
    request = RunOptions(**search | {"symmetry": bool(found.symmetry) if reduced is None else reduced})
    asked = choose_properties(found.cells[0].model, properties or found.properties)
    for each in found.cells:
        require_fields(bind(each.model, each.configuration), asked)
        if request.symmetry and each.model.symmetric(each.configuration) is False:
            where = f"{each.model.name} in every cell of {name!r}"
            raise InputError(f"--symmetry cannot be used with {where}: replicas differ")
    cells = [(each.model, each.configuration) for each in found.cells]
    return Sweeper(cells, asked, request.options(), GROWING, request.engine, progress), request


Place = tuple[int, str]
"""A cell's number and a property's name."""


def counterexamples(swept: Sweep) -> dict[Place, tuple[str, Counterexample]]:
    """Return the counterexample of each violated cell and property, with the name of its file."""
    return {
        (number, each.property.name): (
            f"traces/{number + 1:04}-{each.property.name}{SUFFIX}",
            Counterexample(swept.systems[number], each.property, each.trace),
        )
        for number, decisions in enumerate(swept.decisions)
        for each in decisions
        if each.trace is not None
    }


def _cells(document: Mapping[str, Any], known: Mapping[Place, tuple[str, Counterexample]]) -> tuple[Cell, ...]:
    found: list[dict[str, Counterexample]] = [{} for _ in document["cells"]]
    for (number, name), (_, counterexample) in known.items():
        found[number][name] = counterexample
    stated = ("id", "cell", "model", "config", "bounds", "verdict")
    return tuple(
        Cell(**{name: each[name] for name in stated}, properties=verdicts(each["properties"], of_cell))
        for each, of_cell in zip(document["cells"], found, strict=True)
    )
