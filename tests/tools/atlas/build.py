"""Building the atlas: units of work that are decided in processes, each kept in a file of its own, and then one table.

A build that was stopped goes on where it was: a unit whose file is there is not decided again.  The table depends on the rows
alone, so the same questions give the same bytes wherever and however often they were decided.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from neverlost.checker.engine.host import processes
from neverlost.checker.engine.host.whole_files import clear_unfinished, write_text
from tests.tools.atlas import table
from tests.tools.atlas.build_task import CUT_SHORT, Unit, decide, rows_of

Report = Callable[[int, int], None]
"""Called with how many units are decided, and how many there are."""


@dataclass(frozen=True)
class Build:
    """What was built: a row for each decided question, and why units have none."""

    rows: tuple[table.AnswerRow, ...]
    failures: tuple[str, ...]


def build(
    units: Sequence[Unit],
    place: Path,
    workers: int = 1,
    report: Report | None = None,
) -> Build:
    """Decide what has no file in a directory yet, and return all rows."""
    clear_unfinished(place)
    left = [each for each in units if not _file(place, each).is_file()]
    done = len(units) - len(left)
    failures = []
    jobs = [(each.text,) for each in left]
    for message in processes.run(_work, jobs, workers):
        unit = left[message.job]
        if message.kind == "result" and message.value != CUT_SHORT:
            write_text(_file(place, unit), message.value)
            done += 1
        else:
            why = "memory or disk ended the search" if message.value == CUT_SHORT else message.value
            failures.append(f"{unit.name}: {why}")
        if report is not None:
            report(done, len(units))
    files = [_file(place, each) for each in units]
    rows = [row for each in files if each.is_file() for row in rows_of(each.read_text())]
    return Build(tuple(sorted(table.best(rows))), tuple(failures))


def _file(place: Path, unit: Unit) -> Path:
    return place / f"{unit.name}.json"


def _work(send: processes.Send, text: str) -> str:
    return decide(text)
