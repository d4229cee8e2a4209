"""JSON that every reader would read alike: no name twice in an object, no NaN, no endless number, no endless nesting."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from neverlost.specs.errors import InputError

DEEPEST, LONGEST_NUMBER = 64, 24
"""How far the values of a document are nested at most, and how many characters a number has."""


def parse_json(text: str, where: str) -> Any:
    """Return a JSON value that every reader would read alike.

    Errors: `InputError` for what is no JSON, for a name that an object has twice, for NaN and infinities, for numbers that are
    too long, and for values that are nested too deep.
    """
    try:
        found = json.loads(
            text,
            object_pairs_hook=_refuse_repeats,
            parse_constant=_refuse_number,
            parse_int=_number(int),
            parse_float=_number(float),
        )
    except (ValueError, RecursionError) as problem:
        raise InputError(f"{where} is not JSON: {problem}") from None
    _require_shallow(found, where)
    return found


def _refuse_repeats(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        names = [name for name, _ in pairs]
        raise ValueError(f"an object has {next(name for name in names if names.count(name) > 1)!r} twice")
    return found


def _refuse_number(text: str) -> Any:
    raise ValueError(f"{text} is no number")


def _number(kind: Callable[[str], Any]) -> Callable[[str], Any]:
    def read(text: str) -> Any:
        found = kind(text) if len(text) <= LONGEST_NUMBER else None
        if found is None or found in (float("inf"), float("-inf")):
            raise ValueError(f"the number {text[:LONGEST_NUMBER]}{'...' * (len(text) > LONGEST_NUMBER)} is too large")
        return found

    return read


def _require_shallow(value: Any, where: str, depth: int = 0) -> None:
    if depth > DEEPEST:
        raise InputError(f"{where} is not a document of ours: its values are nested more than {DEEPEST} deep")
    for each in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        _require_shallow(each, where, depth + 1)
