"""No two producers have one producer epoch."""

from __future__ import annotations

from itertools import combinations
from typing import Any

from neverlost.model.kernel import Value
from neverlost.model.transactions.state import CLOSED, INITIALISED, everyone
from neverlost.specs.property import Property


def one_producer_per_epoch(k: Any, s: Any) -> Value:
    """The epoch is what fencing rests on.  A producer has one from the answer to InitProducerId until it closes."""

    def has_epoch(producer: int) -> Value:
        return k.all_of(s.phase[producer] >= INITIALISED, s.phase[producer] != CLOSED)

    return k.all_of(
        True,
        *[
            k.not_(k.all_of(has_epoch(one), has_epoch(other), s.epoch[one] == s.epoch[other]))
            for one, other in combinations(everyone(s), 2)
        ],
    )


PROPERTY = Property(
    name="one-producer-per-epoch",
    says="no two producers that are alive have the same producer id and epoch",
    failure="gives two producers one epoch",
    condition=one_producer_per_epoch,
    needs=("phase", "epoch", "producer_epoch"),
    violated_by="transactions-without epoch-bump-on-init",
    source="Vanlightly/kafka-tlaplus, transactions: no two clients with equal (pid, epoch)",
)
