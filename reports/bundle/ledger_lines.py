"""What a result makes known: the lines of its bundle's ledger, written when it is sealed and derived again by `verify`."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from neverlost.checker.campaign.sweep import REPLAYED, SAME
from neverlost.checker.digest import property_digest
from neverlost.checker.evidence import ledger
from neverlost.checker.evidence.ledger import EXPLORED, FILE, OPEN, REFUTED, Line
from neverlost.checker.outcome import Verdict
from neverlost.specs.errors import InputError
from neverlost.specs.property import properties

HOW = {SAME: "as another cell, whose system is the same", REPLAYED: "the counterexample of fewer faults, run again"}


def lines_of(document: Mapping[str, Any]) -> list[Line]:
    """A line per configuration and property of a result."""
    return [
        Line(
            cell["model"],
            digest_of(cell, document),
            {**cell["config"], **cell["bounds"]},
            each["name"],
            EXPLORED[Verdict(each["verdict"])],
            _how(each, cell, document),
            each.get("steps"),
            goal_digest=_digest_of_property(each["name"]),
        )
        for cell in document.get("cells", [document])
        for each in cell["properties"]
    ]


def digest_of(cell: Mapping[str, Any], document: Mapping[str, Any]) -> str:
    """The digest that a result states for the model of a cell."""
    return str(cell.get("model_digest") or document["model_digests"][cell["model"]])


def _digest_of_property(name: str) -> str:
    return property_digest(properties()[name]) if name in properties() else ""


def _how(each: Mapping[str, Any], cell: Mapping[str, Any], document: Mapping[str, Any]) -> str:
    if "matrix" in document:
        return HOW.get(each["how"]) or f"{document['engine']} engine"
    return f"{cell['engine']} engine, {cell['states']['distinct']:,} states"


def confirmed(folder: Path, document: Mapping[str, Any]) -> tuple[int, int]:
    """How many lines of a bundle's ledger its result gives, and how many are of other runs into the same directory.

    Errors: `InputError` for a line that is not the one that the result gives, and for one that is missing.
    """
    given = {each.subject: each for each in ledger.merged((), lines_of(document))}
    there = ledger.read(folder)
    for line in there:
        own = given.get(line.subject, line)
        if line != own and not _is_kept(line, own):
            raise InputError(f"{FILE} is refused: it says that {line.says}; from result.json follows that {own.says}")
    missing = given.keys() - {each.subject for each in there}
    if missing:
        raise InputError(f"{FILE} is refused: it lacks a line of result.json: {given[min(missing)].says}")
    own_lines = sum(given.get(each.subject) == each for each in there)
    return own_lines, len(there) - own_lines


def _is_kept(line: Line, own: Line) -> bool:
    """Whether a line may be an earlier run's, which knew more and does not contradict this one."""
    return ledger.outranks(line, own) and (line.status != REFUTED or own.status == OPEN)
