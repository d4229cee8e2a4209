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
from checker.outcome import Finding, Outcome, Verdict
from model.system import System
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
    def known(self) -> str:
        """What is known, in a few words."""
        if self.status == REFUTED:
            return f"refuted in {self.steps} step{'' if self.steps == 1 else 's'}"
        if self.status == BOUNDED:
            return f"without a counterexample of up to {self.steps} steps"
        if self.status == EXHAUSTED:
            return "true in every reachable state within the bounds"
        if self.status == PROVED:
            beyond = f", whatever the number of {' and '.join(self.unbounded)}" if self.unbounded else " within the bounds"
            return f"proved by induction{beyond}"
        return OPEN

    @property
    def says(self) -> str:
        """The line as a sentence."""
        return f"{self.goal} is {self.known} ({self.how})"

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
    return [
        line_of(outcome.system, each, model_digest, how, depth=depth, unbounded=unbounded, proved=proved)
        for each in outcome.findings
    ]


def line_of(
    system: System,
    finding: Finding,
    model_digest: str,
    how: str,
    *,
    depth: int | None = None,
    unbounded: tuple[str, ...] = (),
    proved: bool = False,
) -> Line:
    """The line that one finding is worth."""
    configuration = {name: shown(value) for name, value in system.configurations[finding.configuration].items()}
    status, steps = OPEN, None
    if finding.verdict == Verdict.VIOLATED:
        status, steps = REFUTED, len(finding.trace.steps) if finding.trace else None
    elif finding.verdict == Verdict.HOLDS:
        status = PROVED if proved else EXHAUSTED
    elif depth is not None and depth >= 0:
        status, steps = BOUNDED, depth
    beyond = unbounded if status == PROVED else ()
    return Line(system.model.name, model_digest, configuration, finding.property.name, status, how, steps, beyond)


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
    lines_of_text = ",\n".join(json.dumps(asdict(each)) for each in merged)
    directory.mkdir(parents=True, exist_ok=True)
    replace_file(directory / FILE, f'{{"schema": {json.dumps(SCHEMA)}, "lines": [\n{lines_of_text}\n]}}\n')
    return merged


def _weight(line: Line) -> tuple[int, int, int]:
    return STRENGTH.index(line.status), len(line.unbounded), line.steps or 0 if line.status == BOUNDED else 0
