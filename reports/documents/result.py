"""The result document of the command line contract, and the parts of it that several commands share."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import neverlost
from neverlost.checker.engine.digest import model_digest
from neverlost.checker.engine.outcome import Counts, Finding, Outcome, Verdict, worst
from neverlost.checker.questions.coverage import cover, list_single
from neverlost.checker.questions.question_id import question_id
from neverlost.model.kernel import Configuration, Model
from neverlost.model.system import System
from neverlost.specs.configuration.keys import shown
from neverlost.specs.property import RECOVERY

SCHEMA = "neverlost.result/1"


def question_document(model: Model, configuration: Configuration) -> dict[str, Any]:
    """Return the fields of a document that show a model, a configuration and, apart from it, its bounds."""
    return {
        "model": model.name,
        "config": {name: shown(value) for name, value in configuration.items() if not name.startswith("bounds.")},
        "bounds": {name: value for name, value in configuration.items() if name.startswith("bounds.")},
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


def count_fields(counts: Counts) -> dict[str, int]:
    return {"generated": counts.generated, "distinct": counts.distinct, "depth": counts.depth, "left": counts.left}


def levels(growth: Sequence[tuple[int, int]]) -> dict[str, list[int]]:
    """Return two lists by name: how many states were generated, and distinct, when each level (initial one first) was done."""
    return {"generated": [each for each, _ in growth], "distinct": [each for _, each in growth]}


def document(outcome: Outcome) -> dict[str, Any]:
    """Return the result document of a search; of several configurations that of the first."""
    model, configuration = outcome.system.model, outcome.system.configurations[0]
    findings = [each for each in outcome.findings if each.configuration == 0]
    verdict = str(worst((each.verdict for each in findings), outcome.reason)) if findings or outcome.reason else None
    found: dict[str, Any] = {"schema": SCHEMA, "model": model.name, "engine": outcome.engine}
    if (done := outcome.cluster) is not None:
        found["spark"] = {"master": done.master, "jobs": done.jobs, "levels": list(done.levels), "states_in_jobs": done.states}
    found |= {
        "identity": "exact",
        "symmetry": outcome.symmetry,
        "reason": outcome.reason,
        "states": count_fields(outcome.counts),
        "levels": levels(outcome.growth),
        "fired": dict(outcome.fired),
        "seconds": round(outcome.seconds, 3),
        "peak_memory_bytes": outcome.peak_memory_bytes,
        "version": neverlost.__version__,
        "model_digest": model_digest(model),
        "id": question_id(model, configuration, [each.property.name for each in findings]),
        **question_document(model, configuration),
        "verdict": verdict,
        "properties": [_property(outcome, each) for each in findings],
    }
    if outcome.orbit_states is not None:
        found["states"]["orbit_states"] = outcome.orbit_states
    return found if outcome.engine.startswith("z3") else found | {"never": cover(outcome).document()}


def list_weaknesses(system: System) -> dict[str, list[str]]:
    """Return `{"without": [...]}` with the guard clauses that are switched off; {} if none is."""
    return {"without": sorted(f"{action}: {clause}" for action, clause in system.disabled)} if system.disabled else {}


def with_traces(document: dict[str, Any], saved: Mapping[str, str]) -> dict[str, Any]:
    """Return a document with the names of trace files put into its properties; `saved` has them by property."""
    listed = [each | ({"trace": saved[each["name"]]} if each["name"] in saved else {}) for each in document["properties"]]
    return document | {"properties": listed}
