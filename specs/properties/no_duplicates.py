"""No record is in the log twice."""

from __future__ import annotations

from typing import Any

from neverlost.model.kernel import Value, count, implies
from neverlost.model.kraft.broker.log import offsets
from neverlost.model.kraft.state import ELECTED, everyone
from neverlost.specs.property import Property


def no_duplicates(k: Any, s: Any) -> Value:
    """Return a record that the producer sent again is appended once."""
    return k.all_of(
        *[
            implies(
                k,
                k.all_of(s.leader == leader, s.leader_knows != ELECTED),
                count(k, [s.log_record[leader][offset] == record + 1 for offset in offsets(s)]) <= 1,
            )
            for leader in everyone(s)
            for record in range(s.sizes.record)
        ]
    )


PROPERTY = Property(
    name="no-duplicates",
    says="the log of the current leader, once it has applied its leadership, has no record twice",
    failure="writes a record twice",
    condition=no_duplicates,
    needs=(
        "leader_knows",
        "log_record",
    ),
    violated_by="kraft",
    source="P-DUP; KIP-98",
)
