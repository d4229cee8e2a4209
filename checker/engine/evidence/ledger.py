"""The ledger: what a result makes known, per configuration and property, and how it came to be known."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Mapping
from dataclasses import asdict, dataclass
from typing import Any

from neverlost.checker.engine.outcome import Verdict

SCHEMA = "neverlost.ledger/1"
FILE = "ledger.json"

REFUTED, PROVED, EXHAUSTED, BOUNDED, OPEN = "refuted", "proved", "exhausted", "bounded", "not covered"
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
    def subject(self) -> tuple[str, str, str, str, str]:
        """What the line is about, as a key: model, its digest, configuration as JSON, property, its digest."""
        return self.model, self.model_digest, json.dumps(self.config, sort_keys=True), self.goal, self.goal_digest


def describe_bounds(unbounded: Collection[str], config: Mapping[str, Any]) -> str:
    """Return in words what a proof leaves unbounded and what it bounds, to follow `proved`: first a blank, or a comma."""
    *most_names, last = [each for each in unbounded if each != "offsets"] or [""]
    if not last:
        return " within the bounds"
    names = f"{', '.join(most_names)} and {last}" if most_names else last
    if "replicas" in unbounded and config.get("faults.at_once"):
        names += " of which one stays unimpaired"
    most = config.get("bounds.log_size") or config.get("bounds.records")
    longest = f", in a log of at most {most} record{'s' * (most != 1)}" if most else ""
    return f", for any number of {names}" + (", in logs of any length" if "offsets" in unbounded else longest)


def format_ledger(lines: Iterable[LedgerLine]) -> str:
    """Return a ledger's file, as JSON text: one line for each subject, the last that is given, in the order of subjects."""
    every = {each.subject: each for each in lines}
    listed = ",\n".join(json.dumps(asdict(every[subject])) for subject in sorted(every))
    return f'{{"schema": {json.dumps(SCHEMA)}, "lines": [\n{listed}\n]}}\n'
