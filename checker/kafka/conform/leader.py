"""Compares the model's leader with Kafka's Partition: from every state that the model reaches, every event that can reach a
leader.  A state is installed into a real Partition with a real log, the event is fired, and the Partition must then hold what
the model has: log end, high watermark, ISR, pending change, what is known of each follower, and which offsets are
acknowledged.  Source: kafka.cluster.Partition."""

from __future__ import annotations

import random
import time
from collections import Counter
from dataclasses import dataclass
from typing import Any

from neverlost.checker.kafka.conform.cases.cases import search_reachable
from neverlost.checker.kafka.conform.cases.comparison import Difference, Tally, sorted_texts
from neverlost.checker.kafka.conform.cases.entry_calls import (
    LEADER_EPOCH,
    PARTITION_EPOCH,
    Script,
    calls_to,
    event_calls,
    leader_text,
    make_call,
)
from neverlost.checker.kafka.conform.cases.leader_cases import (
    LEADER,
    RETRIED_ERRORS,
    LeaderEvent,
    LeaderModel,
    LeaderOutcome,
    LeaderState,
    events,
    random_states,
    reached_states,
)
from neverlost.checker.kafka.conform.cases.settings import ConformSetting
from neverlost.checker.kafka.conform.java.jvm import call, call_known, field_of, has_method, java_class, option
from neverlost.checker.kafka.conform.java.partition import STARTED, Broker, Host
from neverlost.model.kernel import NO_REPLICA

UNKNOWN_END = -1
UPDATES = ("updateFetchStateOrThrow", "updateFetchState")
"""The method of Replica, in one version or another, that is called for a fetch."""
TRIES = 50
"""Of one kind of event, for how many differences at most it is tried to show them by calls of entry points."""
RANDOM_EVENTS = 12
"""Events that are drawn for each random state."""

METHODS = {
    "append": "Partition.appendRecordsToLeader",
    "shrink": "Partition.maybeShrinkIsr",
    "answer": "Partition.handleAlterPartitionUpdate",
    "refusal": "Partition.handleAlterPartitionError",
    "record of another leader": "Partition.makeFollower",
}
KNOWN = {
    "caught-up": "the model may drop a follower that is at the leader's log end, Kafka does not: more behaviours than Kafka's",
    "several": "Kafka drops all slow followers with one request, the model one at a time",
}
"""Differences that are known, and only add to the model's behaviours or are in its list of what is left to do."""

FENCED_GAP = "fetches of fenced followers: Partition asks KRaftMetadataCache by its class, for which there is no stand-in"
"""Up to 4.0 the metadata cache's interface does not say who is fenced."""


@dataclass(frozen=True)
class Observed:
    """What a Partition shows after an event; `asked` are the brokers that its pending request adds or drops."""

    outcome: LeaderOutcome
    asked: frozenset[int]

    def __str__(self) -> str:
        several = f" asks for {','.join(str(each + 1) for each in sorted(self.asked))}" if len(self.asked) > 1 else ""
        return f"{self.outcome}{several}"


