"""transactions-3.6: records are verified, offset commits are not (Kafka 3.6)."""

from __future__ import annotations

from neverlost.model.protocols.transactions import MODEL as TRANSACTIONS
from neverlost.model.transactions.mechanisms import of_version

MODEL = TRANSACTIONS.differing(
    "transactions-3.6",
    "transactions: records are verified, offset commits are not (Kafka 3.6)",
    defaults=of_version((3, 6)),
)
