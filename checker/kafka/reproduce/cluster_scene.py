"""A snapshot of a cluster in the form that pictures draw, and the epochs that its brokers know."""

from __future__ import annotations

import re

from neverlost.checker.kafka.cluster.cluster import Cluster
from neverlost.checker.kafka.reproduce.attempt import Attempt, parse_number
from neverlost.model.snapshot import DOWN, LEADER, BrokerView, ClusterSnapshot

EPOCHS = (
    r"Leader {partition} with .*starts at leader epoch (?P<leader>\d+) .*with partition epoch (?P<partition>\d+)",
    r"Follower {partition} starts at leader epoch (?P<leader>\d+) .*with partition epoch (?P<partition>\d+)",
    r"Partition {partition} broker=\d+\] ISR updated to .* version updated to (?P<partition>\d+)",
    r"Skipped the become-.* for {partition} .*partitionEpoch=(?P<partition>\d+)",
)
"""What brokers print when they learn of a partition's state, in Partition.scala of 3.3 to 4.x."""


def find_known_epochs(cluster: Cluster, broker: int, topic: str) -> tuple[int, int]:
    """Return the leader epoch and the partition epoch on which a broker has acted last since it started; -1 for none."""
    process = cluster.brokers[broker].process
    printed = process.read_log(process.started_at)
    leader_epoch = partition_epoch = -1
    for pattern in EPOCHS:
        for match in re.finditer(pattern.format(partition=re.escape(f"{topic}-0")), printed):
            values = match.groupdict()
            leader_epoch = max(leader_epoch, int(values.get("leader") or -1))
            partition_epoch = max(partition_epoch, int(values["partition"]))
    return leader_epoch, partition_epoch


def take_snapshot(attempt: Attempt) -> ClusterSnapshot:
    """Return a snapshot of the cluster for the pictures, in which brokers are counted from 0."""
    now, brokers = attempt.partition, attempt.cluster.brokers
    return ClusterSnapshot(
        leader=None if now.leader < 0 else now.leader - 1,
        epoch=now.leader_epoch,
        isr=tuple(sorted(each - 1 for each in now.isr)),
        lanes=tuple(_view_broker(attempt, each) for each in brokers),
        acked=frozenset(attempt.outcome.acknowledged),
        committed=frozenset(attempt.outcome.read_before),
        elr=tuple(sorted(each - 1 for each in now.elr)),
        fenced=tuple(each - 1 for each in brokers if not attempt.cluster.is_unfenced(each)),
    )


def _view_broker(attempt: Attempt, broker: int) -> BrokerView:
    now, cluster, topic = attempt.partition, attempt.cluster, attempt.topic
    numbered = [(parse_number(each), each.leader_epoch) for each in cluster.log(broker, topic)]
    log = tuple((number, epoch) for number, epoch in numbered if number is not None)
    if not cluster.brokers[broker].process.is_running:
        return BrokerView(broker - 1, DOWN, log)
    epoch, _ = find_known_epochs(cluster, broker, topic)
    role = LEADER if now.leader == broker else "replica" if broker in now.replicas else "no replica"
    high = cluster.high_watermark(broker, topic)
    return BrokerView(broker - 1, role, log, high, None if epoch < 0 else epoch, is_leader=now.leader == broker)
