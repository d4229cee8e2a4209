"""Building the atlas: units of work that are decided here or by Spark, each kept in a file of its own, and then one table.

A build that was stopped goes on where it was: a unit whose file is there is not decided again.  The table depends on the rows
alone, so the same questions give the same bytes wherever and however often they were decided.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from neverlost.checker.atlas import table
from neverlost.checker.atlas.unit import CUT_SHORT, Unit, decide, rows_of
from neverlost.checker.machine.processes import Send, run
from neverlost.checker.machine.whole_files import clear_unfinished, write_text
from neverlost.checker.spark import session as spark_session

Report = Callable[[int, int], None]
"""Called with how many units are decided, and how many there are."""


@dataclass(frozen=True)
class Build:
    """What was built: a row for each decided question, and why units have none."""

    rows: tuple[table.Row, ...]
    failures: tuple[str, ...]


def build(
    units: Sequence[Unit],
    place: Path,
    workers: int = 1,
    master: str | None = None,
    conf: Sequence[tuple[str, str]] = (),
    report: Report | None = None,
) -> Build:
    """Decide what has no file in a directory yet, and return all rows."""
    clear_unfinished(place)
    left = [each for each in units if not _file(place, each).is_file()]
    done = len(units) - len(left)
    failures = []
    decided = on_spark(left, master, dict(conf)) if master else in_processes(left, workers)
    for unit, text, failure in decided:
        if failure is None and text == CUT_SHORT:
            failure = "memory or disk ended the search"
        if failure is None:
            write_text(_file(place, unit), text)
            done += 1
        else:
            failures.append(f"{unit.name}: {failure}")
        if report is not None:
            report(done, len(units))
    files = [_file(place, each) for each in units]
    rows = [row for each in files if each.is_file() for row in rows_of(each.read_text())]
    return Build(tuple(sorted(table.best(rows))), tuple(failures))


def _file(place: Path, unit: Unit) -> Path:
    return place / f"{unit.name}.json"


Decided = Iterator[tuple[Unit, str, str | None]]
"""Units with their rows as JSON, or with why there are none."""


def in_processes(units: Sequence[Unit], workers: int) -> Decided:
    """Each unit in a process of its own."""
    for message in run(_work, [(each.text,) for each in units], workers):
        is_decided = message.kind == "result"
        yield units[message.job], message.value if is_decided else "", None if is_decided else str(message.value)


def _work(send: Send, text: str) -> str:
    return decide(text)


def on_spark(units: Sequence[Unit], master: str, conf: dict[str, str]) -> Decided:
    """Each unit as a row of a Spark job, a few jobs after each other so that a stopped build keeps what it has."""
    if not units:
        return
    spark_session.check_requirements(master)
    is_ours = not spark_session.is_running()
    session = spark_session.start(master, conf, "neverlost atlas")
    try:
        for start in range(0, len(units), AT_A_TIME):
            chosen = units[start : start + AT_A_TIME]
            rows = [(number, each.text) for number, each in enumerate(chosen)]
            with spark_session.asked("the atlas", "units that are decided are kept"):
                frame = session.createDataFrame(rows, "number int, text string").repartition(len(chosen))
                found = frame.mapInArrow(_decided, "number int, text string").collect()
            for number, text in found:
                yield chosen[number], text, None
    finally:
        if is_ours:
            spark_session.stop(session)


AT_A_TIME = 16
"""Units of one Spark job."""


def _decided(batches: Iterator[Any]) -> Iterator[Any]:
    import pyarrow as pa

    for batch in batches:
        numbers, texts = batch.column("number").to_pylist(), batch.column("text").to_pylist()
        found = [decide(each) for each in texts]
        yield pa.RecordBatch.from_arrays([pa.array(numbers, pa.int32()), pa.array(found, pa.string())], ["number", "text"])
