"""What a real cluster is disturbed by for a while: blocked requests, a cut network, a controller that fails over."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from neverlost.checker.kafka.cluster.cluster import Cluster
from neverlost.checker.kafka.cluster.network import FETCH, HEARTBEAT, TrafficRule
from neverlost.checker.kafka.cluster.process import ClusterError


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


def fail_controller(cluster: Cluster, seconds: float = 60) -> int:
    """Kill the active one of three controllers; return its number when another is active.  Errors: `ClusterError` where there
    are fewer than three controllers."""
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
