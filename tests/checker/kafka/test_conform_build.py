"""A committer's own build: one changed line of Kafka's Partition is found, by the events that it changes, and only then.

The line is changed where it is compiled: one comparison of `kafka/cluster/Partition.class`, without a compiler.
"""

from __future__ import annotations

import json
import re
import subprocess
import zipfile
from pathlib import Path
from xml.etree import ElementTree

import pytest

from neverlost.checker.kafka.conform.classes import kafka
from tests.support.maven import fetched_jar
from tests.support.program import neverlost

LEADER = "replication.factor=2 min.insync.replicas=2 faults.isr_shrink=1 start.outside_isr=1 bounds.records=2"
CLASS = "kafka/cluster/Partition.class"
LESS_OR_EQUAL = b"\xa3"
"""`if_icmpgt`, which leaves out what `<=` lets in; `if_icmpge` does it for `<`."""

UNDER_MIN_ISR = rb"(\x2a\xb6..\xb9..\x01\x00\xb9..\x01\x00\x2a\x2b\xb7..)\xa2(\x00\x05\x04\xac\x03\xac)"
"""isUnderMinIsr: `partitionState.isr.size < effectiveMinIsr(log)`."""

OLDER_RECORD = rb"(\x2b\xb4..\x2a\xb7..)\xa2(\x00\x25\x2a\xb7..\x2a\xb6)"
"""makeLeader (makeFollower has the like): `registration.partitionEpoch < partitionEpoch`, a record that is left out."""


def built(folder: Path, comparison: bytes | None = None) -> Path:
    """The jars of the release, with one comparison of Partition changed from `<` to `<=`."""
    folder.mkdir()
    for jar in kafka.of_version("4.3").jars:
        if not jar.name.startswith("kafka_2.13-") or comparison is None:
            (folder / jar.name).symlink_to(jar)
            continue
        with zipfile.ZipFile(jar) as released, zipfile.ZipFile(folder / jar.name, "w") as changed:
            for name in released.namelist():
                content = released.read(name)
                if name == CLASS:
                    content, count = re.subn(comparison, rb"\1" + LESS_OR_EQUAL + rb"\2", content, count=1, flags=re.DOTALL)
                    assert count == 1, "another compiler's Partition: look for the comparison again"
                changed.writestr(name, content)
    return folder


def failures(folder: Path, jars: Path) -> set[str]:
    """The test cases that fail when the leader's part is compared."""
    arguments = ("--classpath", str(jars), "--part", "leader", "--set", LEADER, "--out", str(folder))
    done = neverlost("conform", *arguments, timeout=600)
    suite = ElementTree.parse(folder / "conform-4.3.1.junit.xml").getroot()
    found = {str(case.get("name")) for case in suite if case.find("failure") is not None}
    assert len(suite) > 5 and done.returncode == (22 if found else 0), done.stderr
    assert int(suite.get("failures", "-1")) == len(found)
    return found


def passes(test: Path, jars: Path) -> bool:
    """Whether a Java test passes with a folder of Kafka's jars."""
    junit = fetched_jar("org.junit.platform", "junit-platform-console-standalone", "1.13.1")
    classes = jars.parent / f"classes-of-{jars.name}"
    compiled = ["javac", "-nowarn", "-cp", f"{jars}/*:{junit}", "-d", str(classes), str(test)]
    subprocess.run(compiled, check=True, timeout=600)
    path = ":".join([str(classes), *map(str, sorted(jars.glob("*.jar")))])
    asked = ["execute", "--class-path", path, "--select-class", "kafka.cluster.PartitionDiffersTest", "--disable-banner"]
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
def test_the_remedy_of_the_late_record_in_kafkas_own_class(tmp_path: Path) -> None:
    """With `<=` in makeLeader the record of a known partition epoch is not applied: the loss in ten events is gone."""
    fixed = built(tmp_path / "build", OLDER_RECORD)
    assert failures(tmp_path / "compared", fixed) == {"record of the same partition epoch"}
    result = tmp_path / "free.json"
    neverlost("conform", "--free", "--classpath", str(fixed), "--depth", "10", "--json", str(result), timeout=600)
    found = json.loads(result.read_text())
    assert (found["verdict"], found["trace"], found["states"]["depth"]) == ("inconclusive", None, 10)
