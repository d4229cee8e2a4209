"""Searches of Kafka's own brokers in which one fix is there or not: `python -m tests.tools.swaps [NAME]...` prints a row each.

What is expected was committed before the first run.  A search begins after an opening, if it has one: a path of events that
it would not reach.  "Not found" says that the space is closed, or how far it went.
"""

from __future__ import annotations

import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

from neverlost.checker.engine.host import processes
from neverlost.checker.kafka.conform.exploration.explore_classes import ClassesSearch, ExplorationLimits, ExplorationResult
from neverlost.checker.kafka.conform.exploration.explored_group import Bounds
from neverlost.checker.kafka.conform.java import jvm, kafka
from neverlost.checker.kafka.conform.walk.random_walk import OPENINGS, Drawn, fetched
from tests.support.changed_jars import (
    KNOWN_RECORD,
    LATE_RESPONSE,
    NEWER_BYTES,
    OLD_INCARNATION,
    ChangedMethod,
    lengthened,
)
from tests.support.explored_paths import LATE, LATE_RECORDS

BYTES = Bounds(brokers=3, min_isr=2, records=4, moves=1, kills=0)
NEWER = OPENINGS["late bytes of a newer epoch"][:-1]
"""Up to before the bytes are delivered."""

RETURNED = Bounds(brokers=3, min_isr=2, records=1, moves=1, kills=0, power_losses=1, lags=1)
RETURNING: tuple[Drawn, ...] = (
    *(("produce", (1,)), *fetched(2, 1, times=2), ("lag", (1,)), ("alter", (1, 0)), ("alter answered", (1, 0))),
    *fetched(3, 1, times=2)[:-1],
)
"""Broker 3 was dropped from the ISR, has caught up, and is asked for; the request is on its way."""


@dataclass(frozen=True)
class Swap:
    """A search, and what is expected of it: whether it finds a broken property."""

    version: str
    bounds: Bounds
    finds: bool
    without: ChangedMethod | None = None
    opening: tuple[Drawn, ...] = ()


SWAPS = {
    "18991 before": Swap("3.9.0", LATE, True),
    "18991 after": Swap("3.9.1", LATE, False),
    "18991 taken out": Swap("3.9.1", LATE, True, LATE_RESPONSE),
    "18991 with 18723 taken out": Swap("3.9.1", LATE, False, NEWER_BYTES),
    "18723 before": Swap("3.9.0", BYTES, True, None, NEWER),
    "18723 after": Swap("3.9.1", BYTES, False, None, NEWER),
    "18723 taken out": Swap("3.9.1", BYTES, True, NEWER_BYTES, NEWER),
    "18723 with 18991 taken out": Swap("3.9.1", BYTES, False, LATE_RESPONSE, NEWER),
    "14139 after": Swap("4.3", RETURNED, False, None, RETURNING),
    "14139 taken out": Swap("4.3", RETURNED, True, OLD_INCARNATION, RETURNING),
    "late record before": Swap("4.3", LATE_RECORDS, True),
    "late record with a stand-in": Swap("4.3", LATE_RECORDS, False, KNOWN_RECORD),
}
"""KAFKA-18991 and 18723 were both fixed in 3.9.1; 14139 in 3.5, older than what is searched; the last is not fixed."""


def _search(send: processes.Send, swap: Swap, folder: str | None, limits: ExplorationLimits) -> ExplorationResult:
    """In a process with a Java of its own."""
    trust = swap.version in ("3.9.0", "3.9.1")
    found = kafka.kafka_of_version(swap.version, trust) if folder is None else kafka.kafka_of_folder(folder)
    jvm.start(found.jars, found.java)
    search = ClassesSearch(found, swap.bounds, limits)
    for number, event in enumerate(swap.opening):
        assert event in search.group.events(search.states[number]) and search._reach(number, event), event
    search.expanded = len(swap.opening)
    search.run(lambda now: None)
    search.count()
    search.close()
    return search.found


def searched(swap: Swap, limits: ExplorationLimits) -> ExplorationResult:
    """What the search of a swap finds within limits."""
    with tempfile.TemporaryDirectory() as folder:
        jars = None if swap.without is None else str(lengthened(Path(folder) / "jars", swap.without, swap.version))
        *_, last = processes.run(_search, [(swap, jars, limits)], 1)
        assert last.kind == "result", last.value
        found: ExplorationResult = last.value
        return found


def row(name: str, found: ExplorationResult) -> str:
    """What a search came to, as a line of a table."""
    came = f"`{found.broken}` in {len(found.trace)} events" if found.trace else "nothing lost"
    left = "" if found.trace or not found.left else f", {found.left:,} not expanded, {found.depth} events deep"
    says = "; ".join(found.explanation[:1])
    return f"| {name} | {came}{left} | {found.states:,}, {found.transitions:,} | {found.seconds:,.0f} | {says} |"


if __name__ == "__main__":
    asked = sys.argv[1:] or list(SWAPS)
    for each in asked:
        result = searched(SWAPS[each], ExplorationLimits(seconds=600))
        wrong = " **not as expected**" if (result.trace is not None) != SWAPS[each].finds else ""
        print(row(each, result) + wrong, *map(str, (result.trace or ())[len(SWAPS[each].opening) :]), flush=True)
