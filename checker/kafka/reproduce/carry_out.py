"""Carries out each operation of a plan on a cluster."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Mapping

from neverlost.checker.kafka.cluster import faults
from neverlost.checker.kafka.reproduce.attempt import Attempt
from neverlost.checker.kafka.reproduce.reproduction_plan import ReproductionStep
from neverlost.checker.kafka.reproduce.target import Target

FILLER = b"m0"
"""A record that slow followers lack.  Kafka drops no follower that has everything, however late its fetches are."""


def carry_out(attempt: Attempt, stage: ReproductionStep) -> None:
    """Do the operation that a stage begins with; do nothing if the stage has none.  Errors: `ClusterError` where the
    cluster does not let it be done."""
    if stage.operation in OPERATIONS:
        OPERATIONS[stage.operation](attempt, stage)


def _produce(attempt: Attempt, stage: ReproductionStep) -> None:
    number, acks = len(attempt.sendings) + 1, attempt.plan.acks
    attempt.note(f"produce m{number} to broker {stage.broker} with acks={acks}")
    value, patience = f"m{number}".encode(), attempt.patience * 3
    attempt.sendings[number] = attempt.cluster.send(attempt.topic, value, acks, patience, to=stage.broker)


def _lag(attempt: Attempt, stage: ReproductionStep) -> None:
    """Make a follower lack something, and wait until the leader wants to drop it."""
    cluster, topic, follower, leader = attempt.cluster, attempt.topic, stage.broker, stage.argument[0]
    mark = cluster.brokers[leader].process.mark
    attempt.note(f"the fetches of broker {follower} to broker {leader} are blocked")
    if cluster.log_end(follower, topic) >= cluster.log_end(leader, topic):
        attempt.note(f"produce m0 to broker {leader} with acks=1, which broker {follower} lacks")
        cluster.send(topic, FILLER, "1", attempt.patience, to=leader).wait()
    pattern = rf"Partition {topic}-0 broker={leader}\] Shrinking ISR"
    cluster.wait(
        lambda: cluster.find_printed(leader, pattern, mark),
        f"leader {leader} to drop broker {follower}",
        attempt.patience,
        lambda: f"leader {leader} did not ask to drop broker {follower}",
    )


def _move(attempt: Attempt, stage: ReproductionStep) -> None:
    attempt.note(f"elect broker {stage.broker}, now first in the assignment, as the preferred leader")
    faults.move_leader(attempt.cluster, attempt.topic, stage.broker)


def _reassign(attempt: Attempt, stage: ReproductionStep) -> None:
    """Request a reassignment; replicas that stay keep their order."""
    order = [each for each in attempt.partition.replicas if each in stage.argument]
    order += [each for each in stage.argument if each not in order]
    attempt.note(f"reassign to {','.join(map(str, order))}")
    faults.reassign(attempt.cluster, attempt.topic, order)


def _cancel(attempt: Attempt, stage: ReproductionStep) -> None:
    attempt.note("cancel the reassignment")
    faults.cancel_reassignment(attempt.cluster, attempt.topic)


def _set_min_isr(attempt: Attempt, stage: ReproductionStep) -> None:
    value = str(stage.argument[0])
    attempt.note(f"set min.insync.replicas of the topic to {value}")
    attempt.cluster.admin.set_topic_config(attempt.topic, "min.insync.replicas", value)


def _learn(attempt: Attempt, stage: ReproductionStep) -> None:
    attempt.note(f"broker {stage.broker} may read the metadata log again")


def _replay(attempt: Attempt, stage: ReproductionStep) -> None:
    """Wait until a broker replays its own change, which only its log shows: it prints that it is the leader already.  Then
    time must pass: the high watermark waits for a replica outside the ISR that caught up a moment ago
    (`shouldWaitForReplicaToJoinIsr`)."""
    attempt.note(f"broker {stage.broker} gets the record of the change before, late and alone")
    pattern = rf"Skipped the become-leader.* {re.escape(attempt.topic)}-0 "
    process = attempt.cluster.brokers[stage.broker].process
    said = f"broker {stage.broker} to replay a record with a partition epoch that it knows"
    attempt.cluster.wait(lambda: process.find_printed(pattern, process.started_at) is not None, said, attempt.patience)
    silent = 1.5 * int(attempt.plan.server_settings["replica.lag.time.max.ms"]) / 1000
    until = time.monotonic() + silent
    attempt.note(f"the brokers whose fetches are blocked are silent for {silent:g} s")
    attempt.cluster.wait(lambda: time.monotonic() > until, "replica.lag.time.max.ms to pass", attempt.patience)


def _silence(attempt: Attempt, stage: ReproductionStep) -> None:
    attempt.note(f"broker {stage.broker}'s heartbeats are lost")


def _reconnect(attempt: Attempt, stage: ReproductionStep) -> None:
    attempt.note(f"broker {stage.broker}'s heartbeats arrive again")


def _crash(attempt: Attempt, stage: ReproductionStep) -> None:
    attempt.note(f"kill -9 broker {stage.broker}")
    faults.crash(attempt.cluster, stage.broker)


def _crash_lossy(attempt: Attempt, stage: ReproductionStep) -> None:
    offset = attempt.records(stage.broker)[stage.argument[0]].offset
    attempt.note(f"kill -9 broker {stage.broker}, and lose its log from offset {offset} on")
    for each in faults.crash_lossy(attempt.cluster, stage.broker, attempt.topic, offset):
        attempt.notify(f"     {each}")


def _lose_disk(attempt: Attempt, stage: ReproductionStep) -> None:
    attempt.note(f"kill -9 broker {stage.broker}, wipe its log directory and format it")
    faults.lose_disk(attempt.cluster, stage.broker)


def _stop(attempt: Attempt, stage: ReproductionStep) -> None:
    """Stop a broker, which waits until the others have read that it no longer leads; it need not read so itself."""

    def hand_over() -> None:
        attempt.cluster.wait(lambda: attempt.leader != stage.broker, f"leader {stage.broker} to hand over", 60)
        attempt.hold(stage.holds.besides(stage.during.of(stage.broker)))

    attempt.note(f"shut broker {stage.broker} down")
    faults.stop(attempt.cluster, stage.broker, hand_over)


def _stop_and_take_out(attempt: Attempt, stage: ReproductionStep) -> None:
    _stop(attempt, stage)
    gone = faults.take_out_directory(attempt.cluster, stage.broker, attempt.topic)
    attempt.note(f"take the log directory {gone} of broker {stage.broker}, which has the partition, out of log.dirs")


def _assign_directory(attempt: Attempt, stage: ReproductionStep) -> None:
    """Move the leader's replica to its other log directory; the broker reports that once the copy there has caught up."""
    broker = attempt.leader or stage.target.running[0]
    here = attempt.cluster.log_folder(broker, attempt.topic).parent
    there = next(each for each in attempt.cluster.brokers[broker].directories if each != here)
    attempt.note(f"move the replica of broker {broker} from its log directory {here.name} to {there.name}")
    faults.move_to_directory(attempt.cluster, broker, attempt.topic, there)


