"""Faults of a cluster and actions of its operator.  Each function returns when the fault is done, not when the cluster has
reacted: wait for that with `Cluster.wait`."""

from __future__ import annotations

import itertools
import re
import shutil
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from neverlost.checker.kafka.cluster.cluster import Cluster, KafkaNode
from neverlost.checker.kafka.cluster.disk import lose_end
from neverlost.checker.kafka.cluster.network import FETCH, HEARTBEAT, TrafficRule
from neverlost.checker.kafka.cluster.process import ClusterError
from neverlost.checker.kafka.cluster.requests import alter_directory, alter_reassignment


def crash(cluster: Cluster, broker: int) -> None:
    """Kill a broker with SIGKILL; its log stays as the page cache has it."""
    cluster.brokers[broker].process.kill()


def crash_lossy(cluster: Cluster, broker: int, topic: str, offset: int, number: int = 0) -> list[str]:
    """Kill a broker and cut off a partition's unflushed records from an offset on, none if each is flushed; return what was
    done to its files."""
    crash(cluster, broker)
    if cluster.metadata.configs.get((2, topic), {}).get("flush.messages") == "1":
        return []
    return lose_end(cluster.log_folder(broker, topic, number).parent, f"{topic}-{number}", offset)


def lose_disk(cluster: Cluster, broker: int) -> None:
    """Kill a broker and replace its disk with an empty one."""
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


def move_to_directory(cluster: Cluster, broker: int, topic: str, directory: Path) -> None:
    """Make a broker copy its replica to another of its log directories and switch to it.  Errors: `ClusterError` with Kafka's
    refusal."""
    alter_directory(cluster.address(broker), topic, str(directory))


def put_in_directories(cluster: Cluster, broker: int) -> None:
    """Restart a broker that lost log directories with new, empty ones and wait until it is unfenced; do nothing to others."""
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
    """Send SIGTERM: a controlled shutdown, which moves leadership away first; `meanwhile` is called once it has begun."""
    cluster.brokers[broker].process.stop(meanwhile)


def start(cluster: Cluster, broker: int) -> None:
    """Start a broker that is down; it registers when its old session has expired.  Errors: `ClusterError` for one that runs."""
    node = cluster.brokers[broker]
    if node.process.is_running:
        raise ClusterError(f"broker {broker} runs already")
    node.process.start()


def pause(cluster: Cluster, broker: int) -> None:
    """Send SIGSTOP, as a long pause; after replica.lag.time.max.ms the broker is dropped from ISRs, after
    broker.session.timeout.ms fenced."""
    cluster.brokers[broker].process.pause()


def resume(cluster: Cluster, broker: int) -> None:
    """Send SIGCONT."""
    cluster.brokers[broker].process.resume()


def slow_follower(cluster: Cluster, follower: int) -> list[TrafficRule]:
    """Block a follower's fetches but not its heartbeats; the leader drops it once it has been behind for long enough."""
    return [cluster.network.cut(follower, leader, FETCH) for leader in cluster.brokers if leader != follower]


def silence(cluster: Cluster, broker: int) -> list[TrafficRule]:
    """Block all requests of a broker to the controllers, while it goes on serving its clients and followers."""
    return [cluster.network.cut(broker, controller) for controller in cluster.controllers]


def lose_heartbeats(cluster: Cluster, broker: int) -> list[TrafficRule]:
    """Block a broker's heartbeats only: it is fenced and knows it, since it still reads the metadata."""
    return [cluster.network.cut(broker, controller, HEARTBEAT) for controller in cluster.controllers]


@contextmanager
def cut_network(cluster: Cluster, brokers: Sequence[int], rest: Sequence[int]) -> Iterator[None]:
    """Cut the network between two groups of brokers, both ways, while the context is open."""
    pairs = [(one, other) for one in brokers for other in rest]
    rules = [cluster.network.cut(one, other) for pair in pairs for one, other in (pair, pair[::-1])]
    try:
        yield
    finally:
        cluster.network.lift(*rules)


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
    """Request an unclean election.  Errors: `ClusterError` with Kafka's refusal."""
    refused = cluster.admin.elect(topic, unclean=True)
    if refused is not None:
        raise ClusterError(f"no unclean election: {refused}")


def reassign(cluster: Cluster, topic: str, replicas: Sequence[int]) -> None:
    """Request other replicas, or another order of them.  Errors: `ClusterError` with the controller's refusal."""
    alter_reassignment(cluster.bootstrap.split(",")[0], topic, replicas)


def cancel_reassignment(cluster: Cluster, topic: str) -> None:
    alter_reassignment(cluster.bootstrap.split(",")[0], topic, None)


def fail_controller(cluster: Cluster, seconds: float = 60) -> int:
    """Kill the active controller; return its number once another is active.  Errors: `ClusterError` where there are fewer than
    three controllers, or no other is active in time."""
    if len(cluster.controllers) < 3:
        raise ClusterError("controller failover needs three controllers")
    old = find_active_controller(cluster)
    marks = {each: node.process.mark for each, node in cluster.controllers.items()}
    cluster.controllers[old].process.kill()
    rest = [each for each in cluster.controllers if each != old]
    cluster.wait(lambda: any(_has_claimed(cluster, each, marks[each]) for each in rest), "another controller", seconds)
    return old


CLAIMED = r"Becoming the active controller at epoch (\d+)"


def find_active_controller(cluster: Cluster) -> int:
    """Return the running controller that logged the highest epoch as its own.  Errors: `ClusterError` if none logged one."""
    epochs = {}
    for number, node in cluster.controllers.items():
        match = _find_last_claim(node.process.read_log())
        if match is not None and node.process.is_running:
            epochs[number] = match
    if not epochs:
        raise ClusterError("no controller is active")
    return max(epochs, key=lambda each: epochs[each])


def _find_last_claim(printed: str) -> int | None:
    found = re.findall(CLAIMED, printed)
    return int(found[-1]) if found else None


def _has_claimed(cluster: Cluster, controller: int, since: int) -> bool:
    return cluster.controllers[controller].process.find_printed(CLAIMED, since) is not None
