"""A sweep as a document, and its differences from a baseline."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import neverlost
from neverlost.checker.engine.digest import model_digest
from neverlost.checker.engine.outcome import Verdict, worst
from neverlost.checker.questions.question_id import question_id
from neverlost.checker.questions.sweep.sweep import Exploration, Sweep
from neverlost.reports.documents.boundary import Boundary
from neverlost.reports.documents.fault_tolerance import describe_tolerance
from neverlost.reports.documents.result import SCHEMA, count_fields, levels, question_document
from neverlost.reports.wording.merged_rows import merge_rows, value_text, values_of
from neverlost.specs.configuration.input import read_json
from neverlost.specs.configuration.keys import shown
from neverlost.specs.configuration.matrix import Matrix
from neverlost.specs.errors import InputError, describe_misreading
from neverlost.specs.setting import assumed, shared_sources


def cell_document(matrix: Matrix, sweep: Sweep, number: int, traces: Mapping[tuple[int, str], str]) -> dict[str, Any]:
    """Return the entry of one cell in the document: its coordinates, its verdicts, and how each verdict was decided."""
    model, configuration = sweep.cells[number]
    decisions = sweep.decisions[number]
    found: dict[str, Any] = {
        "id": question_id(model, configuration, [each.property.name for each in decisions]),
        "cell": {name: shown(matrix.cells[number].coordinates.get(name)) for name in matrix.varying},
        **question_document(model, configuration),
        "verdict": str(sweep.verdict(number)),
        "properties": [],
    }
    release = matrix.cells[number].coordinates.get("kafka.version")
    if release is not None:
        found["kafka.version"] = release
    if matrix.cells[number].notices:
        found["notices"] = [each.document() for each in matrix.cells[number].notices]
    for place, each in enumerate(decisions):
        entry: dict[str, Any] = {"name": each.property.name, "verdict": str(each.verdict), "how": each.how}
        if each.verdict is Verdict.HOLDS and (never := sweep.unstruck(number, place)):
            entry["never"] = list(never)
        if each.source is not None:
            entry["from"] = question_id(*sweep.cells[each.source], [one.property.name for one in decisions])
        if each.trace is not None:
            faults = each.trace.faults(sweep.systems[number])
            trace = traces.get((number, each.property.name))
            entry |= {"steps": len(each.trace.steps), "faults": faults, "trace": trace}
        found["properties"].append(entry)
    if sweep.distinct[number] is not None:
        found["states"] = {"distinct": sweep.distinct[number]}
    return found


def document(
    matrix: Matrix, sweep: Sweep, engine: str, symmetry: bool, traces: Mapping[tuple[int, str], str] | None = None
) -> dict[str, Any]:
    """Return the result document of a sweep; `traces` are the names of counterexamples' files, by cell number and property."""
    cells = [cell_document(matrix, sweep, number, traces or {}) for number in range(len(sweep.cells))]
    shared, own = shared_sources(each.settings for each in matrix.cells)
    for cell, besides in zip(cells, own, strict=True):
        cell["sources"] = besides
    boundaries = [Boundary(matrix, sweep, place) for place in range(len(sweep.decisions[0]))]
    for boundary in boundaries:
        _add_siblings(boundary, cells)
    found = [each["verdict"] for each in cells]
    every_id = json.dumps(sorted(each["id"] for each in cells))
    return {
        "schema": SCHEMA,
        "id": "nl-" + hashlib.sha256(every_id.encode()).hexdigest()[:16],
        "matrix": {"name": matrix.name, "says": matrix.says, "varying": list(matrix.varying), **_file(matrix)},
        "engine": engine,
        "identity": "exact",
        "symmetry": symmetry,
        "verdict": str(worst(found)),
        "verdicts": {name: found.count(name) for name in ("holds", "violated", "inconclusive")},
        "decided_by": dict(sorted(Counter(each.how for decisions in sweep.decisions for each in decisions).items())),
        "searches": [_search(each) for each in sweep.searches],
        "seconds": round(sweep.seconds, 3),
        "peak_memory_bytes": max((each.peak_memory_bytes for each in sweep.searches), default=0),
        "version": neverlost.__version__,
        "model_digests": {model.name: model_digest(model) for model, _ in sweep.cells},
        "boundary": [each.document() for each in boundaries if each.is_known],
        "fault_tolerance": describe_tolerance(matrix, sweep),
        "assumed": assumed(each.settings for each in matrix.cells),
        "sources": shared,
        "cells": cells,
    }


