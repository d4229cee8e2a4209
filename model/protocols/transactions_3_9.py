"""transactions-3.9: everything is verified, with transaction version 1 (Kafka 3.7 to 3.9)."""

from __future__ import annotations

from neverlost.model.protocols.transactions import MODEL as TRANSACTIONS
from neverlost.model.transactions.mechanisms import of_version

MODEL = TRANSACTIONS.differing(
    "transactions-3.9",
    "transactions: records and offset commits are verified; transaction version 1 (Kafka 3.7 to 3.9)",
    defaults=of_version((3, 9)),
)
