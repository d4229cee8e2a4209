"""kraft-elr: kraft with eligible leader replicas (KIP-966, part 1), as in clusters that were formatted at 4.1 or later.

Rules added to those of `kraft`:

- A replica that leaves the ISR while fewer than min.insync.replicas members remain stays eligible (ELR): it has every
  committed record, because the high watermark does not advance below the minimum.  The ISR may then become empty.
- When the ISR is empty a broker of the ELR that is not fenced is elected, without an unclean election.
- A broker that registers after an unclean shutdown leaves ISR and ELR, since it may have lost committed records.
- When ISR and ELR are both empty, the last known leader is elected as soon as it returns.
- The ELR is emptied when the ISR has min.insync.replicas members again, and when that minimum is changed.
"""

from __future__ import annotations

from dataclasses import replace

from neverlost.model.protocols.kraft import MODEL as KRAFT

MODEL = replace(
    KRAFT,
    name="kraft-elr",
    summary="Kafka 4.x with eligible leader replicas: ELR, last known leader, clean and unclean shutdowns told apart",
    defaults={**KRAFT.defaults, "eligible.leader.replicas": True},
    source="KIP-966; PartitionChangeBuilder.java",
)
