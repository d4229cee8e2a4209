"""The leader waits for everyone whom the controller may elect."""

from __future__ import annotations

from typing import Any

from neverlost.model.kernel import Value, implies
from neverlost.model.kraft.broker.high_watermark import is_waited_for
from neverlost.model.kraft.state import ELECTED, everyone
from neverlost.specs.property import Property


def isr_superset(k: Any, s: Any) -> Value:
    """Else a record could be committed that an electable replica does not have."""
    return k.all_of(
        *[
            implies(
                k,
                k.all_of(s.leader == leader, s.leader_knows != ELECTED, s.isr[replica]),
                is_waited_for(k, s, leader, replica),
            )
            for leader in everyone(s)
            for replica in everyone(s)
            if leader != replica
        ]
    )


PROPERTY = Property(
    name="isr-superset",
    says="the maximal ISR of the current leader contains the ISR that the controller elects from",
    condition=isr_superset,
    needs=(
        "isr",
        "leader_isr",
        "leader_knows",
        "pending",
    ),
    violated_by="kraft-pending-isr-kept",
    source="P-QSUP, KIP-497; ReplicationQuorumSuperset of the published specifications",
)
