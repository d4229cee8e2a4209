"""kraft-elr: kraft with eligible leader replicas (KIP-966 part 1), as in clusters formatted at 4.1 or later."""

from __future__ import annotations

from dataclasses import replace

from neverlost.model.versions.kraft import MODEL as KRAFT

MODEL = replace(
    KRAFT,
    name="kraft-elr",
    summary="today's Kafka with eligible leader replicas: ELR, last known leader, clean and unclean shutdowns",
    defaults={**KRAFT.defaults, "eligible.leader.replicas": True},
    source="KIP-966; PartitionChangeBuilder.java",
)