class Leader:
    """A Partition with `replicas` replicas under one min.insync.replicas, into which states are installed."""

    def __init__(self, replicas: int, min_isr: int) -> None:
        self.host = Host(1, min_isr)
        self.broker = Broker(self.host, range(1, replicas + 1))
        self.min_isr, self.replicas = min_isr, replicas
        self.broker.learn(1, (1,), LEADER_EPOCH, PARTITION_EPOCH)
        log = self.broker.log
        self.high_watermark = field_of(str(log.getClass().getName()), "highWatermarkMetadata")
        replica = self.broker.replica(2)
        self.replica_state = field_of(str(replica.getClass().getName()), "replicaState")
        self.ends: dict[int, Any] = {}
        self.committed: dict[frozenset[int], list[Any]] = {}
        self.pending: dict[tuple[frozenset[int], int], Any] = {}
        self.followers: dict[tuple[int, bool], Any] = {}
        self.is_other_epoch = False

    def close(self) -> None:
        """Remove the Partition's log."""
        self.host.close()

    # installing

    def install(self, state: LeaderState, slow: frozenset[int]) -> None:
        """Put a state, with its pending request, into the Partition.  ISR members outside `slow` have caught up just now, all
        others never.  Slow ones at the high watermark, and all outside the maximal ISR, have not fetched yet."""
        broker = self.broker
        self.host.clock.now = STARTED
        broker.fenced = set()
        broker.requests.clear()
        if self.is_other_epoch:
            self._lead(frozenset({LEADER}))
            broker.empty_log()
            self.is_other_epoch = False
        self._install_log(state.log_end)
        for each, value in zip(broker.fields, self._committed(state.isr), strict=True):
            each.set(broker.partition, value)
        broker.fields[3].set(broker.partition, option(java_class("java.lang.Long")(state.epoch_start)))
        followers = {}
        for each in range(1, self.replicas):
            is_known = each in state.maximal_isr and not (each in slow and state.fetched[each] == state.high_watermark)
            end = state.fetched[each] if is_known else UNKNOWN_END
            followers[each] = self._follower(end, each in state.isr and each not in slow)
        for each, value in followers.items():
            self.replica_state.get(broker.replica(each + 1)).set(value)
        self.high_watermark.set(broker.log, self._offset(state.high_watermark))
        if state.pending != NO_REPLICA:
            proposed = self._pending(state)
            broker.fields[0].set(broker.partition, proposed)
            call(broker.partition, "submitAlterPartition", proposed)

    def _install_log(self, end: int) -> None:
        log = self.broker.log
        there = int(log.logEndOffset())
        if there > end:
            log.truncateTo(end)
        for _ in range(end - there):
            self.broker.append_to_log(LEADER_EPOCH)

    def _offset(self, offset: int) -> Any:
        if offset not in self.ends:
            self.ends[offset] = self.broker.offset(offset)
        return self.ends[offset]

    def _committed(self, isr: frozenset[int]) -> list[Any]:
        """Return the values of `Broker.fields`, in order, in a Partition that leads with this ISR and asks for no change."""
        if isr not in self.committed:
            self._lead(isr)
            self.committed[isr] = [each.get(self.broker.partition) for each in self.broker.fields]
        return self.committed[isr]

    def _lead(self, isr: frozenset[int]) -> None:
        """Make the Partition the leader, with this ISR, in the leader epoch of all states."""
        for name, value in (("partitionEpoch", PARTITION_EPOCH - 1), ("leaderEpoch", LEADER_EPOCH)):
            field_of("kafka.cluster.Partition", name).set(self.broker.partition, java_class("java.lang.Integer")(value))
        self.broker.learn(1, sorted(each + 1 for each in isr), LEADER_EPOCH, PARTITION_EPOCH)

    def _pending(self, state: LeaderState) -> Any:
        """Return Kafka's partition state for `state.pending`; call this while the Partition holds the committed ISR."""
        key = (state.isr, state.pending)
        if key not in self.pending:
            partition = self.broker.partition
            now, broker = partition.partitionState(), state.pending + 1
            if state.pending in state.isr:
                self.pending[key] = call(partition, "prepareIsrShrink", now, scala_set(broker))
            else:
                self.pending[key] = call(partition, "prepareIsrExpand", now, broker)
        return self.pending[key]

    def _follower(self, end: int, is_timely: bool) -> Any:
        """Return Kafka's ReplicaState of a follower: its log end (-1: has not fetched), caught up just now (timely) or
        never."""
        key = (end, is_timely)
        if key not in self.followers:
            replica = self.broker.replica(2)
            call(replica, "resetReplicaState", STARTED, 0, True, is_timely)
            if end != UNKNOWN_END:
                fetched = STARTED if is_timely else 1
                name = next(each for each in UPDATES if has_method(replica, each))
                call_known(replica, name, self._offset(end), 0, fetched, 1 << 30, self.broker.epochs[2])
            self.followers[key] = self.replica_state.get(replica).get()
        return self.followers[key]

    # firing

    def fire(self, event: LeaderEvent) -> None:
        for each in event_calls(event):
            make_call(self.broker, each)
            self.is_other_epoch |= each.name == "learn" and each.arguments[2] != LEADER_EPOCH

    # reading

    def observed(self) -> Observed:
        """Return what `observe_partition` reads of the Partition now."""
        return observe_partition(self.broker, self.min_isr)

    def script(self, state: LeaderState, event: LeaderEvent, found: Observed, answers: set[LeaderOutcome]) -> Script | None:
        """Return calls of entry points after which a new Partition shows `found`; None if it does not, or if one of the model's
        `answers` has the same text."""
        acked = found.outcome.acked if all(each.acked is not None for each in answers) else None
        expected = sorted_texts(leader_text(each.state, each.acked if acked is not None else None) for each in answers)
        if leader_text(found.outcome.state, acked) in expected:
            return None
        before, then = tuple(calls_to(state, event.slow)), tuple(event_calls(event))
        broker = Broker(self.host, range(1, self.replicas + 1))
        self.host.clock.now = STARTED
        try:
            for each in before:
                make_call(broker, each)
            if observe_partition(broker, self.min_isr).outcome.state.normal != state.normal:
                return None
            for each in then:
                make_call(broker, each)
        except (IndexError, java_class("java.lang.Throwable")):
            return None
        if observe_partition(broker, self.min_isr) != found:
            return None
        return Script(self.min_isr, self.replicas, (*before, *then), expected)


