"""What an acknowledgement promises: the record stays, on enough replicas, can be read, and takes effect once."""

from __future__ import annotations

from typing import Any

from neverlost.model.kernel import Value, count, implies
from neverlost.model.kraft.broker.log import holds_record, offsets
from neverlost.model.kraft.state import ELECTED, everyone, minimum_isr
from neverlost.specs.property import as_property


@as_property(
    says="the current leader, once it has applied its leadership, has every acknowledged record",
    failure="loses acknowledged records",
    needs=("ghost_acked", "leader_knows", "log_record"),
    violated_by="kraft",
    source="kafka-scenarios P-ACK",
)
def acked_never_lost(k: Any, s: Any) -> Value:
    """Once the current leader has applied its leadership, its log holds every acknowledged record."""
    return k.all_of(
        *[
            implies(
                k,
                k.all_of(s.leader == leader, s.leader_knows != ELECTED, s.ghost_acked[record]),
                holds_record(k, s, leader, record),
            )
            for leader in everyone(s)
            for record in range(s.sizes.record)
        ]
    )


@as_property(
    says="every acknowledged record is in the log of at least one replica, running or not",
    failure="loses acknowledged records on every disk",
    needs=("ghost_acked", "log_record"),
    violated_by="kraft",
    source="P-GLOBAL; NoCommittedRecordLostGlobally of the published specifications",
)
def no_global_loss(k: Any, s: Any) -> Value:
    """Every acknowledged record is in some broker's log; dead brokers count, since their disks may come back."""
    return k.all_of(
        *[
            implies(k, s.ghost_acked[record], k.any_of(*[holds_record(k, s, each, record) for each in everyone(s)]))
            for record in range(s.sizes.record)
        ]
    )


@as_property(
    says="every acknowledged record is in at least min.insync.replicas logs (its value now), of brokers up or down",
    failure="has acknowledged records on too few disks",
    needs=("ghost_acked", "log_record", "min_isr"),
    violated_by="kraft",
    source="P-DUR; holds with acks=all until a copy is lost, truncated or reassigned, or the minimum is raised",
)
def acked_on_min_isr(k: Any, s: Any) -> Value:
    """Every acknowledged record is in at least min.insync.replicas logs, or all if there are fewer; dead brokers' disks count.

    Ask it with budgets without lossy crashes: those destroy copies by definition.
    """
    return k.all_of(
        *[
            implies(
                k,
                s.ghost_acked[record],
                count(k, [holds_record(k, s, each, record) for each in everyone(s)]) >= minimum_isr(k, s),
            )
            for record in range(s.sizes.record)
        ]
    )


@as_property(
    says="every acknowledged record is below the current leader's high watermark, once it has applied its leadership",
    failure="hides acknowledged records from readers",
    needs=("ghost_acked", "high_watermark", "leader_knows", "log_record"),
    violated_by="kraft",
    source="read your own write (scenario acks-minisr-acked-invisible); holds with acks=all as long as leadership stays",
)
def acked_visible(k: Any, s: Any) -> Value:
    """Once the current leader has applied its leadership, each acknowledged record is below its high watermark."""
    return k.all_of(
        *[
            implies(
                k,
                k.all_of(s.leader == leader, s.leader_knows != ELECTED, s.ghost_acked[record]),
                k.any_of(
                    *[
                        k.all_of(s.log_record[leader][offset] == record + 1, s.high_watermark[leader] > offset)
                        for offset in offsets(s)
                    ]
                ),
            )
            for leader in everyone(s)
            for record in range(s.sizes.record)
        ]
    )


@as_property(
    says="the log of the current leader, once it has applied its leadership, has no record twice",
    failure="writes a record twice",
    needs=("leader_knows", "log_record"),
    violated_by="kraft",
    source="P-DUP; KIP-98",
    compares=("offset",),
)
def no_duplicates(k: Any, s: Any) -> Value:
    """Once the current leader has applied its leadership, its log has no record twice, though producers may send it again."""
    return k.all_of(
        *[
            implies(
                k,
                k.all_of(s.leader == leader, s.leader_knows != ELECTED),
                count(k, [s.log_record[leader][offset] == record + 1 for offset in offsets(s)]) <= 1,
            )
            for leader in everyone(s)
            for record in range(s.sizes.record)
        ]
    )


_never_lost, _once_each = acked_never_lost.condition, no_duplicates.condition


@as_property(
    says="the current leader, once it has applied its leadership, has every acknowledged record, and no record twice",
    failure="loses acknowledged records or writes a record twice",
    needs=("ghost_acked", "leader_knows", "log_record"),
    violated_by="kraft",
    source="P-ACK and P-DUP; KIP-98",
)
def exactly_once(k: Any, s: Any) -> Value:
    """Once the current leader has applied its leadership, its log has every acknowledged record, and no record twice."""
    return k.all_of(_never_lost(k, s), _once_each(k, s))


@as_property(
    says="every offset below the consumer's committed one has been processed, or the consumer that runs is yet to process it",
    failure="skips a record",
    needs=("consumer_committed", "consumer_holds_record", "ghost_processed"),
    violated_by="kraft",
    source="P-PROC",
)
def at_least_once(k: Any, s: Any) -> Value:
    """Each offset below the consumer's committed one is processed, or its record is in the consumer's hands; else a crash would
    skip it for good."""
    return k.all_of(
        *[
            implies(
                k,
                s.consumer_committed > offset,
                k.any_of(s.ghost_processed[offset] > 0, k.all_of(s.consumer_holds_record, s.consumer_position == offset + 1)),
            )
            for offset in offsets(s)
        ]
    )


@as_property(
    says="no offset of the log is processed more than once",
    failure="processes a record twice",
    needs=("ghost_processed",),
    violated_by="kraft",
    source="P-PROC",
)
def at_most_once(k: Any, s: Any) -> Value:
    """No offset is processed more than once (2 stands for more); a record that was appended twice may be processed twice."""
    return k.all_of(*[s.ghost_processed[offset] <= 1 for offset in offsets(s)])
