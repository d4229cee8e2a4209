"""Partitions as they stand: they are judged from there, and where that is not known nothing is said to hold."""

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
EMPTY = OFFLINE.replace("Isr: 1", "Isr: ")
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
    ("described", "says", "verdict"),
    [
        (LAST, STORED, "violated"),
        (OFFLINE, STORED, "violated"),
        (EMPTY, "are on no replica that may lead", "inconclusive"),
        (MOVING, MOVES, "holds"),
        (REMOVING, "removing 3", "holds"),
    ],
    indirect=["described"],
)
def test_a_partition_is_judged_from_where_it_stands(described: str, says: str, verdict: str) -> None:
    done = neverlost("check", "--describe", described, *DISK, "--json", "-")
    found = json.loads(done.stdout)
    assert (found["verdict"], done.returncode) == (verdict, {"violated": 12, "holds": 0, "inconclusive": 20}[verdict])
    assert [each["verdict"] for each in found["cells"][0]["properties"]] == [verdict] and says in done.stderr


@pytest.mark.parametrize("described", [OFFLINE], indirect=True)
def test_what_brokers_that_are_down_have_kept_is_never_said_to_hold(described: str) -> None:
    calm = [part.replace("disk_loss=1", "kill=1") for part in DISK]
    done = neverlost("check", "--describe", described, *calm, "--json", "-")
    found = json.loads(done.stdout)
    assert (done.returncode, found["verdict"]) == (20, "inconclusive") and "is not shown" in found["cells"][0]["reason"]


@pytest.mark.parametrize("described", [MOVING], indirect=True)
def test_racks_are_not_known_beside_a_reassignment(described: str) -> None:
    racks = ("--set", "broker.rack=a,b,c", "--set", "faults.rack_loss=1", "--no-advise")
    done = neverlost("check", "--describe", described, *DESIGNED, *racks, "--property", "acked-never-lost", "--quiet")
    assert done.returncode == 20 and f"{MOVES}, and is not part of the question" in done.stderr


@pytest.mark.parametrize("described", [LAST, OFFLINE, pytest.param(MOVING, marks=pytest.mark.slow)], indirect=True)
def test_a_bundle_about_a_partition_as_it_stands_is_verified(described: str, tmp_path: Path) -> None:
    out = str(tmp_path / "evidence")
    kill = [part.replace("disk_loss", "kill") for part in DISK]
    neverlost("check", "--describe", described, *(kill if "none" in Path(described).read_text() else DISK), "--out", out)
    done = neverlost("verify", out)
    assert done.returncode == 0 and done.stdout.splitlines()[-1].startswith("VERIFIED")


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


@pytest.mark.parametrize(("described", "says"), [(LAST, STORED), (OFFLINE, STORED)], indirect=["described"])
def test_a_table_of_the_last_replica_loses_with_its_disk_and_gives_no_advice(described: str, says: str) -> None:
    done = neverlost("tolerance", "--describe", described, *DESIGNED, "--json", "-")
    found = json.loads(done.stdout)
    assert done.returncode in (0, 13, 20) and found["advice"] == {} and says in str(found["notices"])
    (rows,) = found["tolerance"].values()
    verdicts = {(row["losing"], row["out"]): row["verdict"] for row in rows if row["property"] == "acked-never-lost"}
    assert verdicts[1, 0] == "violated"
    gate = neverlost("tolerance", "--describe", described, *DESIGNED, "--at-least", "data_loss=any:1", "--quiet")
    assert gate.returncode == 12 and gate.stdout.startswith("VIOLATED") and says in gate.stderr


@pytest.mark.slow
@pytest.mark.parametrize("described", [MOVING], indirect=True)
def test_a_table_of_a_moved_partition_begins_with_the_fewest_brokers(described: str) -> None:
    done = neverlost("tolerance", "--describe", described, *DESIGNED, "--json", "-")
    (rows,) = json.loads(done.stdout)["tolerance"].values()
    verdicts = {(row["losing"], row["out"]): row["verdict"] for row in rows if row["property"] == "acked-never-lost"}
    assert verdicts[0, 0] == "holds" and len(verdicts) == 10
    done = neverlost("tolerance", "--describe", described, *DESIGNED)
    assert "1 being added now, 1 being removed now" in done.stdout


def test_topics_in_sync_are_answered_beside_one_that_is_not(tmp_path: Path) -> None:
    other = (HEAD + IN_SYNC).replace("orders", "payments")
    (tmp_path / "topics.txt").write_text(HEAD + OFFLINE + other)
    done = neverlost("check", "--describe", str(tmp_path / "topics.txt"), *DISK, "--json", "-")
    verdicts = {each["topics"][0]: each["verdict"] for each in json.loads(done.stdout)["cells"]}
    assert (done.returncode, verdicts) == (12, {"orders": "violated", "payments": "holds"})


@pytest.mark.slow
@pytest.mark.parametrize("described", [REMOVING], indirect=True)
def test_a_restart_is_planned_from_within_a_reassignment(described: str) -> None:
    done = neverlost("roll", "--describe", described, *DESIGNED)
    assert done.returncode == 13 and "removing 3" in done.stderr
    assert "broker 1 must not be stopped: writes stop on orders-0." in done.stdout  # once 3 is removed, two are needed


@pytest.mark.parametrize("described", [LAST], indirect=True)
def test_a_stop_at_the_last_replica_is_not_called_safe(described: str) -> None:
    done = neverlost("roll", "--describe", described, *DESIGNED)
    assert done.returncode == 13 and "Restart" not in done.stdout and done.stdout.startswith("No go: 0 of 3 brokers")
    assert "Before any restart, orders-0: wait until 2 and 3 are in the ISR again." in done.stdout


@pytest.mark.parametrize("described", [LAST], indirect=True)
def test_nines_bound_nothing_where_records_hang_by_the_last_replica(described: str) -> None:
    done = neverlost("nines", "--describe", described, *VERSION)
    assert done.returncode == 20 and "Not decided, so nothing is bounded" in done.stdout and STORED in done.stdout


def test_what_was_not_decided_is_no_advice(tmp_path: Path) -> None:
    """With five replicas a table takes longer than a millisecond; nothing is said to be spared, added or lowered then."""
    everyone = "\tTopic: orders\tPartition: 0\tLeader: 1\tReplicas: 1,2,3,4,5\tIsr: 1,2,3,4,5\n"
    head = HEAD.replace("ReplicationFactor: 3", "ReplicationFactor: 5").replace("replicas=2", "replicas=4")
    (tmp_path / "rf5.txt").write_text(head + everyone)
    done = neverlost(
        "roll", "--describe", str(tmp_path / "rf5.txt"), *VERSION, "--set", "bounds.records=2", "--time-limit", "0.001"
    )
    assert done.returncode == 20 and "Unknown: 0 of 5 brokers are known to be safe to stop now." in done.stdout
    assert all(each not in done.stdout for each in ("must not", "spared", "lower min ISR", "Before any restart", "Restart"))


def test_the_gate_is_about_the_topics_that_are_named(tmp_path: Path) -> None:
    orders, logs = HEAD + IN_SYNC, (HEAD + IN_SYNC).replace("orders", "logs").replace("replicas=2", "replicas=1")
    (tmp_path / "topics.txt").write_text(orders + logs)
    asked = ("tolerance", "--describe", str(tmp_path / "topics.txt"), *DESIGNED, "--at-least", "data_loss=any:1 out=any:1")
    done = neverlost(*asked, "--topic", "orders", "--json", "-")
    assert [each["topics"] for each in json.loads(done.stdout)["cells"]] == [["orders"]]