def observe_partition(broker: Broker, min_isr: int) -> Observed:
    """Return what a Partition holds: the state of the leader, acknowledged offsets, and whom its request adds or drops."""
    seen = broker.seen()
    isr = frozenset(each - 1 for each in seen.isr)
    asked: frozenset[int] = frozenset()
    if seen.is_inflight:
        asked = isr ^ frozenset(each - 1 for each in broker.requests[-1].isr)
    known = dict(seen.remote)
    start = broker.partition.leaderEpochStartOffsetOpt()
    found = LeaderState(
        min_isr=min_isr,
        log_end=seen.log_end,
        high_watermark=seen.high_watermark,
        isr=isr,
        pending=min(asked, default=NO_REPLICA),
        fetched=tuple(max(0, known.get(each, 0)) for each in broker.replicas),
        epoch_start=0 if start.isEmpty() else int(start.get()),
    )
    acked = frozenset(each for each in range(seen.log_end) if broker.acknowledged(each + 1) == (True, "NONE"))
    return Observed(LeaderOutcome(found.normal, acked), asked)


def scala_set(*values: int) -> Any:
    found = java_class("java.util.HashSet")()
    for each in values:
        found.add(java_class("java.lang.Integer")(each))
    return java_class("scala.jdk.javaapi.CollectionConverters").asScala(found).toSet()


