"""The fields of a bundle's documents that describe the machine and the run: the one list of what `verify` does not derive
again."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

MEASURED = {
    "result.json": (
        "seconds",
        "peak_memory_bytes",
        "spark.**",
        "solver",
        "seed",
        "cells.*.seconds",
        "cells.*.peak_memory_bytes",
        "searches.*.seconds",
        "proofs.*.seconds.*",
    ),
    "environment.json": ("python", "system", "cores", "packages.*"),
}
"""Per file the places of measured values; `*` is any name or number, `**` everything below."""

SAYS = "times, memory, rates, what a cluster did and the machine are as measured there; nothing derives them"

_TEXT = re.compile(r"[ -~]{0,4000}")


def measured_values(document: Mapping[str, Any]) -> list[tuple[str, list[Any]]]:
    """Return the measured values that a result states, by place."""
    found = [(pattern, list(_values(document, pattern.split(".")))) for pattern in MEASURED["result.json"]]
    return [(pattern, values) for pattern, values in found if values]


def _values(value: Any, pattern: list[str]) -> Iterator[Any]:
    below = dict(enumerate(value)) if isinstance(value, list) else value
    if not isinstance(below, Mapping):
        if pattern in ([], ["**"]):
            yield value
        return
    for name, each in below.items():
        if pattern and pattern[0] in ("*", "**", name):
            yield from _values(each, pattern if pattern == ["**"] else pattern[1:])


def take_measured_values(name: str, derived: Any, stated: Any) -> Any:
    """Return the derived document with the stated document's measured values, where these have the right kind."""
    patterns = [each.split(".") for each in MEASURED.get(name, ())]
    return _overlaid(derived, stated, patterns) if patterns else derived


def _overlaid(derived: Any, stated: Any, patterns: list[list[str]]) -> Any:
    if [] in patterns:
        return stated if _is_like(derived, stated) else derived
    if ["**"] in patterns:
        return stated if is_measurement(stated) else derived
    if isinstance(derived, Mapping) and isinstance(stated, Mapping):
        optional = {head for head, *rest in patterns if rest == ["**"]} & stated.keys()
        names = _in_place(list(derived), list(stated), optional)
        return {name: _overlaid(derived.get(name), stated.get(name), _below(patterns, name)) for name in names}
    if isinstance(derived, list) and isinstance(stated, list) and len(derived) == len(stated):
        pairs = enumerate(zip(derived, stated, strict=True))
        return [_overlaid(one, other, _below(patterns, str(number))) for number, (one, other) in pairs]
    return derived


def _in_place(names: list[str], stated: list[str], optional: set[str]) -> list[str]:
    """Return a derived document's names with the measured names that it lacks, each behind its predecessor in the stated
    document."""
    for place, name in enumerate(stated):
        if name in optional and name not in names:
            before = stated[place - 1] if place else None
            names.insert(names.index(before) + 1 if before in names else 0, name)
    return names


def _below(patterns: list[list[str]], name: str) -> list[list[str]]:
    return [rest for head, *rest in patterns if head in ("*", name)]


def _is_like(derived: Any, stated: Any) -> bool:
    """Whether a stated value has the same kind as the derived measurement in its place."""
    if _is_number(derived):
        return _is_number(stated)
    return _is_word(stated) and _is_word(derived)


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value < 1e18


def _is_word(value: Any) -> bool:
    return value is None or (isinstance(value, str) and _TEXT.fullmatch(value) is not None)


def is_measurement(value: Any) -> bool:
    """Whether a value consists of numbers and short words."""
    if isinstance(value, Mapping):
        return all(_is_word(name) and is_measurement(each) for name, each in value.items())
    if isinstance(value, list):
        return all(map(is_measurement, value))
    return isinstance(value, bool) or _is_number(value) or _is_word(value)


def is_plain(value: Any) -> bool:
    """Whether a value consists of numbers (also negative), booleans and short words."""
    if isinstance(value, Mapping):
        return all(_is_word(name) and is_plain(each) for name, each in value.items())
    if isinstance(value, list):
        return all(map(is_plain, value))
    return isinstance(value, bool) or (isinstance(value, int | float) and abs(value) < 1e18) or _is_word(value)


def differences(stated: Any, derived: Any, path: str = "") -> Iterator[tuple[str, Any, Any]]:
    """Yield where two documents differ: the place, the stated value and the derived one."""
    if isinstance(stated, Mapping) and isinstance(derived, Mapping):
        for key in dict.fromkeys([*stated, *derived]):
            place = f"{path}.{key}" if path else str(key)
            yield from differences(stated.get(key, ABSENT), derived.get(key, ABSENT), place)
    elif isinstance(stated, list) and isinstance(derived, list) and len(stated) == len(derived):
        for number, (one, other) in enumerate(zip(stated, derived, strict=True)):
            yield from differences(one, other, f"{path}[{_named(other) or number}]")
    elif type(stated) is not type(derived) or stated != derived:
        yield path or "the document", stated, derived


class _Absent:
    def __repr__(self) -> str:
        return "not there"


ABSENT = _Absent()


def _named(value: Any) -> str | None:
    if not isinstance(value, Mapping):
        return None
    return next((str(value[name]) for name in ("id", "name", "property", "goal") if isinstance(value.get(name), str)), None)
