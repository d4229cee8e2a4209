"""Merges a bundle's document of tables with the derived one: a statement is taken over only where the derived document is
undecided."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

from neverlost.checker.engine.outcome import Verdict
from neverlost.checker.questions.nines.bounds import Why
from neverlost.checker.questions.tolerance.cell_words import ACCEPTED, LOST, OK, STOPS, UNDECIDED
from neverlost.checker.questions.tolerance.tolerance import ATLAS

MAIN = {"tolerance": "tolerance", "roll": "brokers", "plan": "phases", "nines": "nines"}
"""The part of each command's document that the others follow from."""

FOLLOWING = {
    "tolerance": ("verdict", "advice", "says", "smallest"),
    "roll": ("verdict", "order", "first"),
    "plan": ("verdict",),
    "nines": ("verdict",),
}
"""The other parts of each command's document that searches decide."""

DECIDED = {
    "tolerance": ("verdict", "steps", "source"),
    "roll": ("may_be_stopped", "now", "then"),
    "plan": ("assumed", "states", "meanwhile", "done", "verdicts", "counterexample"),
    "nines": (
        *("verdict", "loss_in_a_year", "nines", "writes_refused_seconds_a_year", "by_rates", "region", "racks", "exits"),
        *("influences", "as_shipped", "steps", "ratio", "why"),
    ),
}
"""What searches decide of an element of the main part; the question decides the rest."""

SAYS = re.compile(rf"{OK}|{STOPS}|{UNDECIDED}|{LOST}(, \d+ steps?)?")
"""What a search can say of a partition."""


def complete_tables(command: str, derived: Mapping[str, Any], stated: Mapping[str, Any]) -> tuple[dict[str, Any], list[str]]:
    """Return the derived document with the bundle's statements where it is undecided, and the places of those.  Whatever was
    decided here, and whatever follows from it, stays as derived."""
    places: list[str] = []
    main = MAIN[command]
    found = dict(derived) | {main: _merge_part(command, derived[main], stated[main], main, places)}
    labels = {label for label in found[main] if found[main][label] != derived[main][label]} if command == "tolerance" else set()
    for name in FOLLOWING[command] if places else ():
        mine, theirs = derived[name], stated[name]
        if isinstance(mine, Mapping):
            theirs = _merged(mine, theirs, lambda each: each.removesuffix(" as designed").removesuffix(" as shipped") in labels)
        if theirs != mine:
            found[name] = theirs
            places.append(name)
    return found, places


def _merged(derived: Mapping[str, Any], stated: Mapping[str, Any], is_open: Callable[[str], bool]) -> dict[str, Any]:
    """Return the stated values under the names that are open, and the derived ones under the others."""
    names = [name for name in stated if is_open(name) or name in derived]
    names += [name for name in derived if name not in stated and not is_open(name)]
    return {name: stated[name] if is_open(name) else derived[name] for name in names}


def _merge_part(command: str, derived: Any, stated: Any, place: str, places: list[str]) -> Any:
    if derived == stated:
        return derived
    if isinstance(derived, Mapping) and isinstance(stated, Mapping):
        if _is_open(command, derived):
            places.append(place)
            found = _merged(derived, stated, lambda name: name in DECIDED[command])
            return found if _is_possible(command, derived, found) else derived
        if derived.keys() == stated.keys():
            return {name: _merge_part(command, derived[name], each, f"{place}.{name}", places) for name, each in stated.items()}
    if isinstance(derived, list) and isinstance(stated, list) and len(derived) == len(stated):
        pairs = enumerate(zip(derived, stated, strict=True))
        return [_merge_part(command, one, other, f"{place}[{number}]", places) for number, (one, other) in pairs]
    return derived


def _is_open(command: str, derived: Mapping[str, Any]) -> bool:
    """Return True if more searching could change an element here: it is undecided, or its region in `nines` may grow."""
    if command == "roll":
        return any(UNDECIDED in each for each in _stop_answers(derived))
    if command == "plan":
        return UNDECIDED in (derived.get("meanwhile"), derived.get("done"))
    region = derived.get("region") if command == "nines" else None
    is_part = isinstance(region, Mapping) and not region["is_largest"]
    return is_part or (derived.get("verdict") == str(Verdict.INCONCLUSIVE) and derived.get("source") != ATLAS)


def _stop_answers(broker: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """Return what happens to which partitions when a broker is stopped, then that for each further fault; [] if it has none."""
    return [broker["now"], *broker["then"].values()] if "now" in broker else []


def _is_possible(command: str, derived: Mapping[str, Any], found: Mapping[str, Any]) -> bool:
    """Return True if a stated value is well formed (of a plan: always), and for a broker agrees with what was decided here."""
    if command != "roll":
        is_ours = found["verdict"] in list(Verdict) and found.get("why") in (None, *Why)
        return command == "plan" or (is_ours and found.get("source") != ATLAS)
    if derived["then"].keys() != found["then"].keys() or found["may_be_stopped"] != (found["now"].keys() <= {OK, ACCEPTED}):
        return False
    for one, other in zip(_stop_answers(derived), _stop_answers(found), strict=True):
        mine, theirs = ({name: says for says, names in each.items() for name in names} for each in (one, other))
        decided = {name: says for name, says in mine.items() if says != UNDECIDED}
        is_table = len(theirs) == sum(map(len, other.values())) and all(says in one or SAYS.fullmatch(says) for says in other)
        if not is_table or mine.keys() != theirs.keys() or theirs != theirs | decided:
            return False
    return True
