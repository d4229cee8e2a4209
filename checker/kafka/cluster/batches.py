"""Reads Kafka's record batches from a segment file, and finds the byte at which an offset begins.  Source:
DefaultRecordBatch.java (magic 2), DefaultRecord.java."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass

HEAD = struct.Struct(">qiibihiqqqhii")
"""Base offset, length, leader epoch, magic, checksum, attributes, last offset delta, two timestamps, producer id and epoch,
base sequence, count."""

OVERHEAD = 12
COMPRESSED, CONTROL = 0x07, 0x20


@dataclass(frozen=True)
class Record:
    """One record of a log: its offset, its leader epoch, its key and its value."""

    offset: int
    leader_epoch: int
    key: bytes | None
    value: bytes | None


@dataclass(frozen=True)
class RecordBatch:
    """A record batch of a segment; `position` and `size` are in bytes, offsets those of its first and last record."""

    position: int
    size: int
    base_offset: int
    last_offset: int
    leader_epoch: int
    records: tuple[Record, ...]
    is_control: bool
    producer: tuple[int, int]
    """Producer id and epoch; -1 and -1 for a producer without."""


def parse_batches(segment: bytes) -> Iterator[RecordBatch]:
    """Yield the whole batches of a segment; an incomplete batch, or the zeros of preallocation, end it.  Errors: `ValueError`
    for a batch of an old format, a compressed one, and one whose records do not fit into it."""
    position = 0
    while position + HEAD.size <= len(segment):
        base, length, epoch, magic, _, attributes, delta, _, _, *producer, _, count = HEAD.unpack_from(segment, position)
        size = OVERHEAD + length
        if length <= 0 or position + size > len(segment):
            return
        if magic != 2 or attributes & COMPRESSED:
            raise ValueError(f"batch at {position}: magic {magic}, attributes {attributes:#x}")
        body = segment[position + HEAD.size : position + size]
        records = tuple(_parse_records(body, base, epoch, count))
        is_control = bool(attributes & CONTROL)
        yield RecordBatch(position, size, base, base + delta, epoch, records, is_control, (producer[0], producer[1]))
        position += size


def _parse_records(body: bytes, base: int, epoch: int, count: int) -> Iterator[Record]:
    at = 0
    for _ in range(count):
        length, start = decode_varint(body, at)
        at = start + length
        if length < 0 or at > len(body):
            raise ValueError(f"a record of {length} bytes at {start} of a batch of {len(body)}")
        _, cursor = decode_varint(body, start + 1)
        delta, cursor = decode_varint(body, cursor)
        key, cursor = _decode_bytes(body, cursor)
        value, _ = _decode_bytes(body, cursor)
        yield Record(base + delta, epoch, key, value)


def _decode_bytes(body: bytes, at: int) -> tuple[bytes | None, int]:
    length, at = decode_varint(body, at)
    return (None, at) if length < 0 else (body[at : at + length], at + length)


def decode_unsigned_varint(body: bytes, at: int) -> tuple[int, int]:
    """Decode the number at an index, seven bits a byte, the low ones first; return it and the index of the byte after it."""
    found = shift = 0
    while True:
        byte = body[at]
        at += 1
        found |= (byte & 0x7F) << shift
        if byte < 0x80:
            return found, at
        shift += 7


def encode_unsigned_varint(value: int) -> bytes:
    """Encode a number as `decode_unsigned_varint` reads it."""
    return bytes([value]) if value < 0x80 else bytes([value & 0x7F | 0x80]) + encode_unsigned_varint(value >> 7)


def decode_varint(body: bytes, at: int) -> tuple[int, int]:
    """Decode the zig-zag encoded number of variable length at an index; return it and the index of the byte after it."""
    found, at = decode_unsigned_varint(body, at)
    return (found >> 1) ^ -(found & 1), at


def find_cut_position(segment: bytes, offset: int) -> int:
    """Return at which byte the first batch without an earlier offset begins; if none does, where the last one ends (or 0).
    Errors: `ValueError` where the offset is in the middle of a batch."""
    position = 0
    for batch in parse_batches(segment):
        if batch.base_offset < offset <= batch.last_offset:
            raise ValueError(f"offset {offset} is inside the batch {batch.base_offset}-{batch.last_offset}")
        if batch.base_offset >= offset:
            return batch.position
        position = batch.position + batch.size
    return position
