"""`neverlost roll`: the broker that must not be stopped is named, with the partition that it would stop."""

from __future__ import annotations

from pathlib import Path

from tests.support.program import neverlost

DESCRIBED = """\
Topic: orders\tPartitionCount: 2\tReplicationFactor: 2\tConfigs: min.insync.replicas=1
\tTopic: orders\tPartition: 0\tLeader: 101\tReplicas: 101,102\tIsr: 101
\tTopic: orders\tPartition: 1\tLeader: 103\tReplicas: 103,104\tIsr: 103,104
"""


def test_the_last_member_of_an_isr_must_not_be_stopped(tmp_path: Path) -> None:
    described = tmp_path / "topics.txt"
    described.write_text(DESCRIBED)
    asked = ("roll", "--describe", str(described), "--kafka-version", "3.9", "--set", "defects=fixed")
    done = neverlost(*asked)
    assert done.returncode == 13, done.stderr
    found = {line.split()[1]: line for line in done.stdout.splitlines()}
    assert list(found) == ["102", "103", "104", "101"]
    assert found["101"].startswith("broker 101 must not be stopped: writes stop on orders-0.")
    assert all("may be stopped. If another then loses data: LOST" in found[each] for each in ("103", "104"))


def test_limits_of_faults_are_refused(tmp_path: Path) -> None:
    described = tmp_path / "topics.txt"
    described.write_text(DESCRIBED)
    done = neverlost("roll", "--describe", str(described), "--set", "faults.crash=1")
    assert done.returncode == 64 and "roll asks about stops itself" in done.stderr
