"""Whatever happened, a majority log can accept writes again without a further fault."""

from __future__ import annotations

from typing import Any

from neverlost.model.kernel import Value
from neverlost.model.majority.availability import is_writable
from neverlost.specs.property import RECOVERY, Property


def quorum_recovers_writable(k: Any, s: Any) -> Value:
    """Dead brokers may start again at any time: that takes no budget."""
    return is_writable(k, s)


PROPERTY = Property(
    name="quorum-recovers-writable",
    says="from every reachable state, without a further fault, a majority log can come to accept writes again",
    failure="cannot accept writes again",
    condition=quorum_recovers_writable,
    needs=("follows", "leader_knows", "newest_term"),
    violated_by="majority",
    source="Raft 5.4.3; P-RAV for an ISR",
    kind=RECOVERY,
)
