"""What transactions rest on, as named switches, with the Kafka version that brought each.

Those that every version has are there to be switched off: each shows what would go wrong without it.
"""

from __future__ import annotations

from neverlost.model.kraft.mechanisms import NEWEST, Mechanism, Version

EPOCH_BUMP_ON_INIT = Mechanism(
    "epoch-bump-on-init",
    (0, 11),
    "KIP-98; TransactionMetadata.prepareIncrementProducerEpoch",
    "InitProducerId gives every producer a new epoch, so that an older one with the same transactional.id is fenced",
)
ABORT_ON_INIT = Mechanism(
    "abort-on-init",
    (0, 11),
    "KIP-98; TransactionCoordinator.prepareInitProducerIdTransit, ONGOING",
    "InitProducerId aborts the transaction that an older producer has left open, before it is answered",
)
PRODUCER_EPOCH_CHECK = Mechanism(
    "producer-epoch-check",
    (0, 11),
    "KIP-98; ProducerAppendInfo.checkProducerEpoch",
    "a partition's leader refuses records and markers of an older producer epoch than it has seen",
)
SEQUENCE_CHECK = Mechanism(
    "sequence-check",
    (0, 11),
    "KIP-98; ProducerStateEntry.findDuplicateBatch",
    "a partition's leader answers a batch that it has already with success and does not append it again",
)
COORDINATOR_EPOCH_CHECK = Mechanism(
    "coordinator-epoch-check",
    (0, 11),
    "KIP-98; ProducerAppendInfo.checkCoordinatorEpoch",
    "a partition's leader refuses markers of an older coordinator than it has seen",
)
COORDINATOR_EPOCH_BUMP = Mechanism(
    "coordinator-epoch-bump",
    (0, 11),
    "KIP-98; TransactionStateManager, the leader epoch of a partition of __transaction_state",
    "every coordinator of a transactional.id has a newer epoch than the one before it",
)
LAST_STABLE_OFFSET = Mechanism(
    "last-stable-offset",
    (0, 11),
    "KIP-98; ProducerStateManager.firstUnstableOffset",
    "a read_committed consumer reads nothing at or after the first record of a transaction that is undecided",
)
VERIFICATION = Mechanism(
    "transaction-verification",
    (3, 6),
    "KIP-890, KAFKA-14402; TransactionCoordinator.handleVerifyPartitionsInTransaction",
    "before the first record of a transaction a partition's leader asks the coordinator whether the partition is in it",
)
VERIFICATION_GUARD = Mechanism(
    "verification-guard",
    (3, 6),
    "KIP-890, KAFKA-14884; UnifiedLog.batchMissingRequiredVerification",
    "what the coordinator has verified may be appended only if no marker has been written in between",
)
OFFSET_COMMIT_VERIFICATION = Mechanism(
    "offset-commit-verification",
    (3, 7),
    "KIP-890, KAFKA-15784; GroupCoordinator.handleTxnCommitOffsets",
    "a transaction's offset commit is verified with the coordinator before it is written, as records are",
)
OPEN_BY_EPOCH = Mechanism(
    "open-transaction-by-epoch",
    (4, 0),
    "KAFKA-18575; UnifiedLog.hasOngoingTransaction",
    "a partition's open transaction counts as the request's own only where both have the same producer epoch",
)
STRICT_MARKER_EPOCH = Mechanism(
    "strict-marker-epoch",
    (4, 2),
    "KIP-890; ProducerAppendInfo.checkProducerEpoch with a transaction version of 2",
    "a marker of transaction version 2 needs a newer producer epoch than the partition has seen",
)
MARKER_RETRY_ACCEPTED = Mechanism(
    "marker-retry-accepted",
    (0, 11),
    "KAFKA-19999; ProducerAppendInfo.checkProducerEpoch",
    "a marker that is sent again is accepted where it ends nothing, although its epoch is not newer",
)

MECHANISMS: tuple[Mechanism, ...] = (
    EPOCH_BUMP_ON_INIT,
    ABORT_ON_INIT,
    PRODUCER_EPOCH_CHECK,
    SEQUENCE_CHECK,
    COORDINATOR_EPOCH_CHECK,
    COORDINATOR_EPOCH_BUMP,
    LAST_STABLE_OFFSET,
    VERIFICATION,
    VERIFICATION_GUARD,
    OFFSET_COMMIT_VERIFICATION,
    OPEN_BY_EPOCH,
    STRICT_MARKER_EPOCH,
    MARKER_RETRY_ACCEPTED,
)
"""Every mechanism, in the order of the versions."""

VERSION_2: Version = (4, 0)
"""From here on clusters have transaction.version=2 (KIP-890, part 2): every transaction ends with a new producer epoch."""

KEYS: tuple[str, ...] = tuple(each.key for each in MECHANISMS)


def of_version(version: Version) -> dict[str, bool | str]:
    """Return the keys that differ between Kafka versions, with their values in one."""
    rules: dict[str, bool | str] = {each.key: each.is_in(version) for each in MECHANISMS}
    return rules | {"transaction.version": "2" if version >= VERSION_2 else "1"}


DEFAULTS = of_version(NEWEST)
