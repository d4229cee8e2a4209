"""The ledger: what is known, per configuration and property, and how it came to be known.

One JSON file; every run adds or replaces its own lines, whole or not at all.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from neverlost.checker.digest import property_digest
from neverlost.checker.machine.whole_files import write_text
from neverlost.checker.outcome import Outcome, Verdict
from neverlost.specs.configuration.keys import shown
from neverlost.specs.errors import InputError

SCHEMA = "neverlost.ledger/1"
FILE = "ledger.json"

REFUTED, PROVED, EXHAUSTED, BOUNDED, OPEN = "refuted", "proved", "exhausted", "bounded", "not covered"
STRENGTH = (OPEN, BOUNDED, EXHAUSTED, PROVED, REFUTED)
"""How much a line says, least first; a line never gives way to a weaker one."""

EXPLORED = {Verdict.VIOLATED: REFUTED, Verdict.HOLDS: EXHAUSTED, Verdict.INCONCLUSIVE: OPEN}
"""What a search makes of its verdict."""


@dataclass(frozen=True)
class Line:
    """What is known about one property under one configuration.

    `goal` is the property's name; the digests say what model and property meant.
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
    goal_digest: str = ""

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
    def subject(self) -> tuple[str, str, str, str, str]:
        """What the line is about."""
        return self.model, self.model_digest, json.dumps(self.config, sort_keys=True), self.goal, self.goal_digest


def lines_of(
    outcome: Outcome,
    model_digest: str,
    how: str,
    *,
    depth: int | None = None,
    unbounded: tuple[str, ...] = (),
    proved: bool = False,
) -> list[Line]:
    """The lines that a prover's outcome is worth; `depth` is the number of steps up to which a bounded search is complete."""
    found = []
    for each in outcome.findings:
        status, steps = EXPLORED[each.verdict], len(each.trace.steps) if each.trace else None
        if status == EXHAUSTED and proved:
            status = PROVED
        elif status == OPEN and depth is not None and depth >= 0:
            status, steps = BOUNDED, depth
        configuration = {name: shown(value) for name, value in outcome.system.configurations[each.configuration].items()}
        beyond = unbounded if status == PROVED else ()
        about = outcome.system.model.name, model_digest, configuration, each.property.name
        found.append(Line(*about, status, how, steps, beyond, property_digest(each.property)))
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
        found = [Line(**{**each, "unbounded": tuple(each["unbounded"])}) for each in document["lines"]]
        wrong = [each for each in found if each.status not in STRENGTH or not all(isinstance(one, str) for one in each.subject)]
        if wrong:
            raise ValueError(f"line {wrong[0]}")
        return found
    except (OSError, ValueError, KeyError, TypeError, RecursionError) as problem:
        raise InputError(f"{str(path)!r} is not a ledger ({problem}); move it away") from None


def merged(known: Iterable[Line], lines: Iterable[Line]) -> list[Line]:
    """Lines with others added, by subject; a line replaces an older one on the same subject unless it says less."""
    found = {each.subject: each for each in known}
    for each in lines:
        older = found.get(each.subject)
        if older is None or not outranks(older, each):
            found[each.subject] = each
    return [found[subject] for subject in sorted(found)]


def record(directory: Path, lines: Iterable[Line]) -> list[Line]:
    """Adds lines to a directory's ledger."""
    found = merged(read(directory), lines)
    lines_of_text = ",\n".join(json.dumps(asdict(each)) for each in found)
    directory.mkdir(parents=True, exist_ok=True)
    write_text(directory / FILE, f'{{"schema": {json.dumps(SCHEMA)}, "lines": [\n{lines_of_text}\n]}}\n')
    return found


def outranks(line: Line, other: Line) -> bool:
    """Whether a line says more than another one on the same subject."""
    return _weight(line) > _weight(other)


def _weight(line: Line) -> tuple[int, int, int]:
    return STRENGTH.index(line.status), len(line.unbounded), line.steps or 0 if line.status == BOUNDED else 0
