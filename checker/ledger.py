"""The ledger: what is known, per configuration and property, and how it came to be known.

One JSON file; every run adds or replaces its own lines, whole or not at all.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from checker.certificate import replace_file
from checker.outcome import Outcome, Verdict
from specs.errors import InputError
from specs.keys import shown

SCHEMA = "neverlost.ledger/1"
FILE = "ledger.json"

REFUTED, PROVED, EXHAUSTED, BOUNDED, OPEN = "refuted", "proved", "exhausted", "bounded", "not covered"
STRENGTH = (OPEN, BOUNDED, EXHAUSTED, PROVED, REFUTED)
"""How much a line says, least first; a line never gives way to a weaker one."""


@dataclass(frozen=True)
class Line:
    """What is known about one property under one configuration.

    `goal` is the property's name.
    Units: `steps` of the counterexample, or up to which there is none; `unbounded` names what a proof does not bound.
    """

    model: str
    model_digest: str
    config: dict[str, Any]
    goal: str
    status: str
    how: str
    steps: int | None = None
    unbounded: tuple[str, ...] = ()

    @property
    def says(self) -> str:
        """The line as a sentence."""
        if self.status == REFUTED:
            return f"{self.goal} is refuted in {self.steps} steps ({self.how})"
        if self.status == BOUNDED:
            return f"{self.goal} has no counterexample of up to {self.steps} steps ({self.how})"
        if self.status == EXHAUSTED:
            return f"{self.goal} holds in every reachable state within the bounds ({self.how})"
        if self.status == PROVED:
            beyond = f", whatever the number of {' and '.join(self.unbounded)}" if self.unbounded else " within the bounds"
            return f"{self.goal} is proved by induction{beyond} ({self.how})"
        return f"{self.goal} is not covered ({self.how})"

    @property
    def subject(self) -> tuple[str, str, str, str]:
        """What the line is about."""
        return self.model, self.model_digest, json.dumps(self.config, sort_keys=True), self.goal


def lines_of(
    outcome: Outcome,
    model_digest: str,
    how: str,
    *,
    depth: int | None = None,
    unbounded: tuple[str, ...] = (),
    proved: bool = False,
) -> list[Line]:
    """The lines that an outcome is worth; `depth` is the number of steps up to which a bounded search is complete."""
    found = []
    for each in outcome.findings:
        configuration = {name: shown(value) for name, value in outcome.system.configurations[each.configuration].items()}
        status, steps = OPEN, None
        if each.verdict == Verdict.VIOLATED:
            status, steps = REFUTED, len(each.trace.steps) if each.trace else None
        elif each.verdict == Verdict.HOLDS:
            status = PROVED if proved else EXHAUSTED
        elif depth is not None and depth >= 0:
            status, steps = BOUNDED, depth
        found.append(
            Line(
                outcome.system.model.name,
                model_digest,
                configuration,
                each.property.name,
                status,
                how,
                steps,
                unbounded if status == PROVED else (),
            )
        )
    return found


def read(directory: Path) -> list[Line]:
    """The lines of a directory's ledger; none where there is no ledger.

    Errors: `InputError` for a file that is no ledger.
    """
    path = directory / FILE
    if not path.exists():
        return []
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
        if document["schema"] != SCHEMA:
            raise ValueError(f"schema {document['schema']!r}")
        return [Line(**{**each, "unbounded": tuple(each["unbounded"])}) for each in document["lines"]]
    except (OSError, ValueError, KeyError, TypeError) as problem:
        raise InputError(f"{str(path)!r} is not a ledger ({problem}); move it away") from None


def record(directory: Path, lines: Iterable[Line]) -> list[Line]:
    """Adds lines to a directory's ledger; a line replaces an older one on the same subject unless it says less."""
    known = {each.subject: each for each in read(directory)}
    for each in lines:
        older = known.get(each.subject)
        if older is None or _weight(each) >= _weight(older):
            known[each.subject] = each
    merged = [known[subject] for subject in sorted(known)]
    document = {"schema": SCHEMA, "lines": [asdict(each) for each in merged]}
    directory.mkdir(parents=True, exist_ok=True)
    replace_file(directory / FILE, json.dumps(document, indent=1) + "\n")
    return merged


def _weight(line: Line) -> tuple[int, int, int]:
    return STRENGTH.index(line.status), len(line.unbounded), line.steps or 0 if line.status == BOUNDED else 0
