"""Short spellings for configurations of the modern models, and their exploration."""

from __future__ import annotations

from functools import cache
from typing import Any

from neverlost.checker.engine.engines.explore import explore
from neverlost.checker.engine.outcome import Outcome, Verdict
from neverlost.checker.engine.search.options import Options
from neverlost.model.kraft import mechanisms
from neverlost.model.protocols import models
from neverlost.model.system import System, bind
from neverlost.specs.configuration.keys import configuration
from neverlost.specs.defects import FIXES
from neverlost.specs.properties import properties

SHORT = {
    "rf": "replication.factor",
    "min_isr": "min.insync.replicas",
    "records": "bounds.records",
    "acks": "acks",
    "unclean": "unclean.leader.election.enable",
    "policy": "election.policy",
    "flush": "flush.messages",
    "idempotence": "enable.idempotence",
    "commit": "consumer.commit",
    "racks": "broker.rack",
    "elr": "eligible.leader.replicas",
}
DEFAULTS = {"rf": 3, "min_isr": 2, "records": 1, "acks": "all"}


def named(model: str, given: dict[str, Any]) -> tuple[str, dict[str, Any]]:
    """The model's name and configuration; `model` may be a Kafka version, `on`/`off` name mechanisms."""
    keys: dict[str, Any] = {}
    if mechanisms.parsed(model):
        mended = FIXES if given.get("defects") == "fixed" else ()
        of_version = mechanisms.mechanisms_of(model)
        keys, model = {key: of_version[key] for key in of_version if key not in mended}, mechanisms.model_of(model, {})
    for name, value in (DEFAULTS | given).items():
        if value is None:
            continue
        if name in ("on", "off"):
            keys |= {f"mechanism.{each}": name == "on" for each in value.split(",")}
        else:
            keys[name if "." in name or name == "defects" else SHORT.get(name, f"faults.{name}")] = value
    return model, keys


def system(model: str, *, disabled: tuple[tuple[str, str], ...] = (), **given: Any) -> System:
    """A bound model; keywords are short names, or names of faults."""
    name, keys = named(model, given)
    found = models()[name]
    return bind(found, configuration(found, {key: (value, "test") for key, value in keys.items()}), disabled=disabled)


def explored(bound: System, *names: str) -> Outcome:
    """The outcome of a complete search for the named properties."""
    asked = [properties()[name] for name in names or bound.model.guarantees]
    return explore(bound, asked, Options(keep_going=True, workers=1))


@cache
def _found(model: str, name: str, given: tuple[tuple[str, Any], ...]) -> tuple[str, dict[str, int], int]:
    bound = system(model, **dict(given))
    (finding,) = explored(bound, name).findings
    if finding.verdict is Verdict.INCONCLUSIVE:
        raise AssertionError(f"{model} {given} was not decided")
    trace = finding.trace
    return finding.verdict.value, trace.faults(bound) if trace else {}, len(trace.steps) if trace else 0


def verdict(model: str, name: str, **given: Any) -> str:
    """`holds` or `violated`, for one property."""
    return _found(model, name, tuple(sorted(given.items())))[0]


def faults(model: str, name: str, **given: Any) -> dict[str, int]:
    """The faults of the shortest counterexample."""
    return _found(model, name, tuple(sorted(given.items())))[1]
