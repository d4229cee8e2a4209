"""Faults of a cluster and actions of its operator.  Each function returns when the fault is done, not when the cluster has
reacted: wait for that with `Cluster.wait`."""

from __future__ import annotations

import itertools
import shutil
from collections.abc import Callable, Sequence

from neverlost.checker.kafka.cluster.cluster import Cluster, KafkaNode
from neverlost.checker.kafka.cluster.disk import lose_end
from neverlost.checker.kafka.cluster.process import ClusterError
from neverlost.checker.kafka.cluster.requests import alter_reassignment


def crash(cluster: Cluster, broker: int) -> None:
    """Kill a broker with SIGKILL; its log stays as the page cache has it."""
    cluster.brokers[broker].process.kill()


def crash_lossy(cluster: Cluster, broker: int, topic: str, offset: int, number: int = 0) -> list[str]:
    """Kill a broker and cut off a partition's records from an offset on; return what was done to the files, a sentence each.
    If the topic flushes each record (flush.messages=1), only kill it, and return an empty list."""
    crash(cluster, broker)
    if cluster.metadata.configs.get((2, topic), {}).get("flush.messages") == "1":
        return []
    return lose_end(cluster.log_folder(broker, topic, number).parent, f"{topic}-{number}", offset)


def lose_disk(cluster: Cluster, broker: int) -> None:
    """Kill a broker, empty its log directories and format them; do not start it again."""
    replace_disk(cluster, cluster.brokers[broker])


def replace_disk(cluster: Cluster, node: KafkaNode) -> None:
    """Kill a node, empty its log directories and format them, as an operator does after replacing a disk."""
    node.process.kill()
    for each in node.directories:
        shutil.rmtree(each)
    cluster.format(node)


def take_out_directory(cluster: Cluster, broker: int, topic: str, number: int = 0) -> str:
    """Delete the log directory that has a partition, and take it out of a stopped broker's log.dirs; return its name.  Errors:
    `ClusterError` for a broker that has one directory only, or that runs."""
    node = cluster.brokers[broker]
    if node.process.is_running or len(node.directories) == 1:
        raise ClusterError(f"no log directory can be taken out of broker {broker}: it runs, or has one only")
    gone = cluster.log_folder(broker, topic, number).parent
    node.directories.remove(gone)
    shutil.rmtree(gone)
    cluster.configure(node)
    return gone.name


def put_in_directories(cluster: Cluster, broker: int) -> None:
    """Restart a broker that lacks log directories with new, empty ones and wait until it is unfenced; leave any other alone."""
    node = cluster.brokers[broker]
    names = (f"data-{each}" for each in itertools.count(cluster.directories))
    missing = cluster.directories - len(node.directories)
    if not missing:
        return
    stop(cluster, broker)
    fresh = (node.folder / each for each in names if not (node.folder / each).exists())
    node.directories += itertools.islice(fresh, missing)
    cluster.configure(node)
    cluster.format(node)
    start(cluster, broker)
    cluster.wait(lambda: cluster.is_unfenced(broker), f"broker {broker} to be back", 120)


def stop(cluster: Cluster, broker: int, meanwhile: Callable[[], None] = lambda: None) -> None:
    """Shut a broker down (SIGTERM), which moves leadership away, and wait for its end; call `meanwhile` after the signal."""
    cluster.brokers[broker].process.stop(meanwhile)


def start(cluster: Cluster, broker: int) -> None:
    """Start a broker without waiting: it registers once its old session has expired.  Errors: `ClusterError` if it runs."""
    node = cluster.brokers[broker]
    if node.process.is_running:
        raise ClusterError(f"broker {broker} runs already")
    node.process.start()


def move_leader(cluster: Cluster, topic: str, broker: int) -> None:
    """Make a broker the preferred leader and elect it, so that leadership moves without a failure.  Errors: `ClusterError`
    with Kafka's refusal."""
    replicas = cluster.partition(topic).replicas
    order = [broker, *(each for each in replicas if each != broker)]
    if tuple(order) != replicas:
        reassign(cluster, topic, order)
        cluster.wait(lambda: cluster.partition(topic).replicas == tuple(order), f"the order {order} of the replicas")
    refused = cluster.admin.elect(topic)
    if refused is not None:
        raise ClusterError(f"broker {broker} was not elected: {refused}")


def elect_uncleanly(cluster: Cluster, topic: str) -> None:
    """Request an unclean leader election of partition 0.  Errors: `ClusterError` with Kafka's refusal."""
    refused = cluster.admin.elect(topic, unclean=True)
    if refused is not None:
        raise ClusterError(f"no unclean election: {refused}")


def reassign(cluster: Cluster, topic: str, replicas: Sequence[int]) -> None:
    """Request other replicas of partition 0, or another order.  Errors: `ClusterError` with the controller's refusal."""
    alter_reassignment(cluster.bootstrap.split(",")[0], topic, replicas)


def cancel_reassignment(cluster: Cluster, topic: str) -> None:
    alter_reassignment(cluster.bootstrap.split(",")[0], topic, None)
