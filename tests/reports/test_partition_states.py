"""Partitions as they stand: what a search would leave out is named, and nothing is said to hold there."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.support.program import neverlost

HEAD = (
    "Topic: orders\tTopicId: OLTmUuRNp_I3DZ4mDicTZQ\tPartitionCount: 1\tReplicationFactor: 3\tConfigs: min.insync.replicas=2\n"
)
IN_SYNC = "\tTopic: orders\tPartition: 0\tLeader: 1\tReplicas: 1,2,3\tIsr: 1,2,3\n"
LAST = IN_SYNC.replace("Isr: 1,2,3", "Isr: 1")
OFFLINE = LAST.replace("Leader: 1", "Leader: none")
MOVING = "\tTopic: orders\tPartition: 0\tLeader: 1\tReplicas: 1,2,3,4\tIsr: 1,2,3\tAdding Replicas: 4\tRemoving Replicas: 3\n"
REMOVING = IN_SYNC.replace("\n", "\tAdding Replicas: \tRemoving Replicas: 3\n")

VERSION = ("--kafka-version", "3.9", "--set", "metadata.version=3.9-IV0", "--set", "acks=all")
DESIGNED = (*VERSION, "--set", "defects=fixed")
DISK = (*DESIGNED, "--set", "faults.disk_loss=1", "--property", "acked-never-lost", "--no-advise")

STORED = "records already stored hang by broker 1"
MOVES = "a reassignment is in progress (adding 4, removing 3)"


@pytest.fixture
def described(tmp_path: Path, request: pytest.FixtureRequest) -> str:
    file = tmp_path / "topics.txt"
    file.write_text(HEAD + request.param)
    return str(file)


@pytest.mark.parametrize(
    ("described", "says"),
    [(LAST, STORED), (OFFLINE, STORED), (MOVING, MOVES), (REMOVING, "removing 3")],
    indirect=["described"],
)
def test_check_says_what_is_left_out_instead_of_holds(described: str, says: str) -> None:
    done = neverlost("check", "--describe", described, *DISK, "--json", "-")
    found = json.loads(done.stdout)
    assert done.returncode == 20 and found["verdict"] == "inconclusive"
    assert says in found["cells"][0]["reason"] and [each["verdict"] for each in found["cells"][0]["properties"]] == [
        "inconclusive"
    ]
    done = neverlost("check", "--describe", described, *DISK, "--quiet")
    assert done.returncode == 20 and done.stdout.startswith("INCONCLUSIVE") and says in done.stderr


@pytest.mark.parametrize("described", [IN_SYNC], indirect=True)
def test_a_partition_in_sync_is_answered(described: str) -> None:
    done = neverlost("check", "--describe", described, *DISK, "--quiet")
    assert done.returncode == 0 and done.stdout.startswith("HOLDS        acked-never-lost\n")


@pytest.mark.parametrize("described", [LAST], indirect=True)
def test_with_acks_of_the_leader_alone_what_is_stored_is_as_what_is_written(described: str) -> None:
    """The leader goes on to acknowledge, so the search has the records that hang by it."""
    leader = [part.replace("acks=all", "acks=1") for part in DISK]
    done = neverlost("check", "--describe", described, *leader, "--quiet")
    assert (done.returncode, STORED in done.stderr) == (12, False)
    assert done.stdout.startswith("VIOLATED     acked-never-lost\n")


@pytest.mark.parametrize(("described", "says"), [(LAST, STORED), (OFFLINE, STORED), (MOVING, MOVES)], indirect=["described"])
def test_a_table_has_no_safe_cell_and_gives_no_advice(described: str, says: str) -> None:
    done = neverlost("tolerance", "--describe", described, *DESIGNED, "--json", "-")
    found = json.loads(done.stdout)
    assert done.returncode == 20 and found["verdict"] == "inconclusive" and found["advice"] == {}
    safe = [row for rows in found["tolerance"].values() for row in rows if row["verdict"] == "holds"]
    assert {row["property"] for row in safe} <= {"stays-writable"}
    assert says in str(found["notices"]) and "acknowledged is lost while" not in str(found["says"])
    gate = neverlost("tolerance", "--describe", described, *DESIGNED, "--at-least", "data_loss=any:1", "--quiet")
    assert gate.returncode == 20 and "HOLDS" not in gate.stdout and says in gate.stderr


def test_topics_in_sync_are_answered_beside_one_that_is_not(tmp_path: Path) -> None:
    other = (HEAD + IN_SYNC).replace("orders", "payments")
    (tmp_path / "topics.txt").write_text(HEAD + OFFLINE + other)
    done = neverlost("check", "--describe", str(tmp_path / "topics.txt"), *DISK, "--json", "-")
    verdicts = {each["topics"][0]: each["verdict"] for each in json.loads(done.stdout)["cells"]}
    assert (done.returncode, verdicts) == (20, {"orders": "inconclusive", "payments": "holds"})


@pytest.mark.parametrize("described", [MOVING], indirect=True)
def test_no_restart_is_planned_during_a_reassignment(described: str) -> None:
    done = neverlost("roll", "--describe", described, *VERSION)
    assert (done.returncode, done.stdout) == (64, "") and f"roll cannot answer now: orders-0: {MOVES}" in done.stderr


@pytest.mark.parametrize("described", [LAST], indirect=True)
def test_a_stop_at_the_last_replica_is_not_called_safe(described: str) -> None:
    done = neverlost("roll", "--describe", described, *DESIGNED)
    assert done.returncode == 20 and "Restart" not in done.stdout and "may be stopped" not in done.stdout
    assert "Before the others, orders-0: wait until 2, 3 are in the ISR again." in done.stdout


@pytest.mark.parametrize("described", [LAST], indirect=True)
def test_nines_bound_nothing_where_records_hang_by_the_last_replica(described: str) -> None:
    done = neverlost("nines", "--describe", described, *VERSION)
    assert done.returncode == 20 and "Not decided, so nothing is bounded" in done.stdout and STORED in done.stdout


def test_what_was_not_decided_is_no_advice(tmp_path: Path) -> None:
    """With five replicas a table takes longer than a millisecond; nothing is said to be spared, added or lowered then."""
    everyone = "\tTopic: orders\tPartition: 0\tLeader: 1\tReplicas: 1,2,3,4,5\tIsr: 1,2,3,4,5\n"
    head = HEAD.replace("ReplicationFactor: 3", "ReplicationFactor: 5").replace("replicas=2", "replicas=3")
    (tmp_path / "rf5.txt").write_text(head + everyone)
    done = neverlost("roll", "--describe", str(tmp_path / "rf5.txt"), *VERSION, "--time-limit", "0.001")
    assert done.returncode == 20 and "Unknown: 0 of 5 brokers are known to be safe to stop now." in done.stdout
    assert all(each not in done.stdout for each in ("must not", "spared", "lower min ISR", "Before the others", "Restart"))


def test_the_gate_is_about_the_topics_that_are_named(tmp_path: Path) -> None:
    orders, logs = HEAD + IN_SYNC, (HEAD + IN_SYNC).replace("orders", "logs").replace("replicas=2", "replicas=1")
    (tmp_path / "topics.txt").write_text(orders + logs)
    asked = ("tolerance", "--describe", str(tmp_path / "topics.txt"), *DESIGNED, "--at-least", "data_loss=any:1 out=any:1")
    done = neverlost(*asked, "--topic", "orders", "--json", "-")
    assert [each["topics"] for each in json.loads(done.stdout)["cells"]] == [["orders"]]
