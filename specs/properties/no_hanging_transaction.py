"""Every transaction comes to an end."""

from __future__ import annotations

from typing import Any

from neverlost.model.kernel import Value
from neverlost.model.transactions.state import is_idle, is_open, partitions
from neverlost.specs.property import RECOVERY, Property


def no_hanging_transaction(k: Any, s: Any) -> Value:
    """Producers may be dead, so the coordinator's time-out has to be able to end what is open; that is no fault."""
    return k.all_of(is_idle(k, s), k.not_(k.any_of(*[is_open(k, s, each) for each in partitions(s)])))


PROPERTY = Property(
    name="no-hanging-transaction",
    says="from every reachable state, without a further fault, every record can come to be decided, so that "
    "read_committed consumers go on",
    failure="leaves a transaction open for ever, where read_committed consumers stop",
    condition=no_hanging_transaction,
    needs=("undecided", "transaction_state", "needs_marker"),
    violated_by="transactions-3.5",
    source="KAFKA-14402, KAFKA-19999; KIP-890",
    kind=RECOVERY,
)
