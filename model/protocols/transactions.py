"""transactions: consume, transform and produce in transactions, as in today's Kafka (transaction.version=2, KIP-890)."""

from __future__ import annotations

from collections.abc import Callable

from neverlost.model.kernel import Configuration, Model
from neverlost.model.kraft.mechanisms import Mechanism
from neverlost.model.transactions.coordinator import COORDINATOR_ACTIONS
from neverlost.model.transactions.mechanisms import DEFAULTS, KEYS, MECHANISMS
from neverlost.model.transactions.partition import PARTITION_ACTIONS
from neverlost.model.transactions.producer import PRODUCER_ACTIONS
from neverlost.model.transactions.snapshot import portrait
from neverlost.model.transactions.state import FAULTS, fields, initial, settle, sizes
from neverlost.model.transactions.store import RESULTS, STORE_ACTIONS


def is_on(mechanism: Mechanism) -> Callable[[Configuration], int]:
    """Return a function of the configuration: 1 where it switches the mechanism on, else 0."""
    return lambda configuration: int(configuration[mechanism.key])


MODEL = Model(
    name="transactions",
    summary="consume, transform, produce in transactions (Kafka 4.2 on): one transactional.id, coordinator, markers, offsets",
    keys=(
        "transaction.version",
        "isolation.level",
        "results",
        *[f"faults.{each}" for each in FAULTS],
        "bounds.producers",
        "bounds.partitions",
        "bounds.transactions",
        *KEYS,
    ),
    sizes=sizes,
    fields=fields,
    initial=initial,
    actions=(*PRODUCER_ACTIONS, *COORDINATOR_ACTIONS, *PARTITION_ACTIONS, *STORE_ACTIONS),
    guarantees=(
        "atomic-visibility",
        "no-commit-after-abort",
        "no-duplicate-effect",
        "no-lost-effect",
        "offsets-never-ahead",
        "offsets-never-behind",
        "one-producer-per-epoch",
        "one-coordinator-per-epoch",
        "no-hanging-transaction",
    ),
    frozen={
        "bumps_epoch": lambda c: int(c["transaction.version"] == "2"),
        "reads_uncommitted": lambda c: int(c["isolation.level"] == "read_uncommitted"),
        "results": lambda c: RESULTS.index(c["results"]),
        **{each.flag: is_on(each) for each in MECHANISMS},
    },
    defaults=DEFAULTS,
    symmetric=lambda configuration: False,
    normalise=settle,
    portrait=portrait,
    source="TransactionCoordinator, TransactionMetadata, ProducerStateManager of Kafka 4.3; KIP-98, KIP-360, KIP-447, KIP-890",
)
