"""What a state of the modern models looks like to those who run Kafka."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from neverlost.model.kraft.state import BEHIND, ELECTED
from neverlost.model.snapshot import (
    DOWN,
    FOLLOWER,
    LEADER,
    NOT_APPLIED,
    REMOVED,
    STALE,
    STALE_LEADER,
    WAITING,
    BrokerView,
    ClusterSnapshot,
    members,
    named,
)

KNOWLEDGE = {ELECTED: NOT_APPLIED, BEHIND: STALE}


def portrait(values: Mapping[str, Any]) -> ClusterSnapshot:
    """Return a state, given as values by field, as a snapshot: the controller's metadata, and each broker's log and beliefs."""
    leader = named(values["leader"])
    is_led = leader is not None and values["is_running"][leader]
    return ClusterSnapshot(
        leader=leader,
        epoch=None,
        isr=members(values["isr"]),
        lanes=tuple(_lane(values, replica) for replica in range(len(values["log_record"]))),
        acked=frozenset(number + 1 for number in members(values.get("ghost_acked", []))),
        committed=frozenset(record for record in values.get("ghost_committed", ()) if record),
        elr=members(values.get("elr", [])),
        last_known_leader=named(values.get("last_known_leader", -1)),
        fenced=members(values["is_fenced"]),
        adding=members(values.get("is_adding", [])),
        removing=members(values.get("is_removing", [])),
        min_isr=values.get("min_isr_changed") or values["min_isr"],
        knowledge=KNOWLEDGE.get(values["leader_knows"], "") if is_led else "",
        notes=_consumer(values),
    )


def _consumer(values: Mapping[str, Any]) -> tuple[str, ...]:
    """Return notes in words: where the consumer is, and each offset that was processed more than once; () without one."""
    if "consumer_position" not in values:
        return ()
    at = f"consumer at offset {values['consumer_position']}, committed {values['consumer_committed']}"
    again = [offset for offset, times in enumerate(values["ghost_processed"]) if times > 1]
    return (at, *[f"offset {each} processed again" for each in again])


def _lane(values: Mapping[str, Any], replica: int) -> BrokerView:
    log = tuple((record, None) for record in values["log_record"][replica] if record)
    if not values["is_running"][replica]:
        return BrokerView(replica, DOWN, log)
    follows = values["follows"][replica]
    if follows != replica:
        role = WAITING if follows < 0 else FOLLOWER
        if not values.get("is_replica", {replica: True})[replica]:
            role = REMOVED
        return BrokerView(replica, role, log, values["high_watermark"][replica], follows=named(follows))
    is_current = values["leader"] == replica and values["leader_knows"] != ELECTED
    return BrokerView(
        broker=replica,
        role=LEADER if is_current else STALE_LEADER,
        log=log,
        high_watermark=values["high_watermark"][replica],
        isr=members(values["leader_isr"][replica]),
        is_leader=is_current,
        follows=replica,
        pending=_pending(values, replica),
        fetched=_fetched(values, replica),
        notes=_configuration(values, replica),
    )


def _pending(values: Mapping[str, Any], leader: int) -> tuple[str, int] | None:
    replica = values["pending"][leader]
    if replica < 0:
        return None
    return "remove" if values["leader_isr"][leader][replica] else "add", replica


def _fetched(values: Mapping[str, Any], leader: int) -> tuple[tuple[int, int], ...]:
    """Return (follower, fetch offset) of each follower whose fetch offset is beyond the leader's high watermark."""
    known = enumerate(values["fetch_offset"][leader])
    return tuple((follower, offset) for follower, offset in known if offset > values["high_watermark"][leader])


def _configuration(values: Mapping[str, Any], leader: int) -> tuple[str, ...]:
    """Return the old min.insync.replicas that a leader still goes by, as a note; empty if it knows what is set now."""
    if "min_isr_known" not in values or values["min_isr_known"][leader] == values["min_isr_changed"]:
        return ()
    return (f"goes by min.insync.replicas={values['min_isr_known'][leader] or values['min_isr']}",)
