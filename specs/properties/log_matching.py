"""Two replicas agree at every offset below both high watermarks."""

from __future__ import annotations

from typing import Any

from neverlost.model.kernel import Value, implies
from neverlost.specs.property import Property


def log_matching(k: Any, s: Any) -> Value:
    """Source: kafka-scenarios P-LOG."""
    everyone = range(s.sizes.replica)
    return k.all_of(
        *[
            implies(
                k,
                k.all_of(s.high_watermark[one] > offset, s.high_watermark[other] > offset),
                s.log_record[one][offset] == s.log_record[other][offset],
            )
            for one in everyone
            for other in everyone
            if one < other
            for offset in range(s.sizes.offset)
        ]
    )


PROPERTY = Property(
    name="log-matching",
    says="two replicas agree at every offset below both high watermarks",
    failure="lets logs differ below the high watermark",
    condition=log_matching,
    needs=("high_watermark", "log_record"),
    violated_by="truncate-to-hw",
    source="kafka-scenarios P-LOG",
)
