"""What a broker keeps of one replica in its files: the leader epochs of its log, its high watermark and its log end.

A folder a broker: Kafka's two checkpoints, its `meta.properties`, and what its tools print of the log's last segment, of
its directories, and of offsets that were committed once.

Source: CheckpointFile.java, LeaderEpochCheckpointFile.java, OffsetCheckpointFile.java (a version, how many entries, entries);
DumpLogSegments.scala, LogDirsCommand.java, GetOffsetShell.java.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

from neverlost.specs.configuration.input import is_there
from neverlost.specs.errors import InputError, quote
from neverlost.specs.inputs.syntax.text import lines_of, read_text
from neverlost.specs.strict_json import parse_json

EPOCHS, HIGH_WATERMARKS, LOG_ENDS = "leader-epoch-checkpoint", "replication-offset-checkpoint", "log-end-offset"
"""Kafka's two files, and one of the second's format that whoever gathers them writes: Kafka keeps no log end."""

DUMP, META, DIRECTORIES, OFFSETS = "dump.txt", "meta.properties", "log-dirs.json", "offsets.txt"
"""What kafka-dump-log.sh prints of the last segment, Kafka's file, what kafka-log-dirs.sh and kafka-get-offsets.sh print."""

LARGEST = 2**63
START = re.compile(r"(?:Log s|S)tarting offset: (\d{1,18})$")
BATCH = re.compile(
    r"baseOffset: (\d{1,18}) lastOffset: (\d{1,18}) .{0,500}?partitionLeaderEpoch: (-?\d{1,10}) .{0,500}?isvalid: (true|false)$"
)
OTHER = re.compile(r"Dumping |\||Found \d+ invalid bytes|\[\d{4}-\d\d-\d\d |$")
"""What else is printed: a file's name, records, the rest of a broken segment, and what the tool logs."""


@dataclass(frozen=True)
class ReplicaFiles:
    """What files say of one replica's log.  Shapes: `epochs` are pairs of a leader epoch and its start offset.  Units: offsets;
    `end` is the next record's.  `problem` says why the files cannot be believed: they contradict each other, or are of another
    broker, or the replica's directory is not there; None if nothing is wrong."""

    broker: int
    epochs: tuple[tuple[int, int], ...]
    end: int
    high_watermark: int | None
    problem: str | None = None


def read_replica(broker: int, directory: str, topic: str, partition: int) -> ReplicaFiles:
    """Return what the files in a directory say; the high watermark is the greatest offset known as committed.

    Errors: `InputError` for a file that is needed and missing, cut or malformed, and where none has this partition's log end.
    """
    folder = Path(directory)
    entries = _entries(folder / EPOCHS, 2)
    epochs = tuple((_number(epoch, where), _number(start, where)) for (epoch, start), where in entries)
    batches, end = _read_dump(folder / DUMP) if is_there(folder / DUMP) else ([], None)
    stated = _offset(folder / LOG_ENDS, topic, partition) if end is None or is_there(folder / LOG_ENDS) else end
    if stated is None:
        raise InputError(f"{str(folder / LOG_ENDS)!r} has no {topic} {partition}; add it, in the format of Kafka's checkpoints")
    high = _offset(folder / HIGH_WATERMARKS, topic, partition) if is_there(folder / HIGH_WATERMARKS) else None
    high = max((each for each in (high, _committed(folder / OFFSETS, topic, partition)) if each is not None), default=None)
    problem = (
        _other_broker(folder / META, broker)
        or _missing_directory(folder / DIRECTORIES, broker, f"{topic}-{partition}")
        or _contradiction(str(folder / EPOCHS), epochs, stated)
        or _lie(str(folder / EPOCHS), epochs, batches)
    )
    if end not in (None, stated):
        problem = f"{folder / LOG_ENDS} says {stated}, and {folder / DUMP} ends at {end}; take the files of one moment"
    return ReplicaFiles(broker, epochs, stated, high, problem)


def _read_dump(file: Path) -> tuple[list[tuple[int, int, int]], int]:
    """Return base offset, last offset and epoch of each batch before the first invalid one, and the next offset after them.
    Errors: `InputError` for other text."""
    batches, end = list[tuple[int, int, int]](), None
    for at, line in enumerate(lines_of(read_text(str(file), "--replica")), 1):
        if (start := START.match(line)) is not None:
            end = int(start[1]) if end is None else end
        elif (batch := BATCH.match(line)) is not None and end is not None and int(batch[1]) >= end:
            if batch[4] == "false":
                break
            batches.append((int(batch[1]), int(batch[2]), int(batch[3])))
            end = int(batch[2]) + 1
        elif not OTHER.match(line):
            said = "does not follow the line before" if batch is not None else "is not what kafka-dump-log.sh --files prints"
            raise InputError(f"{str(file)!r} line {at} {said}: {quote(line)}; dump the log's last segment again")
    if end is None:
        raise InputError(f"{str(file)!r} has no line 'Log starting offset: N'; dump the log's last segment again")
    return batches, end


