"""Reads what `kafka-dump-log.sh --cluster-metadata-decoder --files FILE` prints: a line per batch and per record.

A history has to be whole, so a line that is cut, lacks its payload, or does not follow from the one before is an error.

Source: DumpLogSegments.scala (dumpFileSegment, printBatchLevel, ClusterMetadataLogMessageParser), MetadataJsonConverters,
PartitionChangeRecord.json and its siblings.
"""

from __future__ import annotations

import json
import re
import uuid
from base64 import urlsafe_b64decode
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from neverlost.checker.kafka.cluster.metadata import Event
from neverlost.specs.errors import InputError

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
STAMP = r"(?:CreateTime|LogAppendTime): (-?\d{1,18}) "
BATCH = re.compile(rf"^\W*baseOffset: (\d{{1,18}}) lastOffset: (\d{{1,18}}) .*?{STAMP}.*?isvalid: (true|false)\s*$")
RECORD = re.compile(rf"^\W*offset: (\d{{1,18}}) {STAMP}keySize: (-?\d+) valueSize: -?\d+ .*?headerKeys: \[[^\]]*\](.*)$")
BEGINS = re.compile(r"^\W*(?:baseOffset|offset|payload): ")


@dataclass(frozen=True)
class MetadataRecord:
    """One metadata record.  Units: seconds.  `batch` is the base offset of its batch: one controller event."""

    at: float
    batch: int
    event: Event
    place: str


def parse_dump(body: bytes, place: str) -> Iterator[MetadataRecord]:
    """Yield the records of the tool's output, of one file or several.  Errors: `InputError` with the line, for one that is cut
    or that does not follow from the one before."""
    batch, expected, last = -1, -1, -1
    for number, line in enumerate(body.decode("utf-8", errors="replace").splitlines(), 1):
        where = f"{place}:{number}"
        if line.startswith("Dumping "):
            _require_next(last + 1, expected, where)
            batch = expected = last = -1
        elif head := BATCH.match(line):
            if head[4] == "false":
                raise InputError(f"{where}: the batch at offset {head[1]} fails its checksum: the log is damaged there")
            _require_next(int(head[1]), expected, where)
            batch, expected, last = int(head[1]), int(head[1]), int(head[2])
        elif record := RECORD.match(line):
            offset = int(record[1])
            _require_next(offset, expected, where)
            expected, last = offset + 1, max(last, offset)
            # only records of the log itself (leader changes, snapshot headers) have a key
            said = _parse_payload(record[4], where) if record[3] == "-1" else None
            if said is not None:
                yield MetadataRecord(int(record[2]) / 1000, batch if batch >= 0 else offset, Event(offset, *said), where)
        elif BEGINS.match(line):
            raise InputError(f"{where}: {line.strip()[:60]!r} is cut or changed; give the tool's lines unchanged")
    _require_next(last + 1, expected, f"{place}: at the end")


def _require_next(offset: int, expected: int, place: str) -> None:
    if expected not in (-1, offset):
        here = f"{expected}" if offset == expected + 1 else f"{expected} to {offset - 1}"
        what = f"offset {here} missing" if offset > expected else f"offset {offset} after {expected - 1}"
        raise InputError(f"{place}: {what}; give the tool's output whole, the files of the log in order")


def _parse_payload(text: str, place: str) -> tuple[str, dict[str, Any]] | None:
    """Return the kind of a record and its fields; None for a kind that is not used here."""
    _, found, text = text.partition(" payload: ")
    if not found:
        raise InputError(f"{place}: a record without its payload; run kafka-dump-log.sh with --cluster-metadata-decoder")
    if text.startswith("Error at "):
        raise InputError(f"{place}: the tool could not read it ({text[:80]}); use the one of the cluster's Kafka version")
    try:
        document = json.loads(text)
    except (ValueError, RecursionError) as problem:
        raise InputError(f"{place}: malformed payload: {problem}; give the tool's lines unchanged") from None
    if not isinstance(document, dict):
        raise InputError(f"{place}: bad payload {text[:60]!r}; run kafka-dump-log.sh with --cluster-metadata-decoder")
    kind = KINDS.get(str(document.get("type")))
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
    return kind, _check_fields(kind, said, place)


def _check_fields(kind: str, said: dict[str, Any], place: str) -> dict[str, Any]:
    """Return the fields with ids parsed.  Errors: `InputError` for a field that is missing or of the wrong kind."""
    for name in ("topic_id", "incarnation"):
        if name in said:
            said[name] = _parse_uuid(said[name], place)
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


def _parse_uuid(text: Any, place: str) -> uuid.UUID:
    try:
        return uuid.UUID(bytes=urlsafe_b64decode(str(text) + "=="))
    except ValueError:
        raise InputError(f"{place}: bad id {str(text)[:60]!r}; give the tool's lines unchanged") from None
