"""Compares the model with ReplicationControlManager itself, driven by the requests and timers of a real controller.

For each case the partition and the brokers are installed by the records that a snapshot would hold, and the event is what
causes it in Kafka: a session that expires, a heartbeat, a registration, AlterPartition, an election, a reassignment.  The set
of answers must be the model's set; each broker is first in the order of assignment once (all orders: `change_builder`).

Source: org.apache.kafka.controller.ReplicationControlManager, ClusterControlManager, ConfigurationControlManager.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
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
from neverlost.checker.kafka.conform.cases.entry_calls import ControllerScript, partition_record
from neverlost.checker.kafka.conform.cases.settings import ConformSetting
from neverlost.checker.kafka.conform.java.jvm import has_method
from neverlost.checker.kafka.conform.java.replication_control_manager import Controller, PartitionState
from neverlost.checker.kafka.conform.partition_change_builder import ELECTIONS, LEADER_EPOCH, PARTITION_EPOCH
from neverlost.checker.kafka.conform.partition_change_builder import EVENTS as BUILT
from neverlost.model.any_number import AnyNumber
from neverlost.model.kernel import NO_REPLICA, Configuration

EVENTS = (*BUILT, "controller_set_min_isr", "controller_assign_directory")
METHODS = {
    "controller_fence_dead": "maybeFenceOneStaleBroker",
    "controller_fence_live": "maybeFenceOneStaleBroker",
    "broker_stop_cleanly": "processBrokerHeartbeat",
    "controller_unfence": "processBrokerHeartbeat",
    "broker_restart": "handleBrokerShutdown, processBrokerHeartbeat",
    "broker_restart_clean": "handleBrokerShutdown, processBrokerHeartbeat",
    "controller_move_leader": "electLeaders",
    "controller_alter_isr": "alterPartition",
    "controller_reassign": "alterPartitionReassignments",
    "controller_cancel_reassignment": "alterPartitionReassignments",
    "controller_cancel_reassignment_uncleanly": "alterPartitionReassignments",
    "controller_elect_uncleanly": "electLeaders",
    "controller_set_min_isr": "replay(ClearElrRecord)",
    "controller_assign_directory": "handleAssignReplicasToDirs",
}
"""The entry point of each action."""

DIRECTORY = "assigning a directory moves the partition epoch and nothing else; the model has no such step"
"""A difference that is known: the leader only has to learn one more record."""

NO_DIRECTORIES = "no broker reports the directory of a replica before 3.7; the model has the step: more behaviours than Kafka's"
"""A difference that is known."""
REGISTRATION = "before 4.0 to register changes no partition; the model takes the broker out of the ISR first, as from 4.0 on"
"""A difference that is known, where the broker alone is in the ISR: the model lets another replica lead if one may.

No `handleBrokerShutdown` before KAFKA-18106; decision 028 compares the model with one that has the older rule.
"""

Calls = tuple[tuple[Any, ...], ...]
"""Names of a controller's methods with what they are given."""


