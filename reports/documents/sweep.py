"""A sweep for people and programs: its document, its table at a terminal, and what changed against a baseline."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

import neverlost
from neverlost.checker.campaign.sweep import Sweep
from neverlost.checker.digest import model_digest
from neverlost.checker.machine.whole_files import write_text
from neverlost.checker.outcome import Verdict, worst
from neverlost.reports.counterexample.itf import to_itf
from neverlost.reports.documents.boundary import Boundary
from neverlost.reports.documents.merged_rows import merged, plain, spent, values_of
from neverlost.reports.documents.result import SCHEMA, levels, question, question_id
from neverlost.reports.documents.survived import tolerance
from neverlost.specs.configuration.input import read_json
from neverlost.specs.configuration.keys import shown
from neverlost.specs.configuration.matrix import Matrix
from neverlost.specs.errors import InputError, misread

STYLES = {"holds": "green", "violated": "bold red", "inconclusive": "yellow"}


def cell_document(matrix: Matrix, sweep: Sweep, number: int, traces: Mapping[tuple[int, str], str]) -> dict[str, Any]:
    """One cell: what it is, its verdicts, and where each verdict comes from."""
    model, configuration = sweep.cells[number]
    decisions = sweep.decisions[number]
    found: dict[str, Any] = {
        "id": question_id(model, configuration, [each.property.name for each in decisions]),
        "cell": {name: shown(matrix.cells[number].coordinates.get(name)) for name in matrix.varying},
        **question(model, configuration),
        "verdict": str(sweep.verdict(number)),
        "properties": [],
    }
    for each in decisions:
        entry: dict[str, Any] = {"name": each.property.name, "verdict": str(each.verdict), "how": each.how}
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
    """The result document of a sweep."""
    verdicts = [sweep.verdict(number) for number in range(len(sweep.cells))]
    how = Counter(each.how for decisions in sweep.decisions for each in decisions)
    models = {model.name: model_digest(model) for model, _ in sweep.cells}
    cells = [cell_document(matrix, sweep, number, traces or {}) for number in range(len(sweep.cells))]
    places = range(len(sweep.decisions[0]))
    boundaries = [Boundary(matrix, sweep, place) for place in places]
    for boundary in boundaries:
        _add_siblings(boundary, cells)
    asked = hashlib.sha256(json.dumps(sorted(each["id"] for each in cells)).encode()).hexdigest()[:16]
    return {
        "schema": SCHEMA,
        "id": f"nl-{asked}",
        "matrix": {"name": matrix.name, "says": matrix.says, "varying": list(matrix.varying)},
        "engine": engine,
        "identity": "exact",
        "symmetry": symmetry,
        "verdict": str(worst(verdicts)),
        "verdicts": {name: verdicts.count(Verdict(name)) for name in ("holds", "violated", "inconclusive")},
        "decided_by": dict(sorted(how.items())),
        "searches": [
            {
                "model": each.model,
                "cells": len(each.cells),
                "states": {
                    "generated": each.counts.generated,
                    "distinct": each.counts.distinct,
                    "depth": each.counts.depth,
                    "left": each.counts.left,
                },
                "levels": levels(each.growth),
                "seconds": round(each.seconds, 3),
                "reason": each.reason,
            }
            for each in sweep.searches
        ],
        "seconds": round(sweep.seconds, 3),
        "peak_memory_bytes": max((each.peak_memory_bytes for each in sweep.searches), default=0),
        "version": neverlost.__version__,
        "model_digests": models,
        "boundary": [each.document() for each in boundaries],
        "fault_tolerance": tolerance(matrix, sweep),
        "cells": cells,
    }


def _add_siblings(boundary: Boundary, cells: list[dict[str, Any]]) -> None:
    """The nearest safe cell of each violated one."""
    for number, cell in enumerate(cells):
        entry = cell["properties"][boundary.place]
        sibling = boundary.sibling(number) if entry["verdict"] == "violated" else None
        if sibling is not None:
            other = cells[sibling["cell"]]
            entry["sibling"] = {"id": other["id"], "cell": other["cell"], **{k: v for k, v in sibling.items() if k != "cell"}}


def save_traces(sweep: Sweep, directory: str) -> dict[tuple[int, str], str]:
    """The counterexample of every violated cell, as ITF; the file of each."""
    saved: dict[tuple[int, str], str] = {}
    for number, decisions in enumerate(sweep.decisions):
        for each in decisions:
            if each.trace is None:
                continue
            name = f"traces/{number + 1:04}-{each.property.name}.itf.json"
            text = json.dumps(to_itf(sweep.systems[number], sweep.finding(number, each)), ensure_ascii=False) + "\n"
            write_text(Path(directory) / name, text)
            saved[number, each.property.name] = name
    return saved


Expected = dict[tuple[str, str], str]
"""Verdict by cell name and property."""


def cell_name(cell: Mapping[str, Any]) -> str:
    """A cell in a few words: the values of the keys that vary."""
    named = " ".join(f"{name}={plain(value)}" for name, value in cell["cell"].items())
    return named or f"model={cell['model']}"


def _verdicts(cells: Any) -> dict[str, tuple[str, Expected]]:
    """By the identity of the question (without the model's digest): the cell's name and its verdicts."""
    found = {}
    for each in cells:
        key = json.dumps([each["model"], each["config"], each["bounds"]], sort_keys=True)
        found[key] = cell_name(each), {(cell_name(each), one["name"]): one["verdict"] for one in each["properties"]}
    return found


def read_baseline(path: str) -> dict[str, Any]:
    """The document of an earlier sweep.

    Errors: `InputError` for a file that is none.
    """
    found = read_json(path)
    try:
        if found["schema"] != SCHEMA:
            raise ValueError(f"schema {found['schema']!r}")
        _verdicts(found["cells"])
        return found
    except (ValueError, KeyError, TypeError, AttributeError) as problem:
        raise InputError(f"{path!r} is not the JSON document of a sweep: {misread(problem)}") from None


def changes(baseline: Mapping[str, Any], now: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Each cell and property whose verdict differs from the baseline's; cells that are new or gone, too."""
    before, after = _verdicts(baseline["cells"]), _verdicts(now["cells"])
    found = []
    for key in dict.fromkeys([*before, *after]):
        name = (after.get(key) or before[key])[0]
        old = {prop: verdict for (_, prop), verdict in before.get(key, ("", {}))[1].items()}
        new = {prop: verdict for (_, prop), verdict in after.get(key, ("", {}))[1].items()}
        for prop in dict.fromkeys([*old, *new]):
            if old.get(prop) != new.get(prop):
                found.append({"cell": name, "property": prop, "was": old.get(prop), "is": new.get(prop)})
    return found


def show(out: Console, found: Mapping[str, Any], most: int = 60) -> None:
    """The cells as a table (the first ones of many), and the summary."""
    varying = found["matrix"]["varying"]
    cells = found["cells"]
    asked = [each["name"] for each in cells[0]["properties"]]
    table = Table(box=None, padding=(0, 1), header_style="bold")
    for name in [*varying, *asked, "steps", "faults"]:
        table.add_column(name, overflow="fold")
    for cell in cells[:most]:
        violated = [each for each in cell["properties"] if each["verdict"] == "violated"]
        shortest = min(violated, key=lambda each: each["steps"], default=None)
        faults = spent(shortest["faults"]) if shortest else ""
        table.add_row(
            *[plain(cell["cell"][name]) for name in varying],
            *[Text(each["verdict"], STYLES[each["verdict"]]) for each in cell["properties"]],
            str(shortest["steps"]) if shortest else "",
            faults,
        )
    out.print(table)
    if len(cells) > most:
        out.print(Text(f"... and {len(cells) - most} more cells (--json or --out has them all)", "dim"))
    counts, searches = found["verdicts"], found["searches"]
    distinct = sum(each["states"]["distinct"] for each in searches)
    kind = "orbits" if found["symmetry"] else "states"
    out.print(
        f"{len(cells)} cells: {counts['holds']} hold, {counts['violated']} violated, {counts['inconclusive']} inconclusive"
    )
    how = ", ".join(f"{count} {name}" for name, count in found["decided_by"].items())
    out.print(Text(f"verdicts: {how}; {len(searches)} searches, {distinct:,} distinct {kind}, {found['seconds']:.1f} s", "dim"))
    for reason in dict.fromkeys(each["reason"] for each in searches if each["reason"]):
        out.print(Text(f"inconclusive: {reason}", "bold yellow"))


def show_boundary(out: Console, found: Mapping[str, Any], most: int = 12) -> None:
    """The rule, its exceptions, and the loosest safe settings."""
    for each in found["boundary"]:
        rule = each["rule"]
        proof = "proved equal to the matrix by Z3" if rule["proved"] else "NOT proved equal to the matrix"
        smallest = "" if rule["smallest"] else "; a smaller one may exist"
        out.print(Text.assemble((each["property"], "bold"), " is violated iff ", (rule["violated_iff"], "bold red")))
        out.print(Text(f"  ({proof}{smallest}; {rule['cells']} cells)", "dim"))
        for exception in each["exceptions"][:most]:
            out.print(Text(f"  not safer: {exception['says']}", "yellow"))
        if len(each["exceptions"]) > most:
            out.print(Text(f"  ... and {len(each['exceptions']) - most} more exceptions", "dim"))
        if not each["exceptions"]:
            out.print(Text("  every setting that is expected to be safer is", "dim"))
        for cell in each["maximal_safe"][:most]:
            out.print(Text(f"  loosest safe: {cell}", "green"))
        if len(each["maximal_safe"]) > most:
            out.print(Text(f"  ... and {len(each['maximal_safe']) - most} more", "dim"))


def tolerated(found: Mapping[str, Any]) -> list[tuple[str, str]]:
    """What each setting survives, in as few lines as say the same."""
    rows = found.get("fault_tolerance", [])
    return merged([(each["setting"], each["says"]) for each in rows], values_of(each["setting"] for each in rows))


def show_tolerance(out: Console, found: Mapping[str, Any], most: int = 24) -> None:
    """What each setting survives, an operator's sentence each."""
    lines = tolerated(found)
    if lines:
        out.print(Text("fault tolerance", "bold"))
    for setting, says in lines[:most]:
        out.print(Text.assemble("  ", (setting, "dim"), ": ", says))
    if len(lines) > most:
        out.print(Text(f"  ... and {len(lines) - most} more (--out has them all)", "dim"))


def show_changes(out: Console, changed: list[dict[str, Any]]) -> None:
    """The difference to a baseline."""
    if not changed:
        out.print(Text("as the baseline says", "green"))
    for each in changed:
        out.print(Text(f"changed: {each['cell']}: {each['property']} was {each['was']}, is {each['is']}", "bold red"))
