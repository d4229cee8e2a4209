"""The fields of a bundle's documents that describe the machine and the run: the one list of what `verify` does not derive
again."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

NUMBER, SPARK = "number", "spark"
"""What a measured value is, where it is no text: a number that is not negative, or what Spark's jobs decided."""

_VERSION = r"[0-9][0-9A-Za-z.+!]{0,40}"

MEASURED: dict[str, dict[str, str]] = {
    "result.json": {
        "seconds": NUMBER,
        "peak_memory_bytes": NUMBER,
        "spark.**": SPARK,
        "solver": rf"(z3|cvc5) {_VERSION}",
        "seed": NUMBER,
        "cells.*.seconds": NUMBER,
        "cells.*.peak_memory_bytes": NUMBER,
        "searches.*.seconds": NUMBER,
        "proofs.*.seconds.*": NUMBER,
    },
    "environment.json": {
        "python": _VERSION,
        "system": r"(Linux|Darwin|Windows|FreeBSD|OpenBSD|NetBSD|SunOS|AIX) [A-Za-z0-9_]{1,20}",
        "cores": NUMBER,
        "packages.*": rf"({_VERSION})?",
    },
}
"""Per file the places of measured values, and what each is: a text matches a pattern, the empty one stands for null; `*` is any
name or number, `**` everything below."""

SAYS = "times, memory, rates, what a cluster did and the machine are as measured there; nothing derives them"

_TEXT = re.compile(r"[ -~]{0,4000}")
_MASTER = re.compile(r"[a-z0-9]{1,20}(\[[0-9*,]{1,20}\])?(://[A-Za-z0-9.:,_-]{1,200})?")
MOST = {"cores": 1 << 16, "seed": 1 << 32}
"""The largest that a number can be, by the name of its field."""

Patterns = list[tuple[list[str], str]]
"""Places below one place, each with what it is."""


def measured_values(document: Mapping[str, Any]) -> list[tuple[str, list[Any]]]:
    """Return pairs of a place in `result.json`, as `MEASURED` has it, and the values that the result states there, if any."""
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
    """Return the derived document of file `name` with values of the stated one at the places in `MEASURED`, where they are of
    the kind named there."""
    patterns = [(place.split("."), kind) for place, kind in MEASURED.get(name, {}).items()]
    return _overlaid(derived, stated, patterns) if patterns else derived


def _overlaid(derived: Any, stated: Any, patterns: Patterns, name: str = "") -> Any:
    for pattern, kind in patterns:
        if pattern in ([], ["**"]):
            return stated if _is_measured(kind, stated, name) else derived
    if isinstance(derived, Mapping) and isinstance(stated, Mapping):
        optional = {head for (head, *rest), _ in patterns if rest == ["**"] and stated.get("engine") == head} & stated.keys()
        names = _in_place(list(derived), list(stated), optional)
        return {name: _overlaid(derived.get(name), stated.get(name), _below(patterns, name), name) for name in names}
    if isinstance(derived, list) and isinstance(stated, list) and len(derived) == len(stated):
        pairs = enumerate(zip(derived, stated, strict=True))
        return [_overlaid(one, other, _below(patterns, str(number)), name) for number, (one, other) in pairs]
    return derived


def _in_place(names: list[str], stated: list[str], optional: set[str]) -> list[str]:
    """Add to `names`, in place, the optional names of `stated` that it lacks, each behind its predecessor there; return it."""
    for place, name in enumerate(stated):
        if name in optional and name not in names:
            before = stated[place - 1] if place else None
            names.insert(names.index(before) + 1 if before in names else 0, name)
    return names


def _below(patterns: Patterns, name: str) -> Patterns:
    return [(rest, kind) for (head, *rest), kind in patterns if head in ("*", name)]


def _is_measured(kind: str, stated: Any, name: str) -> bool:
    if kind == SPARK:
        return _is_spark(stated)
    if kind == NUMBER:
        return stated is None or (_is_number(stated) and stated <= MOST.get(name, 1e18))
    return stated is None or (isinstance(stated, str) and re.fullmatch(kind, stated) is not None)


def _is_spark(stated: Any) -> bool:
    if not isinstance(stated, Mapping) or list(stated) != ["master", "jobs", "levels", "states_in_jobs"]:
        return False
    levels, numbers = stated["levels"], (stated["jobs"], stated["states_in_jobs"])
    is_master = isinstance(stated["master"], str) and _MASTER.fullmatch(stated["master"]) is not None
    return is_master and isinstance(levels, list) and all(map(_is_number, (*levels, *numbers)))


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value < 1e18


def _is_word(value: Any) -> bool:
    return value is None or (isinstance(value, str) and _TEXT.fullmatch(value) is not None)


def is_measurement(value: Any) -> bool:
    """Return True if a value consists of numbers that are not negative, booleans, short texts and None, in any nesting."""
    if isinstance(value, Mapping):
        return all(_is_word(name) and is_measurement(each) for name, each in value.items())
    if isinstance(value, list):
        return all(map(is_measurement, value))
    return isinstance(value, bool) or _is_number(value) or _is_word(value)


def is_plain(value: Any) -> bool:
    """Return True if a value consists of numbers (negative ones too), booleans, short texts and None, in any nesting."""
    if isinstance(value, Mapping):
        return all(_is_word(name) and is_plain(each) for name, each in value.items())
    if isinstance(value, list):
        return all(map(is_plain, value))
    return isinstance(value, bool) or (isinstance(value, int | float) and abs(value) < 1e18) or _is_word(value)


def differences(stated: Any, derived: Any, path: str = "") -> Iterator[tuple[str, Any, Any]]:
    """Yield the place, the stated and the derived value of each difference of two documents; `ABSENT` for what one lacks."""
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
