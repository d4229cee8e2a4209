"""What a state of the modern models looks like to someone who runs Kafka."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from neverlost.model.kraft.state import BEHIND, ELECTED
from neverlost.model.scene import Lane, Scene, members, named

KNOWS = {ELECTED: "has not taken over", BEHIND: "is behind"}


def portrait(values: Mapping[str, Any]) -> Scene:
    """The controller's metadata, and every broker with its log and what it believes."""
    acked = [number + 1 for number, is_acked in enumerate(values.get("ghost_acked", ())) if is_acked]
    committed = sorted({record for record in values.get("ghost_committed", ()) if record})
    leader = named(values["leader"])
    notes = [f"fenced {_brokers(members(values['is_fenced']))}"] if any(values["is_fenced"]) else []
    notes += [f"ELR {_brokers(members(values['elr']))}"] if any(values.get("elr", ())) else []
    if leader is not None and values["leader_knows"] in KNOWS:
        notes.append(f"{leader + 1} {KNOWS[values['leader_knows']]}")
    return Scene(
        leader=leader,
        epoch=None,
        isr=members(values["isr"]),
        lanes=tuple(_lane(values, replica) for replica in range(len(values["log_record"]))),
        promised=frozenset(acked) | frozenset(committed),
        notes=(*notes, *([f"acknowledged {_records(acked)}"] if acked else [])),
    )


def _lane(values: Mapping[str, Any], replica: int) -> Lane:
    log = tuple((record, None) for record in values["log_record"][replica] if record)
    if not values["is_running"][replica]:
        return Lane(replica, "down", log)
    follows = values["follows"][replica]
    leads = follows == replica
    is_current = leads and values["leader"] == replica and values["leader_knows"] != ELECTED
    role = "leader" if is_current else ("old leader" if leads else ("waiting" if follows < 0 else f"follower of {follows + 1}"))
    pending = values["pending"][replica] if leads else -1
    return Lane(
        broker=replica,
        role=role,
        log=log,
        high_watermark=values["high_watermark"][replica],
        isr=members(values["leader_isr"][replica]) if leads else None,
        is_leader=is_current,
        notes=(f"asks to change {pending + 1}",) if pending >= 0 else (),
    )


def _brokers(replicas: tuple[int, ...]) -> str:
    return ",".join(str(replica + 1) for replica in replicas)


def _records(records: list[int]) -> str:
    return ",".join(f"m{record}" for record in records)
