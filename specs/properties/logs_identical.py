"""Two replicas never have different records at one offset, committed or not: what books say and Kafka does not promise."""

from __future__ import annotations

from typing import Any

from neverlost.model.kernel import Value
from neverlost.model.kraft.broker.log import EMPTY
from neverlost.model.kraft.state import everyone
from neverlost.specs.property import Property


def logs_identical(k: Any, s: Any) -> Value:
    """Logs may differ in length only."""
    return k.all_of(
        *[
            k.any_of(
                s.log_record[one][offset] == EMPTY,
                s.log_record[other][offset] == EMPTY,
                s.log_record[one][offset] == s.log_record[other][offset],
            )
            for one in everyone(s)
            for other in everyone(s)
            if one < other
            for offset in range(s.sizes.offset)
        ]
    )


PROPERTY = Property(
    name="logs-identical",
    says="two replicas never have different records at one offset, not even above the high watermark",
    condition=logs_identical,
    needs=("is_running", "log_record"),
    violated_by="kraft",
    source="a common claim; true below the high watermark only (log-matching)",
)