class LeaderComparison:
    """Compares the model with Kafka's Partition, one state and event at a time; the result is in `tally`."""

    def __init__(self, setting: ConformSetting) -> None:
        self.setting = setting
        self.model = LeaderModel(setting.system)
        self.replicas = setting.system.sizes["replica"]
        self.leaders: dict[int, Leader] = {}
        self.tally = Tally("leader")
        self.tested: set[str] = set()
        self.tries: Counter[str] = Counter()

    def leader(self, min_isr: int) -> Leader:
        """Return the `Leader` in which states under this min.insync.replicas are installed; made once."""
        if min_isr not in self.leaders:
            self.leaders[min_isr] = Leader(self.replicas, min_isr)
        return self.leaders[min_isr]

    def compare(self, state: LeaderState, event: LeaderEvent) -> None:
        answers = self.model.answers(state, event)
        if not answers:
            return
        leader = self.leader(state.min_isr)
        if event.is_fenced and not leader.broker.asks_who_is_fenced:
            self.tally.gaps = [FENCED_GAP]
            return
        leader.install(state, event.slow)
        leader.fire(event)
        self.tally.cases += 1
        self.tally.calls += 1
        self.tally.by_event[event.name] += 1
        found = leader.observed()
        if _agrees(found, answers):
            return
        if leader.broker.partition.isLeader():
            leader.broker.look_again()
            later = leader.observed()
            if _agrees(later, answers):
                self.tally.by_event["(at the next look at the high watermark)"] += 1
                return
            leader.broker.pass_lag()
            leader.broker.look_again()
            if _agrees(leader.observed(), answers):
                self.tally.by_event["(after waiting for a replica that is about to join)"] += 1
                return
        self._differs(state, event, found, answers)

    def _differs(self, state: LeaderState, event: LeaderEvent, found: Observed, answers: set[LeaderOutcome]) -> None:
        known = None
        if event.name == "shrink" and len(found.asked) > 1:
            known = KNOWN["several"]
        elif event.name == "shrink" and not (found.asked - state.maximal_isr) and found.asked != event.slow:
            at_end = {each for each in event.slow if state.fetched[each] >= state.log_end}
            known = KNOWN["caught-up"] if at_end else None
        case, kafka = f"{event} when {state}", (str(found),)
        test = None
        if known is None and event.name not in self.tested and self.tries[event.name] < TRIES:
            self.tries[event.name] += 1
            test = self.leader(state.min_isr).script(state, event, found, answers)
            self.tested |= {event.name} if test else set()
        records = tuple(test.records) if test else ()
        self.tally.differences.append(
            Difference(
                "leader", entry_point(event), self.setting.text, case, kafka, sorted_texts(answers), known, test, records
            )
        )

    def close(self) -> None:
        """Remove the logs of all Partitions that were made."""
        for each in self.leaders.values():
            each.close()


def entry_point(event: LeaderEvent) -> str:
    """Return the name of the method that an event reaches, as `Partition.appendRecordsToLeader`."""
    if event.name == "refusal" and event.error in RETRIED_ERRORS:
        return "Partition.submitAlterPartition"
    return METHODS.get(event.name, "Partition.fetchRecords" if "fetch" in event.name else "Partition.makeLeader")


def _agrees(found: Observed, answers: set[LeaderOutcome]) -> bool:
    """Return True if an answer has the state that Kafka shows, and its acknowledged offsets where the answer names some; False
    if Kafka asks for several brokers at once, which the model never does."""
    if len(found.asked) > 1:
        return False
    looked = found.outcome
    return any(each.state == looked.state and each.acked in (None, looked.acked) for each in answers)


def compare(setting: ConformSetting, *drawn: int) -> Tally:
    """Return the tally of comparing every event in every state of a leader that the model reaches under a setting.  With
    `drawn`, a number and a seed, compare some events in that many random legal states instead."""
    begun = time.monotonic()
    comparison = LeaderComparison(setting)
    size, least = setting.system.sizes, int(setting.configuration["min.insync.replicas"])
    try:
        if not drawn:
            states = search_reachable(setting.system)
            comparison.tally.states = len(states)
            for state in sorted(reached_states(states, least), key=repr):
                for event in events(state, size["record"]):
                    comparison.compare(state, event)
        else:
            (count, seed), draw = drawn, random.Random(drawn[1])
            is_strict = bool(setting.configuration["mechanism.strict-high-watermark"])
            for state in random_states(count, seed, size["replica"], size["record"], least, is_strict):
                possible = list(events(state, size["record"]))
                for event in draw.sample(possible, min(RANDOM_EVENTS, len(possible))):
                    comparison.compare(state, event)
    finally:
        comparison.close()
    comparison.tally.seconds = time.monotonic() - begun
    return comparison.tally
