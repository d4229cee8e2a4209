"""Rows as an Arrow table."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pyarrow


def make_table(rows: Sequence[Mapping[str, Any]]) -> pyarrow.Table:
    """Return rows as an Arrow table; a value with parts, such as the number of faults by kind, is a column for each part."""
    import pyarrow

    flat = [dict(_flatten(row)) for row in rows]
    names = list(dict.fromkeys(name for row in flat for name in row))
    return pyarrow.table({name: _column([row.get(name) for row in flat]) for name in names})


def _flatten(row: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    for name, value in row.items():
        if isinstance(value, Mapping):
            yield from _flatten({f"{name}.{part}": each for part, each in value.items()})
        else:
            yield name, value


def _column(values: list[Any]) -> list[Any]:
    """Return values of one kind: lists as JSON, and all but None as texts if they are not of one type, such as 1 and `any`."""
    plain = [json.dumps(each, ensure_ascii=False) if isinstance(each, list | tuple) else each for each in values]
    kinds = {type(each) for each in plain if each is not None}
    return plain if len(kinds) < 2 else [None if each is None else str(each) for each in plain]
