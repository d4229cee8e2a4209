"""What two searches of the same thing must agree on, and the searches that tests compare."""

from __future__ import annotations

from typing import Any

from neverlost.checker.engine.outcome import Outcome
from neverlost.model.protocols import models
from neverlost.model.system import System, bind
from neverlost.specs.configuration.keys import configuration


def classic(name: str, replicas: int, log_size: int, records: int, max_epoch: int, **more: Any) -> System:
    """A classic model with its bounds."""
    bounds = {"bounds.log_size": log_size, "bounds.records": records, "bounds.max_leader_epoch": max_epoch}
    return bind(models()[name], {"replication.factor": replicas} | bounds, **more)


def kraft_any_crash() -> System:
    """Any number of crashes, of which one broker at a time suffers."""
    found = models()["kraft"]
    keys = {"replication.factor": "3", "bounds.records": "1", "faults.crash": "any:1"}
    return bind(found, configuration(found, {name: (value, "test") for name, value in keys.items()}))


def kraft_matrix() -> System:
    """Three configurations in one search, of which one is safe."""
    found = models()["kraft"]
    base: dict[str, Any] = {"replication.factor": 2, "bounds.records": 1, "faults.isr_shrink": 1, "faults.crash": 1}
    cells = [{"acks": "1", "min.insync.replicas": 1}, {"min.insync.replicas": 1}, {"min.insync.replicas": 2}]
    return bind(found, *[configuration(found, {k: (v, "test") for k, v in (base | each).items()}) for each in cells])


def essence(outcome: Outcome) -> dict[str, Any]:
    """Everything that does not depend on the machine or the engine."""
    return {
        "counts": outcome.counts,
        "fired": dict(outcome.fired),
        "reason": outcome.reason,
        "orbits": outcome.orbit_states,
        "cells": outcome.distinct_by_configuration,
        "growth": outcome.growth,
        "findings": [(each.property.name, each.configuration, each.verdict, each.trace) for each in outcome.findings],
    }
