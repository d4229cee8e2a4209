"""Compares the model with Kafka's PartitionChangeBuilder, through which every decision of the controller goes.

For each case the class is asked under every order of the assignment; the set of its answers must be the model's set.

Source: org.apache.kafka.controller.PartitionChangeBuilder; the inputs of each event are those that
ReplicationControlManager gives it (generateLeaderAndIsrUpdates, alterPartition, electLeader, changePartitionReassignment,
cancelPartitionReassignment).
"""

from __future__ import annotations

import functools
import time
from dataclasses import dataclass, replace
from itertools import permutations
from typing import Any

from neverlost.checker.kafka.conform.cases.cases import (
    KNOWS,
    ConformCase,
    Knowledge,
    find_cases,
    follow_epochs,
    known_of_4_0,
    search_reachable,
)
from neverlost.checker.kafka.conform.cases.comparison import Difference, Tally, sorted_texts
from neverlost.checker.kafka.conform.cases.settings import ConformSetting
from neverlost.checker.kafka.conform.java.jvm import constructor, int_array, integer, java_class, java_list, kafka_class, proxy
from neverlost.checker.kafka.conform.java.metadata import metadata_version, partition_registration
from neverlost.model.kernel import NO_REPLICA, Configuration, members

BUILDER = "controller.PartitionChangeBuilder"
LEADER_EPOCH, PARTITION_EPOCH = 7, 9
"""Where the epochs stand before each change."""


@dataclass(frozen=True)
class BuilderInput:
    """The inputs of the builder for one change; where one is None, the builder's own default stays."""

    active: frozenset[int]
    target_isr: frozenset[int] | None = None
    or_first: bool = False
    """True to replace an empty `target_isr` with the first of the target replicas."""
    unclean_shutdown: frozenset[int] = frozenset()
    election: str = "ONLINE"
    replicas: frozenset[int] | None = None
    first: frozenset[int] = frozenset()
    """Of the target replicas, those that an operator named: they come first."""
    adding: frozenset[int] | None = None
    removing: frozenset[int] | None = None


def list_inputs(
    asked: ConformCase, before: Knowledge, stage: int, configuration: Configuration, brokers: frozenset[int]
) -> list[BuilderInput]:
    """Return a list with the builder's input for one stage of an event, or an empty one; stage 1, of a restart alone, unfences.
    It is empty where generateLeaderAndIsrUpdates leaves the partition alone: a broker to remove is not in the ISR (at an
    unclean shutdown with ELR: in neither ISR nor ELR), or a broker is unfenced and the partition has a leader."""
    unfenced, broker = brokers - before.fenced, frozenset({dict(asked.arguments).get("broker", NO_REPLICA)})
    election = "UNCLEAN" if configuration["unclean.leader.election.enable"] else "ONLINE"
    if asked.event == "controller_unfence" or stage == 1:
        added = BuilderInput(unfenced | broker, before.isr, election=election)
        return [added] if before.leader == NO_REPLICA else []
    removed = BuilderInput(unfenced - broker, before.isr - broker, election=election)
    match asked.event:
        case "broker_restart" if configuration["eligible.leader.replicas"]:
            return [replace(removed, unclean_shutdown=broker)] if broker <= before.isr | before.elr else []
        case event if event in REMOVALS:
            return [removed] if broker <= before.isr else []
        case "controller_move_leader":
            return [BuilderInput(unfenced, election="PREFERRED")]
        case "controller_elect_uncleanly":
            return [BuilderInput(unfenced, election="UNCLEAN")]
        case "controller_alter_isr":
            return [BuilderInput(unfenced, asked.proposed, election=election)]
        case "controller_reassign":  # empty lists are not set, so that those of a reassignment under way stay
            wanted = frozenset(members(asked.argument("target")))
            adding, removing = wanted - before.replicas or None, before.replicas - wanted or None
            replicas = before.replicas | wanted
            return [BuilderInput(unfenced, replicas=replicas, first=wanted, adding=adding, removing=removing)]
        case "controller_cancel_reassignment" | "controller_cancel_reassignment_uncleanly":
            # PartitionReassignmentRevert: without the added replicas, and the first replica as ISR if no member is left
            left = BuilderInput(unfenced, before.isr - before.adding, or_first=True, election=election)
            return [replace(left, replicas=before.replicas - before.adding, adding=frozenset(), removing=frozenset())]
    raise ValueError(asked.event)


