"""transactions-4.1: transaction version 2 without its strict check of markers (Kafka 4.0 and 4.1)."""

from __future__ import annotations

from neverlost.model.protocols.transactions import MODEL as TRANSACTIONS
from neverlost.model.transactions.mechanisms import of_version

MODEL = TRANSACTIONS.differing(
    "transactions-4.1",
    "transactions: transaction version 2 without its strict check of markers (Kafka 4.0 and 4.1)",
    defaults=of_version((4, 1)),
)
