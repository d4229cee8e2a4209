"""What was not given: answered both ways, or with the least safe value and a line that says so; never in silence."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.support.program import neverlost

HEAD = (
    "Topic: orders\tTopicId: OLTmUuRNp_I3DZ4mDicTZQ\tPartitionCount: 1\tReplicationFactor: 3\tConfigs: min.insync.replicas=2\n"
)
PARTITION = "\tTopic: orders\tPartition: 0\tLeader: 1\tReplicas: 1,2,3\tIsr: 1,2,3\n"
OLD = "Topic:old\tPartitionCount:1\tReplicationFactor:3\tConfigs:min.insync.replicas=2\n" + PARTITION.replace(
    "Topic: orders\tPartition: 0\tLeader: 1\tReplicas: 1,2,3\tIsr: ",
    "Topic: old\tPartition: 0\tLeader: 1\tReplicas: 1,2,3\tIsr: ",
)
FEATURES = (
    "Feature: metadata.version\tSupportedMinVersion: 3.3-IV3\tSupportedMaxVersion: 4.3-IV0\t"
    "FinalizedVersionLevel: {}\tEpoch: 7\n"
)
ACKED = ("--property", "acked-never-lost")
REGISTERED = ("--set", "mechanism.unregistered-fetch-refused=on")
"""Without the defect that has the loss of `NOT_MONOTONE` at every metadata.version."""
NOT_MONOTONE = (
    *("--set", "faults.data_loss=any:1", "--set", "acks=all", "--set", "bounds.records=1", *REGISTERED),
    *(*ACKED, "--no-advise"),
)


@pytest.fixture
def files(tmp_path: Path) -> Path:
    """A folder with a description, as Kafka prints it since 2.8, and one of a cluster before 2.2."""
    (tmp_path / "d.txt").write_text(HEAD + PARTITION)
    (tmp_path / "old.txt").write_text(OLD)
    return tmp_path


def test_of_several_producers_the_least_safe_decides_in_any_order(files: Path) -> None:
    (files / "a1.properties").write_text("bootstrap.servers=k:9092\nacks=1\n")
    (files / "aall.properties").write_text("bootstrap.servers=k:9092\nacks=all\n")
    asked = ("check", "--describe", "d.txt", "--kafka-version", "3.9", "--set", "metadata.version=3.9-IV0")
    asked += ("--set", "defects=fixed", "--set", "faults.kill=1", *ACKED, "--no-advise", "--quiet")
    for first, second in (("a1", "aall"), ("aall", "a1")):
        done = neverlost(*asked, *(f"--producer-properties={each}.properties" for each in (first, second)), cwd=files)
        assert done.returncode == 12, done.stdout + done.stderr
        assert "a1.properties" in done.stderr and "decides with acks=1, the least safe of them" in done.stderr
    assert neverlost(*asked, "--producer-properties", "aall.properties", cwd=files).returncode == 0


@pytest.mark.parametrize(
    ("more", "says"),
    [
        (
            ("--server-properties", "s1", "--server-properties", "s2"),
            "min.insync.replicas is '2' in s1 line 1 and '1' in s2 line 1",
        ),
        (
            ("--kafka-version", "2.8", "--kafka-version", "3.9"),
            "--kafka-version is 2.8 and 3.9; give the version that runs",
        ),
        (
            ("--set", "kafka.version=2.8", "--set", "kafka.version=3.9"),
            "kafka.version is '2.8' in --set and '3.9' in another --set",
        ),
    ],
)
def test_files_and_versions_that_contradict_each_other_are_refused(files: Path, more: tuple[str, ...], says: str) -> None:
    (files / "s1").write_text("min.insync.replicas=2\n")
    (files / "s2").write_text("min.insync.replicas=1\n")
    done = neverlost("check", "--describe", "d.txt", *more, cwd=files)
    assert (done.returncode, done.stdout) == (64, "") and says in done.stderr and done.stderr.count("\n") == 1


def test_eligible_leader_replicas_that_were_not_given_are_answered_both_ways(tmp_path: Path) -> None:
    lossy = ("--set", "min.insync.replicas=2", "--set", "faults.lossy_crash=1", "--set", "faults.isr_shrink=2")
    asked = ("check", "--set", "kafka.version=4.1", *lossy, "--set", "defects=fixed", "--set", "bounds.records=1", *ACKED)
    done = neverlost(*asked, "--no-advise", "--quiet")
    assert done.returncode == 12, done.stderr
    assert done.stdout.splitlines() == [
        "HOLDS        acked-never-lost (eligible.leader.replicas=true)",
        "VIOLATED     acked-never-lost (eligible.leader.replicas=false)",
    ]
    assert neverlost(*asked, "--no-advise", "--quiet", "--set", "eligible.leader.replicas=true").returncode == 0
    matrix = 'kafka.version = ["3.9", "4.1"]\ndefects = "fixed"\n[topic]\nreplication.factor = 3\nmin.insync.replicas = 2\n'
    (tmp_path / "gate.toml").write_text(matrix + "[faults]\nlossy_crash = 1\nisr_shrink = 2\n[bounds]\nrecords = 1\n")
    swept = json.loads(neverlost("sweep", "gate.toml", *ACKED, "--json", "-", cwd=tmp_path).stdout)
    assert [(each["cell"], each["verdict"]) for each in swept["cells"]] == [
        ({"kafka.version": "3.9", "eligible.leader.replicas": False}, "violated"),
        ({"kafka.version": "4.1", "eligible.leader.replicas": True}, "holds"),
        ({"kafka.version": "4.1", "eligible.leader.replicas": False}, "violated"),
    ]


def test_nines_are_given_with_and_without_eligible_leader_replicas() -> None:
    said = json.loads(neverlost("nines", "--set", "kafka.version=4.3", "--json", "-").stdout)
    assert list(said["nines"]) == [f"configuration (eligible.leader.replicas={each})" for each in ("true", "false")]


def test_what_can_be_answered_one_way_only_is_refused() -> None:
    done = neverlost("prove", "--set", "kafka.version=4.1", "--depth", "3")
    assert done.returncode == 64 and "set eligible.leader.replicas=true or false" in done.stderr


def test_a_version_that_was_not_given_is_the_oldest_and_the_newest_that_print_so(files: Path) -> None:
    asked = ("tolerance", "--describe", "d.txt", "--set", "acks=all", "--at-least", "data_loss=any:1")
    done = neverlost(*asked, "--quiet", cwd=files)
    assert done.returncode == 12, done.stderr
    assert "assumed: kafka.version=2.8 or 3.7" in done.stdout.splitlines()
    found = json.loads(neverlost("check", "--describe", "d.txt", *NOT_MONOTONE, "--json", "-", cwd=files).stdout)
    assert {each["settings"]["kafka.version"]["value"] for each in found["cells"]} == {"2.8", "3.7"}
    assert found["assumed"]["kafka.version"] == "2.8 or 3.7"


@pytest.mark.parametrize(
    ("label", "versions"),
    [
        ("Topic:t\tPartitionCount:1\tReplicationFactor:1\tConfigs:\n", "0.8 or 2.1"),
        ("Topic: t\tPartitionCount: 1\tReplicationFactor: 1\tConfigs: \n", "2.2 or 2.7"),
        ("Topic: t\tTopicId: x\tPartitionCount: 1\tReplicationFactor: 1\tConfigs: \n", "2.8 or 3.7"),
    ],
)
def test_the_labels_of_a_description_bound_its_version(tmp_path: Path, label: str, versions: str) -> None:
    """`TopicCommand`: a blank after the colon since 2.2, `TopicId` since 2.8, `Elr` since 3.8."""
    partition = "\tTopic: t\tPartition: 0\tLeader: 1\tReplicas: 1\tIsr: 1"
    for end, expected in (("\n", versions), ("\tElr: N/A\tLastKnownElr: N/A\n", "3.8 or 4.4")):
        (tmp_path / "t.txt").write_text(label + partition + end)
        asked = ("check", "--describe", "t.txt", "--set", "faults.out=1", *ACKED, "--no-advise", "--quiet")
        assert f"assumed: kafka.version={expected}" in neverlost(*asked, cwd=tmp_path).stdout.splitlines()


def test_what_brokers_set_and_no_file_shows_is_the_least_safe(files: Path) -> None:
    asked = ("tolerance", "--describe", "old.txt", "--kafka-version", "2.0", "--set", "acks=all", "--set", "defects=fixed")
    done = neverlost(*asked, "--at-least", "out=any", "--quiet", cwd=files)
    assert done.returncode == 12 and "assumed: unclean.leader.election.enable=true" in done.stdout.splitlines()
    (files / "s").write_text("broker.id=1\nunclean.leader.election.enable=false\n")
    shown = neverlost(*asked, "--at-least", "out=any", "--quiet", "--server-properties", "s", cwd=files)
    assert shown.returncode == 0 and "unclean" not in shown.stdout


@pytest.mark.parametrize(("level", "status"), [("3.4-IV0", 12), ("3.5-IV0", 12), ("3.5-IV1", 0), ("4.3-IV0", 0)])
def test_the_metadata_version_that_is_finalized_decides(files: Path, level: str, status: int) -> None:
    """`MetadataVersion.fetchRequestVersion`: a fetch has the broker's epoch from 3.5-IV1 on, whatever the binary is."""
    (files / "features.txt").write_text(FEATURES.format(level))
    done = neverlost(
        "check", "--describe", "d.txt", "--describe", "features.txt", "--kafka-version", "4.3", *NOT_MONOTONE, cwd=files
    )
    assert done.returncode == status, done.stdout
    assert "assumed: metadata.version" not in done.stdout and "not read" not in done.stderr