def _file(matrix: Matrix) -> dict[str, Any]:
    """Return the name of the user's matrix file and the lines of the keys that vary, as fields; {} without a file."""
    lines = {key: matrix.lines[key] for key in matrix.varying if key in matrix.lines}
    return {"file": matrix.file, "lines": lines} if matrix.file else {}


def _search(search: Exploration) -> dict[str, Any]:
    return {
        "model": search.model,
        "cells": len(search.cells),
        "states": count_fields(search.counts),
        "levels": levels(search.growth),
        "never": list(search.never),
        "seconds": round(search.seconds, 3),
        "reason": search.reason,
    }


def _add_siblings(boundary: Boundary, cells: list[dict[str, Any]]) -> None:
    for number, cell in enumerate(cells):
        entry = cell["properties"][boundary.place]
        sibling = boundary.sibling(number) if entry["verdict"] == "violated" else None
        if sibling is not None:
            other = cells[sibling["cell"]]
            entry["sibling"] = {"id": other["id"], "cell": other["cell"], **{k: v for k, v in sibling.items() if k != "cell"}}


def cell_name(cell: Mapping[str, Any]) -> str:
    """Return a cell as text, by which it is named: the values of the keys that vary, or the model if none does."""
    named = " ".join(f"{name}={value_text(value)}" for name, value in cell["cell"].items())
    return named or f"model={cell['model']}"


@dataclass(frozen=True)
class SweepCell:
    """A cell of a sweep: its name, its question (without the model's digest), and its verdicts by property."""

    name: str
    question: Mapping[str, Any]
    verdicts: Mapping[str, str]


def _asked(cells: Any) -> dict[str, SweepCell]:
    found = {}
    for each in cells:
        question = {"model": each["model"], **each["config"], **each["bounds"]}
        verdicts = {one["name"]: one["verdict"] for one in each["properties"]}
        found[json.dumps(question, sort_keys=True)] = SweepCell(cell_name(each), question, verdicts)
    return found


def read_baseline(path: str) -> dict[str, Any]:
    """Read and return the document of an earlier sweep.  Errors: `InputError` for any other file."""
    found = read_json(path)
    try:
        if found["schema"] != SCHEMA:
            raise ValueError(f"schema {found['schema']!r}")
        _asked(found["cells"])
        return found
    except (ValueError, KeyError, TypeError, AttributeError) as problem:
        raise InputError(f"{path!r} is not the JSON document of a sweep: {describe_misreading(problem)}") from None


def changes(baseline: Mapping[str, Any], now: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return an entry for each cell and property whose verdict differs from the baseline's, new and removed cells included.  If
    a cell has another question under the same name, all its properties are there, and `question` says how it differs."""
    before, after = _asked(baseline["cells"]), _asked(now["cells"])
    gone = {each.name: each for key, each in before.items() if key not in after}
    pairs = [(before[key] if key in before else gone.pop(each.name, None), each) for key, each in after.items()]
    return [each for old, new in [*pairs, *((each, None) for each in gone.values())] for each in _changes(old, new)]


def _changes(old: SweepCell | None, new: SweepCell | None) -> Iterator[dict[str, Any]]:
    was, now = old.verdicts if old else {}, new.verdicts if new else {}
    differs = _difference(old.question, new.question) if old and new else ""
    for name in dict.fromkeys([*was, *now]):
        if differs or was.get(name) != now.get(name):
            found = {"cell": (new or old).name, "property": name, "was": was.get(name), "is": now.get(name)}  # type: ignore[union-attr]
            yield {**found, "question": differs} if differs else found


NOT_COMPARABLE = "not comparable: the question changed ({}); write a new baseline"

MOST_DIFFERENCES = 3
"""Settings that are named where a cell asks something else."""


def _difference(old: Mapping[str, Any], new: Mapping[str, Any]) -> str:
    names = [name for name in {**old, **new} if old.get(name) != new.get(name)]
    said = [f"{name} {value_text(old.get(name))} -> {value_text(new.get(name))}" for name in names[:MOST_DIFFERENCES]]
    left = len(names) - MOST_DIFFERENCES
    return "; ".join([*said, f"and {left} more"] if left > 0 else said)


def tolerance_lines(found: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Return pairs of texts: settings, and which faults they survive; settings that survive the same share a pair."""
    rows = found.get("fault_tolerance", [])
    return merge_rows([(each["setting"], each["says"]) for each in rows], values_of(each["setting"] for each in rows))
