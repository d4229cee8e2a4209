"""What is committed stays: every later leader has it, logs agree, and a consumer reads it again."""

from __future__ import annotations

from typing import Any

from neverlost.model.classic.log import members_have_committed_log
from neverlost.model.kernel import Value, implies
from neverlost.model.kraft.broker.leader import leads
from neverlost.model.kraft.broker.log import EMPTY, offsets
from neverlost.model.kraft.state import ELECTED, everyone
from neverlost.specs.property import as_property


@as_property(
    says="the current leader, once it has applied its leadership, has every committed record at its offset",
    failure="loses committed records",
    needs=("ghost_committed", "leader_knows", "log_record"),
    violated_by="kraft",
    source="kafka-scenarios P-VIS",
)
def committed_never_lost(k: Any, s: Any) -> Value:
    """Once the current leader has applied its leadership, its log holds every committed record at its offset."""
    return k.all_of(
        *[
            implies(
                k,
                k.all_of(s.leader == leader, s.leader_knows != ELECTED, s.ghost_committed[offset] != EMPTY),
                s.log_record[leader][offset] == s.ghost_committed[offset],
            )
            for leader in everyone(s)
            for offset in offsets(s)
        ]
    )


@as_property(
    says="the elected leader, if it runs, even before it has applied its leadership, has every committed record at its offset",
    needs=("ghost_committed", "is_running", "leader", "log_record"),
    violated_by="kraft",
    source="LeaderCompleteness of the published specifications",
)
def leader_completeness(k: Any, s: Any) -> Value:
    """If the elected leader runs, it has every committed record at its offset, even before it has applied its leadership."""
    return k.all_of(
        *[
            implies(
                k,
                k.all_of(s.leader == leader, s.is_running[leader], s.ghost_committed[offset] != EMPTY),
                s.log_record[leader][offset] == s.ghost_committed[offset],
            )
            for leader in everyone(s)
            for offset in offsets(s)
        ]
    )


@as_property(
    says="whoever runs unfenced in the ISR, or in the ELR while the ISR is empty, has every committed record at its offset",
    needs=("ghost_committed", "is_fenced", "isr", "log_record"),
    violated_by="kraft",
    source="P-CAND; LeaderCandidateCompleteness of the published specifications",
)
def candidate_completeness(k: Any, s: Any) -> Value:
    """Every member of the ISR, or of the ELR while the ISR is empty, that runs and is not fenced has what is committed."""

    def is_candidate(replica: int) -> Value:
        is_replica = s.is_replica[replica] if s.sizes.reassignment else True
        in_isr = s.isr[replica]
        in_elr = k.all_of(s.elr[replica], k.not_(k.any_of(*s.isr))) if s.sizes.elr else False
        return k.all_of(is_replica, k.any_of(in_isr, in_elr))

    return k.all_of(
        *[
            implies(
                k,
                k.all_of(
                    is_candidate(replica),
                    s.is_running[replica],
                    k.not_(s.is_fenced[replica]),
                    s.ghost_committed[offset] != EMPTY,
                ),
                s.log_record[replica][offset] == s.ghost_committed[offset],
            )
            for replica in everyone(s)
            for offset in offsets(s)
        ]
    )


@as_property(
    says="two replicas agree at every offset below both high watermarks",
    failure="lets logs differ below the high watermark",
    needs=("high_watermark", "log_record"),
    violated_by="truncate-to-hw",
    source="kafka-scenarios P-LOG",
    compares=("record", "replica"),
)
def log_matching(k: Any, s: Any) -> Value:
    """Two replicas have the same record at each offset below both high watermarks (kafka-scenarios P-LOG)."""
    everyone = range(s.sizes.replica)
    return k.all_of(
        *[
            implies(
                k,
                k.all_of(s.high_watermark[one] > offset, s.high_watermark[other] > offset),
                s.log_record[one][offset] == s.log_record[other][offset],
            )
            for one in everyone
            for other in everyone
            if one < other
            for offset in range(s.sizes.offset)
        ]
    )


@as_property(
    says="two replicas never have different records at one offset, not even above the high watermark",
    needs=("is_running", "log_record"),
    violated_by="kraft",
    source="a common claim; true below the high watermark only (log-matching)",
    compares=("record", "replica"),
)
def logs_identical(k: Any, s: Any) -> Value:
    """No two logs have different records at one offset: they may differ in length only."""
    return k.all_of(
        *[
            k.any_of(
                s.log_record[one][offset] == EMPTY,
                s.log_record[other][offset] == EMPTY,
                s.log_record[one][offset] == s.log_record[other][offset],
            )
            for one in everyone(s)
            for other in everyone(s)
            if one < other
            for offset in range(s.sizes.offset)
        ]
    )


@as_property(
    says="a consumer that reads an offset again, from any broker that believes it is leader, gets the same record or none",
    failure="shows readers another record at the same offset",
    needs=("follows", "ghost_committed", "high_watermark", "log_record"),
    violated_by="kraft",
    source="P-VIS; ConsistentRead of the published specifications",
    compares=("record",),
)
def read_stability(k: Any, s: Any) -> Value:
    """Below its own high watermark every broker that believes it leads has the record that was committed first at an offset."""
    return k.all_of(
        *[
            implies(
                k,
                k.all_of(leads(s, leader), s.high_watermark[leader] > offset, s.ghost_committed[offset] != EMPTY),
                s.log_record[leader][offset] == s.ghost_committed[offset],
            )
            for leader in everyone(s)
            for offset in offsets(s)
        ]
    )


@as_property(
    says="the current leader, once it has applied its leadership, has no lower high watermark than an earlier leader has shown",
    needs=("ghost_committed", "high_watermark", "leader_knows"),
    violated_by="kraft",
    source="P-LHW, KIP-207: known not to hold at a new leader; ListOffsets waits for it since 2.2",
)
def hw_monotonic(k: Any, s: Any) -> Value:
    """Once the current leader has applied its leadership, all that is committed is below its high watermark."""
    return k.all_of(
        *[
            implies(
                k,
                k.all_of(s.leader == leader, s.leader_knows != ELECTED, s.ghost_committed[offset] != EMPTY),
                s.high_watermark[leader] > offset,
            )
            for leader in everyone(s)
            for offset in offsets(s)
        ]
    )


@as_property(
    says="every member of the controller's ISR has the log of whoever believes it leads, up to that one's high watermark",
    needs=("leader", "high_watermark", "quorum_isr", "log_end_offset", "log_record", "log_epoch"),
    violated_by="truncate-to-hw",
    source="KafkaReplication.tla StrongIsr",
)
def strong_isr(k: Any, s: Any) -> Value:
    """Every member of the controller quorum's ISR has the log of any broker that believes it leads, up to that broker's high
    watermark (StrongIsr in TLA+)."""
    return members_have_committed_log(k, s, lambda leader, member: s.quorum_isr[member])


@as_property(
    says="every member of the ISR of a broker that believes it leads has that broker's log up to its high watermark",
    needs=("leader", "high_watermark", "isr", "log_end_offset", "log_record", "log_epoch"),
    violated_by="truncate-to-hw",
    source="KafkaReplication.tla WeakIsr",
)
def weak_isr(k: Any, s: Any) -> Value:
    """Every member of the ISR of a broker that believes it leads has that broker's log up to its high watermark (WeakIsr)."""
    return members_have_committed_log(k, s, lambda leader, member: s.isr[leader][member])
