"""The controller's metadata log, read from disk record by record.  Records about brokers, topics, partitions and
configurations are decoded; others are skipped.  Source: metadata/src/main/resources/common/metadata/*.json of Apache Kafka 3.3
to 4.x."""

from __future__ import annotations

import struct
import uuid
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from neverlost.checker.kafka.cluster.batches import decode_unsigned_varint, parse_batches

NO_CHANGE = -2
LOG = Path("__cluster_metadata-0", "00000000000000000000.log")


@dataclass(frozen=True)
class PartitionRecord:
    """A partition as the metadata log has it: replicas, ISR, leader, both epochs, ELR, and what a reassignment changes."""

    topic_id: uuid.UUID
    number: int
    replicas: tuple[int, ...]
    isr: tuple[int, ...]
    leader: int
    leader_epoch: int
    partition_epoch: int
    removing: tuple[int, ...] = ()
    adding: tuple[int, ...] = ()
    elr: tuple[int, ...] = ()
    last_known_elr: tuple[int, ...] = ()


@dataclass(frozen=True)
class BrokerRegistration:
    """A broker as the metadata log has it: its id, its broker epoch, and whether it is fenced."""

    broker: int
    epoch: int
    is_fenced: bool


@dataclass(frozen=True)
class Event:
    """One metadata record: its offset in the log, its type, and its fields."""

    offset: int
    kind: str
    says: dict[str, Any]


class RecordReader:
    """A cursor over a record's bytes, in Kafka's flexible encoding."""

    def __init__(self, body: bytes) -> None:
        self.body, self.at = body, 0

    def take(self, shape: str) -> Any:
        """Read the next number, in a format of `struct`."""
        (found,) = struct.unpack_from(">" + shape, self.body, self.at)
        self.at += struct.calcsize(shape)
        return found

    def read_unsigned(self) -> int:
        """Read an unsigned variable-length number."""
        found, self.at = decode_unsigned_varint(self.body, self.at)
        return found

    def uuid(self) -> uuid.UUID:
        self.at += 16
        return uuid.UUID(bytes=self.body[self.at - 16 : self.at])

    def string(self) -> str | None:
        """Read a compact string; None for null."""
        length = self.read_unsigned() - 1
        if length < 0:
            return None
        self.at += length
        return self.body[self.at - length : self.at].decode()

    def numbers(self) -> tuple[int, ...] | None:
        """Read a compact array of broker ids; None for null."""
        length = self.read_unsigned() - 1
        return None if length < 0 else tuple(self.take("i") for _ in range(length))

    def read_tagged(self, known: dict[int, tuple[str, Callable[[RecordReader], Any]]]) -> dict[str, Any]:
        """Read the tagged fields; return those that are `known`, by name, and skip the others."""
        found = {}
        for _ in range(self.read_unsigned()):
            tag, size = self.read_unsigned(), self.read_unsigned()
            end = self.at + size
            if tag in known:
                name, read = known[tag]
                found[name] = read(self)
            self.at = end
        return found


def _read_int8(reader: RecordReader) -> int:
    return int(reader.take("b"))


def _read_partition(reader: RecordReader, version: int) -> dict[str, Any]:
    found = {"number": reader.take("i"), "topic_id": reader.uuid()}
    for name in ("replicas", "isr", "removing", "adding"):
        found[name] = reader.numbers()
    for name in ("leader", "leader_epoch", "partition_epoch"):
        found[name] = reader.take("i")
    if version >= 1:
        directories = max(reader.read_unsigned() - 1, 0)
        reader.at += 16 * directories
    tags = {0: ("recovery", _read_int8), 1: ("elr", RecordReader.numbers), 2: ("last_known_elr", RecordReader.numbers)}
    return found | reader.read_tagged(tags)


def _read_partition_change(reader: RecordReader, version: int) -> dict[str, Any]:
    found = {"number": reader.take("i"), "topic_id": reader.uuid()}
    tags: dict[int, tuple[str, Callable[[RecordReader], Any]]] = {
        0: ("isr", RecordReader.numbers),
        1: ("leader", lambda each: each.take("i")),
        2: ("replicas", RecordReader.numbers),
        3: ("removing", RecordReader.numbers),
        4: ("adding", RecordReader.numbers),
        5: ("recovery", _read_int8),
        6: ("elr", RecordReader.numbers),
        7: ("last_known_elr", RecordReader.numbers),
    }
    return found | reader.read_tagged(tags)


def _read_register(reader: RecordReader, version: int) -> dict[str, Any]:
    found: dict[str, Any] = {"broker": reader.take("i")}
    if version >= 2:
        found["is_migrating"] = bool(reader.take("b"))
    found["incarnation"] = reader.uuid()
    found["epoch"] = reader.take("q")
    for _ in range(reader.read_unsigned() - 1):
        reader.string(), reader.string(), reader.take("H"), reader.take("h"), reader.read_tagged({})
    for _ in range(reader.read_unsigned() - 1):
        reader.string(), reader.take("h"), reader.take("h"), reader.read_tagged({})
    found["rack"] = reader.string()
    found["is_fenced"] = bool(reader.take("b"))
    return found


def _read_change_registration(reader: RecordReader, version: int) -> dict[str, Any]:
    found = {"broker": reader.take("i"), "epoch": reader.take("q")}
    return found | reader.read_tagged({0: ("fenced", _read_int8), 1: ("controlled_shutdown", _read_int8)})


def _read_fence(reader: RecordReader, version: int) -> dict[str, Any]:
    return {"broker": reader.take("i"), "epoch": reader.take("q")}


