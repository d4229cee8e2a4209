"""The traffic that is blocked while a stage lasts, so that the cluster can do no more than the model did.  A follower that
must not have a record does not fetch; a broker that must not know a decision does not read the metadata log."""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass, fields, replace
from typing import Any

from neverlost.checker.kafka.cluster.cluster import Cluster
from neverlost.checker.kafka.cluster.network import ALTER_PARTITION, ANSWERS, FETCH, HEARTBEAT, REQUESTS, TrafficRule
from neverlost.checker.kafka.reproduce.operations import FETCHES, Operation
from neverlost.model.kraft.state import UP_TO_DATE
from neverlost.model.system import Step


@dataclass(frozen=True)
class TrafficBlocks:
    """Blocked traffic, by broker, counted from 1: fetches of followers, the metadata log to brokers, requests to change the
    ISR and the answers to them, heartbeats.  Of the metadata log a broker may have requested already what it must not read yet
    (`metadata_answers`), or receive what it has requested and no more (`metadata_requests`)."""

    fetches: tuple[int, ...] = ()
    metadata: tuple[int, ...] = ()
    metadata_answers: tuple[int, ...] = ()
    metadata_requests: tuple[int, ...] = ()
    isr_requests: tuple[int, ...] = ()
    isr_answers: tuple[int, ...] = ()
    heartbeats: tuple[int, ...] = ()

    def besides(self, other: TrafficBlocks) -> TrafficBlocks:
        """Return these blocks together with another's, except the other's of heartbeats, with which no broker shuts down."""
        names = [each.name for each in fields(self) if each.name != "heartbeats"]
        return replace(self, **{each: tuple(sorted({*getattr(self, each), *getattr(other, each)})) for each in names})

    def of(self, broker: int) -> TrafficBlocks:
        return TrafficBlocks(*(tuple(each for each in getattr(self, name.name) if each == broker) for name in fields(self)))


def compute_blocks(
    operation: Operation,
    begin: Mapping[str, Any],
    end: Mapping[str, Any],
    taken: Sequence[Step],
    silent: Set[int],
    is_late: tuple[bool, bool],
) -> TrafficBlocks:
    """Return what is blocked until the end of a stage, given its states at the beginning and at the end, and the steps
    between.  `silent` are the brokers whose heartbeats are lost; `is_late`: whether the leader has yet to replay the record of
    a change whose answer it has applied, at the beginning and at the end."""
    running = [each for each in range(len(end["log_record"])) if end["is_running"][each]]
    fetching = {step.arguments["follower"] for step in taken if step.action.name in FETCHES}
    whole = {each for each in running if end["isr"][each] and _has_all(begin, each) and _has_all(end, each)}
    fetching |= {each for each in whole if not _would_be_requested_again(end, each)}
    leader = end["leader"]
    learned = {each for each in running if _is_within_publication(end, each)}
    behind = {leader} if leader >= 0 and end["leader_knows"] != UP_TO_DATE else set()
    asking = {leader} if leader >= 0 and end["pending"][leader] >= 0 else set()
    found = TrafficBlocks(
        fetches=tuple(each + 1 for each in running if each not in fetching),
        metadata=tuple(each + 1 for each in running if is_stale(end, each)),
        isr_requests=tuple(each + 1 for each in asking - behind),
        isr_answers=tuple(each + 1 for each in sorted(behind | learned)),
        heartbeats=tuple(sorted(silent)),
    )
    if any(is_late):
        deposed = [each for each in running for state in (begin, end) if state.get("late_record", {each: False})[each]]
        found = _block_late_record(found, [*deposed, leader][0] + 1, is_late)
    return replace(found, metadata=(), isr_answers=()) if _must_be_read(operation, begin) else found


def _is_within_publication(state: Mapping[str, Any], broker: int) -> bool:
    """Return True if a broker has applied the partitions of a metadata publication, and not yet its configuration."""
    return "configuration_to_come" in state and bool(state["configuration_to_come"][broker])


def _block_late_record(holds: TrafficBlocks, leader: int, is_late: tuple[bool, bool]) -> TrafficBlocks:
    """Return the blocks with those of a late record: it is written and not read; then requested, so that no later record comes
    with it; then read alone."""
    others = tuple(each for each in holds.metadata if each != leader)
    if not is_late[0]:
        return replace(holds, metadata=tuple(sorted({*others, leader})))
    if is_late[1]:
        return replace(holds, metadata=others, metadata_answers=(leader,))
    return replace(holds, metadata=others, metadata_requests=(leader,))


def _would_be_requested_again(state: Mapping[str, Any], broker: int) -> bool:
    """Return True if a fetch of the broker would make the leader request again to add it to the ISR, having forgotten the
    earlier request."""
    followed = state["follows"][broker]
    if followed < 0 or state["leader_knows"] == UP_TO_DATE:
        return False
    return not state["leader_isr"][followed][broker] and bool(state["pending"][followed] != broker)


def _must_be_read(operation: Operation, begin: Mapping[str, Any]) -> bool:
    """Return True if every live broker must be able to read the metadata log: a leader that shuts down waits until all others
    have read that it no longer leads.  Source: BrokerHeartbeatManager.calculateNextBrokerState (controlled shutdown offset)."""
    return operation.name in ("stop", "stop-and-take-out") and bool(begin["leader"] == operation.broker - 1)


def _has_all(state: Mapping[str, Any], broker: int) -> bool:
    """Return True if a broker has exactly the log of the leader that it follows."""
    followed = state["follows"][broker]
    return bool(followed >= 0 and state["log_record"][broker] == state["log_record"][followed])


def is_stale(state: Mapping[str, Any], broker: int) -> bool:
    """Return True if a running broker must be kept from learning the controller's newest decision."""
    leader, follows = state["leader"], state["follows"][broker]
    if leader == broker and state["leader_knows"] != UP_TO_DATE:
        return True
    if follows >= 0 and leader >= 0 and follows != leader:
        return True
    if follows == broker and "min_isr_known" in state and state["min_isr_known"][broker] != state["min_isr_changed"]:
        return not _is_within_publication(state, broker)
    return "is_replica" in state and not state["is_replica"][broker] and bool(state["log_record"][broker][0])


def make_network_rules(cluster: Cluster, holds: TrafficBlocks) -> set[TrafficRule]:
    found = {TrafficRule(each, other, FETCH) for each in holds.fetches for other in cluster.brokers if other != each}
    for controller in cluster.controllers:
        found |= {TrafficRule(each, controller, FETCH) for each in holds.metadata}
        found |= {TrafficRule(each, controller, FETCH, ANSWERS) for each in holds.metadata_answers}
        found |= {TrafficRule(each, controller, FETCH, REQUESTS) for each in holds.metadata_requests}
        found |= {TrafficRule(each, controller, HEARTBEAT) for each in holds.heartbeats}
        found |= {TrafficRule(each, controller, ALTER_PARTITION) for each in holds.isr_requests}
        found |= {TrafficRule(each, controller, ALTER_PARTITION, ANSWERS) for each in holds.isr_answers}
    return found
