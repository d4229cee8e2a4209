"""Partition and registration changes from the controller's metadata log: its files, or what Kafka's tools print of them.

`kafka-dump-log.sh --cluster-metadata-decoder --files FILE` prints a line per batch and a line per record with its JSON;
both forms lead to the same records.

Source: DumpLogSegments.java, MetadataJsonConverters, PartitionChangeRecord.json and its siblings.
"""

from __future__ import annotations

import json
import re
import struct
import uuid
from base64 import urlsafe_b64decode
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from reports.cluster.batches import HEAD, batches
from reports.cluster.metadata import Event, Metadata, Partition, parsed
from reports.observed.history import Seen
from specs.errors import InputError

KINDS = {
    "REGISTER_BROKER_RECORD": "register",
    "TOPIC_RECORD": "topic",
    "PARTITION_RECORD": "partition",
    "CONFIG_RECORD": "config",
    "PARTITION_CHANGE_RECORD": "partition change",
    "FENCE_BROKER_RECORD": "fence",
    "UNFENCE_BROKER_RECORD": "unfence",
    "REMOVE_TOPIC_RECORD": "remove topic",
    "FEATURE_LEVEL_RECORD": "feature",
    "BROKER_REGISTRATION_CHANGE_RECORD": "change registration",
    "CLEAR_ELR_RECORD": "clear elr",
}
"""Records as the tools name them."""

NAMES = {
    "partitionId": "number",
    "topicId": "topic_id",
    "replicas": "replicas",
    "isr": "isr",
    "removingReplicas": "removing",
    "addingReplicas": "adding",
    "leader": "leader",
    "leaderEpoch": "leader_epoch",
    "partitionEpoch": "partition_epoch",
    "leaderRecoveryState": "recovery",
    "eligibleLeaderReplicas": "elr",
    "lastKnownElr": "last_known_elr",
    "brokerId": "broker",
    "id": "broker",
    "brokerEpoch": "epoch",
    "epoch": "epoch",
    "incarnationId": "incarnation",
    "inControlledShutdown": "controlled_shutdown",
    "resourceType": "resource",
    "resourceName": "of",
    "name": "name",
    "value": "value",
    "featureLevel": "level",
    "topicName": "topic",
}
"""The tools' names of fields, and ours."""

NEEDED = {
    "register": ("broker", "incarnation", "epoch", "is_fenced"),
    "topic": ("name", "topic_id"),
    "partition": ("number", "topic_id", "replicas", "isr", "leader", "leader_epoch", "partition_epoch"),
    "partition change": ("number", "topic_id"),
    "fence": ("broker",),
    "unfence": ("broker",),
    "remove topic": ("topic_id",),
    "change registration": ("broker",),
    "config": ("resource", "of", "name"),
    "feature": ("name", "level"),
    "clear elr": ("topic",),
}
LISTS = ("replicas", "isr", "removing", "adding", "elr", "last_known_elr")
NUMBERS = ("number", "leader", "leader_epoch", "partition_epoch", "broker", "level", "recovery")
RECORD = re.compile(r"^\W*offset: (\d{1,18}) .*?CreateTime: (-?\d{1,18}) .*?payload: (\{.*\})\s*$")
BATCH = re.compile(r"^\W*baseOffset: (\d{1,18}) lastOffset: \d+ .*?CreateTime: (-?\d{1,18}) ")


@dataclass(frozen=True)
class Entry:
    """One metadata record.  Units: seconds.  `batch` is the base offset of its batch: one controller event."""

    at: float
    batch: int
    event: Event
    place: str


def entries(path: Path | str) -> list[Entry]:
    """The records of a segment, a snapshot, or the tool's output.

    Errors: `InputError` for a file that is neither, with its place.
    """
    path = Path(path)
    try:
        if path.is_dir():
            raise InputError(
                f"{str(path)!r} is a directory; name a file of __cluster_metadata-0, or what kafka-dump-log.sh prints of it"
            )
        body = path.read_bytes()
    except (OSError, ValueError) as problem:
        raise InputError(f"cannot read {str(path)!r}: {getattr(problem, 'strerror', None) or problem}") from None
    found = list(_binary(body, str(path)) if b"\x00" in body[:64] else _printed(body, str(path)))
    if not found:
        raise InputError(
            f"{str(path)!r} has no metadata records; give a file of __cluster_metadata-0, "
            "or what kafka-dump-log.sh --cluster-metadata-decoder prints"
        )
    return found


def _binary(body: bytes, place: str) -> Iterator[Entry]:
    try:
        for batch in batches(body):
            millis = HEAD.unpack_from(body, batch.position)[7]
            for record in () if batch.is_control else batch.records:
                said = parsed(record.value or b"\x00\x00\x00")
                if said is not None:
                    yield Entry(
                        millis / 1000, batch.base_offset, Event(record.offset, *said), f"{place} offset {record.offset}"
                    )
    except (ValueError, IndexError, struct.error, UnicodeDecodeError, OverflowError) as problem:
        raise InputError(f"{place!r} is no metadata log segment: {problem}") from None