def test_a_metadata_version_that_no_file_shows_is_answered_both_ways(files: Path) -> None:
    done = neverlost("check", "--describe", "d.txt", "--kafka-version", "3.9", *NOT_MONOTONE, "--quiet", cwd=files)
    assert done.returncode == 12
    assert [line for line in done.stdout.splitlines() if "metadata.version" in line] == [
        "HOLDS        acked-never-lost (orders (metadata.version=3.9-IV0))",
        "VIOLATED     acked-never-lost (orders (metadata.version=3.4-IV0))",
        "assumed: metadata.version=3.9-IV0 or 3.4-IV0",
    ]


@pytest.mark.parametrize(
    ("settings", "status", "says"),
    [
        (("kafka.version=4.3", "metadata.version=3.4-IV0"), 12, "acked-never-lost"),
        (("kafka.version=4.3",), 0, "HOLDS"),
        (("kafka.version=3.9", "metadata.version=4.1-IV1"), 64, "Kafka 3.9 has no metadata.version 4.1-IV1"),
        (("kafka.version=3.9", "metadata.version=3.9-IV7"), 64, "bad value '3.9-IV7' for metadata.version in --set"),
        (("model=kraft", "metadata.version=3.9-IV0"), 64, "goes with kafka.version, not with model=kraft"),
    ],
)
def test_the_metadata_version_is_a_setting(settings: tuple[str, ...], status: int, says: str) -> None:
    given = [
        part for each in (*settings, "eligible.leader.replicas=false", "min.insync.replicas=2") for part in ("--set", each)
    ]
    done = neverlost("check", *given, *NOT_MONOTONE, "--quiet")
    assert done.returncode == status and says in done.stdout + done.stderr


