"""Bundles of `tolerance`, `roll` and `nines`: their functions take no part in it but to say that they are kept."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import wraps
from inspect import signature
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar

from neverlost.checker.machine.whole_files import writable_directory
from neverlost.specs.configuration.input import keeping

if TYPE_CHECKING:
    from neverlost.results import Answer

Asked = ParamSpec("Asked")
Found = TypeVar("Found", bound="Answer")

MAIN = {"tolerance": "tolerance", "roll": "brokers", "plan": "phases", "nines": "nines"}
"""The part of each command's document that the others follow from."""

OPEN = ("inconclusive", "not decided", "undecided")
"""Words of what was not decided."""


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
    from neverlost.reports.bundle.question import ARGUMENTS, Question
    from neverlost.reports.request import Request

    arguments = {name: given.get(name) or None for name in ARGUMENTS[command]}
    arguments["files"] = {name: each for name, each in (given.get("files") or {}).items() if each}
    asked = Question(command, {}, contents).with_arguments(**arguments).with_effort(Request(**given.get("search", {})))
    seal.write(given["out"], asked, {**found.document, **asked.answered}, [], {}, getattr(found, "files", None))


def completed(command: str, derived: Mapping[str, Any], there: Mapping[str, Any]) -> tuple[dict[str, Any], list[str]]:
    """The derived document, with what is undecided here or there as it is stated, and the places of that.

    What was decided here and there has to be the same; so has what follows from it, where everything was decided.
    """
    places: list[str] = []
    main = MAIN[command]
    is_open = _is_open(derived[main]) or _is_open(there[main])
    found = dict(derived)
    if is_open:
        for name, value in derived.items():
            if name == main:
                found[name] = _stated(value, there[name], name, places)
            elif name in there and there[name] != value and name not in ("schema", "version", "question", "commit"):
                found[name] = there[name]
                places.append(name)
    return found, places


def _stated(derived: Any, there: Any, place: str, places: list[str]) -> Any:
    if derived == there:
        return derived
    if _says_open(derived) or _says_open(there):
        places.append(place)
        return there
    if isinstance(derived, Mapping) and isinstance(there, Mapping) and derived.keys() == there.keys():
        return {name: _stated(each, there[name], f"{place}.{name}", places) for name, each in derived.items()}
    if isinstance(derived, list) and isinstance(there, list) and len(derived) == len(there):
        pairs = enumerate(zip(derived, there, strict=True))
        return [_stated(one, other, f"{place}[{number}]", places) for number, (one, other) in pairs]
    return derived


def _says_open(value: Any) -> bool:
    """Whether a value says itself, or by a name or a text directly in it, that something was not decided."""
    if isinstance(value, Mapping):
        return any(_is_open_text(each) for pair in value.items() for each in pair)
    if isinstance(value, list):
        return any(map(_is_open_text, value))
    return _is_open_text(value)


def _is_open_text(value: Any) -> bool:
    return isinstance(value, str) and any(word in value.lower() for word in OPEN)


def _is_open(value: Any) -> bool:
    if isinstance(value, Mapping):
        return any(_is_open_text(name) or _is_open(each) for name, each in value.items())
    return any(map(_is_open, value)) if isinstance(value, list) else _is_open_text(value)
