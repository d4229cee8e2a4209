"""What a cluster leaves on disk, read and cut without one: record batches, the metadata log, checkpoints; and Kafka homes."""

from __future__ import annotations

import struct
import uuid
from pathlib import Path

import pytest

from neverlost.checker.kafka.cluster import batches, disk, jars, metadata
from neverlost.specs.errors import InputError

TOPIC = uuid.UUID(int=7)


def varint(value: int) -> bytes:
    """Zig-zag encoding, by its definition."""
    return unsigned((value << 1) ^ (value >> 63))


def unsigned(value: int) -> bytes:
    parts = []
    while value > 0x7F:
        parts.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*parts, value])


def batch(base: int, epoch: int, *values: bytes) -> bytes:
    """A record batch of magic 2 as a leader writes it."""
    body = b""
    for delta, value in enumerate(values):
        record = b"\0" + varint(0) + varint(delta) + varint(-1) + varint(len(value)) + value + varint(0)
        body += varint(len(record)) + record
    tail = struct.pack(">ibihiqqqhii", epoch, 2, 0, 0, len(values) - 1, 0, 0, -1, -1, -1, len(values)) + body
    return struct.pack(">qi", base, len(tail)) + tail


SEGMENT = batch(0, 0, b"a") + batch(1, 0, b"b", b"c") + batch(3, 2, b"d")


def test_batches_are_read_with_offsets_and_epochs() -> None:
    records = [record for each in batches.parse_batches(SEGMENT) for record in each.records]
    assert [(one.offset, one.leader_epoch, one.value) for one in records] == [
        (0, 0, b"a"),
        (1, 0, b"b"),
        (2, 0, b"c"),
        (3, 2, b"d"),
    ]


@pytest.mark.parametrize("left", [1, 13, 60])
def test_a_torn_batch_and_the_zeros_of_preallocation_end_a_segment(left: int) -> None:
    assert len(list(batches.parse_batches(SEGMENT[:-left]))) == 2
    assert len(list(batches.parse_batches(SEGMENT + bytes(500)))) == 3


def test_a_cut_falls_between_batches_only() -> None:
    first = len(batch(0, 0, b"a"))
    assert batches.find_cut_position(SEGMENT, 0) == 0
    assert batches.find_cut_position(SEGMENT, 1) == first
    assert batches.find_cut_position(SEGMENT, 9) == len(SEGMENT)
    with pytest.raises(ValueError, match="offset 2 is inside the batch 1-2"):
        batches.find_cut_position(SEGMENT, 2)


def written(data: Path) -> Path:
    folder = data / "t-0"
    folder.mkdir(parents=True)
    (folder / disk.SEGMENT).write_bytes(SEGMENT)
    for name in ("00000000000000000000.index", "00000000000000000000.timeindex", "00000000000000000001.snapshot"):
        (folder / name).write_bytes(b"")
    (folder / "00000000000000000004.snapshot").write_bytes(b"")
    (folder / disk.EPOCHS).write_text("0\n2\n0 0\n2 3\n")
    (data / disk.HIGH_WATERMARKS).write_text("0\n2\nt 0 4\nother 0 9\n")
    (data / disk.RECOVERY_POINTS).write_text("0\n1\nt 0 0\n")
    (data / disk.CLEAN_SHUTDOWN).write_text("{}")
    return folder


def test_what_was_lost_leaves_no_trace_in_the_log_directory(tmp_path: Path) -> None:
    folder = written(tmp_path)
    done = disk.lose_end(tmp_path, "t-0", 1)
    assert [each.last_offset for each in batches.parse_batches((folder / disk.SEGMENT).read_bytes())] == [0]
    assert sorted(each.name for each in folder.iterdir()) == [
        "00000000000000000000.log",
        "00000000000000000001.snapshot",
        "leader-epoch-checkpoint",
    ]
    assert (folder / disk.EPOCHS).read_text() == "0\n1\n0 0\n"
    assert (tmp_path / disk.HIGH_WATERMARKS).read_text() == "0\n2\nt 0 1\nother 0 9\n"
    assert (tmp_path / disk.RECOVERY_POINTS).read_text() == "0\n1\nt 0 0\n"
    assert not (tmp_path / disk.CLEAN_SHUTDOWN).exists()
    assert (
        done[0]
        == f"truncated t-0/{disk.SEGMENT} from {len(SEGMENT)} to {len(batch(0, 0, b'a'))} bytes: offset 1 and later are gone"
    )


def compact(numbers: list[int]) -> bytes:
    return unsigned(len(numbers) + 1) + b"".join(struct.pack(">i", each) for each in numbers)


def partition_record(version: int = 0) -> bytes:
    body = struct.pack(">i", 0) + TOPIC.bytes + compact([1, 2, 3]) + compact([1, 2]) + compact([]) + compact([])
    body += struct.pack(">iii", 1, 4, 9)
    body += unsigned(3) + bytes(32) if version else b""
    tagged = b"\x01\x01" + unsigned(len(compact([3]))) + compact([3])
    return b"\x01\x03" + unsigned(version) + body + (tagged if version else b"\0")


def change_record(*tags: tuple[int, bytes]) -> bytes:
    fields = b"".join(unsigned(tag) + unsigned(len(body)) + body for tag, body in tags)
    return b"\x01\x05\x00" + struct.pack(">i", 0) + TOPIC.bytes + unsigned(len(tags)) + fields


