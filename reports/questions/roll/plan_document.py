"""The phases of a maintenance plan as sentences."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from neverlost.reports.wording.merged_rows import pluralize


def lines(document: Mapping[str, Any]) -> Iterator[str]:
    """Yield what the plan is about, a line for each phase, and what was assumed."""
    faults = ", ".join(f"{name}={limit}" for name, limit in document["faults"].items()) or "none"
    yield f"{document['says'] or 'plan'} ({document['begins'].removeprefix('this configuration: ')}; faults: {faults})"
    for phase in document["phases"]:
        yield _phase(phase)
    assumed = dict.fromkeys(each for phase in document["phases"] for each in phase.get("assumed", ()))
    yield from (f"Assumed: {each}." for each in assumed)
    yield f"Decided for {pluralize(document['records'], 'record')}, any number of these faults, however long a step takes."


def _phase(phase: Mapping[str, Any]) -> str:
    if phase["number"] == 0:
        return f"Before: {phase['meanwhile']}."
    done = f"; once it is done: {phase['done']}" if phase.get("done") else ""
    return f"Step {phase['number']}, {phase['says']}: {phase['meanwhile']}{done}."
