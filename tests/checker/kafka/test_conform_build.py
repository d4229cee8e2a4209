"""A committer's own build: one changed line of Kafka's classes is found, by the events that it changes, and only then.

The line is changed where it is compiled: one comparison of a class file, without a compiler.
"""

from __future__ import annotations

import json
import re
import subprocess
import zipfile
from pathlib import Path
from xml.etree import ElementTree

import pytest

from neverlost.checker.kafka.conform.java import kafka
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
    """The test cases that fail when a part is compared."""
    arguments = ("--classpath", str(jars), "--part", part, "--set", setting, "--out", str(folder))
    done = neverlost("conform", *arguments, timeout=600)
    suite = ElementTree.parse(folder / "conform-4.3.1.junit.xml").getroot()
    found = {str(case.get("name")) for case in suite if case.find("failure") is not None}
    assert len(suite) > 5 and done.returncode == (22 if found else 0), done.stderr
    assert int(suite.get("failures", "-1")) == len(found)
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
