"""Jars of a released Kafka in which one method has one line more, without a compiler of Kafka's."""

from __future__ import annotations

import subprocess
import zipfile
from dataclasses import dataclass
from pathlib import Path

from neverlost.checker.kafka.conform.java import kafka
from tests.support.maven import fetched_jar
from tests.support.program import ROOT


@dataclass(frozen=True)
class ChangedMethod:
    """One line more at the beginning of a method, and the parts of a comparison that tell."""

    of: str
    method: str
    line: str
    told: frozenset[str] = frozenset()


def lengthened(folder: Path, change: ChangedMethod, version: str = "4.3") -> Path:
    """The jars of a release, with one line more in a method, written by Javassist."""
    folder.mkdir()
    jars = kafka.kafka_of_version(version, trust=version == "3.9.1").jars
    path = ":".join(map(str, [fetched_jar("org.javassist", "javassist", "3.30.2-GA"), *jars]))
    asked = [change.of, change.method, change.line, str(folder / "classes")]
    subprocess.run(
        ["java", "-cp", path, str(ROOT / "tests" / "support" / "ChangeMethod.java"), *asked], check=True, timeout=600
    )
    name = change.of.replace(".", "/") + ".class"
    for jar in jars:
        with zipfile.ZipFile(jar) as released:
            if name not in released.namelist():
                (folder / jar.name).symlink_to(jar)
                continue
            with zipfile.ZipFile(folder / jar.name, "w") as changed:
                for each in released.namelist():
                    content = (folder / "classes" / name).read_bytes() if each == name else released.read(each)
                    changed.writestr(each, content)
    return folder


KNOWN_RECORD = ChangedMethod(
    "kafka.cluster.Partition",
    "makeLeader",
    "if (isLeader() && $1.partitionEpoch == getPartitionEpoch() && $1.leaderEpoch == getLeaderEpoch()) return false;",
)
"""A leader leaves out the record of what it knows: a stand-in for a fix of the late record."""

LATE_RESPONSE = ChangedMethod(
    "kafka.server.AbstractFetcherThread", "$anonfun$processFetchRequest$8", "if ($1 != null) return true;"
)
"""3.9.1 without the fix of KAFKA-18991: a response counts whatever the leader epoch of its fetch."""

NEWER_BYTES = ChangedMethod("kafka.log.UnifiedLog", "appendAsFollower", "$2 = 2147483647;")
"""3.9.1 without the fix of KAFKA-18723: a follower appends batches of a newer epoch than its own."""

OLD_INCARNATION = ChangedMethod(
    "org.apache.kafka.controller.ReplicationControlManager",
    "ineligibleReplicasForIsr",
    "for (java.util.Iterator each = $1.iterator(); each.hasNext();) "
    "((org.apache.kafka.common.message.AlterPartitionRequestData$BrokerState) each.next()).setBrokerEpoch(-1L);",
)
"""Without KIP-903 (KAFKA-14139, fixed in 3.5): AlterPartition may add a replica whose process has ended since."""
