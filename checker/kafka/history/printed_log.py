"""Reads partition changes from Kafka's logs: server.log, state-change.log and controller.log, and kafka-metadata-shell.

Each line states some of a partition's fields as of one partition epoch; lines of several brokers about one epoch are put
together.  A broker prints a change after the controller made it, at most as late as the line: a change may have happened at
any time since the one before it.  Lines are in local time; so are ours.

Source: Partition.scala (makeLeader, makeFollower, maybeShrinkIsr, handleAlterPartitionUpdate), PartitionRegistration.toString,
ReplicationControlManager.replay; printed by Kafka 3.9 and 4.3.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from datetime import datetime
from pathlib import Path
from typing import Any

from neverlost.checker.kafka.history.history import HistoryObservation
from neverlost.specs.configuration.input import read_text
from neverlost.specs.errors import InputError

TIME = re.compile(r"^\[?(\d{4}-\d\d-\d\d[ T]\d\d:\d\d:\d\d)[,.](\d{3})")
REGISTRATION = re.compile(
    r"(?:PartitionRegistration|LeaderAndIsrPartitionState)\((.{1,4000}?leaderRecoveryState=\w+.{0,200}?)\)"
)
FIELD = re.compile(r"(\w+)=(\[[\d, ]{0,400}\]|-?\d{1,10}\b)")
LEADER = re.compile(
    r"\[Broker id=(\d{1,9})\] Leader .*? starts at leader epoch (\d{1,9}) from offset \d+ with partition epoch (\d{1,9}), "
    r"high watermark \d+, ISR \[([\d,]{0,400})\], adding replicas \[([\d,]{0,400})\] and removing replicas \[([\d,]{0,400})\]"
)
FOLLOWER = re.compile(
    r" Follower .*? starts at leader epoch (\d{1,9}) from offset \d+ with partition epoch (\d{1,9}) "
    r".*?Current leader is (-?\d{1,9})\."
)
UPDATED = re.compile(r"broker=(\d{1,9})\] ISR updated to ([\d,]{0,400})\s.*?version updated to (\d{1,9})")
NAMES = {
    "replicas": "replicas",
    "isr": "isr",
    "removingReplicas": "removing",
    "addingReplicas": "adding",
    "elr": "elr",
    "lastKnownElr": "last_known_elr",
    "leader": "leader",
    "leaderEpoch": "leader_epoch",
    "partitionEpoch": "partition_epoch",
}
Facts = dict[str, Any]


def parse_facts(line: str) -> Facts | None:
    """Return what a line states about its partition, with the partition epoch; None if it states nothing."""
    if found := REGISTRATION.search(line):
        facts = {NAMES[name]: _parse_value(text) for name, text in FIELD.findall(found[1]) if name in NAMES}
        return facts if "partition_epoch" in facts else None
    if found := LEADER.search(line):
        leader, epoch, partition_epoch, isr, adding, removing = found.groups()
        lists = {"isr": _parse_ids(isr), "adding": _parse_ids(adding), "removing": _parse_ids(removing)}
        return {"leader": int(leader), "leader_epoch": int(epoch), "partition_epoch": int(partition_epoch), **lists}
    if found := FOLLOWER.search(line):
        return {"leader_epoch": int(found[1]), "partition_epoch": int(found[2]), "leader": int(found[3])}
    if found := UPDATED.search(line):
        return {"leader": int(found[1]), "isr": _parse_ids(found[2]), "partition_epoch": int(found[3])}
    return None


def _parse_value(text: str) -> Any:
    return _parse_ids(text.strip("[]")) if text.startswith("[") else int(text)


def _parse_ids(text: str) -> list[int]:
    return [int(each) for each in text.replace(",", " ").split()]


def parse_lines(path: Path | str, topic: str, number: int) -> Iterator[tuple[float, Facts, str]]:
    """Yield time, facts and place of each line of a file that states something about a partition."""
    name = re.compile(rf"(?<![\w.-]){re.escape(topic)}-{number}(?![\w.-])")
    modified = Path(path).stat().st_mtime if Path(path).exists() else 0.0
    for position, line in enumerate(read_text(path).splitlines(), 1):
        stamp = TIME.match(line)
        is_bare = line.startswith("PartitionRegistration(")
        if is_bare or (stamp is not None and name.search(line)):
            facts = parse_facts(line)
            if facts is not None:
                place = f"{path}:{position}"
                yield _parse_time(stamp, place) if stamp is not None else modified, facts, place


def _parse_time(stamp: re.Match[str], place: str) -> float:
    try:
        return datetime.fromisoformat(stamp[1]).timestamp() + int(stamp[2]) / 1000
    except (ValueError, OverflowError, OSError):
        raise InputError(f"{place}: bad time {stamp[0]!r}; use the lines as Kafka prints them") from None


def make_observations(paths: Iterable[Path | str], topic: str, number: int) -> tuple[list[HistoryObservation], bool]:
    """Return the partition's changes in order, and whether every one of them is there.  Errors: `InputError` where the files
    state nothing about the partition, or contradict each other."""
    by_epoch: dict[int, Facts] = {}
    first: dict[int, tuple[float, str]] = {}
    for at, facts, place in sorted(
        (each for path in paths for each in parse_lines(path, topic, number)), key=lambda each: each[0]
    ):
        epoch = facts["partition_epoch"]
        known = by_epoch.setdefault(epoch, {})
        for name, value in facts.items():
            if name in known and _ignore_order(known[name]) != _ignore_order(value):
                raise InputError(
                    f"{place}: {name} {value} at partition epoch {epoch}, but {first[epoch][1]} says {known[name]}: "
                    "these are not files of one cluster"
                )
            known[name] = value
        first.setdefault(epoch, (at, place))
    if not by_epoch:
        raise InputError(
            f"nothing in these files is about partition {topic}-{number}; give server.log, state-change.log or controller.log"
        )
    return _fill_missing_fields(by_epoch, first)


def _ignore_order(value: Any) -> Any:
    return frozenset(value) if isinstance(value, list) else value


def _fill_missing_fields(
    by_epoch: dict[int, Facts], first: dict[int, tuple[float, str]]
) -> tuple[list[HistoryObservation], bool]:
    """Fill fields that a line leaves out from the line before, in the same leader epoch; drop changes without an ISR."""
    seen: list[HistoryObservation] = []
    epochs, before = sorted(by_epoch), Facts()
    is_whole, began = epochs == list(range(epochs[0], epochs[-1] + 1)), first[epochs[0]][0]
    for epoch in epochs:
        facts = by_epoch[epoch]
        same = before if facts.get("leader_epoch", before.get("leader_epoch")) == before.get("leader_epoch") else {}
        lists = {name: before.get(name, []) for name in ("replicas", "adding", "removing", "elr", "last_known_elr")}
        facts = lists | {name: same[name] for name in ("leader", "leader_epoch") if name in same} | facts
        at, place = first[epoch]
        if not {"leader", "leader_epoch", "isr"} <= facts.keys():
            is_whole = False
            continue
        if not facts["replicas"]:
            facts["replicas"] = sorted({*facts["isr"], *facts["elr"], facts["leader"]} - {-1})
        seen.append(HistoryObservation("partition", min(began, at), max(began, at), "printed", facts, place))
        began, before = at, facts
    return seen, is_whole
