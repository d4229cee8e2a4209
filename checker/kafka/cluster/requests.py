"""Sends the requests that the client library cannot send: AlterPartitionReassignments, AlterReplicaLogDirs.

kafka-reassign-partitions.sh sends them too, but not while a replica's broker is down, which the controller itself allows.

Source: AlterPartitionReassignmentsRequest.json and AlterPartitionReassignmentsResponse.json, version 0;
AlterReplicaLogDirsRequest.json and AlterReplicaLogDirsResponse.json, version 1.
"""

from __future__ import annotations

import socket
import struct
from collections.abc import Sequence

from neverlost.checker.kafka.cluster.batches import encode_unsigned_varint
from neverlost.checker.kafka.cluster.metadata import RecordReader
from neverlost.checker.kafka.cluster.network import read_frames
from neverlost.checker.kafka.cluster.process import ClusterError

REASSIGNMENT_API, REASSIGNMENT_VERSION = 45, 0
LOG_DIRS_API, LOG_DIRS_VERSION = 34, 1
CORRELATION = 1
CLIENT = b"neverlost"
NO_TAGS = b"\0"


def alter_reassignment(address: str, topic: str, replicas: Sequence[int] | None, seconds: float = 30) -> None:
    """Ask a broker for other replicas of partition 0; None cancels a reassignment in progress.  Errors: `ClusterError` with
    Kafka's refusal, or without an answer."""
    asked = "cancelling the reassignment" if replicas is None else f"the reassignment to {','.join(map(str, replicas))}"
    answer = send_request(address, encode_request(topic, replicas, int(seconds * 1000)), f"{asked} of {topic}", seconds)
    if refused := find_refusal(answer):
        raise ClusterError(f"{asked} of {topic} is refused: {refused}")


def alter_directory(address: str, topic: str, directory: str, seconds: float = 30) -> None:
    """Ask a broker to move its replica of partition 0 to another of its log directories.  Errors: `ClusterError` with Kafka's
    refusal, or without an answer."""
    asked = f"the move of {topic} to {directory}"
    header = encode_header(LOG_DIRS_API, LOG_DIRS_VERSION)
    places = [struct.pack(">h", len(each.encode())) + each.encode() for each in (directory, topic)]
    body = struct.pack(">i", 1) + places[0] + struct.pack(">i", 1) + places[1] + struct.pack(">ii", 1, 0)
    answer = send_request(address, header + body, asked, seconds)
    error = struct.unpack(">h", answer[-2:])[0] if answer else "the connection was closed"
    if error:
        raise ClusterError(f"{asked} is refused: error {error}")


def encode_header(api: int, version: int) -> bytes:
    return struct.pack(">hhih", api, version, CORRELATION, len(CLIENT)) + CLIENT


def send_request(address: str, frame: bytes, asked: str, seconds: float) -> bytes:
    """Send a request; return the answer, empty if the broker hangs up.  Errors: `ClusterError` without an answer in time."""
    host, _, port = address.rpartition(":")
    try:
        with socket.create_connection((host, int(port)), timeout=seconds) as client:
            client.sendall(struct.pack(">i", len(frame)) + frame)
            return next(read_frames(client), b"")
    except OSError as problem:
        raise ClusterError(f"no answer about {asked} from {address}: {problem}") from None


def encode_request(topic: str, replicas: Sequence[int] | None, milliseconds: int) -> bytes:
    """Return the header and body of an AlterPartitionReassignments request; None as `replicas` cancels."""
    name = topic.encode()
    count = encode_unsigned_varint(0 if replicas is None else len(replicas) + 1)
    wanted = count + struct.pack(f">{len(replicas or ())}i", *(replicas or ()))
    partitions = b"\2" + struct.pack(">i", 0) + wanted + NO_TAGS
    topics = b"\2" + encode_unsigned_varint(len(name) + 1) + name + partitions + NO_TAGS
    return encode_header(REASSIGNMENT_API, REASSIGNMENT_VERSION) + NO_TAGS + struct.pack(">i", milliseconds) + topics + NO_TAGS


def find_refusal(answer: bytes) -> str | None:
    """Return, in words, the first error in an answer to AlterPartitionReassignments, or that it is empty; else None."""
    if not answer:
        return "the connection was closed"
    reader = RecordReader(answer)
    _, _, _ = reader.take("i"), reader.read_tagged({}), reader.take("i")
    found = [(reader.take("h"), reader.string())]
    for _ in range(reader.read_unsigned() - 1):
        reader.string()
        for _ in range(reader.read_unsigned() - 1):
            reader.take("i")
            found.append((reader.take("h"), reader.string()))
            reader.read_tagged({})
        reader.read_tagged({})
    return next((f"error {number} {message or ''}".strip() for number, message in found if number), None)
