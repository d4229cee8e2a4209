"""`replay` re-executes a saved counterexample on the interpreter that defines the models (`ints`)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from os import PathLike
from pathlib import Path
from typing import Any

from neverlost.reports.counterexample.saved import Counterexample
from neverlost.reports.counterexample.tlc import is_tlc_output
from neverlost.reports.documents.result import SCHEMA, list_weaknesses
from neverlost.reports.results.results import Answer, PropertyVerdict, Trace, verdicts


@dataclass(frozen=True, repr=False)
class Replay(Answer):
    """A counterexample of which every step and the violation were confirmed."""

    model: str
    properties: tuple[PropertyVerdict, ...]
    counterexample: Counterexample = field(repr=False)
    replayed: bool = True

    @property
    def trace(self) -> Trace:
        return Trace(self.counterexample)

    def rows(self) -> list[Mapping[str, Any]]:
        return [{"model": self.model, "property": each.name, "steps": each.steps} for each in self.properties]


def replay(trace: str | PathLike[str], *, tla: str | PathLike[str] | None = None) -> Replay:
    """Re-execute a saved counterexample (`.itf.json`), or one that TLC printed of an exported module.

    `tla` is the directory of the module; by default that of the file.  Errors: `InputError` for a file that is none or was
    changed, where a step is not enabled or leads elsewhere, and where the last state does not break the property.
    """
    path = Path(trace)
    is_of_tlc = tla is not None or (path.is_file() and is_tlc_output(path))
    found = Counterexample.read_tlc(path, Path(tla or path.parent)) if is_of_tlc else Counterexample.read(str(trace))
    entry: dict[str, Any] = {
        "name": found.broken.name,
        "verdict": "violated",
        "steps": len(found.trace.steps),
        "faults": found.trace.faults(found.system),
        "trace": str(trace),
    }
    document: dict[str, Any] = {
        "schema": SCHEMA,
        "model": found.system.model.name,
        **list_weaknesses(found.system),
        "replayed": True,
        "properties": [entry],
    }
    return Replay.of(document, properties=verdicts([entry], {found.broken.name: found}), counterexample=found)
