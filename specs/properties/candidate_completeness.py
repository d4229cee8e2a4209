"""Every replica that may be elected has every committed record."""

from __future__ import annotations

from typing import Any

from neverlost.model.kernel import Value, implies
from neverlost.model.kraft.broker.log import EMPTY, offsets
from neverlost.model.kraft.state import everyone
from neverlost.specs.property import Property


def candidate_completeness(k: Any, s: Any) -> Value:
    """Electable: a replica in the ISR, or in the ELR while the ISR is empty."""

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


PROPERTY = Property(
    name="candidate-completeness",
    says="every electable replica that is running and registered has every committed record at its offset",
    condition=candidate_completeness,
    needs=(
        "ghost_committed",
        "is_fenced",
        "isr",
        "log_record",
    ),
    violated_by="kraft",
    source="P-CAND; LeaderCandidateCompleteness of the published specifications",
)
