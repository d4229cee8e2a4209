"""Tries a counterexample on a cluster: carries out each stage of its plan, waits for each target, and reads the partition."""

from __future__ import annotations

import time

from neverlost.checker.kafka.cluster import faults
from neverlost.checker.kafka.cluster.cluster import Cluster
from neverlost.checker.kafka.cluster.process import ClusterError, ConditionNotMet
from neverlost.checker.kafka.reproduce.attempt import (
    Attempt,
    AttemptOutcome,
    Divergence,
    Moment,
    Notify,
    describe_leader,
    list_brokers,
)
from neverlost.checker.kafka.reproduce.carry_out import carry_out, elect_by_hand
from neverlost.checker.kafka.reproduce.cluster_scene import take_snapshot
from neverlost.checker.kafka.reproduce.differences import find_differences
from neverlost.checker.kafka.reproduce.reproduction_plan import ReproductionPlan, ReproductionStep
from neverlost.checker.kafka.reproduce.target import Target

STILL = 20
"""Seconds after which what has not changed will not: thrice what it takes to miss a broker, more than to drop a follower."""


def follow(cluster: Cluster, plan: ReproductionPlan, topic: str, notify: Notify) -> AttemptOutcome:
    """Try a plan on a topic of its own, up to a stage that diverges; then undo every fault, read the partition, and return the
    outcome.  Errors: `ClusterError` if the cluster does not reach the plan's initial state, or does not recover."""
    attempt = Attempt(cluster, plan, topic, notify)
    _begin(attempt)
    for stage in plan.stages:
        if not _is_seen(attempt, stage):
            break
    _recover(attempt)
    attempt.outcome.seconds = attempt.seconds
    return attempt.outcome


def _begin(attempt: Attempt) -> None:
    plan, configs = attempt.plan, attempt.plan.topic_configs
    for each in attempt.cluster.brokers:
        faults.put_in_directories(attempt.cluster, each)
    attempt.cluster.create_topic(attempt.topic, plan.replicas, configs)
    shown = " ".join(f"{name}={value}" for name, value in configs.items())
    attempt.note(f"create topic {attempt.topic} on {','.join(map(str, plan.replicas))} with {shown}")
    reach(attempt, plan.begin)
    _remember(attempt, "the beginning")


def _is_seen(attempt: Attempt, stage: ReproductionStep) -> bool:
    """Carry out a stage; return whether it went as in the model, and if not put the divergence into the outcome."""
    says = "; ".join(stage.says)
    try:
        attempt.hold(stage.during)
        carry_out(attempt, stage)
        attempt.hold(stage.holds)
        elect_by_hand(attempt, stage.target)
        reach(attempt, stage.target, slowly=stage.operation == "start")
    except ClusterError as problem:
        seen = problem.seen if isinstance(problem, ConditionNotMet) else str(problem)
        attempt.outcome.divergence = Divergence(stage.first, stage.last, says, tuple(seen.split("\n")))
    _remember(attempt, says)
    return attempt.outcome.divergence is None


def reach(attempt: Attempt, target: Target, slowly: bool = False) -> None:
    """Wait until the cluster looks as the model does; `slowly`, where a broker starts, three times as long.  Errors:
    `ConditionNotMet` with every difference that is left when time is up, or when none of them has changed for long."""
    times = 3 if slowly else 1
    left, since = [""], time.monotonic()

    def is_there() -> bool:
        nonlocal left, since
        found = find_differences(attempt, target)
        if found != left:
            left, since = found, time.monotonic()
        elif found and time.monotonic() - since > STILL * times:
            raise ConditionNotMet("a difference from the model to change", STILL * times, "\n".join(found))
        return not found

    said = "the cluster to look as the model does"
    attempt.cluster.wait(is_there, said, attempt.patience * times, lambda: "\n".join(left))


def _recover(attempt: Attempt) -> None:
    """Undo every fault, wait a while for replicas to be in sync, and put logs, and what can be read if a broker leads, into the
    outcome."""
    cluster, outcome = attempt.cluster, attempt.outcome
    attempt.note("unblock the network and start every broker")
    cluster.network.lift()
    attempt.rules = set()
    for sending in attempt.sendings.values():
        sending.close()
    for broker, node in cluster.brokers.items():
        if not node.process.is_running:
            faults.start(cluster, broker)
    cluster.wait(lambda: all(map(cluster.is_unfenced, cluster.brokers)), "every broker to be back", 120)
    try:
        cluster.wait(lambda: _is_whole(attempt), "every replica to be in sync", attempt.patience)
    except ConditionNotMet:
        attempt.note(f"not every replica is in sync: {_format_line(attempt)}")
    outcome.leader = attempt.partition.leader
    if attempt.leader is None:
        attempt.note("the partition has no leader: it is offline, and nothing can be read")
    else:
        outcome.read = cluster.consume(attempt.topic)
        seen = ", ".join(f"{(each.value or b'').decode()} at offset {each.offset}" for each in outcome.read)
        attempt.note(f"read from the beginning: {seen or 'nothing is there'}")
    outcome.logs = {broker: cluster.log(broker, attempt.topic) for broker in cluster.brokers}
    _remember(attempt, "every fault undone, every broker running")


def _is_whole(attempt: Attempt) -> bool:
    now = attempt.partition
    ends = {attempt.cluster.log_end(each, attempt.topic) for each in now.replicas}
    return set(now.isr) == set(now.replicas) and now.leader >= 0 and len(ends) == 1


def _format_line(attempt: Attempt) -> str:
    now = attempt.partition
    elr = f", ELR {list_brokers(now.elr)}" if now.elr else ""
    return f"{describe_leader(attempt.leader)}, ISR {list_brokers(now.isr)}{elr}"


def _remember(attempt: Attempt, says: str) -> None:
    attempt.outcome.moments.append(Moment(says, attempt.seconds, take_snapshot(attempt)))