def followed(tmp_path: Path, *records: bytes) -> metadata.MetadataImage:
    path = tmp_path / "log"
    found = metadata.MetadataImage()
    path.write_bytes(batch(0, 0, b"\x01\x02\x00" + unsigned(2) + b"t" + TOPIC.bytes + b"\0"))
    found.follow(path)
    with path.open("ab") as stream:
        stream.write(batch(1, 0, *records))
    found.follow(path)
    return found


def test_partition_records_of_both_shapes(tmp_path: Path) -> None:
    for version, elr in ((0, ()), (1, (3,))):
        found = followed(tmp_path, partition_record(version)).partition("t")
        assert found == metadata.PartitionRecord(TOPIC, 0, (1, 2, 3), (1, 2), 1, 4, 9, elr=elr)


def test_a_change_moves_the_partition_epoch_and_a_named_leader_the_leader_epoch(tmp_path: Path) -> None:
    leader = struct.pack(">i", 2)
    found = followed(tmp_path, partition_record(), change_record((0, compact([2]))), change_record((1, leader))).partition("t")
    assert found is not None
    assert (found.isr, found.leader, found.leader_epoch, found.partition_epoch) == ((2,), 2, 5, 11)


def test_unknown_records_and_tags_are_passed_over(tmp_path: Path) -> None:
    found = followed(tmp_path, b"\x01\x63\x00whatever", partition_record(), change_record((50, b"new"))).partition("t")
    assert found is not None
    assert found.partition_epoch == 10


@pytest.mark.parametrize(
    ("version", "says"),
    [
        ("4", "bad value '4' for --kafka-version: write X.Y (its newest patch) or X.Y.Z"),
        ("newest", "bad value 'newest' for --kafka-version"),
        ("2.8", "--kafka-version is Kafka 2.8; clusters run without ZooKeeper from 3.3 on"),
    ],
)
def test_versions_that_are_none(version: str, says: str) -> None:
    with pytest.raises(InputError) as problem:
        jars.parse_version(version)
    assert says in str(problem.value)


def test_a_minor_version_is_its_newest_patch() -> None:
    assert "<version>[3.9.0,3.10.0-alpha)</version>" in jars.format_pom((3, 9))
    assert "<version>3.9.1</version>" in jars.format_pom((3, 9, 1))
    assert ("log4j-slf4j-impl" in jars.format_pom((4, 0)), "log4j-slf4j-impl" in jars.format_pom((3, 9))) == (True, False)


def test_the_cache_answers_with_its_newest_patch(tmp_path: Path) -> None:
    for name in ("kafka-3.9.0", "kafka-3.9.2", "kafka-3.9.3-rc1", "kafka-4.0.0", "fetching-x"):
        (tmp_path / name).mkdir()
    assert jars.find_cached(tmp_path, (3, 9)) == tmp_path / "kafka-3.9.2"
    assert jars.find_cached(tmp_path, (3, 9, 0)) == tmp_path / "kafka-3.9.0"
    assert jars.find_cached(tmp_path, (3, 5)) is None


def test_a_machine_without_maven_or_java_gets_one_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    bare = {"PATH": "", "HOME": str(tmp_path)}
    with pytest.raises(InputError) as problem:
        jars.fetch_home("3.9", tmp_path, bare)
    assert "there is no Maven (mvn) to fetch it: install Maven, or give --kafka-home DIR" in str(problem.value)
    monkeypatch.setattr("neverlost.checker.engine.spark.java._find_extra_home", lambda: None)
    with pytest.raises(InputError, match="a Kafka broker needs Java 17 or newer, and there is none"):
        jars.find_kafka(version="3.9", environment=bare)
    assert not list(tmp_path.iterdir()), "nothing is left behind"


def test_a_folder_without_kafka_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="is no Kafka home: it has no"):
        jars.find_version(tmp_path)
    (tmp_path / "libs").mkdir()
    (tmp_path / "libs" / "kafka_2.13-3.9.1.jar").touch()
    assert jars.find_version(tmp_path) == (3, 9, 1)


def test_jars_of_the_cache_are_looked_at_whenever_they_are_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "libs").mkdir()
    (tmp_path / "libs" / "kafka_2.13-3.9.2.jar").write_bytes(b"changed since it was fetched")
    monkeypatch.setattr(jars, "find_java_home", lambda *_, **__: tmp_path)
    monkeypatch.setattr(jars, "fetch_home", lambda *_: tmp_path)
    with pytest.raises(InputError, match=r"kafka_2.13-3.9.2.jar' has another SHA-512 than the released one .* --trust-maven"):
        jars.find_kafka(version="3.9")
    assert jars.find_kafka(version="3.9", trust=True).version == (3, 9, 2)
    assert jars.find_kafka(home=str(tmp_path)).version == (3, 9, 2)
    (tmp_path / "libs" / "unknown-1.0.jar").touch()
    (tmp_path / "libs" / "kafka_2.13-3.9.2.jar").unlink()
    with pytest.raises(InputError, match=r"unknown-1\.0\.jar' is not among the known jars"):
        jars.find_kafka(version="3.9")


def test_which_kafka_must_be_said() -> None:
    with pytest.raises(InputError, match="say which Kafka"):
        jars.find_kafka()
