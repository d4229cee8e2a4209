"""No two coordinators of a transactional.id have one epoch."""

from __future__ import annotations

from typing import Any

from neverlost.model.kernel import Value
from neverlost.specs.property import Property


def one_coordinator_per_epoch(k: Any, s: Any) -> Value:
    """By the epoch a partition distinguishes a marker of a coordinator that was replaced."""
    return s.coordinator_epoch == s.ghost_coordinators


PROPERTY = Property(
    name="one-coordinator-per-epoch",
    says="every coordinator of a transactional.id has an epoch of its own",
    failure="gives two coordinators one epoch",
    condition=one_coordinator_per_epoch,
    needs=("coordinator_epoch", "ghost_coordinators"),
    violated_by="transactions-without coordinator-epoch-bump",
    source="TCsHaveDifferentEpochs of Vanlightly/kafka-tlaplus, transactions",
)
