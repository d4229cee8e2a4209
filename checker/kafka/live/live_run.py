"""A seeded run on a real cluster: a workload, random faults one after another, and the recorded observations."""

from __future__ import annotations

import contextlib
import random
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from neverlost.checker.kafka.cluster.cluster import Cluster, cluster
from neverlost.checker.kafka.cluster.jars import KafkaHome
from neverlost.checker.kafka.cluster.metadata import LOG
from neverlost.checker.kafka.cluster.process import ClusterError
from neverlost.checker.kafka.history.history import COMPLETE, History, HistoryObservation
from neverlost.checker.kafka.history.metadata_log import make_observations, read_entries
from neverlost.checker.kafka.live.faults import FAULTS, TOPIC, LiveCluster, look_at_disk
from neverlost.checker.kafka.live.workload import Notebook, Workload


@dataclass(frozen=True)
class LiveRunPlan:
    """The parameters of a run; the same plan makes the same choices."""

    seed: int
    seconds: float
    faults: tuple[str, ...]
    acks: str = "all"
    min_isr: int = 2
    rate: float = 20.0
    unclean: bool = False


def record_run(home: KafkaHome, plan: LiveRunPlan, say: Callable[[str], None] = lambda text: None) -> History:
    """Carry a plan out on a cluster of its own; return the recorded observations in order.  Errors: `ClusterError` when the
    cluster does not start, or a fault cannot be made."""
    notebook, chance = Notebook(), random.Random(plan.seed)
    with cluster(home, 4 if "reassign" in plan.faults else 3, 3 if "controller" in plan.faults else 1) as found:
        replicas = list(found.brokers)[:3]
        chance.shuffle(replicas)
        configs = {"min.insync.replicas": str(plan.min_isr), "unclean.leader.election.enable": str(plan.unclean).lower()}
        found.create_topic(TOPIC, replicas, configs)
        stage = LiveCluster(found, notebook, chance, time.time() + plan.seconds)
        with Workload(notebook, lambda: found.bootstrap, TOPIC, plan.acks, plan.rate):
            _make_faults(stage, plan, say)
            _recover(stage)
            _record_high_watermarks(stage)
        say("reading everything once more")
        _record_end(found, notebook)
        return _make_history(found, plan, notebook)


def _make_faults(stage: LiveCluster, plan: LiveRunPlan, say: Callable[[str], None]) -> None:
    """Make one fault happen after another until the run is over, sometimes before the last one's broker is back; where the
    broker that is drawn is down, start it instead."""
    stage.rest(1, 3)
    while time.time() < stage.over:
        name, broker = stage.chance.choice(plan.faults), stage.chance.choice(list(stage.cluster.brokers))
        node = stage.cluster.brokers[broker].process
        if not node.is_running:
            stage.start(broker)
            continue
        say(f"{name} of broker {broker}" if name != "controller" else "controller failover")
        FAULTS[name](stage, broker)
        stage.rest(0, 7)


def _recover(stage: LiveCluster) -> None:
    """Start every broker that is down; wait, a minute at most, until all are unfenced, and in sync if there is a leader."""
    found = stage.cluster
    for number, node in found.brokers.items():
        if not node.process.is_running:
            stage.start(number)

    def is_whole() -> bool:
        partition = stage.partition
        return all(map(found.is_unfenced, found.brokers)) and (
            partition.leader < 0 or len(partition.isr) == len(partition.replicas)
        )

    with contextlib.suppress(ClusterError):
        found.wait(is_whole, "every replica to be in sync again", 60)


def _record_high_watermarks(stage: LiveCluster) -> None:
    """Wait until two more answers about the leader's high watermark are recorded; without a leader, only for a while."""
    before = len(stage.notebook.seen)

    def is_shown() -> bool:
        return sum(each.saw == "high_watermark" for each in stage.notebook.seen[before:]) >= 2

    with contextlib.suppress(ClusterError):
        stage.cluster.wait(is_shown, "the leader to show its high watermark", 30)


def _record_end(found: Cluster, notebook: Notebook) -> None:
    """Record what a consumer reads from the beginning, if there is a leader, and what every disk holds."""
    if found.partition(TOPIC).leader >= 0:
        begun = time.time()
        with contextlib.suppress(ClusterError):
            for each in found.consume(TOPIC):
                notebook.note(
                    "read", "last reader", begun, time.time(), record=(each.value or b"").decode(), offset=each.offset
                )
    for broker in found.brokers:
        look_at_disk(found, notebook, broker)


def _make_history(found: Cluster, plan: LiveRunPlan, notebook: Notebook) -> History:
    log = max((node.data / LOG for node in found.controllers.values()), key=lambda path: path.stat().st_size)
    changes, config = make_observations(read_entries(log), TOPIC, 0)
    seen: list[HistoryObservation] = sorted([*changes, *notebook.seen], key=lambda each: each.at)
    version = ".".join(map(str, found.home.minor))
    about: dict[str, Any] = {
        "seed": plan.seed,
        "seconds": plan.seconds,
        "faults": list(plan.faults),
        "kafka": found.home.shown,
        "replication": 3,
    }
    begun = next(each.at for each in seen if each.saw == "partition")
    kept = tuple(each for each in seen if each.saw in ("broker", "partition") or each.at >= begun)
    # the client sends again, whatever its settings, when a leader steps down before it answers: sent is not complete
    config = {"kafka.version": version, **config}
    return History(TOPIC, 0, config, frozenset(COMPLETE) - {"sent"}, kept, about)