class ControllerOracle:
    """Kafka's answers in cases: one controller, whose partition is installed again for every case."""

    def __init__(self, configuration: Configuration, brokers: int) -> None:
        self.configuration = configuration
        self.brokers = tuple(range(1, brokers + 1))
        self.least = int(configuration["min.insync.replicas"])
        self.controller = Controller(self.brokers, bool(configuration["eligible.leader.replicas"]), self.least)
        if configuration["unclean.leader.election.enable"]:
            self.controller.configure("unclean.leader.election.enable", "true")
        self.configured = self.least
        self.stopping: set[int] = set()
        self.has_directories = has_method(self.controller.replication, "handleAssignReplicasToDirs")
        self.calls = 0

    def answers(self, case: ConformCase) -> frozenset[Knowledge]:
        """Return the set of what Kafka knows after a case, asked with each broker first in the assignment once
        (election.policy=preferred: in ascending order alone).  If the event is an election, the knowledge before it is left
        out.  The set is empty if this version does not have the event."""
        if case.event == "controller_assign_directory" and not self.has_directories:
            return frozenset()
        found = {self._after(case, order) for order in self._orders()}
        if case.event in ELECTIONS:
            found.discard(case.before)
        return frozenset(found)

    def _orders(self) -> list[tuple[int, ...]]:
        if self.configuration["election.policy"] == "preferred":
            return [self.brokers]
        return [(*self.brokers[first:], *self.brokers[:first]) for first in range(len(self.brokers))]

    def install(self, before: Knowledge, order: Sequence[int]) -> None:
        """Put the controller into the state `before`, with replicas assigned in this order of brokers (from 1)."""
        control = self.controller
        control.end_sessions()
        for each in sorted(self.stopping):
            control.register(each, clean=True)  # ends a controlled shutdown
        self.stopping.clear()
        least = before.min_isr_changed or self.least
        if self.configured != least:
            control.configure("min.insync.replicas", str(least))
            self.configured = least

        def ordered(brokers: frozenset[int]) -> tuple[int, ...]:
            return tuple(each for each in order if each - 1 in brokers)

        last = () if before.last_known_leader == NO_REPLICA else (before.last_known_leader + 1,)
        leader = before.leader if before.leader == NO_REPLICA else before.leader + 1
        state = PartitionState(
            *(ordered(before.replicas), ordered(before.isr), ordered(before.elr), last, leader),
            *(ordered(before.adding), ordered(before.removing), LEADER_EPOCH, PARTITION_EPOCH),
        )
        control.install(state, {each + 1 for each in before.fenced})

    def _after(self, case: ConformCase, order: tuple[int, ...]) -> Knowledge:
        self.install(case.before, order)
        self.calls += 1
        self._cause(case, order)
        return self.read(case.before)

    def _cause(self, asked: ConformCase, order: tuple[int, ...]) -> None:
        """Cause the event of a case in the real controller: by a request, a heartbeat, a registration or expired sessions."""
        control, broker = self.controller, dict(asked.arguments).get("broker", NO_REPLICA) + 1
        match asked.event:
            case "controller_fence_dead" | "controller_fence_live":
                control.expire(broker)
            case "broker_stop_cleanly":
                self.stopping.add(broker)
                control.heartbeat(broker, stop=True)
                control.heartbeat(broker, stop=True)  # by now it leads nothing and may stop
            case "controller_unfence":
                control.heartbeat(broker)
            case "broker_restart" | "broker_restart_clean":
                control.register(broker, clean=asked.event == "broker_restart_clean")
                control.heartbeat(broker)
            case "controller_move_leader" | "controller_elect_uncleanly":
                control.elect(unclean=asked.event == "controller_elect_uncleanly")
            case "controller_alter_isr":
                self.alter(asked)
            case "controller_reassign":
                control.reassign([each for each in order if asked.argument("target") >> (each - 1) & 1])
            case "controller_cancel_reassignment" | "controller_cancel_reassignment_uncleanly":
                control.reassign(None)
            case "controller_set_min_isr":
                self.configured = asked.argument("least")
                control.configure("min.insync.replicas", str(self.configured))
            case "controller_assign_directory":
                control.assign_directory(next(each for each in order if each - 1 in asked.before.replicas), 1)
            case _:
                raise ValueError(asked.event)

    def alter(self, case: ConformCase, leader_epoch: int = 0, partition_epoch: int = 0, old_epochs: bool = False) -> str:
        """Send a case's AlterPartition with these numbers added to its two epochs, and the replica's broker epoch one too low
        if `old_epochs`; return the error's name or NONE."""
        control = self.controller
        epochs = dict(control.epochs)
        if old_epochs:
            epochs[case.argument("replica") + 1] -= 1
        return control.alter_partition(
            case.argument("leader") + 1,
            sorted(each + 1 for each in case.proposed),
            LEADER_EPOCH + leader_epoch,
            PARTITION_EPOCH + partition_epoch,
            epochs,
        )[0]

    def refusals(self, case: ConformCase) -> list[tuple[str, str, str, Calls]]:
        """Send a case's AlterPartition with one thing wrong at a time; return that, the model's and Kafka's error, and the
        calls."""
        tried: list[tuple[str, str, dict[str, Any]]] = [
            ("an older leader epoch", "FENCED_LEADER_EPOCH", {"leader_epoch": -1}),
            ("a newer leader epoch", "NOT_CONTROLLER", {"leader_epoch": 1}),
            ("an older partition epoch", "INVALID_UPDATE_VERSION", {"partition_epoch": -1}),
            ("a newer partition epoch", "NOT_CONTROLLER", {"partition_epoch": 1}),
        ]
        found = []
        for name, error, off in tried:
            self.install(case.before, self.brokers)
            found.append((name, error, self.alter(case, **off), tuple(self.controller.calls)))
        replica = case.argument("replica")
        if replica not in case.before.isr and replica in case.proposed:
            self.install(case.before, self.brokers)
            expected = "INELIGIBLE_REPLICA"
            if not self.configuration["mechanism.broker-epoch-in-isr"]:  # as any other request
                expected = self.alter(case)
                self.install(case.before, self.brokers)
            answered = self.alter(case, old_epochs=True)
            found.append(("a replica that has registered again", expected, answered, tuple(self.controller.calls)))
            self.install(replace(case.before, fenced=case.before.fenced | {replica}), self.brokers)
            found.append(("a fenced replica", "INELIGIBLE_REPLICA", self.alter(case), tuple(self.controller.calls)))
        self.calls += len(found)
        return found

    def known(self, case: ConformCase, kafka: frozenset[Knowledge]) -> str | None:
        """Return why it is known that Kafka's answers to a case differ from the model's; None if that is not known."""
        before = case.before
        if case.event == "controller_assign_directory":
            if not self.has_directories:
                return NO_DIRECTORIES
            if kafka == {follow_epochs(before, before, 1, 0)}:
                return DIRECTORY
        registers = case.event in ("broker_restart", "broker_restart_clean")
        is_alone = registers and before.leader == NO_REPLICA and before.isr == {case.argument("broker")}
        has_rule = has_method(self.controller.replication, "handleBrokerShutdown")
        return REGISTRATION if is_alone and not has_rule else known_of_4_0(case, self.configuration)

    def script(self, case: ConformCase, expected: tuple[str, ...], refused: Calls | None = None) -> ControllerScript:
        """Return a case as calls, in every order of assignment, with the `expected` answers of the model; or the calls of a
        request that should be `refused`, with the expected error."""
        before = case.before
        script = ControllerScript(
            brokers=len(self.brokers),
            min_isr=before.min_isr_changed or self.least,
            elr=bool(self.configuration["eligible.leader.replicas"]),
            unclean=bool(self.configuration["unclean.leader.election.enable"]),
            runs=() if refused is None else (refused,),
            follows=KNOWS[before.epochs],
            expected=expected,
            without=_shown(before) if case.event in ELECTIONS else None,
            gives="seen" if refused is None else "error",
        )
        if refused is not None:
            return script
        runs = []
        for order in self._orders():
            self._after(case, order)
            runs.append(tuple(self.controller.calls))
        return replace(script, runs=tuple(runs))

    def records(self, before: Knowledge) -> tuple[Mapping[str, Any], ...]:
        """Return, as metadata records, the partition and then each fenced broker."""

        def ids(brokers: frozenset[int]) -> list[int]:
            return sorted(each + 1 for each in brokers)

        last = [] if before.last_known_leader == NO_REPLICA else [before.last_known_leader + 1]
        elr = {"eligibleLeaderReplicas": ids(before.elr), "lastKnownElr": last} if before.elr or last else {}
        others = {"addingReplicas": ids(before.adding), "removingReplicas": ids(before.removing), **elr}
        leader = before.leader if before.leader == NO_REPLICA else before.leader + 1
        partition = partition_record(ids(before.replicas), ids(before.isr), leader, LEADER_EPOCH, PARTITION_EPOCH, **others)
        epochs = self.controller.epochs
        fenced = [{"brokerId": each, "brokerEpoch": int(epochs[each]), "fenced": 1} for each in ids(before.fenced)]
        changes = [{"type": "BROKER_REGISTRATION_CHANGE_RECORD", "version": 2, "data": each} for each in fenced]
        return partition, *changes

    def read(self, before: Knowledge) -> Knowledge:
        """Return what the controller holds now, as knowledge; its `epochs` is what the leader of `before` then knows."""
        after = self.controller.read()

        def members(brokers: Sequence[int]) -> frozenset[int]:
            return frozenset(each - 1 for each in brokers)

        found = Knowledge(
            leader=after.leader if after.leader == NO_REPLICA else after.leader - 1,
            isr=members(after.isr),
            elr=members(after.elr),
            last_known_leader=after.last_known_elr[0] - 1 if after.last_known_elr else NO_REPLICA,
            fenced=members(sorted(self.controller.fenced())),
            replicas=members(after.replicas),
            adding=members(after.adding),
            removing=members(after.removing),
            epochs=before.epochs,
            min_isr_changed=0 if self.configured == self.least else self.configured,
        )
        return follow_epochs(before, found, after.partition_epoch - PARTITION_EPOCH, after.leader_epoch - LEADER_EPOCH)


