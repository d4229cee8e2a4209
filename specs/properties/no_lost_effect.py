"""What was committed is there."""

from __future__ import annotations

from typing import Any

from neverlost.model.kernel import Value, implies
from neverlost.model.transactions.state import COMMIT, attempts, outputs
from neverlost.model.transactions.visible import is_there
from neverlost.specs.property import Property


def no_lost_effect(k: Any, s: Any) -> Value:
    """commitTransaction returns when the decision is logged: the markers may still be under way."""
    return k.all_of(
        *[
            implies(k, s.ghost_answered[each] == COMMIT, is_there(k, s, each, partition))
            for each in attempts(s)
            for partition in outputs(s)
        ]
    )


PROPERTY = Property(
    name="no-lost-effect",
    says="every result of a transaction that was confirmed to its producer can be read, or will be when its marker comes",
    failure="loses results of a committed transaction",
    condition=no_lost_effect,
    needs=("ghost_answered", "committed", "undecided"),
    violated_by="transactions-4.1",
    source="KIP-98; EndTxn is answered after the decision is in __transaction_state",
)
