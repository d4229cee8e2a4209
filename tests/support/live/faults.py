"""The faults of a live run: each happens to a broker, lasts for a while, and is over when its function returns."""

from __future__ import annotations

import contextlib
import random
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from neverlost.checker.kafka.cluster import faults
from neverlost.checker.kafka.cluster.cluster import Cluster
from neverlost.checker.kafka.cluster.metadata import PartitionRecord
from neverlost.checker.kafka.cluster.network import TrafficRule
from neverlost.checker.kafka.cluster.process import ClusterError
from neverlost.model.faults import FAULTS as DECLARED
from neverlost.model.faults import Fault
from neverlost.specs.errors import unknown
from tests.support.live import disturbances
from tests.support.live.workload import Notebook

TOPIC = "observed"


@dataclass
class LiveCluster:
    """A running cluster with what the faults need."""

    cluster: Cluster
    notebook: Notebook
    chance: random.Random
    over: float

    @property
    def partition(self) -> PartitionRecord:
        """Return the partition as the controllers' metadata log on disk has it by now."""
        return self.cluster.partition(TOPIC)

    @property
    def is_reassigning(self) -> bool:
        """Whether a reassignment is in progress."""
        return bool(self.partition.adding or self.partition.removing)

    def rest(self, low: float, high: float) -> None:
        """Sleep for a random time between two bounds, which the run's seed decides; at most until the run's time is over."""
        time.sleep(max(0.0, min(self.chance.uniform(low, high), self.over - time.time())))

    def note_end(self, broker: int, state: str, begun: float, log_end: int | None = None) -> None:
        """Record that a process has ended, and what is on its disk now."""
        more = {} if log_end is None else {"log_end": log_end}
        self.notebook.note("process", f"process {broker}", begun, time.time(), broker=broker, state=state, **more)
        look_at_disk(self.cluster, self.notebook, broker)

    def start(self, broker: int) -> None:
        self.notebook.note("process", f"process {broker}", broker=broker, state="started")
        faults.start(self.cluster, broker)


def look_at_disk(found: Cluster, notebook: Notebook, broker: int) -> None:
    """Record what a broker's disk holds; the broker must not be writing."""
    begun = time.time()
    records = {str(each.offset): (each.value or b"").decode() for each in found.log(broker, TOPIC)}
    end = max(map(int, records), default=-1) + 1
    notebook.note("log", f"disk {broker}", begun, time.time(), broker=broker, log_end=end, records=records)


Misfortune = Callable[[LiveCluster, int], None]
"""What is done to a broker, until it is over."""


def _crash(stage: LiveCluster, broker: int) -> None:
    faults.crash(stage.cluster, broker)


def _lossy_crash(stage: LiveCluster, broker: int) -> int:
    faults.crash(stage.cluster, broker)
    end = stage.cluster.log_end(broker, TOPIC)
    kept = max(0, end - stage.chance.randint(0, 30))
    if kept < end:
        faults.crash_lossy(stage.cluster, broker, TOPIC, kept)
    return kept


def _disk_loss(stage: LiveCluster, broker: int) -> int:
    faults.lose_disk(stage.cluster, broker)
    return 0


def _clean_stop(stage: LiveCluster, broker: int) -> None:
    faults.stop(stage.cluster, broker)


ENDS: Mapping[str, tuple[Callable[[LiveCluster, int], int | None], float]] = {
    "crash": (_crash, 12),
    "crash-lossy": (_lossy_crash, 12),
    "lose-disk": (_disk_loss, 12),
    "stop": (_clean_stop, 8),
}
"""How a process is ended, by `Fault.done`: returns the log end that is left, where that is decided; and most seconds down."""


def _end_process(fault: Fault) -> Misfortune:
    """Return a fault in which a process ends, and starts again after a while."""
    end, longest = ENDS[fault.done]

    def misfortune(stage: LiveCluster, broker: int) -> None:
        begun = time.time()
        stage.note_end(broker, fault.ends, begun, end(stage, broker))
        stage.rest(0.5, longest)
        stage.start(broker)

    return misfortune


