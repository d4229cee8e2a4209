"""Proofs as documents: what was decided, by which obligations and lemmas, and what stays open."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from neverlost.checker.engine.outcome import Outcome, Verdict
from neverlost.checker.engine.proof.bounded_search import BoundedResult
from neverlost.checker.engine.proof.induction import KINDS, Proof, ReachabilityCheck
from neverlost.checker.questions.coverage import cover_proof
from neverlost.reports.documents import result
from neverlost.reports.wording.merged_rows import pluralize
from neverlost.specs.defects import DEFECTS
from neverlost.specs.lemmas import find_lemmas


def bounded_document(bounded: BoundedResult) -> dict[str, Any]:
    """Return the result document of a bounded search."""
    outcome = bounded.outcome
    proved = {"method": "bmc", "depth": bounded.depth, "solver": bounded.solver, "seed": bounded.seed}
    return result.document(outcome) | proved | result.list_weaknesses(outcome.system)


def induction_document(proofs: Sequence[Proof]) -> dict[str, Any]:
    """Return the result document of proofs by induction of several properties."""
    first = proofs[0].outcome
    merged = Outcome(
        first.system,
        tuple(finding for each in proofs for finding in each.outcome.findings),
        first.counts,
        sum(each.seconds for each in proofs),
        "; ".join(dict.fromkeys(each.reason for each in proofs if each.reason)) or None,
        engine=first.engine,
    )
    document = result.document(merged)
    for each, entry in zip(proofs, document["properties"], strict=True):
        never = (*cover_proof(each).faults, *entry.get("never", ()))
        entry |= {"never": list(never)} if never else {}
    return (
        document
        | result.list_weaknesses(first.system)
        | {
            "method": "induction",
            "solver": proofs[0].solver,
            "seed": proofs[0].seed,
            "proofs": [_proof(each) for each in proofs],
        }
    )


def _proof(proof: Proof) -> dict[str, Any]:
    return {
        "property": proof.goal.name,
        "verdict": str(proof.verdict),
        "unbounded": list(proof.unbounded),
        "lemmas": [{"name": each.name, "says": each.says, "why": each.why} for each in proof.lemmas],
        "obligations": len(proof.answers),
        "hint": say_hint(proof),
        "never": cover_proof(proof).document(),
        "open": [
            {"kind": each.task.kind, "step": each.task.label, "goal": each.goal, "answer": each.answer, "reason": each.reason}
            for each in proof.open
        ],
        "seconds": {kind: round(proof.seconds_of(kind), 3) for kind in KINDS},
        "counterexamples": [_looked(proof, each) for each in proof.looked],
    }


def say_hint(proof: Proof) -> str:
    """Return why no written lemmas cover an undecided configuration with known bugs, and what decides it; else ''."""
    configuration = proof.system.configurations[0]
    bugs = [each.name for each in DEFECTS if configuration.get(each.mechanism.key) is False]
    if proof.verdict is not Verdict.INCONCLUSIVE or not bugs or find_lemmas(proof.system, proof.goal.name):
        return ""
    return (
        f"the written lemmas are about Kafka as designed, and this one has {pluralize(len(bugs), 'known bug')}: ask again with "
        "--set defects=fixed, or have neverlost check decide what the bugs do"
    )


def _looked(proof: Proof, looked: ReachabilityCheck) -> dict[str, Any]:
    before, after = looked.answer.states or ((), ())
    return {
        "goal": looked.answer.goal,
        "step": looked.answer.task.label,
        "reachable": looked.is_reachable,
        "before": proof.system.nested(before),
        "after": proof.system.nested(after),
    }