ELECTIONS = ("controller_move_leader", "controller_elect_uncleanly")
"""Where nothing changes the controller refuses, and the model has no step."""

REMOVALS = ("controller_fence_dead", "controller_fence_live", "broker_stop_cleanly", "broker_restart", "broker_restart_clean")
"""Actions that take a broker out of the ISR."""

STAGES = {"broker_restart": 2, "broker_restart_clean": 2}
EVENTS = (
    *REMOVALS,
    "controller_unfence",
    "controller_move_leader",
    "controller_alter_isr",
    "controller_reassign",
    "controller_cancel_reassignment",
    "controller_cancel_reassignment_uncleanly",
    "controller_elect_uncleanly",
)
"""The actions of the model that change the partition through this class."""


class ChangeBuilderOracle:
    """PartitionChangeBuilder of the Kafka version that this process has loaded."""

    def __init__(self, brokers: int) -> None:
        self.builder = kafka_class(BUILDER)
        types = constructor("org.apache.kafka." + BUILDER)[1]
        self.version = metadata_version() if any("MetadataVersion" in each for each in types) else True
        self.elections = kafka_class("controller.PartitionChangeBuilder$Election")
        uuid = kafka_class("common.Uuid")
        self.topic, self.directories = uuid(1, 1), [uuid(9, each) for each in range(brokers)]
        self.calls = 0
        self.takes = len(types)
        names = [str(each.getName()) for each in java_class("org.apache.kafka." + BUILDER).class_.getMethods()]
        self.flag_is_set = "setEligibleLeaderReplicasEnabled" in names
        self.has_directories = "setDefaultDirProvider" in names
        if self.has_directories:
            place = "org.apache.kafka.metadata.placement.DefaultDirProvider"
            self.of_broker = proxy(place, {"defaultDir": lambda each: self.directories[each]})
        self.answer = functools.lru_cache(200_000)(self._answer)

    def answers(self, case: ConformCase, configuration: Configuration, min_isr: int) -> frozenset[Knowledge]:
        """Return the set of what Kafka knows after a case, asked in every order of assignment (election.policy=preferred: in
        ascending order alone).  If the event is an election, the knowledge before it is left out."""
        brokers = frozenset(range(len(self.directories)))
        is_ordered = configuration["election.policy"] == "preferred"
        orders = [tuple(sorted(brokers))] if is_ordered else list(permutations(sorted(brokers)))
        least = min(case.before.min_isr_changed or min_isr, len(case.before.replicas))  # as getTopicEffectiveMinIsr
        found = {self._after(case, order, least, configuration, brokers) for order in orders}
        if case.event in ELECTIONS:
            found.discard(case.before)
        return frozenset(found)

    def _after(
        self, case: ConformCase, order: tuple[int, ...], least: int, configuration: Configuration, brokers: frozenset[int]
    ) -> Knowledge:
        now, elr = case.before, bool(configuration["eligible.leader.replicas"])
        for stage in range(STAGES.get(case.event, 1)):
            for change in list_inputs(case, now, stage, configuration, brokers):
                now = self.answer(now, change, order, least, elr)
            broker = dict(case.arguments).get("broker", NO_REPLICA)
            if case.event.startswith("controller_fence") or case.event == "broker_stop_cleanly":
                now = replace(now, fenced=now.fenced | {broker})
            elif case.event in ("controller_unfence", *STAGES) and stage == STAGES.get(case.event, 1) - 1:
                now = replace(now, fenced=now.fenced - {broker})
        return now

    def _answer(self, before: Knowledge, change: BuilderInput, order: tuple[int, ...], least: int, elr: bool) -> Knowledge:
        """Return what is known after the class made one change, `before` if it wrote no record; `least`:
        min.insync.replicas."""
        self.calls += 1
        registration = self._registration(before, order)
        who = proxy("java.util.function.IntPredicate", {"test": lambda each: each in change.active})
        given = [registration, self.topic, 0, who, self.version, least, elr]
        made = self.builder(*given[: self.takes])
        if self.flag_is_set:
            made.setEligibleLeaderReplicasEnabled(elr)
        made.setElection(getattr(self.elections, change.election))
        if self.has_directories:
            made.setUseLastKnownLeaderInBalancedRecovery(True)
            made.setDefaultDirProvider(self.of_broker)
        if change.target_isr is not None:
            first = [each for each in order if each in (change.replicas or frozenset())][: change.or_first]
            made.setTargetIsr(java_list([each for each in order if each in change.target_isr] or first))
        if change.unclean_shutdown:
            made.setUncleanShutdownReplicas(java_list(sorted(change.unclean_shutdown)))
        if change.replicas is not None:
            ordered = sorted(change.replicas, key=lambda each: (each not in change.first, order.index(each)))
            made.setTargetReplicas(java_list(ordered))
        if change.adding is not None:
            made.setTargetAdding(java_list(sorted(change.adding)))
        if change.removing is not None:
            made.setTargetRemoving(java_list(sorted(change.removing)))
        record = made.build()
        return read_registration(before, registration.merge(record.get().message())) if record.isPresent() else before

    def _registration(self, before: Knowledge, order: tuple[int, ...]) -> Any:
        replicas = [each for each in order if each in before.replicas]
        last = [before.last_known_leader] if before.last_known_leader != NO_REPLICA else []
        parts = {
            "Replicas": int_array(replicas),
            "Directories": [self.directories[each] for each in replicas],
            "Isr": int_array(each for each in order if each in before.isr),
            "RemovingReplicas": int_array(sorted(before.removing)),
            "AddingReplicas": int_array(sorted(before.adding)),
            "Elr": int_array(sorted(before.elr)),
            "LastKnownElr": int_array(last),
            "Leader": integer(before.leader),
            "LeaderEpoch": integer(LEADER_EPOCH),
            "PartitionEpoch": integer(PARTITION_EPOCH),
        }
        return partition_registration(parts)


