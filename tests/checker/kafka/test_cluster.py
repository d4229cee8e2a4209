"""A real Kafka: it starts, answers, suffers, and leaves nothing behind.  `pytest -m kafka` runs these."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from neverlost.checker.engine.host import scratch
from neverlost.checker.kafka.cluster import faults
from neverlost.checker.kafka.cluster.cluster import Cluster, cluster
from neverlost.checker.kafka.cluster.jars import find_kafka
from neverlost.checker.kafka.cluster.process import wait_until
from tests.support.live import disturbances

pytestmark = pytest.mark.kafka

PROGRAM = """
import sys
from neverlost.checker.kafka.cluster.cluster import cluster
from neverlost.checker.kafka.cluster.jars import find_kafka
with cluster(find_kafka(version="3.9"), brokers=1) as kafka:
    print(kafka.folder, *(node.process.pid for node in kafka.nodes), flush=True)
    sys.stdin.read()
"""


def is_alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
    except OSError:
        return False


def is_free(port: int) -> bool:
    """Whether no process listens there."""
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) != 0


def ports(kafka: Cluster) -> list[int]:
    """Where a cluster's nodes and the gates in front of them listen."""
    return [port for node in kafka.nodes for port in (node.gate_port, node.internal_port)]


def folders() -> set[Path]:
    return set(Path(tempfile.gettempdir()).glob(f"{scratch.PREFIX}kafka-cluster-*"))


def test_two_clusters_side_by_side_and_nothing_is_left() -> None:
    home = find_kafka(version="3.9")
    with cluster(home, brokers=1) as one, cluster(home, brokers=1) as other:
        pids = [node.process.pid for each in (one, other) for node in each.nodes]
        taken = ports(one) + ports(other)
        assert not any(map(is_free, taken))
        for each in (one, other):
            each.create_topic("t", [1])
        assert one.produce("t", b"here").is_acknowledged
        assert [record.value for record in one.consume("t")] == [b"here"]
        assert other.consume("t") == []
    assert not any(is_alive(pid) for pid in pids if pid is not None)
    assert all(map(is_free, taken))
    assert not {one.folder, other.folder} & folders()


def test_nothing_is_left_after_a_failure() -> None:
    with pytest.raises(ZeroDivisionError), cluster(find_kafka(version="3.9"), brokers=1) as kafka:
        pids, taken = [node.process.pid for node in kafka.nodes], ports(kafka)
        raise ZeroDivisionError
    assert not any(is_alive(pid) for pid in pids if pid is not None)
    assert all(map(is_free, taken))
    assert kafka.folder not in folders()


@pytest.mark.parametrize("ending", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_no_process_outlives_us(ending: signal.Signals) -> None:
    """The folder of one that was killed is removed by the next that starts."""
    command = [sys.executable, "-c", PROGRAM]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=dict(os.environ)) as program:
        assert program.stdout is not None
        folder, *pids = program.stdout.readline().split()
        program.send_signal(ending)
        program.wait(60)
    wait_until(lambda: not any(is_alive(int(pid)) for pid in pids), "its processes to end", 20)
    if ending is signal.SIGKILL:
        with cluster(find_kafka(version="3.9"), brokers=1):
            pass
    assert Path(folder) not in folders()


def test_the_last_replica_standing_loses_what_it_acknowledged() -> None:
    with cluster(find_kafka(version="3.9")) as kafka:
        kafka.create_topic("t", [1, 2, 3], {"min.insync.replicas": "2"})
        assert kafka.produce("t", b"m1").offset == 0
        for follower in (2, 3):
            disturbances.slow_follower(kafka, follower)
        kafka.produce("t", b"which they lack", acks="1")
        kafka.wait(lambda: kafka.partition("t").isr == (1,), "an ISR of one")
        faults.crash_lossy(kafka, 1, "t", 0)
        kafka.wait(lambda: not kafka.is_unfenced(1), "broker 1 to be fenced")
        kafka.network.lift()
        faults.start(kafka, 1)
        kafka.wait(lambda: kafka.partition("t").leader == 1, "broker 1 to lead again")
        kafka.wait(lambda: set(kafka.partition("t").isr) == {1, 2, 3}, "the followers to follow")
        assert kafka.consume("t") == []
        assert [kafka.log(broker, "t") for broker in kafka.brokers] == [[], [], []]


@pytest.mark.parametrize(("version", "ends"), [("3.5", False), ("3.9", True), ("4.2", True), ("4.3", False)])
def test_a_reassignment_that_is_given_back_ends_or_not(version: str, ends: bool) -> None:
    """As in the model: before 3.8 and since 4.3 a replica that is to be added and to be removed is waited for."""
    with cluster(find_kafka(version=version)) as kafka:
        kafka.create_topic("t", [1, 2])
        assert kafka.produce("t", b"m1").is_acknowledged
        disturbances.slow_follower(kafka, 3)
        faults.reassign(kafka, "t", [1, 2, 3])
        kafka.wait(lambda: kafka.partition("t").adding == (3,), "a reassignment to begin")
        faults.reassign(kafka, "t", [1, 2])
        if ends:
            kafka.wait(lambda: kafka.partition("t").replicas == (1, 2), "the reassignment to end")
            return
        kafka.wait(lambda: kafka.partition("t").removing == (3,), "the second reassignment to begin")
        kafka.network.lift()
        kafka.wait(lambda: set(kafka.partition("t").isr) == {1, 2, 3}, "all three to be in sync")
        found = kafka.partition("t")
        assert (found.adding, found.removing, set(found.replicas)) == ((3,), (3,), {1, 2, 3})
        faults.cancel_reassignment(kafka, "t")
        kafka.wait(lambda: kafka.partition("t").replicas == (1, 2), "cancelling to end it")
