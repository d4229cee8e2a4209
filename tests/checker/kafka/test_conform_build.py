"""A committer's own build: one changed line of Kafka's classes is found, by the events that it changes, and only then.

The line is changed where it is compiled: one comparison of a class file, without a compiler.
"""

from __future__ import annotations

import json
import re
import subprocess
import zipfile
from pathlib import Path

import pytest

from neverlost.checker.kafka.conform.exploration.explore_classes import ExplorationResult
from neverlost.checker.kafka.conform.exploration.explored_group import Bounds
from neverlost.checker.kafka.conform.java import kafka
from neverlost.checker.kafka.conform.walk.random_walk import Drawn
from neverlost.reports.questions.conform.java_test_writer import PATH, write_path_test
from tests.support.changed_jars import KNOWN_RECORD, ChangedMethod, lengthened
from tests.support.explored_paths import LATE, LATE_RECORD, LATE_RECORDS, LATE_TRUNCATION, walk_path
from tests.support.maven import fetched_jar
from tests.support.program import neverlost

LEADER = "replication.factor=2 min.insync.replicas=2 faults.isr_shrink=1 start.outside_isr=1 bounds.records=2"
CONTROLLER = "replication.factor=2 min.insync.replicas=2 faults.crash=1 bounds.records=1"
PARTITION = "kafka/cluster/Partition.class"
MANAGER = "org/apache/kafka/controller/ReplicationControlManager.class"
"""The class of each part's line."""

OR_EQUAL = {b"\xa2": b"\xa3", b"\xa4": b"\xa1"}
"""`if_icmpge`, which leaves out what `<` lets in, and `if_icmpgt` for `<=`; the same for `>` and `>=`."""

UNDER_MIN_ISR = rb"(\x2a\xb6..\xb9..\x01\x00\xb9..\x01\x00\x2a\x2b\xb7..)(\xa2)(\x00\x05\x04\xac\x03\xac)"
"""isUnderMinIsr: `partitionState.isr.size < effectiveMinIsr(log)`."""

OLDER_RECORD = rb"(\x2b\xb4..\x2a\xb7..)(\xa2)(\x00\x25\x2a\xb7..\x2a\xb6)"
"""makeLeader (makeFollower has the like): `registration.partitionEpoch < partitionEpoch`, a record that is left out."""

NEWER_LEADER_EPOCH = rb"(\x19\x05\xb6..\x19\x04\xb4..)(\xa4)(\x00\x50\x2a)"
"""validateAlterPartitionData: `partitionData.leaderEpoch() > partition.leaderEpoch`, a request that is refused."""


def built(folder: Path, comparison: bytes | None = None, of: str = PARTITION) -> Path:
    """The jars of the release, with one comparison of a class changed so that it lets in what is equal."""
    folder.mkdir()
    changed_jar = "kafka_2.13-" if of == PARTITION else "kafka-metadata-"
    for jar in kafka.kafka_of_version("4.3").jars:
        if not jar.name.startswith(changed_jar) or comparison is None:
            (folder / jar.name).symlink_to(jar)
            continue
        with zipfile.ZipFile(jar) as released, zipfile.ZipFile(folder / jar.name, "w") as changed:
            for name in released.namelist():
                content = released.read(name)
                if name == of:
                    content, count = re.subn(
                        comparison,
                        lambda found: found[1] + OR_EQUAL[found[2]] + found[3],
                        content,
                        count=1,
                        flags=re.DOTALL,
                    )
                    assert count == 1, f"another compiler's {of}: look for the comparison again"
                changed.writestr(name, content)
    return folder


def failures(folder: Path, jars: Path, part: str = "leader", setting: str = LEADER) -> set[str]:
    """The kinds of events in which a part differs."""
    arguments = ("--classpath", str(jars), "--part", part, "--set", setting, "--out", str(folder), "--json", "-")
    done = neverlost("conform", *arguments, timeout=600)
    stated = json.loads(done.stdout)
    events = [event for each in stated["parts"] for event in each["by_event"]]
    cases = [each["case"] for each in stated["differences"] if each["new"]]
    found = {next(event for event in events if case.startswith(event)) for case in cases}
    assert len(events) > 5 and done.returncode == (22 if found else 0), done.stderr
    return found


def passes(test: Path, jars: Path, package: str = "kafka.cluster") -> bool:
    """Whether a Java test passes with a folder of Kafka's jars."""
    junit = fetched_jar("org.junit.platform", "junit-platform-console-standalone", "1.13.1")
    classes = jars.parent / f"classes-of-{jars.name}"
    compiled = ["javac", "-nowarn", "-cp", f"{jars}/*:{junit}", "-d", str(classes), str(test)]
    subprocess.run(compiled, check=True, timeout=600)
    path = ":".join([str(classes), *map(str, sorted(jars.glob("*.jar")))])
    asked = ["execute", "--class-path", path, "--select-class", f"{package}.{test.stem}", "--disable-banner"]
    done = subprocess.run(["java", "-jar", str(junit), *asked], capture_output=True, text=True, timeout=600, check=False)
    assert "tests found" in done.stdout and "0 tests found" not in done.stdout, done.stdout + done.stderr
    return done.returncode == 0


