"""What a state of a transactional.id looks like: its partitions and their records, the coordinator, the producers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from neverlost.model.snapshot import BrokerView, ClusterSnapshot
from neverlost.model.transactions.state import ABSENT, CLOSED

STATES = ("Empty", "Ongoing", "PrepareCommit", "PrepareAbort", "CompleteCommit", "CompleteAbort")
"""TransactionState, in Kafka's words."""

PHASES = (
    "not started",
    "asks for an epoch",
    "reads the offset",
    "between transactions",
    "in a transaction",
    "commits",
    "aborts",
    "asks for a new epoch",
    "closed",
)
"""What a producer is at."""


def portrait(values: Mapping[str, Any]) -> ClusterSnapshot:
    """Return each partition as if it were a broker, that of the offsets last, and coordinator and producers as notes."""
    lanes = tuple(_lane(values, each) for each in range(len(values["partition_epoch"])))
    state = STATES[values["transaction_state"]]
    epoch = values["producer_epoch"]
    known = f"coordinator: {state}, producer epoch {epoch}" if epoch >= 0 else "coordinator: knows no producer"
    owed = [str(each + 1) for each, is_owed in enumerate(values["needs_marker"]) if is_owed]
    confirmed = frozenset(each + 1 for each, how in enumerate(values["ghost_answered"]) if how == 1)
    return ClusterSnapshot(
        leader=None,
        epoch=None,
        isr=(),
        lanes=lanes,
        acked=confirmed,
        notes=(
            known + (f", markers owed to {','.join(owed)}" if owed else ""),
            *_producers(values),
            f"group offset {values['group_offset']}",
        ),
        authority="coordinator",
    )


def _producers(values: Mapping[str, Any]) -> list[str]:
    found = []
    for number, phase in enumerate(values["phase"]):
        if phase != ABSENT:
            epoch = "" if phase == CLOSED else f", epoch {values['epoch'][number]}"
            at = values["attempt"][number]
            found.append(f"producer {number + 1} {PHASES[phase]}{f' m{at}' if at else ''}{epoch}")
    return found


def _lane(values: Mapping[str, Any], partition: int) -> BrokerView:
    """Return a partition with its records in the order of their transactions; notes say which are undecided or aborted."""
    log: list[tuple[int, None]] = []
    notes = []
    for attempt, committed in enumerate(values["committed"]):
        undecided, aborted = values["undecided"][attempt][partition], values["aborted"][attempt][partition]
        copies = committed[partition] + undecided + bool(aborted)
        log += [(attempt + 1, None)] * copies
        notes += [f"m{attempt + 1} undecided"] if undecided else []
        notes += [f"m{attempt + 1} aborted"] if aborted else []
    role = "offsets" if partition == len(values["partition_epoch"]) - 1 else "output"
    return BrokerView(broker=partition, role=role, log=tuple(log), notes=tuple(notes))
