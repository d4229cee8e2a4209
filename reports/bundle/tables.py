"""Bundles of `tolerance`, `roll` and `nines`: their functions take no part in it but to say that they are kept."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from functools import wraps
from inspect import signature
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar

from neverlost.checker.campaign.tolerance import ATLAS
from neverlost.checker.machine.whole_files import writable_directory
from neverlost.checker.outcome import Verdict
from neverlost.reports.documents import tolerance as describe
from neverlost.specs.configuration.input import keeping

if TYPE_CHECKING:
    from neverlost.reports.api.results import Answer

Asked = ParamSpec("Asked")
Found = TypeVar("Found", bound="Answer")

MAIN = {"tolerance": "tolerance", "roll": "brokers", "plan": "phases", "nines": "nines"}
"""The part of each command's document that the others follow from."""

FOLLOWING = {
    "tolerance": ("verdict", "advice", "says", "smallest", "proposed"),
    "roll": ("verdict", "order", "first"),
    "plan": ("verdict",),
    "nines": ("verdict",),
}
"""The other parts of it that searches decide."""

DECIDED = {
    "tolerance": ("verdict", "steps"),
    "roll": ("may_be_stopped", "now", "then"),
    "plan": ("assumed", "states", "meanwhile", "done", "verdicts", "counterexample"),
    "nines": (
        *("verdict", "loss_in_a_year", "nines", "writes_refused_seconds_a_year", "by_rates", "region", "racks", "exits"),
        *("influences", "as_shipped", "changes", "steps", "gained"),
    ),
}
"""What searches decide of an element of the main part; the question decides the rest."""

SAYS = re.compile(rf"{describe.OK}|{describe.STOPS}|{describe.UNDECIDED}|{describe.LOST}(, \d+ steps?)?")
"""What a search can say of a partition."""


def kept(function: Callable[Asked, Found]) -> Callable[Asked, Found]:
    """The function, which with `out` writes a bundle there: what it was asked, the files that it read, and its document."""

    @wraps(function)
    def asked(*positional: Asked.args, **named: Asked.kwargs) -> Found:
        given = signature(function).bind(*positional, **named)
        out = given.arguments.get("out")
        if out is not None:
            writable_directory(out)
        with keeping() as contents:
            found = function(*positional, **named)
        if out is not None:
            _write(function.__name__, given.arguments, contents, found)
        return found

    return asked


def _write(command: str, given: Mapping[str, Any], contents: Mapping[str, bytes], found: Answer) -> None:
    from neverlost.reports.bundle import seal
    from neverlost.reports.bundle.question import ARGUMENTS, BundleQuestion
    from neverlost.reports.request import RunOptions

    arguments = {name: given.get(name) or None for name in ARGUMENTS[command]}
    arguments["files"] = {name: each for name, each in (given.get("files") or {}).items() if each}
    asked = BundleQuestion(command, {}, contents).with_arguments(**arguments).with_effort(RunOptions(**given.get("search", {})))
    seal.write(given["out"], asked, {**found.document, **asked.answered}, [], {}, getattr(found, "files", None))


def completed(command: str, derived: Mapping[str, Any], there: Mapping[str, Any]) -> tuple[dict[str, Any], list[str]]:
    """The derived document with what was not decided here as it is stated, and the places of that.

    Only what is undecided in the derived document is open: what was decided here, and what follows from it, has to be the same.
    """
    places: list[str] = []
    main = MAIN[command]
    found = dict(derived) | {main: _stated(command, derived[main], there[main], main, places)}
    labels = {label for label in found[main] if found[main][label] != derived[main][label]} if command == "tolerance" else set()
    for name in FOLLOWING[command] if places else ():
        mine, theirs = derived[name], there[name]
        if isinstance(mine, Mapping):
            theirs = _merged(mine, theirs, lambda each: _label_of(each) in labels)
        if theirs != mine:
            found[name] = theirs
            places.append(name)
    return found, places


def _merged(derived: Mapping[str, Any], there: Mapping[str, Any], is_open: Callable[[str], bool]) -> dict[str, Any]:
    """What is stated under the names that are open, and what was derived under the others."""
    names = [name for name in there if is_open(name) or name in derived]
    names += [name for name in derived if name not in there and not is_open(name)]
    return {name: there[name] if is_open(name) else derived[name] for name in names}


def _label_of(name: str) -> str:
    """For whom a table speaks, of its name with how it was asked."""
    return name.removesuffix(" as designed").removesuffix(" as shipped")


def _stated(command: str, derived: Any, there: Any, place: str, places: list[str]) -> Any:
    if derived == there:
        return derived
    if isinstance(derived, Mapping) and isinstance(there, Mapping):
        if _is_open(command, derived):
            places.append(place)
            found = _merged(derived, there, lambda name: name in DECIDED[command])
            return found if _is_possible(command, derived, found) else derived
        if derived.keys() == there.keys():
            return {name: _stated(command, derived[name], each, f"{place}.{name}", places) for name, each in there.items()}
    if isinstance(derived, list) and isinstance(there, list) and len(derived) == len(there):
        pairs = enumerate(zip(derived, there, strict=True))
        return [_stated(command, one, other, f"{place}[{number}]", places) for number, (one, other) in pairs]
    return derived


def _is_open(command: str, derived: Mapping[str, Any]) -> bool:
    """Whether an element of a derived document has a verdict, and that is that it was not decided."""
    if command == "roll":
        return any(describe.UNDECIDED in each for each in _answers(derived))
    if command == "plan":
        return describe.UNDECIDED in (derived.get("meanwhile"), derived.get("done"))
    region = derived.get("region") if command == "nines" else None
    is_part = isinstance(region, Mapping) and not region["is_largest"]
    return is_part or (derived.get("verdict") == str(Verdict.INCONCLUSIVE) and derived.get("source") != ATLAS)


def _answers(broker: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """What happens to which partitions when a broker is stopped, and when something more happens then."""
    return [broker["now"], *broker["then"].values()] if "now" in broker else []


def _is_possible(command: str, derived: Mapping[str, Any], found: Mapping[str, Any]) -> bool:
    """Whether what is stated is an answer, and of a broker agrees with what was decided here."""
    if command != "roll":
        return command == "plan" or found["verdict"] in list(Verdict)
    if derived["then"].keys() != found["then"].keys() or found["may_be_stopped"] != (found["now"].keys() == {describe.OK}):
        return False
    for one, other in zip(_answers(derived), _answers(found), strict=True):
        mine, theirs = ({name: says for says, names in each.items() for name in names} for each in (one, other))
        decided = {name: says for name, says in mine.items() if says != describe.UNDECIDED}
        is_table = len(theirs) == sum(map(len, other.values())) and all(says in one or SAYS.fullmatch(says) for says in other)
        if not is_table or mine.keys() != theirs.keys() or theirs != theirs | decided:
            return False
    return True