@pytest.mark.kafka
def test_one_changed_line_of_partition_is_found(tmp_path: Path) -> None:
    assert failures(tmp_path / "released", built(tmp_path / "release")) == set()
    found = failures(tmp_path / "changed", built(tmp_path / "build", UNDER_MIN_ISR))
    assert {"append", "fetch"} & found
    test = tmp_path / "changed" / "PartitionDiffersTest.java"
    records = json.loads((tmp_path / "changed" / "conform-4.3.1.records.json").read_text())
    assert records[0]["records"][0]["type"] == "PARTITION_RECORD" and not (tmp_path / "released" / test.name).exists()
    assert {name: passes(test, tmp_path / name) for name in ("release", "build")} == {"release": True, "build": False}


@pytest.mark.kafka
def test_one_changed_line_of_the_controller_is_found(tmp_path: Path) -> None:
    """AlterPartition of the leader's own epoch is refused: so it is in the test, which compiles with the released jars."""
    setting = ("controller", CONTROLLER)
    assert failures(tmp_path / "released", built(tmp_path / "release"), *setting) == set()
    found = failures(tmp_path / "changed", built(tmp_path / "build", NEWER_LEADER_EPOCH, MANAGER), *setting)
    assert found == {"controller_alter_isr"}
    test = tmp_path / "changed" / "ReplicationControlManagerDiffersTest.java"
    assert not (tmp_path / "released" / test.name).exists()
    verdicts = {name: passes(test, tmp_path / name, "org.apache.kafka.controller") for name in ("release", "build")}
    assert verdicts == {"release": True, "build": False}


@pytest.mark.kafka
def test_the_remedy_of_the_late_record_in_kafkas_own_class(tmp_path: Path) -> None:
    """With `<=` in makeLeader the record of a known partition epoch is not applied; that is all that changes."""
    assert failures(tmp_path / "compared", built(tmp_path / "build", OLDER_RECORD)) == {"record of the same partition epoch"}


CHANGED = {
    "a follower truncates one record too few": ChangedMethod(
        "kafka.cluster.Partition", "truncateTo", "$1 = $1 + 1L;", frozenset({"walks"})
    ),
    "an answer counts for an ISR that was given up since it was asked for": ChangedMethod(
        "kafka.cluster.Partition", "$anonfun$submitAlterPartition$4", "$1.partitionState = $2;", frozenset({"leader", "random"})
    ),
    "a replica that returns without its page cache stays in the ELR": ChangedMethod(
        "org.apache.kafka.controller.PartitionChangeBuilder",
        "maybePopulateTargetElr",
        "uncleanShutdownReplicas = null;",
        frozenset({"builder", "controller"}),
    ),
}


def path_test(folder: Path, version: str, bounds: Bounds, path: tuple[Drawn, ...]) -> Path:
    """The Java test of a path, as it is on a version."""
    walked = walk_path(version, bounds, path)
    folder.mkdir()
    write_path_test(str(folder), ExplorationResult(version, bounds, broken=walked.broken, trace=path, steps=walked.steps))
    return folder / PATH


@pytest.mark.kafka
def test_a_path_is_a_java_test_that_fails_before_the_fix_alone(tmp_path: Path) -> None:
    """KAFKA-18991, fixed in 3.9.1; and on 4.3.1 the late record, with a stand-in for a fix of it."""
    late = path_test(tmp_path / "late", "3.9.0", LATE, LATE_TRUNCATION)
    written = late.read_text()
    late.write_text(written.replace("group.keeps(1);", "group.keeps(1);\n        assertTrue(group.promised.contains('a'));"))
    assert late.read_text() != written  # so that it does not pass for want of a record that is promised
    for version, is_fixed in (("3.9.0", False), ("3.9.1", True), ("4.3.1", True)):
        jars = kafka.kafka_of_version(version, trust=version.startswith("3.9")).jars
        (tmp_path / version).symlink_to(jars[0].parent)
        assert passes(late, tmp_path / version) == is_fixed, version
    record = path_test(tmp_path / "record", "4.3.1", LATE_RECORDS, LATE_RECORD)
    assert not passes(record, tmp_path / "4.3.1")
    assert passes(record, lengthened(tmp_path / "build", KNOWN_RECORD))


@pytest.mark.slow
@pytest.mark.kafka
@pytest.mark.parametrize("says", CHANGED)
def test_a_changed_jar_is_told_from_the_released_one_without_being_told_where(says: str, tmp_path: Path) -> None:
    """Two minutes each; the released jars agree (test_conform.py, and the published pages of conform)."""
    change = CHANGED[says]
    jars = lengthened(tmp_path / "jars", change)
    done = neverlost("conform", "--classpath", str(jars), "--short", "--json", "-", timeout=900)
    parts = {each["part"]: each["unexplained"] for each in json.loads(done.stdout)["parts"]}
    assert done.returncode == 22, done.stderr
    assert {name for name, unexplained in parts.items() if unexplained} == change.told


@pytest.mark.slow
@pytest.mark.kafka
def test_a_search_of_the_classes_tells_two_of_them_by_what_it_reaches(tmp_path: Path) -> None:
    """Without a model; the third is about the ELR, which the search of the classes does not switch on."""
    reached = {"released": searched("--kafka-version", "4.3.1")}
    for says, change in CHANGED.items():
        reached[says] = searched("--classpath", str(lengthened(tmp_path / change.method, change)))
    truncated, answered, eligible = CHANGED
    assert reached[eligible] == reached["released"]
    assert len({reached[each] for each in ("released", truncated, answered)}) == 3


def searched(*which: str) -> tuple[int, int]:
    """How many states and transitions a closed search of the classes has."""
    done = neverlost("conform", "--free", *which, "--json", "-", timeout=900)
    found = json.loads(done.stdout)
    assert done.returncode == 0, done.stderr
    return found["states"]["distinct"], found["states"]["generated"]
