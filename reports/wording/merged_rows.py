"""Merges many rows of settings into few: rows that say the same and differ in one key only become one row."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from itertools import pairwise
from typing import Any

from neverlost.specs.configuration.keys import shown

Row = Mapping[str, Any]
Values = tuple[Any, ...]


def value_text(value: Any) -> str:
    """Return a value as TOML and the command line write it; `-` for None."""
    if value is None:
        return "-"
    return str(value).lower() if isinstance(value, bool) else str(shown(value))


def where_violated(rule: Mapping[str, Any]) -> str:
    """Return in which cells the rule of a document says that a property is violated, as the end of a sentence."""
    known = {"always": "in every cell", "never": "in no cell"}
    return known.get(rule["violated_iff"], f"exactly when {rule['violated_iff']}")


def pluralize(count: int, noun: str) -> str:
    """Return a number with a noun, such as `2 brokers`."""
    return f"{count} {noun}{'' if count == 1 else 's'}"


def name_some(names: Sequence[str], most: int = 3) -> str:
    """Return the first names, with the number of the others where there are more."""
    left = len(names) - most
    return ", ".join(names[:most]) + (f" and {left} more" if left > 0 else "")


def faults_text(faults: Mapping[str, int]) -> str:
    return ", ".join(f"{name} {count}" for name, count in faults.items()) or "no faults"


def settings_text(row: Row) -> str:
    """Return keys with values in one line, without those whose value is None."""
    return " ".join(f"{key}={value_text(value)}" for key, value in row.items() if value is not None)


def values_of(rows: Iterable[Row]) -> dict[str, Values]:
    """Return by key its values in these rows, each once; None where a row lacks the key."""
    rows = list(rows)
    return {key: _distinct(row.get(key) for row in rows) for key in dict.fromkeys(key for row in rows for key in row)}


def merge_rows(rows: Sequence[tuple[Row, Hashable]], every: Mapping[str, Values]) -> list[tuple[str, Any]]:
    """Return pairs of settings as text and what is said: rows that say the same are merged, key by key, and a key that has all
    its values in `every` is left out."""
    keys = list(dict.fromkeys(key for row, _ in rows for key in row))
    known = [(tuple((row.get(key),) for key in keys), said) for row, said in rows]
    count = len(known) + 1
    while len(known) < count:
        count = len(known)
        for place in reversed(range(len(keys))):
            known = _merge_column(known, place)
    found = []
    for values, said in known:
        limited = [
            (key, each) for key, each in zip(keys, values, strict=True) if len(each) < len(every[key]) and each != (None,)
        ]
        found.append((" ".join(f"{key}={_several(each)}" for key, each in limited) or "any setting", said))
    return found


def _merge_column(
    known: Iterable[tuple[tuple[Values, ...], Hashable]], place: int
) -> list[tuple[tuple[Values, ...], Hashable]]:
    groups: dict[Any, list[Any]] = {}
    for values, said in known:
        groups.setdefault((values[:place], values[place + 1 :], said), []).extend(values[place])
    return [((*before, _distinct(found), *after), said) for (before, after, said), found in groups.items()]


def _distinct(values: Iterable[Any]) -> Values:
    """Return each value once, numbers in order.  Values of different types differ: Python takes 1 for True."""
    found = list({(type(each), each): each for each in values}.values())
    return tuple(sorted(found)) if all(type(each) is int for each in found) else tuple(found)


def _several(values: Values) -> str:
    """Return values as a matrix writes them: a range if there are three or more without a gap."""
    if len(values) > 2 and all(type(each) is int for each in values) and all(b - a == 1 for a, b in pairwise(values)):
        return f"{values[0]}..{values[-1]}"
    return ",".join(value_text(each) for each in values)
