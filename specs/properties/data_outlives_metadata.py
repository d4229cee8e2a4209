"""The leader of which brokers have learned has the acknowledged record, whatever became of the metadata."""

from __future__ import annotations

from typing import Any

from neverlost.model.kernel import Value, implies
from neverlost.model.quorum.partition import copies, leader_by
from neverlost.specs.property import Property


def data_outlives_metadata(k: Any, s: Any) -> Value:
    """Return a leader without an acknowledged record makes all other copies truncate it."""
    return k.all_of(
        *[implies(k, k.all_of(s.ghost_data_acked, leader_by(k, s, s.learned, copy)), s.has_data[copy]) for copy in copies(s)]
    )


PROPERTY = Property(
    name="data-outlives-metadata",
    says="the leader of which brokers have learned has the acknowledged record, whatever became of the metadata",
    failure="loses acknowledged data by losing metadata",
    condition=data_outlives_metadata,
    needs=("decided_isr", "has_data", "learned"),
    violated_by="kraft-composed",
    source="the one controller that the partition models rely on",
)