def test_with_a_version_alone_the_metadata_version_is_its_default() -> None:
    asked = ("check", "--set", "kafka.version=4.0", "--set", "bounds.records=1", "--set", "faults.out=1", *ACKED, "--json", "-")
    found = json.loads(neverlost(*asked).stdout)
    assert found["settings"]["metadata.version"] == {"value": "4.0-IV3", "where": "Kafka 4.0's default", "how": "default"}


def test_a_cluster_with_zookeeper_is_not_answered_as_kraft(tmp_path: Path) -> None:
    (tmp_path / "server.properties").write_text("broker.id=1\nzookeeper.connect=zk:2181\n")
    asked = ("check", "--server-properties", "server.properties", *NOT_MONOTONE)
    for version in ("3.5", "3.9"):
        done = neverlost(*asked, "--kafka-version", version, cwd=tmp_path)
        assert (done.returncode, done.stdout) == (64, "")
        assert f"in server.properties line 2: Kafka {version} with ZooKeeper is not modelled" in done.stderr
    (tmp_path / "server.properties").write_text("process.roles=broker\nzookeeper.connect=zk:2181\n")
    assert neverlost(*asked, "--kafka-version", "3.9", "--set", "metadata.version=3.9-IV0", cwd=tmp_path).returncode != 64
