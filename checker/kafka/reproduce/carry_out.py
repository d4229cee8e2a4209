"""Carries out each operation of a plan on a cluster."""

from __future__ import annotations

import re
import time

from neverlost.checker.kafka.cluster import faults
from neverlost.checker.kafka.cluster.requests import alter_directory
from neverlost.checker.kafka.reproduce.attempt import Attempt
from neverlost.checker.kafka.reproduce.reproduction_plan import ReproductionStep
from neverlost.checker.kafka.reproduce.target import Target

FILLER = b"m0"
"""A record that slow followers lack.  Kafka drops no follower that has everything, however late its fetches are."""


def carry_out(attempt: Attempt, stage: ReproductionStep) -> None:
    """Do the operation that a stage begins with; one that only blocks traffic or lets it flow is noted here, not done.  Errors:
    `ClusterError` where the cluster does not let it be done."""
    cluster, topic, broker, note = attempt.cluster, attempt.topic, stage.broker, attempt.note
    match stage.operation:
        case "produce":
            number, acks = len(attempt.sendings) + 1, attempt.plan.acks
            note(f"produce m{number} to broker {broker} with acks={acks}")
            attempt.sendings[number] = cluster.send(topic, f"m{number}".encode(), acks, attempt.patience * 3, to=broker)
        case "lag":
            _lag(attempt, stage)
        case "move":
            note(f"elect broker {broker}, now first in the assignment, as the preferred leader")
            faults.move_leader(cluster, topic, broker)
        case "reassign":  # replicas that stay keep their order
            order = [each for each in attempt.partition.replicas if each in stage.argument]
            order += [each for each in stage.argument if each not in order]
            note(f"reassign to {','.join(map(str, order))}")
            faults.reassign(cluster, topic, order)
        case "cancel":
            note("cancel the reassignment")
            faults.cancel_reassignment(cluster, topic)
        case "set-min-isr":
            note(f"set min.insync.replicas of the topic to {stage.argument[0]}")
            cluster.admin.set_topic_config(topic, "min.insync.replicas", str(stage.argument[0]))
        case "learn":
            note(f"broker {broker} may read the metadata log again")
        case "replay":
            _replay(attempt, stage)
        case "silence":
            note(f"broker {broker}'s heartbeats are lost")
        case "reconnect":
            note(f"broker {broker}'s heartbeats arrive again")
        case "crash":
            note(f"kill -9 broker {broker}")
            faults.crash(cluster, broker)
        case "crash-lossy":
            offset = attempt.records(broker)[stage.argument[0]].offset
            note(f"kill -9 broker {broker}, and lose its log from offset {offset} on")
            for each in faults.crash_lossy(cluster, broker, topic, offset):
                attempt.notify(f"     {each}")
        case "lose-disk":
            note(f"kill -9 broker {broker}, wipe its log directory and format it")
            faults.lose_disk(cluster, broker)
        case "stop":
            _stop(attempt, stage)
        case "stop-and-take-out":
            _stop(attempt, stage)
            gone = faults.take_out_directory(cluster, broker, topic)
            note(f"take the log directory {gone} of broker {broker}, which has the partition, out of log.dirs")
        case "assign-directory":
            _assign_directory(attempt, stage)
        case "start":
            note(f"start broker {broker}")
            faults.start(cluster, broker)


def _lag(attempt: Attempt, stage: ReproductionStep) -> None:
    """Make a follower lack something, and wait until the leader prints that it wants to drop it from the ISR."""
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


def _stop(attempt: Attempt, stage: ReproductionStep) -> None:
    """Shut a broker down.  Once it leads no more, `holds` replaces `during`, but what `during` blocks of this broker stays."""

    def hand_over() -> None:
        attempt.cluster.wait(lambda: attempt.leader != stage.broker, f"leader {stage.broker} to hand over", 60)
        attempt.hold(stage.holds.besides(stage.during.of(stage.broker)))

    attempt.note(f"shut broker {stage.broker} down")
    faults.stop(attempt.cluster, stage.broker, hand_over)


def _assign_directory(attempt: Attempt, stage: ReproductionStep) -> None:
    """Ask the leader, or else the first running broker, to move its replica to its other log directory; do not wait."""
    broker = attempt.leader or stage.target.running[0]
    here = attempt.cluster.log_folder(broker, attempt.topic).parent
    there = next(each for each in attempt.cluster.brokers[broker].directories if each != here)
    attempt.note(f"move the replica of broker {broker} from its log directory {here.name} to {there.name}")
    alter_directory(attempt.cluster.address(broker), attempt.topic, str(there))


def elect_by_hand(attempt: Attempt, target: Target) -> None:
    """On Kafka before 3.9, if the model held an unclean election, wait until there is no leader and request one: the KRaft
    controller ignores a topic's unclean.leader.election.enable there (KAFKA-12670).  Later Kafkas are left alone."""
    is_unclean = target.leader is not None and target.leader not in attempt.partition.isr
    if not (is_unclean and attempt.plan.is_unclean_allowed and attempt.cluster.home.minor < (3, 9)):
        return
    attempt.cluster.wait(lambda: attempt.leader is None, "the partition to have no leader", attempt.patience)
    attempt.note("ask for an unclean election, which Kafka before 3.9 does not hold by itself")
    faults.elect_uncleanly(attempt.cluster, attempt.topic)
