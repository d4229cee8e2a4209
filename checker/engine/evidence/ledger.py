"""The ledger: what is known, per configuration and property, and how it came to be known.

The text of one JSON file, to which every run adds its own lines or replaces them.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Mapping
from dataclasses import asdict, dataclass
from typing import Any

from neverlost.checker.engine.outcome import EngineError, Verdict
from neverlost.specs.errors import InputError
from neverlost.specs.strict_json import parse_json

SCHEMA = "neverlost.ledger/1"
FILE = "ledger.json"

REFUTED, PROVED, EXHAUSTED, BOUNDED, OPEN = "refuted", "proved", "exhausted", "bounded", "not covered"
STRENGTH = (OPEN, BOUNDED, EXHAUSTED, PROVED, REFUTED)
"""How much a line says, least first; a line never gives way to a weaker one."""

EXPLORED = {Verdict.VIOLATED: REFUTED, Verdict.HOLDS: EXHAUSTED, Verdict.INCONCLUSIVE: OPEN}
"""The status of a ledger's line for the verdict of a search."""


@dataclass(frozen=True)
class LedgerLine:
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
        """What is known, as a phrase."""
        if self.status == REFUTED:
            return f"refuted in {self.steps} step{'' if self.steps == 1 else 's'}"
        if self.status == BOUNDED:
            return f"without a counterexample of up to {self.steps} steps"
        if self.status == EXHAUSTED:
            return "true in every reachable state within the bounds"
        if self.status == PROVED:
            return f"proved by induction{describe_bounds(self.unbounded, self.config)}"
        return OPEN

    @property
    def says(self) -> str:
        """The line as a sentence."""
        return f"{self.goal} is {self.known} ({self.how})"

    @property
    def is_sound(self) -> bool:
        """True if every value is one that a line may have."""
        texts = (self.model, self.model_digest, self.goal, self.how, self.goal_digest, *self.unbounded)
        is_count = self.steps is None or (type(self.steps) is int and self.steps >= 0)
        return self.status in STRENGTH and isinstance(self.config, dict) and is_count and all(type(one) is str for one in texts)

    @property
    def subject(self) -> tuple[str, str, str, str, str]:
        """What the line is about: lines with equal subjects replace each other."""
        return self.model, self.model_digest, json.dumps(self.config, sort_keys=True), self.goal, self.goal_digest


def describe_bounds(unbounded: Collection[str], config: Mapping[str, Any]) -> str:
    """Return in words what a proof leaves unbounded, and what it bounds."""
    *most_names, last = [each for each in unbounded if each != "offsets"] or [""]
    if not last:
        return " within the bounds"
    names = f"{', '.join(most_names)} and {last}" if most_names else last
    if "replicas" in unbounded and config.get("faults.at_once"):
        names += " of which one stays unimpaired"
    most = config.get("bounds.log_size") or config.get("bounds.records")
    longest = f", in a log of at most {most} record{'s' * (most != 1)}" if most else ""
    return f", for any number of {names}" + (", in logs of any length" if "offsets" in unbounded else longest)


def parse_ledger(content: str, where: str) -> list[LedgerLine]:
    """Parse the text of a ledger. Errors: `InputError` for a text that is no ledger."""
    try:
        document = parse_json(content, where)
        if document["schema"] != SCHEMA:
            raise ValueError(f"schema {document['schema']!r}")
        found = [LedgerLine(**{**each, "unbounded": tuple(each["unbounded"])}) for each in document["lines"]]
        wrong = [each for each in found if not each.is_sound]
        if wrong:
            raise ValueError(f"line {wrong[0]}")
        return found
    except (ValueError, KeyError, TypeError) as problem:
        raise InputError(f"{where} is not a ledger ({problem}); move it away") from None


def merge_lines(known: Iterable[LedgerLine], lines: Iterable[LedgerLine]) -> list[LedgerLine]:
    """Return known lines with others added, by subject; a line replaces an older one on the same subject unless it says less.

    Errors: `EngineError` where two contradict each other, whichever came first.
    """
    found = {each.subject: each for each in known}
    for each in lines:
        older = found.get(each.subject)
        if older is not None:
            require_agreement(older, each)
        if older is None or not outranks(older, each):
            found[each.subject] = each
    return [found[subject] for subject in sorted(found)]


def format_ledger(lines: Iterable[LedgerLine]) -> str:
    """Return the text of a ledger's file."""
    listed = ",\n".join(json.dumps(asdict(each)) for each in lines)
    return f'{{"schema": {json.dumps(SCHEMA)}, "lines": [\n{listed}\n]}}\n'


def require_agreement(line: LedgerLine, other: LedgerLine) -> None:
    """Raise `EngineError` if one line refutes what the other has proved, exhausted, or searched to that depth."""
    refuted, rest = (line, other) if line.status == REFUTED else (other, line)
    is_open = rest.status == OPEN or (rest.status == BOUNDED and (rest.steps or 0) < (refuted.steps or 0))
    if refuted.status == REFUTED and rest.status != REFUTED and not is_open:
        raise EngineError(f"the ledger contradicts itself: {refuted.says}, and {rest.says}")


def outranks(line: LedgerLine, other: LedgerLine) -> bool:
    """Return True if a line is stronger evidence than another one on the same subject."""
    return _weigh(line) > _weigh(other)


def _weigh(line: LedgerLine) -> tuple[int, int, int]:
    return STRENGTH.index(line.status), len(line.unbounded), line.steps or 0 if line.status == BOUNDED else 0
