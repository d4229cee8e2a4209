"""A seeded run on a real cluster: a workload, random faults one after another, and everything that was seen of it."""

from __future__ import annotations

import contextlib
import random
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from reports.cluster import faults
from reports.cluster.cluster import Cluster, cluster
from reports.cluster.jars import KafkaHome
from reports.cluster.metadata import LOG
from reports.cluster.process import ClusterError
from reports.observed.history import COMPLETE, History, Seen
from reports.observed.metadata_log import entries, observations
from reports.observed.workload import Notebook, Workload
from specs.errors import unknown

TOPIC = "observed"


@dataclass(frozen=True)
class Plan:
    """What a run does; the same plan makes the same choices."""

    seed: int
    seconds: float
    faults: tuple[str, ...]
    acks: str = "all"
    min_isr: int = 2
    brokers: int = 3
    controllers: int = 1
    rate: float = 20.0
    unclean: bool = False


@dataclass
class Stage:
    """A running cluster with what the faults need."""

    cluster: Cluster
    notebook: Notebook
    chance: random.Random
    over: float

    def rest(self, low: float, high: float) -> None:
        """Let the fault act for a while: its length is part of the run, nothing waits for it."""
        time.sleep(max(0.0, min(self.chance.uniform(low, high), self.over - time.time())))

    def ended(self, broker: int, state: str, begun: float, log_end: int | None = None) -> None:
        """Note that a process has ended, and what is on its disk now."""
        more = {} if log_end is None else {"log_end": log_end}
        self.notebook.note("process", f"process {broker}", begun, time.time(), broker=broker, state=state, **more)
        look_at_disk(self.cluster, self.notebook, broker)

    def start(self, broker: int) -> None:
        """Start a broker again."""
        self.notebook.note("process", f"process {broker}", broker=broker, state="started")
        faults.start(self.cluster, broker)


def look_at_disk(found: Cluster, notebook: Notebook, broker: int) -> None:
    """Note what a broker's disk holds; the broker must not be writing."""
    begun = time.time()
    records = {str(each.offset): (each.value or b"").decode() for each in found.log(broker, TOPIC)}
    end = max(map(int, records), default=-1) + 1
    notebook.note("log", f"disk {broker}", begun, time.time(), broker=broker, log_end=end, records=records)


def _crash(stage: Stage, broker: int) -> None:
    begun = time.time()
    faults.crash(stage.cluster, broker)
    stage.ended(broker, "killed", begun)
    stage.rest(0.5, 12)
    stage.start(broker)


def _lossy_crash(stage: Stage, broker: int) -> None:
    begun = time.time()
    faults.crash(stage.cluster, broker)
    end = stage.cluster.log_end(broker, TOPIC)
    kept = max(0, end - stage.chance.randint(0, 30))
    if kept < end:
        faults.crash_lossy(stage.cluster, broker, TOPIC, kept)
    stage.ended(broker, "lost", begun, kept)
    stage.rest(0.5, 12)
    stage.start(broker)


def _disk_loss(stage: Stage, broker: int) -> None:
    begun = time.time()
    faults.lose_disk(stage.cluster, broker)
    stage.ended(broker, "lost", begun, 0)
    stage.rest(0.5, 12)
    stage.start(broker)


def _clean_stop(stage: Stage, broker: int) -> None:
    begun = time.time()
    faults.stop(stage.cluster, broker)
    stage.ended(broker, "stopped", begun)
    stage.rest(0.5, 8)
    stage.start(broker)


def _slow(stage: Stage, broker: int) -> None:
    rules = faults.slow_follower(stage.cluster, broker)
    stage.rest(4, 8)
    stage.cluster.network.lift(*rules)


def _pause(stage: Stage, broker: int) -> None:
    faults.pause(stage.cluster, broker)
    stage.rest(1, 4.5)
    faults.resume(stage.cluster, broker)


def _zombie(stage: Stage, broker: int) -> None:
    if stage.chance.random() < 0.5:
        rules = faults.silence(stage.cluster, broker)
        stage.rest(7, 12)
        stage.cluster.network.lift(*rules)
        return
    faults.pause(stage.cluster, broker)
    stage.rest(7, 12)
    faults.resume(stage.cluster, broker)


def _fence(stage: Stage, broker: int) -> None:
    rules = faults.lose_heartbeats(stage.cluster, broker)
    stage.rest(7, 11)
    stage.cluster.network.lift(*rules)