def _lie(file: str, epochs: tuple[tuple[int, int], ...], batches: list[tuple[int, int, int]]) -> str | None:
    for base, _, epoch in batches:
        known = max((each for each, start in epochs if start <= base), default=-1)
        if known != epoch >= 0:
            return f"{file} says epoch {known} at offset {base}, and the log has epoch {epoch} there; take both again"
    return None


def _other_broker(file: Path, broker: int) -> str | None:
    lines = lines_of(read_text(str(file), "--replica")) if is_there(file) else []
    named = [each.partition("=")[2].strip() for each in lines if each.split("=")[0].strip() in ("node.id", "broker.id")]
    return None if named in ([], [str(broker)]) else f"{file} is of broker {named[0]}; give the folder of broker {broker}"


def _missing_directory(file: Path, broker: int, name: str) -> str | None:
    """Return, as text, what kafka-log-dirs.sh says against a replica: no directory of the broker has it, and which directories
    failed.  Return None if one has it, if there is no file, or if the file does not show this broker.
    Errors: `InputError` for what the tool does not print."""
    if not is_there(file):
        return None
    lines, shown = lines_of(read_text(str(file), "--replica")), repr(str(file))
    text = next((each for each in lines if each.startswith("{")), "")
    try:
        (directories,) = [each["logDirs"] for each in parse_json(text, shown)["brokers"] if each["broker"] == broker] or ([],)
        kept = [each for one in directories for each in one["partitions"] if each["partition"] == name and not each["isFuture"]]
        failed = [f"{one['logDir']} has {one['error']}" for one in directories if one["error"]]
    except (KeyError, TypeError, ValueError, AttributeError):
        raise InputError(f"{shown} is not what kafka-log-dirs.sh --describe prints; run it again, or remove the file") from None
    if kept or not directories:
        return None
    return f"{file} shows no directory {name} on broker {broker}{''.join(f', and {each}' for each in failed)}"


def _committed(file: Path, topic: str, partition: int) -> int | None:
    """Return the partition's offset that kafka-get-offsets.sh printed, before which all is committed; None if there is no such
    file, or none in it for this partition."""
    for at, line in enumerate(lines_of(read_text(str(file), "--replica")) if is_there(file) else [], 1):
        name, _, rest = line.partition(f":{partition}:")
        if name == topic and rest:
            return _number(rest.strip(), f"{file} line {at}")
    return None


def _contradiction(file: str, epochs: tuple[tuple[int, int], ...], end: int) -> str | None:
    for (epoch, start), (later, begins) in pairwise(epochs):
        if later <= epoch or begins < start:
            return (
                f"{file}: epoch {later} at offset {begins} after epoch {epoch} at offset {start}; take the files of one moment"
            )
    if epochs and epochs[-1][1] > end:
        return (
            f"{file}: epoch {epochs[-1][0]} starts at {epochs[-1][1]}, beyond the log end {end}; take the files of one moment"
        )
    if end and not epochs:
        return f"{file} has no epochs, but the log ends at {end}; take the files of one moment"
    return None


def _entries(file: Path, fields: int) -> list[tuple[list[str], str]]:
    """Return the fields of each entry, with its place; none of an empty file, as Kafka creates it (`CheckpointFile`).
    Errors: `InputError` for a file that is cut or malformed."""
    name = str(file)
    lines = [line.strip() for line in lines_of(read_text(name, "--replica"))]
    found = [(line.split(), f"{name} line {at}") for at, line in enumerate(lines, 1) if line]
    if not found:
        return []
    if len(found) < 2 or found[0][0] != ["0"]:
        raise InputError(f"{name!r} is no checkpoint of version 0: its first lines are a version and a count; copy it again")
    (count, where), entries = found[1], found[2:]
    if len(count) != 1 or _number(count[0], where) != len(entries):
        said = quote(" ".join(count))
        raise InputError(f"{where} says {said} entries, and {len(entries)} follow: the file is cut; copy it again")
    for each, place in entries:
        if len(each) != fields:
            raise InputError(f"bad entry {quote(' '.join(each))} in {place}: it has {fields} fields; copy the file again")
    return entries


def _offset(file: Path, topic: str, partition: int) -> int | None:
    """Return the offset of one partition in a checkpoint of many, the last if it is there twice; None where it has none."""
    found = None
    for (name, number, offset), where in _entries(file, 3):
        if name == topic and _number(number, where) == partition:
            found = _number(offset, where)
    return found


def _number(text: str, where: str) -> int:
    if not (text.isascii() and text.isdigit() and len(text) < 20 and int(text) < LARGEST):
        raise InputError(f"bad value {quote(text)} in {where}: use a whole number from 0; copy the file again")
    return int(text)
