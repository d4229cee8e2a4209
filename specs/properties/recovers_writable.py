"""Whatever happened, acknowledged writes can be accepted again without a further fault."""

from __future__ import annotations

from typing import Any

from neverlost.model.kernel import Value
from neverlost.model.kraft.broker.availability import is_writable
from neverlost.specs.property import RECOVERY, Property


def recovers_writable(k: Any, s: Any) -> Value:
    """Dead brokers may start again at any time and what is fenced may be unfenced: neither takes a budget.

    Whether the producer has a record left to send does not matter, so that a spent bound is no loss of availability.
    """
    return is_writable(k, s)


PROPERTY = Property(
    name="recovers-writable",
    says="from every reachable state, without a further fault, the leader can come to accept the producer's writes again",
    failure="cannot accept writes again",
    condition=recovers_writable,
    needs=("is_fenced", "leader_isr", "leader_knows"),
    violated_by="kraft-elr",
    source="P-RAV; a partition without a leader that only an operator can give it one",
    kind=RECOVERY,
)
