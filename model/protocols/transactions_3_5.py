"""transactions-3.5: before KIP-890 (Kafka 0.11 to 3.5): late requests are not verified."""

from __future__ import annotations

from neverlost.model.protocols.transactions import MODEL as TRANSACTIONS
from neverlost.model.transactions.mechanisms import of_version

MODEL = TRANSACTIONS.differing(
    "transactions-3.5",
    "transactions: before KIP-890 (Kafka 0.11 to 3.5): late requests are not verified",
    defaults=of_version((3, 5)),
)