def _printed(body: bytes, place: str) -> Iterator[Entry]:
    batch, text = -1, body.decode("utf-8", errors="replace")
    for number, line in enumerate(text.splitlines(), 1):
        if head := BATCH.match(line):
            batch = int(head[1])
        elif record := RECORD.match(line):
            where = f"{place}:{number}"
            said = _payload(record[3], where)
            if said is not None:
                offset = int(record[1])
                yield Entry(int(record[2]) / 1000, batch if batch >= 0 else offset, Event(offset, *said), where)


def _payload(text: str, place: str) -> tuple[str, dict[str, Any]] | None:
    try:
        document = json.loads(text)
    except (ValueError, RecursionError) as problem:
        raise InputError(f"{place}: malformed payload: {problem}") from None
    kind = KINDS.get(document.get("type")) if isinstance(document.get("type"), str) else None
    data = document.get("data")
    if kind is None:
        return None
    if not isinstance(data, dict):
        raise InputError(f"{place}: a {document['type']} without data; give the tool's lines unchanged")
    said = {NAMES[name]: value for name, value in data.items() if name in NAMES}
    if kind == "register":
        said["is_fenced"] = bool(data.get("fenced", True))
        said.pop("controlled_shutdown", None)
    if kind == "change registration":
        said["fenced"] = data.get("fenced", 0)
    return kind, _checked(kind, said, place)


def _checked(kind: str, said: dict[str, Any], place: str) -> dict[str, Any]:
    """The same fields, with ids read.

    Errors: `InputError` for a field that is missing or of the wrong kind.
    """
    for name in ("topic_id", "incarnation"):
        if name in said:
            said[name] = _uuid(said[name], place)
    for name in NEEDED[kind]:
        if name not in said:
            raise InputError(f"{place}: a {kind} record without {name}; give the tool's lines unchanged")
    for name, value in said.items():
        is_numbers = isinstance(value, list) and len(value) < 100 and all(_is_int(each) for each in value)
        if (name in LISTS and not (is_numbers or value is None)) or (name in NUMBERS and not _is_int(value)):
            raise InputError(f"{place}: bad value {str(value)[:60]!r} for {name}; give the tool's lines unchanged")
    return said


def _is_int(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and abs(value) < 2**62


def _uuid(text: Any, place: str) -> uuid.UUID:
    try:
        return uuid.UUID(bytes=urlsafe_b64decode(str(text) + "=="))
    except ValueError:
        raise InputError(f"{place}: bad id {str(text)[:60]!r}; give the tool's lines unchanged") from None


def observations(found: Iterable[Entry], topic: str, number: int) -> tuple[list[Seen], dict[str, Any]]:
    """What the records say about one partition and all brokers, and what they say about its configuration.

    Errors: `InputError` for records that do not follow from one another, and for a partition that is not there.
    """
    state, seen, last = Metadata(), [], None
    incarnations: dict[int, Any] = {}
    for each in found:
        try:
            state.apply(each.event)
        except (KeyError, TypeError, ValueError, StopIteration):
            raise InputError(
                f"{each.place}: a {each.event.kind} record of something that no earlier record made; "
                "begin with the first segment or a snapshot"
            ) from None
        broker = _broker(each, incarnations)
        if broker is not None:
            seen.append(_seen(each, "broker", broker))
        partition = state.partition(topic, number)
        if partition is not None and partition != last:
            seen.append(_seen(each, "partition", _fields(partition)))
            last = partition
    if last is None:
        topics = ", ".join(sorted(state.topics)[:20]) or "none"
        raise InputError(f"partition {topic}-{number} is not in the metadata log; topics there: {topics}")
    return seen, _config(state, topic)


def _seen(entry: Entry, saw: str, says: dict[str, Any]) -> Seen:
    return Seen(saw, entry.at, entry.at, "controller", says | {"batch": entry.batch}, entry.place)


def _fields(partition: Partition) -> dict[str, Any]:
    lists = {name: list(getattr(partition, name)) for name in LISTS}
    return {
        "leader": partition.leader,
        "leader_epoch": partition.leader_epoch,
        "partition_epoch": partition.partition_epoch,
        **lists,
    }


def _broker(entry: Entry, incarnations: dict[int, Any]) -> dict[str, Any] | None:
    """A registration's change; a broker that registers again as the same incarnation changes nothing."""
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


def _config(state: Metadata, topic: str) -> dict[str, Any]:
    """Keys that the log decides: the topic's own settings, and whether ELR is on."""
    configs = {**state.configs.get((4, ""), {}), **state.configs.get((TOPIC, topic), {})}
    found: dict[str, Any] = {name: configs[name] for name in READ if configs.get(name) is not None}
    if found.get("flush.messages", "1") != "1":
        found["flush.messages"] = "default"
    found["eligible.leader.replicas"] = state.features.get("eligible.leader.replicas.version", 0) > 0
    return found