def _shown(known: Knowledge) -> str:
    """Return what a controller holds as the text that a test compares; min.insync.replicas is not in it."""
    return f"{replace(known, min_isr_changed=0)} ({KNOWS[known.epochs]})"


def find_unanswered(found: Sequence[ConformCase], configuration: Configuration) -> list[ConformCase]:
    """Return cases, in states of `found`, of events that can always come where the model has no step: nothing may change."""
    answered = {(each.event.removesuffix("_uncleanly"), each.before) for each in found}
    moves = configuration["faults.leader_move"] == AnyNumber()
    elects = configuration["faults.unclean_election"] == AnyNumber()
    can_come: dict[str, Callable[[Knowledge], bool]] = {
        "controller_assign_directory": lambda before: bool(before.elr),
        "controller_cancel_reassignment": lambda before: bool(before.adding | before.removing),
        "controller_move_leader": lambda before: moves and before.leader != NO_REPLICA,
        "controller_elect_uncleanly": lambda before: elects and before.leader == NO_REPLICA,
    }
    known = sorted({each.before for each in found}, key=repr)
    return [
        ConformCase(event, (), before, frozenset() if event in ELECTIONS else frozenset({before}))
        for event, is_possible in can_come.items()
        for before in known
        if is_possible(before) and (event.removesuffix("_uncleanly"), before) not in answered
    ]


