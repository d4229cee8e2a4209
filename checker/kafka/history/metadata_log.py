"""Reads partition and registration changes from the controller's metadata log: its segments and snapshots."""

from __future__ import annotations

import struct
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import google_crc32c

from neverlost.checker.kafka.cluster.batches import HEAD, parse_batches
from neverlost.checker.kafka.cluster.metadata import Event, MetadataImage, PartitionRecord, parse_record
from neverlost.checker.kafka.history.history import HistoryObservation
from neverlost.specs.configuration.input import read_bytes
from neverlost.specs.errors import InputError

LARGEST_LOG = 1 << 30
"""Units: bytes.  Where a metadata log begins a new segment (`metadata.log.segment.bytes`)."""

LISTS = ("replicas", "isr", "removing", "adding", "elr", "last_known_elr")


@dataclass(frozen=True)
class MetadataRecord:
    """One metadata record, the time of its batch in seconds (`at`), and the base offset of that batch (`batch`)."""

    at: float
    batch: int
    event: Event
    place: str


def read_entries(path: Path | str) -> list[MetadataRecord]:
    """Return the records of a segment or a snapshot that are about brokers, topics, partitions, configurations or features.
    Errors: `InputError` for any other file, for one without such records, and for a damaged one, with its place."""
    body = read_bytes(path, largest=LARGEST_LOG)
    found = list(_parse_binary(body, str(path))) if b"\x00" in body[:64] else []
    if not found:
        raise InputError(f"{str(path)!r} has no metadata records; give a file of __cluster_metadata-0 as it is")
    return found


def _parse_binary(body: bytes, place: str) -> Iterator[MetadataRecord]:
    """Yield the records of a segment or snapshot, up to a batch that was still being written; `InputError` if it is damaged."""
    position, expected = 0, -1
    try:
        for batch in parse_batches(body):
            where = f"{place} offset {batch.base_offset}"
            head = HEAD.unpack_from(body, batch.position)
            if google_crc32c.value(body[batch.position + CHECKED : batch.position + batch.size]) != head[4] & 0xFFFFFFFF:
                raise InputError(f"{where}: the batch fails its checksum: the log is damaged")
            if expected not in (-1, batch.base_offset):
                raise InputError(f"{where}: offset {expected} does not come first; give the file unchanged")
            position, expected = batch.position + batch.size, batch.last_offset + 1
            for record in () if batch.is_control else batch.records:
                said = parse_record(record.value or b"\x00\x00\x00")
                if said is not None:
                    event = Event(record.offset, *said)
                    yield MetadataRecord(head[7] / 1000, batch.base_offset, event, f"{place} offset {event.offset}")
    except (ValueError, IndexError, struct.error, UnicodeDecodeError, OverflowError) as problem:
        what = "is no metadata log segment" if expected < 0 else f"is damaged after offset {expected - 1}"
        raise InputError(f"{place!r} {what}: {problem}") from None
    left = body[position:].rstrip(b"\0")
    if len(left) >= 8 and int.from_bytes(body[position : position + 8]) != expected:
        raise InputError(f"{place!r} is damaged after offset {expected - 1}: no batch begins at byte {position}")


CHECKED = 21
"""From which byte of a batch its checksum counts.  Source: DefaultRecordBatch.computeChecksum, Crc32C.java."""


def make_observations(
    found: Iterable[MetadataRecord], topic: str, number: int, clients: Iterable[HistoryObservation] = ()
) -> tuple[list[HistoryObservation], dict[str, Any]]:
    """Return the observations of one partition, since it was last created, and of all brokers, and the partition's last
    configuration.  Errors: `InputError` for records that do not follow from one another, for a partition that is not there, and
    for what `clients` saw of one that was deleted before the partition was created again."""
    state, seen, last, gone = MetadataImage(), [], None, None
    config: dict[str, Any] = {}
    incarnations: dict[int, Any] = {}
    for each in found:
        if each.event.kind == "remove topic" and gone is None:
            config = _find_config(state, topic)
        try:
            state.apply(each.event)
        except (KeyError, TypeError, ValueError, StopIteration):
            what = f"a {each.event.kind} record of something that no earlier record made"
            raise InputError(f"{each.place}: {what}; begin with the first segment or a snapshot") from None
        if (broker := _describe_registration(each, incarnations)) is not None:
            seen.append(_make_observation(each, "broker", broker))
        partition = state.partition(topic, number)
        if partition is None:
            gone = gone or each
            continue
        if last is not None and gone is not None:
            _refuse_earlier(clients, topic, gone)
            seen = [one for one in seen if one.saw == "broker"]
        if partition != last:
            seen.append(_make_observation(each, "partition", _list_fields(partition)))
        last, gone = partition, None
    if last is None:
        topics = ", ".join(sorted(state.topics)[:20]) or "none"
        raise InputError(f"partition {topic}-{number} is not in the metadata log; topics there: {topics}")
    return seen, _find_config(state, topic) if gone is None else config


def _refuse_earlier(clients: Iterable[HistoryObservation], topic: str, gone: MetadataRecord) -> None:
    for each in clients:
        if each.at < gone.at and each.saw not in ("broker", "process"):
            what = f"{each.saw} of topic {topic!r} before it was deleted ({gone.place}) and created again"
            raise InputError(f"{each.place}: {what}; leave such lines out")


def _make_observation(entry: MetadataRecord, saw: str, says: dict[str, Any]) -> HistoryObservation:
    return HistoryObservation(saw, entry.at, entry.at, "controller", says | {"batch": entry.batch}, entry.place)


def _list_fields(partition: PartitionRecord) -> dict[str, Any]:
    numbers = {name: getattr(partition, name) for name in ("leader", "leader_epoch", "partition_epoch")}
    return numbers | {name: list(getattr(partition, name)) for name in LISTS}


def _describe_registration(entry: MetadataRecord, incarnations: dict[int, Any]) -> dict[str, Any] | None:
    """Return how a record changes a broker's registration; None if it does not, or registers the same incarnation again.  Note
    the incarnation in `incarnations`."""
    kind, says = entry.event.kind, entry.event.says
    if kind == "register":
        is_same = incarnations.get(says["broker"]) == says["incarnation"]
        incarnations[says["broker"]] = says["incarnation"]
        return None if is_same else {"broker": says["broker"], "state": "registered" if says["is_fenced"] else "unfenced"}
    if kind in ("fence", "unfence"):
        return {"broker": says["broker"], "state": f"{kind}d"}
    if kind == "change registration" and says.get("fenced"):
        return {"broker": says["broker"], "state": "fenced" if says["fenced"] > 0 else "unfenced"}
    if kind == "change registration" and says.get("controlled_shutdown"):
        return {"broker": says["broker"], "state": "stopping"}
    return None


TOPIC = 2
READ = ("min.insync.replicas", "unclean.leader.election.enable", "flush.messages")


def _find_config(state: MetadataImage, topic: str) -> dict[str, Any]:
    """Return the keys that the log decides: the topic's own settings, else the cluster's, and whether ELR is on."""
    places = state.configs.get((4, ""), {}), state.configs.get((TOPIC, topic), {})
    found: dict[str, Any] = {name: each[name] for name in READ for each in places if each.get(name) is not None}
    if found.get("flush.messages", "1") != "1":
        found["flush.messages"] = "default"
    found["eligible.leader.replicas"] = state.features.get("eligible.leader.replicas.version", 0) > 0
    return found
