"""Where no replica is electable, enough replicas are remembered to recover from."""

from __future__ import annotations

from typing import Any

from neverlost.model.kernel import NO_REPLICA, Value, count, implies
from neverlost.model.kraft.state import minimum_isr
from neverlost.specs.property import Property


def min_isr_recovery_quorum(k: Any, s: Any) -> Value:
    """Kafka remembers one, the last known leader, so this holds with min.insync.replicas=1 only."""
    empty = k.not_(k.any_of(*s.isr, *s.elr))
    remembered = count(k, [s.last_known_leader != NO_REPLICA])
    return implies(k, empty, remembered >= minimum_isr(k, s))


PROPERTY = Property(
    name="min-isr-recovery-quorum",
    says="with ISR and ELR empty the controller remembers min.insync.replicas replicas to recover from",
    condition=min_isr_recovery_quorum,
    needs=(
        "elr",
        "isr",
        "last_known_leader",
    ),
    violated_by="kraft-elr",
    source="KIP-966; MinIsrRecoveryQuorum of Vanlightly kip-966 specification",
)