def _make_cut(cut: Callable[[Cluster, int], list[TrafficRule]], shortest: float, longest: float) -> Misfortune:
    """Return a fault that blocks traffic for a while."""

    def misfortune(stage: LiveCluster, broker: int) -> None:
        rules = cut(stage.cluster, broker)
        stage.rest(shortest, longest)
        stage.cluster.network.lift(*rules)

    return misfortune


def _make_pause(shortest: float, longest: float) -> Misfortune:
    """Return a fault that pauses a process for a while."""

    def misfortune(stage: LiveCluster, broker: int) -> None:
        stage.cluster.brokers[broker].process.pause()
        stage.rest(shortest, longest)
        stage.cluster.brokers[broker].process.resume()

    return misfortune


_silence, _sleep = _make_cut(disturbances.silence, 7, 12), _make_pause(7, 12)


def _session_timeout(stage: LiveCluster, broker: int) -> None:
    (_silence if stage.chance.random() < 0.5 else _sleep)(stage, broker)


def _network(stage: LiveCluster, broker: int) -> None:
    others = [each for each in stage.cluster.brokers if each != broker]
    with disturbances.cut_network(stage.cluster, [broker], others):
        stage.rest(4, 9)


def _leader_move(stage: LiveCluster, broker: int) -> None:
    if broker in stage.partition.replicas and not stage.is_reassigning:
        with contextlib.suppress(ClusterError):
            faults.move_leader(stage.cluster, TOPIC, broker)


def _reassign(stage: LiveCluster, broker: int) -> None:
    """Move a replica to the broker that has none, and maybe block its fetches.  If it does not catch up the reassignment is
    taken back as operators do it: cancelled, or replaced by a reassignment to the replicas of before, which may never end."""
    replicas = stage.partition.replicas
    spare = [each for each in stage.cluster.brokers if each not in replicas]
    if not spare or stage.is_reassigning:
        return
    going = broker if broker in replicas else stage.chance.choice(replicas)
    rules = disturbances.slow_follower(stage.cluster, spare[0]) if stage.chance.random() < 0.5 else []
    with contextlib.suppress(ClusterError):
        faults.reassign(stage.cluster, TOPIC, [spare[0] if each == going else each for each in replicas])
        with contextlib.suppress(ClusterError):
            stage.cluster.wait(lambda: not stage.is_reassigning, "the replica to move", 2 if rules else 20)
        if stage.is_reassigning and stage.chance.random() < 0.7:
            faults.reassign(stage.cluster, TOPIC, replicas)
    if rules:
        stage.cluster.network.lift(*rules)
        stage.rest(0.5, 3)
    with contextlib.suppress(ClusterError):
        if stage.is_reassigning:
            faults.cancel_reassignment(stage.cluster, TOPIC)


def _controller(stage: LiveCluster, broker: int) -> None:
    old = disturbances.fail_controller(stage.cluster)
    stage.rest(0.5, 3)
    stage.cluster.controllers[old].process.start()


LASTING: Mapping[str, Misfortune] = {
    "lag": _make_cut(disturbances.slow_follower, 4, 8),
    "silence": _make_cut(disturbances.lose_heartbeats, 7, 11),
    "move": _leader_move,
    "reassign": _reassign,
}
"""How what ends no process is done for a while, by `Fault.done`."""


def _list_declared() -> Iterator[tuple[str, Misfortune]]:
    for fault in DECLARED:
        if fault.done in ENDS:
            yield fault.name, _end_process(fault)
        elif fault.done in LASTING:
            yield fault.name, LASTING[fault.done]


FAULTS: Mapping[str, Misfortune] = {
    **dict(_list_declared()),
    "slow": LASTING["lag"],
    "pause": _make_pause(1, 4.5),
    "session_timeout": _session_timeout,
    "network": _network,
    "controller": _controller,
}
"""What may go wrong, by name: the kinds of fault, and what may bring about several of them."""

DEFAULT = ("crash", "lossy_crash", "slow", "session_timeout", "leader_move", "clean_stop", "network")


def parse_fault_names(text: str) -> tuple[str, ...]:
    """Parse a comma separated list of faults.  Errors: `InputError` for an unknown one."""
    names = tuple(each.strip() for each in text.split(","))
    for each in names:
        if each not in FAULTS:
            raise unknown("fault", each, FAULTS, "--faults")
    return names
