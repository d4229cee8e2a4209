"""Short spellings for configurations of the modern models, and their exploration."""

from __future__ import annotations

from functools import cache
from typing import Any

from checker.outcome import Outcome, Verdict
from checker.search import Options, explore
from model.catalogue import models
from model.system import System, bind
from specs.keys import configuration
from specs.property import properties

SHORT = {
    "rf": "replication.factor",
    "min_isr": "min.insync.replicas",
    "records": "bounds.records",
    "acks": "acks",
    "unclean": "unclean.leader.election.enable",
    "policy": "election.policy",
    "flush": "flush.messages",
}
DEFAULTS = {"rf": 3, "min_isr": 2, "records": 1, "acks": "all"}


def system(model: str, *, disabled: tuple[tuple[str, str], ...] = (), **given: Any) -> System:
    """A bound model; keywords are short names, or names of faults."""
    found = models()[model]
    named = {SHORT.get(name, f"faults.{name}"): (value, "test") for name, value in (DEFAULTS | given).items()}
    return bind(found, configuration(found, named), disabled=disabled)


def explored(bound: System, *names: str) -> Outcome:
    """The outcome of a complete search for the named properties."""
    asked = [properties()[name] for name in names or bound.model.guarantees]
    return explore(bound, asked, Options(keep_going=True, workers=1))


@cache
def _verdicts(model: str, given: tuple[tuple[str, Any], ...]) -> dict[str, tuple[Verdict, dict[str, int], int]]:
    bound = system(model, **dict(given))
    outcome = explored(bound)
    return {
        each.property.name: (
            each.verdict,
            each.trace.faults(bound) if each.trace else {},
            len(each.trace.steps) if each.trace else 0,
        )
        for each in outcome.findings
    }


def verdict(model: str, name: str, **given: Any) -> str:
    """`holds` or `violated`, for one property."""
    return _verdicts(model, tuple(sorted(given.items())))[name][0].value


def faults(model: str, name: str, **given: Any) -> dict[str, int]:
    """The faults of the shortest counterexample."""
    return _verdicts(model, tuple(sorted(given.items())))[name][1]
