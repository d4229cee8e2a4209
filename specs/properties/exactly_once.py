"""Every acknowledged record is in the log, and no record is in it twice."""

from __future__ import annotations

from typing import Any

from neverlost.model.kernel import Value
from neverlost.specs.properties.acked_never_lost import acked_never_lost
from neverlost.specs.properties.no_duplicates import no_duplicates
from neverlost.specs.property import Property


def exactly_once(k: Any, s: Any) -> Value:
    """Return what an acknowledgement promises with idempotence: the record is there, once."""
    return k.all_of(acked_never_lost(k, s), no_duplicates(k, s))


PROPERTY = Property(
    name="exactly-once",
    says="the current leader, once it has applied its leadership, has every acknowledged record, and no record twice",
    failure="loses acknowledged records or writes a record twice",
    condition=exactly_once,
    needs=("ghost_acked", "leader_knows", "log_record"),
    violated_by="kraft",
    source="P-ACK and P-DUP; KIP-98",
)
