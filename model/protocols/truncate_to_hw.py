"""Before KIP-101: a new follower truncates to its own high watermark.

Source: KafkaTruncateToHighWatermark.tla; Kafka 0.8 to 0.10.2 (`ReplicaManager.makeFollowers`).
"""

from dataclasses import replace

from neverlost.model.classic.protocol import BASE

MODEL = replace(
    BASE,
    name="truncate-to-hw",
    summary="followers truncate to their own high watermark (Kafka 0.8 to 0.10.2)",
    source="KafkaTruncateToHighWatermark.tla",
)