def read_registration(before: Knowledge, after: Any) -> Knowledge:
    """Convert a PartitionRegistration to knowledge.  `fenced` and `min_isr_changed` are those of `before`; `epochs` says what
    the leader of `before` then knows, as the two epochs of `after` have risen or not."""
    last, elr = (list(map(int, getattr(after, each, ()))) for each in ("lastKnownElr", "elr"))
    found = Knowledge(
        leader=int(after.leader),
        isr=frozenset(map(int, after.isr)),
        elr=frozenset(elr),
        last_known_leader=last[0] if last else NO_REPLICA,
        fenced=before.fenced,
        replicas=frozenset(map(int, after.replicas)),
        adding=frozenset(map(int, after.addingReplicas)),
        removing=frozenset(map(int, after.removingReplicas)),
        epochs=before.epochs,
        min_isr_changed=before.min_isr_changed,
    )
    return follow_epochs(before, found, int(after.partitionEpoch) - PARTITION_EPOCH, int(after.leaderEpoch) - LEADER_EPOCH)


def compare(setting: ConformSetting) -> Tally:
    """Return the tally of comparing every distinct case of a setting's reachable states with PartitionChangeBuilder."""
    begun = time.monotonic()
    system, configuration = setting.system, setting.configuration
    states = search_reachable(system)
    found, transitions = find_cases(states, dict.fromkeys(EVENTS))
    tally = Tally("builder", cases=len(found), transitions=transitions, states=len(states))
    judge = ChangeBuilderOracle(system.sizes["replica"])
    for case in found:
        tally.by_event[case.event] += 1
        kafka = judge.answers(case, configuration, configuration["min.insync.replicas"])
        if kafka != case.answers:
            shown = f"{case.shown} when {case.before} ({KNOWS[case.before.epochs]})"
            judged, model = (sorted_texts(f"{each} ({KNOWS[each.epochs]})" for each in some) for some in (kafka, case.answers))
            where, known = ("builder", "PartitionChangeBuilder.build", setting.text), known_of_4_0(case, configuration)
            tally.differences.append(Difference(*where, shown, judged, model, known))
    tally.calls, tally.seconds = judge.calls, time.monotonic() - begun
    return tally
