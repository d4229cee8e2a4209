"""What a broker keeps of one replica in its files: the leader epochs of its log, its high watermark and its log end.

Source: CheckpointFile.java, LeaderEpochCheckpointFile.java, OffsetCheckpointFile.java (a version, how many entries, entries).
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

from neverlost.specs.errors import InputError, quote
from neverlost.specs.inputs.syntax.text import lines_of, read_text

EPOCHS, HIGH_WATERMARKS, LOG_ENDS = "leader-epoch-checkpoint", "replication-offset-checkpoint", "log-end-offset"
"""Kafka's two files, and one of the second's format that whoever gathers them writes: Kafka keeps no log end."""

LARGEST = 2**63


@dataclass(frozen=True)
class ReplicaFiles:
    """What files say of one replica's log.  Shapes: `epochs` are pairs of a leader epoch and its start offset.  Units: offsets;
    `end` is the next record's.  `problem` says how the files contradict themselves."""

    broker: int
    epochs: tuple[tuple[int, int], ...]
    end: int
    high_watermark: int | None
    problem: str | None = None


def read_replica(broker: int, directory: str, topic: str, partition: int) -> ReplicaFiles:
    """Return what the files in a directory say.

    Errors: `InputError` for a file that is missing, cut or malformed, and for one without this partition.
    """
    folder = Path(directory)
    entries = _entries(folder / EPOCHS, 2)
    epochs = tuple((_number(epoch, where), _number(start, where)) for (epoch, start), where in entries)
    end = _offset(folder / LOG_ENDS, topic, partition)
    if end is None:
        raise InputError(f"{str(folder / LOG_ENDS)!r} has no {topic} {partition}; add it, in the format of Kafka's checkpoints")
    high = _offset(folder / HIGH_WATERMARKS, topic, partition)
    return ReplicaFiles(broker, epochs, end, high, _contradiction(str(folder / EPOCHS), epochs, end))


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
    """Return the fields of each entry, with its place."""
    name = str(file)
    lines = [line.strip() for line in lines_of(read_text(name, "--replica"))]
    found = [(line.split(), f"{name} line {at}") for at, line in enumerate(lines, 1) if line]
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
    """Return the offset of one partition in a file of many; None where it has none."""
    found = None
    for (name, number, offset), where in _entries(file, 3):
        if name == topic and _number(number, where) == partition:
            found = _number(offset, where)
    return found


def _number(text: str, where: str) -> int:
    if not (text.isascii() and text.isdigit() and len(text) < 20 and int(text) < LARGEST):
        raise InputError(f"bad value {quote(text)} in {where}: use a whole number from 0; copy the file again")
    return int(text)
