"""Paths of events on which some of Kafka's brokers lose a record, and where they lead on a version or a build."""

from __future__ import annotations

from typing import NamedTuple

from neverlost.checker.engine.host import processes
from neverlost.checker.kafka.conform.exploration.explored_group import Bounds, ExploredGroup
from neverlost.checker.kafka.conform.java import jvm, kafka
from neverlost.checker.kafka.conform.walk.broker_group import Log
from neverlost.checker.kafka.conform.walk.random_walk import Drawn
from neverlost.checker.kafka.conform.walk.replica_fetcher import MANY
from neverlost.checker.kafka.conform.walk.walks import Steps

LATE = Bounds(min_isr=2, moves=4, kills=0)
"""In which a late response truncates what a consumer has read (KAFKA-18991)."""

LATE_TRUNCATION: tuple[Drawn, ...] = (
    *(
        ("move leader", (2,)),
        ("metadata", (2,)),
        ("produce", (1,)),
        ("metadata", (1,)),
        ("send", (1, MANY)),
        ("answer", (1, 2)),
    ),
    *(
        ("move leader", (1,)),
        ("metadata", (1,)),
        ("metadata", (2,)),
        ("send", (2, MANY)),
        ("answer", (2, 1)),
        ("deliver", (2, 1)),
    ),
    *(("send", (2, MANY)), ("answer", (2, 1)), ("deliver", (2, 1)), ("send", (2, MANY)), ("answer", (2, 1))),
    *(
        ("move leader", (2,)),
        ("metadata", (2,)),
        ("metadata", (1,)),
        ("deliver", (1, 2)),
        ("move leader", (1,)),
        ("metadata", (1,)),
    ),
)
"""A path to it: what the leader of epoch 1 has answered comes in epoch 3, in which it leads again."""

LATE_RECORDS = Bounds(records=2, moves=1, kills=0, lags=2)
"""In which the late record of an ISR change makes a leader forget what it has asked for since (a late record)."""

LATE_RECORD: tuple[Drawn, ...] = (
    *(("produce", (1,)), ("lag", (1,)), ("alter", (1, 0)), ("alter answered", (1, 0))),
    *(("send", (2, MANY)), ("answer", (2, 1)), ("deliver", (2, 1)), ("send", (2, MANY)), ("answer", (2, 1))),
    *(("metadata", (1,)), ("alter", (1, 0)), ("lag", (1,)), ("produce", (1,)), ("move leader", (2,)), ("metadata", (2,))),
)
"""A path to it."""


class WalkedPath(NamedTuple):
    """Where a path leads: the property that it breaks, the logs, the records that could be read and were acknowledged, and its
    events with what is seen after each."""

    broken: str | None
    logs: list[Log]
    committed: frozenset[int]
    acked: frozenset[int]
    steps: Steps


def _walk(send: processes.Send, where: str, is_folder: bool, bounds: Bounds, path: tuple[Drawn, ...]) -> WalkedPath:
    """In a process with a Java of its own."""
    found = kafka.kafka_of_folder(where) if is_folder else kafka.kafka_of_version(where, trust=where in ("3.9.0", "3.9.1"))
    jvm.start(found.jars, found.java)
    group = ExploredGroup(bounds)
    state = group.retrace(path)
    logs = [group.processes[each].log for each in state.processes]
    steps = group.walk(path)
    group.close()
    return WalkedPath(group.broken(state), logs, state.committed, state.acked, steps)


def walk_path(where: str, bounds: Bounds, path: tuple[Drawn, ...], is_folder: bool = False) -> WalkedPath:
    """Walk a path on a Kafka version, or on the jars of a folder."""
    *_, last = processes.run(_walk, [(where, is_folder, bounds, path)], 1)
    assert last.kind == "result", last.value
    found: WalkedPath = last.value
    return found