KINDS: dict[int, tuple[str, Callable[[RecordReader, int], dict[str, Any]]]] = {
    0: ("register", _read_register),
    2: ("topic", lambda reader, _: {"name": reader.string(), "topic_id": reader.uuid()}),
    3: ("partition", _read_partition),
    4: (
        "config",
        lambda reader, _: {"resource": reader.take("b")} | {name: reader.string() for name in ("of", "name", "value")},
    ),
    5: ("partition change", _read_partition_change),
    7: ("fence", _read_fence),
    8: ("unfence", _read_fence),
    9: ("remove topic", lambda reader, _: {"topic_id": reader.uuid()}),
    12: ("feature", lambda reader, _: {"name": reader.string(), "level": reader.take("h")}),
    17: ("change registration", _read_change_registration),
    28: ("clear elr", lambda reader, _: {"topic": reader.string()}),
}
"""The name of each kind of record and what reads it, by the record's API key."""


def parse_record(value: bytes) -> tuple[str, dict[str, Any]] | None:
    """Return the name of a metadata record's kind, and its fields; None for a kind or frame version that is skipped."""
    frame, at = decode_unsigned_varint(value, 0)
    kind, at = decode_unsigned_varint(value, at)
    version, at = decode_unsigned_varint(value, at)
    if frame != 1 or kind not in KINDS:
        return None
    name, read = KINDS[kind]
    return name, read(RecordReader(value[at:]), version)


@dataclass
class MetadataImage:
    """The metadata that follow from the records read so far, and the records themselves."""

    topics: dict[str, uuid.UUID] = field(default_factory=dict)
    partitions: dict[tuple[uuid.UUID, int], PartitionRecord] = field(default_factory=dict)
    brokers: dict[int, BrokerRegistration] = field(default_factory=dict)
    configs: dict[tuple[int, str], dict[str, str | None]] = field(default_factory=dict)
    features: dict[str, int] = field(default_factory=dict)
    events: list[Event] = field(default_factory=list)
    end: int = 0
    _position: int = 0

    def partition(self, topic: str, number: int = 0) -> PartitionRecord | None:
        """Return a topic's partition; None if it does not exist."""
        found = self.topics.get(topic)
        return None if found is None else self.partitions.get((found, number))

    def follow(self, path: Path) -> list[Event]:
        """Read the whole batches appended to the log since the last call; apply and return their events."""
        with path.open("rb") as stream:
            stream.seek(self._position)
            segment = stream.read()
        first = len(self.events)
        for batch in parse_batches(segment):
            for record in () if batch.is_control else batch.records:
                said = parse_record(record.value or b"\x00\x00\x00")
                if said is not None:
                    self.apply(Event(record.offset, *said))
            self._position += batch.size
            self.end = batch.last_offset + 1
        return self.events[first:]

    def apply(self, event: Event) -> None:
        self.events.append(event)
        says = event.says
        if event.kind == "topic":
            self.topics[says["name"]] = says["topic_id"]
        elif event.kind == "remove topic":
            for name in [name for name, each in self.topics.items() if each == says["topic_id"]]:
                del self.topics[name]
                self.configs.pop((2, name), None)
            self.partitions = {place: each for place, each in self.partitions.items() if place[0] != says["topic_id"]}
        elif event.kind == "partition":
            known: dict[str, Any] = {name: () if value is None else value for name, value in says.items() if name != "recovery"}
            self.partitions[says["topic_id"], says["number"]] = PartitionRecord(**known)
        elif event.kind == "partition change":
            place = says["topic_id"], says["number"]
            self.partitions[place] = apply_change(self.partitions[place], says)
        elif event.kind == "clear elr":
            self._clear_elr(says["topic"])
        elif event.kind == "register":
            self.brokers[says["broker"]] = BrokerRegistration(says["broker"], says["epoch"], says["is_fenced"])
        elif event.kind in ("fence", "unfence"):
            self._change_broker(says["broker"], is_fenced=event.kind == "fence")
        elif event.kind == "change registration" and says.get("fenced"):
            self._change_broker(says["broker"], is_fenced=says["fenced"] > 0)
        elif event.kind == "config":
            self.configs.setdefault((says["resource"], says["of"]), {})[says["name"]] = says["value"]
        elif event.kind == "feature":
            self.features[says["name"]] = says["level"]

    def _clear_elr(self, topic: str) -> None:
        """Clear the ELR of a topic (an empty name: of all topics); the partition epoch of partitions that had one increases."""
        for place, each in self.partitions.items():
            if (each.elr or each.last_known_elr) and topic in ("", next(n for n, i in self.topics.items() if i == place[0])):
                self.partitions[place] = replace(each, elr=(), last_known_elr=(), partition_epoch=each.partition_epoch + 1)

    def _change_broker(self, broker: int, is_fenced: bool) -> None:
        self.brokers[broker] = replace(self.brokers[broker], is_fenced=is_fenced)


def apply_change(before: PartitionRecord, says: dict[str, Any]) -> PartitionRecord:
    """Return a partition after one change, in its next partition epoch; a change that names a leader, even the same one,
    increases the leader epoch too."""
    lists = ("isr", "replicas", "removing", "adding", "elr", "last_known_elr")
    values: dict[str, Any] = {name: says[name] for name in lists if says.get(name) is not None}
    if (leader := says.get("leader", NO_CHANGE)) != NO_CHANGE:
        values |= {"leader": leader, "leader_epoch": before.leader_epoch + 1}
    return replace(before, **values, partition_epoch=before.partition_epoch + 1)