def _leader_move(stage: Stage, broker: int) -> None:
    with contextlib.suppress(ClusterError):
        faults.move_leader(stage.cluster, TOPIC, broker)


def _network(stage: Stage, broker: int) -> None:
    others = [each for each in stage.cluster.brokers if each != broker]
    with faults.partitioned(stage.cluster, [broker], others):
        stage.rest(4, 9)


def _controller(stage: Stage, broker: int) -> None:
    old = faults.fail_controller(stage.cluster)
    stage.rest(0.5, 3)
    stage.cluster.controllers[old].process.start()


FAULTS: Mapping[str, Callable[[Stage, int], None]] = {
    "crash": _crash,
    "lossy_crash": _lossy_crash,
    "disk_loss": _disk_loss,
    "clean_stop": _clean_stop,
    "slow": _slow,
    "pause": _pause,
    "zombie": _zombie,
    "fence": _fence,
    "leader_move": _leader_move,
    "network": _network,
    "controller": _controller,
}
"""What may go wrong, by the name that --faults takes."""

DEFAULT = ("crash", "lossy_crash", "slow", "zombie", "leader_move", "clean_stop", "network")


def fault_names(text: str) -> tuple[str, ...]:
    """The faults of a comma separated list.

    Errors: `InputError` for one that there is not.
    """
    names = tuple(each.strip() for each in text.split(","))
    for each in names:
        if each not in FAULTS:
            raise unknown("fault", each, FAULTS, "--faults")
    return names


def run(home: KafkaHome, plan: Plan, say: Callable[[str], None] = lambda text: None) -> History:
    """Carry a plan out on a cluster of its own; what was seen, in order.

    Errors: `ClusterError` when the cluster does not start, or does not come to rest.
    """
    controllers = 3 if "controller" in plan.faults else plan.controllers
    notebook, chance = Notebook(), random.Random(plan.seed)
    with cluster(home, plan.brokers, controllers) as found:
        replicas = list(found.brokers)[:3]
        chance.shuffle(replicas)
        configs = {"min.insync.replicas": str(plan.min_isr), "unclean.leader.election.enable": str(plan.unclean).lower()}
        found.create_topic(TOPIC, replicas, configs)
        stage = Stage(found, notebook, chance, time.time() + plan.seconds)
        with Workload(notebook, lambda: found.bootstrap, TOPIC, plan.acks, plan.rate):
            _misfortunes(stage, plan, say)
            _recover(stage)
            _watched(stage)
        say("reading everything once more")
        _last_look(found, notebook)
        return _history(found, plan, notebook)


def _misfortunes(stage: Stage, plan: Plan, say: Callable[[str], None]) -> None:
    """One fault after another, sometimes before the last one's broker is back."""
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


def _recover(stage: Stage) -> None:
    """Everything runs again, is registered, and in sync: the histories end whole."""
    found = stage.cluster
    for number, node in found.brokers.items():
        if not node.process.is_running:
            stage.start(number)

    def is_whole() -> bool:
        partition = found.partition(TOPIC)
        return all(map(found.is_unfenced, found.brokers)) and (
            partition.leader < 0 or len(partition.isr) == len(partition.replicas)
        )

    with contextlib.suppress(ClusterError):
        found.wait(is_whole, "every replica to be in sync again", 60)


def _watched(stage: Stage) -> None:
    """Two answers about the high watermark of whoever leads now, where somebody does."""
    before = len(stage.notebook.seen)

    def is_shown() -> bool:
        return sum(each.saw == "high_watermark" for each in stage.notebook.seen[before:]) >= 2

    with contextlib.suppress(ClusterError):
        stage.cluster.wait(is_shown, "the leader to show its high watermark", 30)


def _last_look(found: Cluster, notebook: Notebook) -> None:
    """What a consumer reads from the beginning, and what every disk holds."""
    if found.partition(TOPIC).leader >= 0:
        begun = time.time()
        with contextlib.suppress(ClusterError):
            for each in found.consume(TOPIC):
                notebook.note(
                    "read", "last reader", begun, time.time(), record=(each.value or b"").decode(), offset=each.offset
                )
    for broker in found.brokers:
        look_at_disk(found, notebook, broker)


def _history(found: Cluster, plan: Plan, notebook: Notebook) -> History:
    log = max((node.data / LOG for node in found.controllers.values()), key=lambda path: path.stat().st_size)
    changes, config = observations(entries(log), TOPIC, 0)
    seen: list[Seen] = sorted([*changes, *notebook.seen], key=lambda each: each.at)
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
