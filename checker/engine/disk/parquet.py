"""The reachable states as a table: Parquet with one column per element of the state, and a dictionary of the columns.

    states/level-0007-000.parquet   the states that are 7 steps from an initial one
    dictionary.json                 what each column means and which values it can have
    configurations.json             the configuration of each value of the column `configuration`

Any engine's stored levels will do.  Columns have flat names (`log_record_0_1` is offset 1 of replica 0), so that a query reads
the same in every SQL.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from neverlost.checker.engine.search.configurations import Configurations
from neverlost.checker.engine.storage.levels import Level, Store
from neverlost.model.interpreters.columns import Batch, Packed
from neverlost.model.plain import plain
from neverlost.model.system import Slot, System
from neverlost.specs.errors import InputError

ROWS = 1 << 17
"""Rows decoded at a time; a row group."""
FORMAT = "neverlost.states/1"


def export(system: System, store: Store, directory: str | Path) -> int:
    """Write the states of every committed level, the dictionary and the configurations; return how many states there were.

    Errors: `InputError` when the directory has something in it already, or cannot be written.
    """
    target = require_empty_directory(directory)
    try:
        (target / "states").mkdir()
        written = sum(_write_level(system, store, target, level) for level in store.levels() if level.rows)
        _write_json(target / "configurations.json", [plain(each) for each in system.configurations])
        _write_json(
            target / "dictionary.json", describe_columns(system, bool(store.meta.get("symmetry"))) | {"states": written}
        )
    except OSError as problem:
        raise InputError(f"cannot export to {str(target)!r}: {problem.strerror or problem}; choose another directory") from None
    return written


def require_empty_directory(directory: str | Path) -> Path:
    """Return a directory for an export, made if it is missing.

    Errors: `InputError` when it has something in it already, or cannot be made.
    """
    target = Path(directory)
    try:
        target.mkdir(parents=True, exist_ok=True)
        if any(target.iterdir()):
            raise InputError(f"export directory {str(target)!r} is not empty; choose another")
    except OSError as problem:
        raise InputError(f"cannot export to {str(target)!r}: {problem.strerror or problem}; choose another directory") from None
    return target


def name_column(slot: Slot) -> str:
    """Return the flat name of an element: the field and its indices, joined with `_`."""
    return "_".join([slot.field.name, *map(str, slot.index)])


def describe_columns(system: System, symmetry: bool = False) -> dict[str, Any]:
    """Return the table's dictionary: the model, its sizes, and what each column means, in order."""
    own = [
        {"column": "depth", "type": "int16", "means": "steps from the nearest initial state"},
        {"column": "configuration", "type": "int16", "means": "which entry of configurations.json the state belongs to"},
    ]
    elements = [
        {
            "column": name_column(slot),
            "type": "bool" if slot.field.kind == "flag" else "int8",
            "field": slot.field.name,
            "kind": slot.field.kind,
            "axes": list(slot.field.axes),
            "index": list(slot.index),
            "low": slot.low,
            "high": slot.high,
            "is_configuration": slot.field.frozen,
            "means": _describe_slot(slot),
        }
        for slot in system.slots
    ]
    return {
        "format": FORMAT,
        "model": system.model.name,
        "row": "an orbit of states that differ by names of replicas only" if symmetry else "a reachable state",
        "sizes": dict(system.sizes),
        "columns": own + elements,
    }


def _describe_slot(slot: Slot) -> str:
    """Return what an element means, in words: its field, whose it is, and which values it has."""
    name = slot.field.name.replace("_", " ")
    where = [f"{axis} {index}" for axis, index in zip(slot.field.axes, slot.index, strict=True)]
    of = f" of {', '.join(where)}" if where else ""
    kinds = {"flag": "true or false", "replica": "a replica's number, or -1 for none", "number": f"{slot.low} to {slot.high}"}
    return f"{name}{of}: {kinds[slot.field.kind]}"


def _write_json(path: Path, content: Any) -> None:
    temporary = path.with_name(f".{path.name}")
    temporary.write_text(json.dumps(content, indent=1) + "\n")
    temporary.replace(path)


def _write_level(system: System, store: Store, target: Path, level: Level) -> int:
    import pyarrow.parquet as pq

    configurations = Configurations(system)
    rows = 0
    for number, states in enumerate(map(store.read_packed, level.files)):
        path = target / "states" / f"level-{level.depth:04d}-{number:03d}.parquet"
        temporary = path.with_name(f".{path.name}")
        writer = None
        for batch in _cut_batches(states):
            table = _make_table(system, configurations, batch, level.depth)
            writer = writer or pq.ParquetWriter(temporary, table.schema, compression="zstd")
            writer.write_table(table)
            rows += batch.shape[1]
        if writer is not None:
            writer.close()
            os.replace(temporary, path)
    return rows


def _cut_batches(states: Packed) -> Iterator[Packed]:
    for start in range(0, states.shape[1], ROWS):
        yield np.ascontiguousarray(states[:, start : start + ROWS])


def _make_table(system: System, configurations: Configurations, states: Packed, depth: int) -> Any:
    import pyarrow as pa

    length = states.shape[1]
    columns = {"depth": np.full(length, depth, np.int16), "configuration": configurations.of(states).astype(np.int16)}
    batch = Batch(system, states)
    for number, slot in enumerate(system.slots):
        dtype = np.bool_ if slot.field.kind == "flag" else np.int8
        columns[name_column(slot)] = np.broadcast_to(np.asarray(batch.column(number), dtype), (length,))
    return pa.table(columns)