def _start(attempt: Attempt, stage: ReproductionStep) -> None:
    attempt.note(f"start broker {stage.broker}")
    faults.start(attempt.cluster, stage.broker)


OPERATIONS: Mapping[str, Callable[[Attempt, ReproductionStep], None]] = {
    "produce": _produce,
    "lag": _lag,
    "move": _move,
    "reassign": _reassign,
    "cancel": _cancel,
    "set-min-isr": _set_min_isr,
    "learn": _learn,
    "replay": _replay,
    "silence": _silence,
    "reconnect": _reconnect,
    "crash": _crash,
    "crash-lossy": _crash_lossy,
    "lose-disk": _lose_disk,
    "stop": _stop,
    "stop-and-take-out": _stop_and_take_out,
    "assign-directory": _assign_directory,
    "start": _start,
}
"""How each is done."""


def elect_by_hand(attempt: Attempt, target: Target) -> None:
    """Request an unclean election if the model held one: before 3.9 a KRaft controller ignores a topic's
    unclean.leader.election.enable (KAFKA-12670)."""
    is_unclean = target.leader is not None and target.leader not in attempt.partition.isr
    if not (is_unclean and attempt.plan.is_unclean_allowed and attempt.cluster.home.minor < (3, 9)):
        return
    attempt.cluster.wait(lambda: attempt.leader is None, "the partition to have no leader", attempt.patience)
    attempt.note("ask for an unclean election, which Kafka before 3.9 does not hold by itself")
    faults.elect_uncleanly(attempt.cluster, attempt.topic)