def compare(setting: ConformSetting) -> Tally:
    """Return the tally of comparing every distinct case of a setting's reachable states with the controller's entry points."""
    begun = time.monotonic()
    states = search_reachable(setting.system)
    found, transitions = find_cases(states, dict.fromkeys(EVENTS))
    found += find_unanswered(found, setting.configuration)
    tally = Tally("controller", cases=len(found), transitions=transitions, states=len(states))
    judge = ControllerOracle(setting.configuration, setting.system.sizes["replica"])

    tested: set[str] = set()

    def differs(
        case: ConformCase,
        shown: str,
        kafka: tuple[str, ...],
        model: tuple[str, ...],
        known: str | None = None,
        refused: Calls | None = None,
    ) -> None:
        entry = f"ReplicationControlManager.{METHODS[case.event]}"
        test, records = None, judge.records(case.before)
        event = case.event if refused is None else shown.rpartition(", with ")[2]
        if known is None and event not in tested:
            tested.add(event)
            test = judge.script(case, sorted_texts(map(_shown, case.answers)) if refused is None else model, refused)
        tally.differences.append(Difference("controller", entry, setting.text, shown, kafka, model, known, test, records))

    for case in found:
        tally.by_event[case.event] += 1
        case_shown = f"{case.shown} when {case.before} ({KNOWS[case.before.epochs]})"
        kafka = judge.answers(case)
        if kafka != case.answers:
            judged, modelled = (
                sorted_texts(f"{each} ({KNOWS[each.epochs]})" for each in some) for some in (kafka, case.answers)
            )
            differs(case, case_shown, judged, modelled, judge.known(case, kafka))
        if case.event == "controller_alter_isr":
            for name, expected, error, refused in judge.refusals(case):
                tally.by_event[f"{case.event}, refused"] += 1
                if error != expected:
                    differs(case, f"{case_shown}, with {name}", (error,), (expected,), refused=refused)
    tally.calls, tally.seconds = judge.calls, time.monotonic() - begun
    return tally
