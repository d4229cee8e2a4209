"""The atlas as a table: one row per decided question, as Parquet in the package, with the index by which it is looked up.

Columns: `id` (the number after `nl-`), `model`, `question` (JSON: what departs from the model's defaults), `property`,
`verdict`, `steps` (of the shortest counterexample).  The file's metadata has the digests of the models whose meaning it speaks
about; an identifier contains such a digest, so a row of another meaning is never found.
"""

from __future__ import annotations

import builtins
import json
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from neverlost.checker.engine.digest import model_digest
from neverlost.checker.engine.outcome import EngineError, Verdict
from neverlost.checker.questions.atlas import index
from neverlost.checker.questions.atlas.lookup import read_afresh
from neverlost.model.kernel import Configuration
from neverlost.model.plain import restored
from neverlost.model.protocols import models
from neverlost.specs.configuration.keys import configuration

FILE = "atlas.parquet"


@dataclass(frozen=True, order=True)
class AnswerRow:
    """A question's answer; `steps` is None without a counterexample."""

    model: str
    question: str
    property: str
    id: str
    verdict: str
    steps: int | None

    @builtins.property
    def asked(self) -> Configuration:
        """Return the complete configuration of the question."""
        return {**_defaults(self.model), **restored(json.loads(self.question))}


def best(rows: Iterable[AnswerRow]) -> list[AnswerRow]:
    """Return one row for each question: a decided one, with steps if any has them. Errors: `EngineError` if two disagree."""
    found: dict[str, AnswerRow] = {}
    for row in rows:
        known = found.setdefault(row.id, row)
        if Verdict.INCONCLUSIVE not in (known.verdict, row.verdict) and known.verdict != row.verdict:
            raise EngineError(f"{row.property} is {known.verdict} and {row.verdict}: {row.question}")
        if (row.verdict != Verdict.INCONCLUSIVE, row.steps is not None) > (
            known.verdict != Verdict.INCONCLUSIVE,
            known.steps is not None,
        ):
            found[row.id] = row
    return list(found.values())


def read(path: Path) -> list[AnswerRow]:
    from pyarrow.parquet import ParquetFile

    return [AnswerRow(**each | {"id": f"nl-{each['id']:016x}"}) for each in ParquetFile(path).read().to_pylist()]


def write(rows: Iterable[AnswerRow], path: Path) -> None:
    """Write a table, and the index beside it; the same rows are the same bytes."""
    import numpy as np
    import pyarrow as pa
    import pyarrow.parquet as parquet

    every = sorted(set(rows))
    digests = {name: model_digest(models()[name]) for name in sorted({each.model for each in every})}
    table = pa.table(
        {
            "id": pa.array(np.array([index.number_of(each.id) for each in every], np.uint64)),
            **{name: pa.array([getattr(each, name) for each in every], pa.string()) for name in TEXTS},
            "steps": pa.array([each.steps for each in every], pa.uint8()),
        }
    ).replace_schema_metadata({"digests": json.dumps(digests, sort_keys=True)})
    temporary = path.with_name(f".{path.name}.new")
    parquet.write_table(table, temporary, compression="zstd", compression_level=19, use_dictionary=list(TEXTS))
    temporary.replace(path)
    index.write(
        [(each.id, each.verdict, each.steps) for each in every],
        {"digests": digests, "reads": _reads(every)},
        path.with_suffix(Path(index.FILE).suffix),
    )


TEXTS = ("model", "question", "property", "verdict")


def _reads(rows: Iterable[AnswerRow]) -> dict[str, frozenset[str]]:
    """Return the frozen fields that matter at each size that the rows are about."""
    asked = {(each.model, each.question): each for each in rows}.values()
    sizes = {(each.model, models()[each.model].sizes(each.asked)): each for each in asked}
    return {
        index.size_key(models()[name], size): read_afresh(models()[name], each.asked) for (name, size), each in sizes.items()
    }


@cache
def _defaults(name: str) -> Configuration:
    return configuration(models()[name], {})
