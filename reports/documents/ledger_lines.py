"""The ledger lines of a bundle: what its result makes known; written when it is sealed and derived again by `verify`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from neverlost.checker.engine.digest import property_digest
from neverlost.checker.engine.evidence.ledger import BOUNDED, EXHAUSTED, EXPLORED, OPEN, PROVED, LedgerLine
from neverlost.checker.engine.outcome import Verdict
from neverlost.checker.questions.atlas.lookup import ENGINE as ATLAS
from neverlost.checker.questions.sweep.sweep import REPLAYED, SAME
from neverlost.specs.properties import properties

HOW = {SAME: "as another cell, whose system is the same", REPLAYED: "the counterexample of fewer faults, run again"}


def lines_of(document: Mapping[str, Any]) -> list[LedgerLine]:
    """Return a ledger line for each configuration and property of a result; none if guard clauses are switched off."""
    if document.get("without"):
        return []
    return [_line(cell, each, document) for cell in document.get("cells", [document]) for each in cell.get("properties", ())]


def _line(cell: Mapping[str, Any], each: Mapping[str, Any], document: Mapping[str, Any]) -> LedgerLine:
    model = str(cell.get("model") or document["model"])
    config = {**cell["config"], **cell["bounds"]}
    status, steps = EXPLORED[Verdict(each["verdict"])], each.get("steps")
    how, unbounded = _how(each, cell, document), tuple[str, ...]()
    if document.get("method") == "induction" and status == EXHAUSTED:
        proof = next(one for one in document["proofs"] if one["property"] == each["name"])
        status, unbounded = PROVED, tuple(proof["unbounded"])
    elif document.get("method") == "bmc" and status == OPEN and document["depth"] >= 0:
        status, steps = BOUNDED, document["depth"]
    digest = cell.get("model_digest") or document.get("model_digest") or document["model_digests"][model]
    meaning = property_digest(properties()[each["name"]]) if each["name"] in properties() else ""
    return LedgerLine(model, str(digest), config, each["name"], status, how, steps, unbounded, meaning)


def _how(each: Mapping[str, Any], cell: Mapping[str, Any], document: Mapping[str, Any]) -> str:
    if document.get("method") == "bmc":
        return f"{document['solver']}, bounded"
    if document.get("method") == "induction":
        proof = next(one for one in document["proofs"] if one["property"] == each["name"])
        return f"{document['solver']}, {len(proof['lemmas'])} lemmas"
    if "matrix" in document:
        return HOW.get(each["how"]) or f"{document['engine']} engine"
    return "the atlas" if cell["engine"] == ATLAS else f"{cell['engine']} engine, {cell['states']['distinct']:,} states"
