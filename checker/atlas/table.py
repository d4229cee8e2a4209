"""The atlas as a table: one row per decided question, as Parquet in the package.

Columns: `id` (the number after `nl-`), `model`, `question` (JSON: what departs from the model's defaults), `property`,
`verdict`, `steps` (of the shortest counterexample).  The file's metadata has the digests of the models whose meaning it speaks
about; an identifier contains such a digest, so a row of another meaning is never found.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache, cached_property
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np

from neverlost.checker.digest import model_digest
from neverlost.checker.outcome import Verdict
from neverlost.model.catalogue import models

FILE = "atlas.parquet"


@dataclass(frozen=True, order=True)
class Row:
    """A question's answer; `steps` is None without a counterexample."""

    model: str
    question: str
    property: str
    id: str
    verdict: str
    steps: int | None


class Atlas:
    """A table of answers, looked up by identifier."""

    def __init__(self, table: Any, digests: Mapping[str, str]) -> None:
        self._table, self.digests = table, digests

    def __len__(self) -> int:
        return int(self._table.num_rows)

    @cached_property
    def _places(self) -> dict[int, int]:
        return {number: place for place, number in enumerate(self._table.column("id").to_pylist())}

    @cached_property
    def _answers(self) -> tuple[list[str], list[int | None]]:
        return self._table.column("verdict").to_pylist(), self._table.column("steps").to_pylist()

    def find(self, question_id: str) -> tuple[Verdict, int | None] | None:
        """The verdict and the steps of the shortest counterexample, if there is one; None for what is not in the table."""
        place = self._places.get(number_of(question_id))
        if place is None:
            return None
        verdicts, steps = self._answers
        return Verdict(verdicts[place]), steps[place]

    def rows(self) -> list[Row]:
        """Every row."""
        return [
            Row(**{name: value for name, value in each.items() if name != "id"}, id=f"nl-{each['id']:016x}")
            for each in self._table.to_pylist()
        ]

    @property
    def is_of_these_models(self) -> bool:
        """Whether it speaks about the models as they are now."""
        return all(name in models() and model_digest(models()[name]) == digest for name, digest in self.digests.items())


def number_of(question_id: str) -> int:
    """`nl-` and 16 hexadecimal digits as a number."""
    return int(question_id.removeprefix("nl-"), 16)


@cache
def shipped() -> Atlas | None:
    """The atlas in the package, if there is one."""
    place = files(__package__) / FILE
    return read(Path(str(place)), ["id", "verdict", "steps"]) if place.is_file() else None


def read(path: Path, columns: list[str] | None = None) -> Atlas:
    """An atlas from its file."""
    import pyarrow.parquet as parquet

    table = parquet.read_table(path, columns=columns)
    return Atlas(table, json.loads((table.schema.metadata or {}).get(b"digests", b"{}")))


def write(rows: Iterable[Row], path: Path) -> None:
    """Write a table; the same rows are the same bytes."""
    import pyarrow as pa
    import pyarrow.parquet as parquet

    every = sorted(set(rows))
    digests = {name: model_digest(models()[name]) for name in sorted({each.model for each in every})}
    table = pa.table(
        {
            "id": pa.array(np.array([number_of(each.id) for each in every], np.uint64)),
            **{name: pa.array([getattr(each, name) for each in every], pa.string()) for name in TEXTS},
            "steps": pa.array([each.steps for each in every], pa.uint8()),
        }
    ).replace_schema_metadata({"digests": json.dumps(digests, sort_keys=True)})
    temporary = path.with_name(f".{path.name}.new")
    parquet.write_table(table, temporary, compression="zstd", compression_level=19, use_dictionary=list(TEXTS))
    temporary.replace(path)


TEXTS = ("model", "question", "property", "verdict")
