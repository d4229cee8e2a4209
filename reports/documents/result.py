"""The result document of the command line contract, and the parts of it that several commands share."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import neverlost
from neverlost.checker.engine.digest import model_digest
from neverlost.checker.engine.outcome import Counts, Finding, JobsDone, Outcome, Verdict, worst
from neverlost.checker.questions.coverage import cover, list_single
from neverlost.checker.questions.question_id import question_id
from neverlost.model.kernel import Configuration, Model
from neverlost.specs.configuration.keys import shown
from neverlost.specs.property import RECOVERY

SCHEMA = "neverlost.result/1"


def question_document(model: Model, configuration: Configuration) -> dict[str, Any]:
    """Return a model and a configuration with its bounds as documents show them."""
    return {
        "model": model.name,
        "config": {name: shown(value) for name, value in configuration.items() if not name.startswith("bounds.")},
        "bounds": {name: value for name, value in configuration.items() if name.startswith("bounds.")},
    }


def cell_fields(outcome: Outcome, number: int) -> dict[str, Any]:
    """Return the fields of one configuration: keys, verdict, properties."""
    configuration = outcome.system.configurations[number]
    findings = [each for each in outcome.findings if each.configuration == number]
    names = [each.property.name for each in findings]
    about = question_document(outcome.system.model, configuration)
    return {
        "id": question_id(outcome.system.model, configuration, names),
        "config": about["config"],
        "bounds": about["bounds"],
        "verdict": str(worst((each.verdict for each in findings), outcome.reason)) if findings or outcome.reason else None,
        "properties": [_property(outcome, each) for each in findings],
    }


def _property(outcome: Outcome, finding: Finding) -> dict[str, Any]:
    found: dict[str, Any] = {"name": finding.property.name, "verdict": str(finding.verdict)}
    if finding.verdict is Verdict.HOLDS and (never := list_single(outcome.system, finding.property)):
        found["never"] = list(never)
    if finding.trace is not None:
        found |= {"steps": len(finding.trace.steps), "faults": finding.trace.faults(outcome.system), "trace": None}
        if finding.property.kind == RECOVERY:
            from neverlost.checker.engine.search.graph.recovery import describe_trap

            left = describe_trap(outcome.system, finding.trace.states[-1])
            found["trap"] = {"states": left.states, "ends": list(left.ends)}
    return found


def shared_fields(outcome: Outcome) -> dict[str, Any]:
    """Return the fields that all configurations of one search have in common."""
    states: dict[str, Any] = dict(count_fields(outcome.counts))
    if outcome.orbit_states is not None:
        states["orbit_states"] = outcome.orbit_states
    return {
        "schema": SCHEMA,
        "model": outcome.system.model.name,
        "engine": outcome.engine,
        **({"spark": spark_levels(outcome.cluster)} if outcome.cluster is not None else {}),
        "identity": "exact",
        "symmetry": outcome.symmetry,
        "reason": outcome.reason,
        "states": states,
        "levels": levels(outcome.growth),
        "fired": dict(outcome.fired),
        "seconds": round(outcome.seconds, 3),
        "peak_memory_bytes": outcome.peak_memory_bytes,
        "version": neverlost.__version__,
        "model_digest": model_digest(outcome.system.model),
    }


def spark_levels(done: JobsDone) -> dict[str, Any]:
    """Return what Spark jobs decided: the levels, by steps from the start, and the number of their states."""
    return {"master": done.master, "jobs": done.jobs, "levels": list(done.levels), "states_in_jobs": done.states}


def count_fields(counts: Counts) -> dict[str, int]:
    return {"generated": counts.generated, "distinct": counts.distinct, "depth": counts.depth, "left": counts.left}


def levels(growth: Sequence[tuple[int, int]]) -> dict[str, list[int]]:
    """Return for each level, the initial one first, how many states were generated and how many were distinct when it was
    complete."""
    return {"generated": [each for each, _ in growth], "distinct": [each for _, each in growth]}


def document(outcome: Outcome) -> dict[str, Any]:
    """Return the result document of a search of one configuration."""
    found = shared_fields(outcome) | cell_fields(outcome, 0)
    return found if outcome.engine.startswith("z3") else found | {"never": cover(outcome).document()}


def with_traces(document: dict[str, Any], saved: Mapping[str, str]) -> dict[str, Any]:
    """Return the document with the names of saved trace files, which are given by property."""
    listed = [each | ({"trace": saved[each["name"]]} if each["name"] in saved else {}) for each in document["properties"]]
    return document | {"properties": listed}
