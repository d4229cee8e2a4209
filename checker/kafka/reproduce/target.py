"""What a cluster must look like: a state of the model, as far as it can be seen.  Brokers are counted from 1 here, as on the
cluster; records in logs are the model's."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from neverlost.model.kraft.state import ELECTED, UP_TO_DATE


@dataclass(frozen=True)
class Target:
    """The controller's metadata, every broker's log, and which records are acknowledged and can be read."""

    leader: int | None
    has_applied_leadership: bool
    is_up_to_date: bool
    isr: tuple[int, ...]
    elr: tuple[int, ...]
    fenced: tuple[int, ...]
    running: tuple[int, ...]
    replicas: tuple[int, ...]
    logs: Mapping[int, tuple[int, ...]]
    acknowledged: tuple[int, ...]
    committed: tuple[int, ...]


def make_target(state: Mapping[str, Any]) -> Target:
    """Return what a state of the model looks like on a cluster."""
    everyone = range(len(state["log_record"]))
    leader = None if state["leader"] < 0 else state["leader"] + 1
    return Target(
        leader=leader,
        has_applied_leadership=leader is not None and state["leader_knows"] != ELECTED,
        is_up_to_date=leader is not None and state["leader_knows"] == UP_TO_DATE,
        isr=list_flagged(state["isr"]),
        elr=list_flagged(state.get("elr", [])),
        fenced=list_flagged(state["is_fenced"]),
        running=list_flagged(state["is_running"]),
        replicas=list_flagged(state.get("is_replica", [True for _ in everyone])),
        logs={each + 1: tuple(record for record in state["log_record"][each] if record) for each in everyone},
        acknowledged=list_flagged(state["ghost_acked"]),
        committed=tuple(sorted({record for record in state["ghost_committed"] if record})),
    )


def list_flagged(flags: Sequence[Any]) -> tuple[int, ...]:
    """Return the brokers, or records, whose flag is set, counted from 1."""
    return tuple(number for number, is_set in enumerate(flags, start=1) if is_set)
