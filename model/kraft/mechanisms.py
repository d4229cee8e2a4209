"""What changed between Kafka versions, as named switches of the modern model.

`mechanisms_of("3.9")` is the set that a version has; `mechanism.NAME = on|off` changes one.  A mechanism is on from the
version that brought it; `until` is the first version without it; `since=None` marks a safer rule that no version has.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

Version = tuple[int, int]

FIRST, LAST = (0, 8), (4, 99)
"""The versions that the catalogue speaks about."""


PREFIX = "mechanism."
"""How the keys of mechanisms begin."""


@dataclass(frozen=True)
class Mechanism:
    """One rule of the protocol: the first version that has it, where it is written, and what it does.

    One that `is_structural` decides which fields and steps there are (`sizes.py`); every other is a frozen flag of the
    state, which guards and effects read by the mechanism's name.
    """

    name: str
    since: Version | None
    source: str
    says: str
    is_structural: bool = False
    until: Version | None = None

    def is_in(self, version: Version) -> bool:
        """Return True if a version has the rule."""
        return self.since is not None and self.since <= version and (self.until is None or version < self.until)

    @property
    def key(self) -> str:
        """The configuration key that switches it."""
        return PREFIX + self.name

    @property
    def flag(self) -> str:
        """The frozen flag that stands for it."""
        return self.name.replace("-", "_")


MECHANISMS: tuple[Mechanism, ...] = (
    Mechanism(
        "partition-epoch-check",
        (0, 8),
        "Partition.scala zkVersion; ReplicationControlManager.validateAlterPartitionData",
        "an ISR change is refused when the partition has changed since the leader asked for it",
    ),
    Mechanism(
        "equal-epoch-record-skipped",
        (0, 8),
        "Partition.makeLeader, which refuses a smaller partition epoch and takes an equal one (KAFKA-13790); before KRaft a "
        "LeaderAndIsrRequest of the same leader epoch was ignored (ReplicaManager.becomeLeaderOrFollower)",
        "a leader that has applied the answer to its request skips the metadata record of the same change",
        until=(2, 8),
    ),
    Mechanism(
        "offline-log-not-recreated",
        (0, 8),
        "KAFKA-16234, Partition.createLogInAssignedDirectoryId; lacking in 3.7.0 only, and 3.7 stands for its newest patch",
        "a broker whose log directory has failed does not create the replica anew, empty, in another directory",
    ),
    Mechanism(
        "epoch-truncation",
        (0, 11),
        "KIP-101, KAFKA-1211",
        "a follower truncates to where the leader's log ends for the follower's last epoch, not to its high watermark",
        is_structural=True,
    ),
    Mechanism(
        "iterated-truncation",
        (2, 0),
        "KIP-279, KAFKA-6361",
        "the follower asks on, epoch by epoch, until its log ends where the logs agree",
        is_structural=True,
    ),
    Mechanism(
        "fenced-fetch",
        (2, 1),
        "KIP-320, KAFKA-6880, KAFKA-7395",
        "fetches and epoch look-ups carry the leader epoch and are refused in another one",
        is_structural=True,
    ),
    Mechanism(
        "leader-epoch-start",
        (2, 1),
        "KAFKA-7128, Partition.isFollowerInSync",
        "a replica joins the ISR only when it has reached the offset at which the leader's epoch started (2.0.1)",
    ),
    Mechanism(
        "bounce-detection",
        (2, 2),
        "KIP-380, KAFKA-7235",
        "a broker that restarts within its session is fenced before it is registered again",
        is_structural=True,
    ),
    Mechanism(
        "alter-partition",
        (2, 7),
        "KIP-497, AlterPartitionManager",
        "the leader asks the controller to change the ISR and learns the answer later; before, it wrote the ISR itself",
        is_structural=True,
    ),
    Mechanism(
        "maximal-isr",
        (2, 7),
        "KIP-497, PartitionState.maximalIsr",
        "while an ISR change is in flight the high watermark waits for the old and the new ISR",
    ),
    Mechanism(
        "pending-isr-kept",
        (2, 7),
        "Partition.handleAlterPartitionError",
        "a leader whose request is refused as stale keeps the pending ISR until it learns the committed one",
    ),
    Mechanism(
        "truncate-on-fetch",
        (2, 7),
        "KAFKA-8334, FetchResponse.divergingEpoch",
        "the leader compares the logs at every fetch and the follower truncates when they diverge",
        is_structural=True,
    ),
    Mechanism(
        "configuration-in-order",
        (2, 8),
        "KIP-500, BrokerMetadataPublisher.onMetadataUpdate; before, ZkConfigManager.ConfigChangedNotificationHandler",
        "a broker learns a topic's configuration from the metadata log, after the partition changes that stand before it",
    ),
    Mechanism(
        "removed-partition-not-truncated",
        (2, 8),
        "KAFKA-13207 (2.8.1), AbstractFetcherThread.truncateOnFetchResponse",
        "a diverging response that comes when the broker no longer follows its sender truncates nothing",
        is_structural=True,
    ),
    Mechanism(
        "diverging-fetch-ignored",
        (3, 0),
        "KAFKA-13141 (2.7.2, 2.8.1)",
        "from a fetch that is answered with a diverging epoch the leader learns nothing about the follower",
    ),
    Mechanism(
        "fenced-replicas-kept-out",
        (3, 3),
        "KIP-841, KAFKA-13916",
        "a fenced replica is not admitted to the ISR",
    ),
    Mechanism(
        "failed-start-leaves-no-marker",
        (3, 5),
        "KAFKA-15375 (3.5.2), LogManager.shutdown",
        "a start that fails does not mark a log directory that it has not recovered as cleanly shut down",
    ),
    Mechanism(
        "broker-epoch-in-isr",
        (3, 5),
        "KIP-903, KAFKA-14139",
        "a replica is admitted to the ISR only in the incarnation whose fetch the leader saw",
    ),
    Mechanism(
        "truncation-before-high-watermark",
        (3, 5),
        "KAFKA-14704 (3.4.1)",
        "a follower whose log diverges truncates before it takes the leader's high watermark from the response",
    ),
    Mechanism(
        "shrink-keeps-leader-epoch",
        (3, 6),
        "KAFKA-15021, MetadataVersion.isLeaderEpochBumpRequiredOnIsrShrink",
        "the controller does not move the leader epoch when a member leaves the ISR and the leader stays",
    ),
    Mechanism(
        "strict-high-watermark",
        (3, 7),
        "KAFKA-15583, Partition.isUnderMinIsr",
        "the high watermark does not advance while the ISR is smaller than min.insync.replicas",
    ),
    Mechanism(
        "effective-min-isr",
        (3, 7),
        "KAFKA-15583, Partition.effectiveMinIsr",
        "min.insync.replicas counts as at most the replication factor",
        is_structural=True,
    ),
    Mechanism(
        "reassignment-waits-for-targets",
        (3, 8),
        "KAFKA-15665, PartitionReassignmentReplicas",
        "a reassignment completes when all target replicas are in the ISR, not only the added ones",
    ),
    Mechanism(
        "reassignment-completes-when-added",
        (4, 3),
        "KAFKA-19975, PartitionReassignmentReplicas.maybeCompleteReassignment",
        "one that removes no more replicas than it adds completes with the added ones in the ISR, whichever others are out",
    ),
    Mechanism(
        "response-of-older-epoch-ignored",
        (3, 9),
        "KAFKA-18991 (3.9.1, 4.0.1), AbstractFetcherThread.processFetchRequest",
        "a diverging response to a fetch of an older leader epoch is ignored when the broker follows the same leader again",
        is_structural=True,
    ),
    Mechanism(
        "newer-epochs-dropped",
        (3, 9),
        "KAFKA-18723 (3.9.1, 4.0.0), UnifiedLog.append as follower",
        "a follower drops the records of a fetch response whose epoch is newer than that of its fetch",
    ),
    Mechanism(
        "last-known-leader-election",
        (4, 0),
        "KIP-966, PartitionChangeBuilder.canElectLastKnownLeader",
        "with ISR and ELR empty, the last known leader is elected when it returns (only with ELR)",
    ),
    Mechanism(
        "unclean-shutdown-leaves-elr",
        (4, 0),
        "KIP-966, ReplicationControlManager.handleUncleanBrokerShutdown",
        "a broker that registers after an unclean shutdown leaves the ELR (only with ELR)",
    ),
    Mechanism(
        "min-isr-change-clears-elr",
        (4, 0),
        "KAFKA-16540 (PR 18148), ConfigurationControlManager.createClearElrRecordsAsNeeded",
        "a change of min.insync.replicas clears the ELR, which was formed by another minimum (only with ELR)",
    ),
    Mechanism(
        "last-known-leader-when-leaderless",
        (4, 1),
        "PartitionChangeBuilder.maybeUpdateLastKnownLeader (PR 20629; in 4.1.2, not in 4.1.0)",
        "the last known leader is noted when the partition loses its leader; before, when the ISR empties (only with ELR)",
    ),
    Mechanism(
        "directory-assignment-keeps-elr",
        (4, 3),
        "ReplicationControlManager.handleAssignReplicasToDirs (PR 20716)",
        "assigning a replica to a log directory does not clear the ELR (only with ELR)",
    ),
    Mechanism(
        "older-epochs-dropped",
        None,
        "not in Kafka: UnifiedLog.append as follower looks for newer epochs only",
        "a follower drops the records of a fetch response whose epoch is older than that of its own last record",
    ),
    Mechanism(
        "acknowledged-in-epoch-of-append",
        None,
        "not in Kafka: ProducePartitionStatus keeps an offset and no epoch; Partition.checkEnoughReplicasReachOffset asks "
        "whether the broker leads now and its high watermark has reached that offset",
        "a produce request is answered by the leader epoch in which its record was appended, not by the record's offset alone",
        is_structural=True,
    ),
    Mechanism(
        "unregistered-fetch-refused",
        None,
        "not in Kafka: BrokerServer.startup fetches before it registers, RemoteLeaderEndPoint.buildFetch then names epoch -1, "
        "and Partition.isBrokerEpochIsrEligible and ReplicationControlManager.ineligibleReplicasForIsr let -1 pass",
        "a broker that has not registered yet is proposed for no ISR: its fetch names no broker epoch",
        is_structural=True,
    ),
    Mechanism(
        "refusal-outdates-copies",
        None,
        "not in Kafka: ReplicationControlManager.alterPartition refuses with INELIGIBLE_REPLICA and writes no record, so the "
        "partition epoch that a copy of the request names stays the newest",
        "once the controller has refused a replica, a copy of the same AlterPartition that comes later is refused too",
        is_structural=True,
    ),
    Mechanism(
        "missing-directory-is-unclean",
        None,
        "not in Kafka: LogManager.readBrokerEpochFromCleanShutdownFiles looks only at the directories still in log.dirs",
        "a broker that returns without a log directory that it had counts as stopped uncleanly (only with ELR)",
    ),
    Mechanism(
        "configuration-before-isr",
        None,
        "not in Kafka: BrokerMetadataPublisher applies topics before it runs the configuration publisher",
        "a broker applies a topic's configuration together with the partition changes of the same publication",
    ),
    Mechanism(
        "elr-within-replicas",
        None,
        "Vanlightly's kip-966 specification; not in PartitionChangeBuilder.maybePopulateTargetElr",
        "the ELR never names a broker outside the replica set (only with ELR)",
    ),
    Mechanism(
        "reelection-forgets-offsets",
        None,
        "not in Kafka: Replica.resetReplicaState keeps the log end offset unless the broker did not lead before",
        "a leader that is elected again, and has not noticed who led in between, forgets how far its followers were",
    ),
    Mechanism(
        "isr-answer-waits-for-config",
        None,
        "not in Kafka: Partition.submitAlterPartition applies the answer before the metadata is replayed",
        "a leader applies the answer to its request only with the topic configuration that the controller used",
    ),
    Mechanism(
        "reassignment-keeps-min-isr",
        None,
        "Vanlightly's specifications 4.1 and 4.5; not in Kafka",
        "a reassignment completes or is cancelled only if the resulting ISR has min.insync.replicas members",
    ),
)
"""Every mechanism, in the order of the versions."""

BY_NAME = {each.name: each for each in MECHANISMS}

NEWEST: Version = (4, 4)
"""The version that is meant, by the models `kraft` and `kraft-elr` too, where nothing else is said."""

FLAGS: tuple[Mechanism, ...] = tuple(each for each in MECHANISMS if not each.is_structural)
"""The mechanisms that are frozen flags."""

KEYS: tuple[str, ...] = tuple(each.key for each in MECHANISMS)
"""The keys that switch mechanisms."""

DEFAULTS: dict[str, bool] = {each.key: each.is_in(NEWEST) for each in MECHANISMS}
"""What the models assume for each key."""


def parsed(version: str) -> Version | None:
    """`3.9`, `3.9.1` or `0.10.2` as a pair; None when it is not a version that the catalogue speaks about."""
    parts = version.split(".")
    if len(parts) < 2 or not all(part.isascii() and part.isdigit() and len(part) < 4 for part in parts[:2]):
        return None
    found = (int(parts[0]), int(parts[1]))
    return found if FIRST <= found <= LAST else None


def version_text(version: Version) -> str:
    """Return a version as people write it: `4.1`."""
    return ".".join(map(str, version))


def mechanisms_of(version: str) -> dict[str, bool]:
    """Return the keys `mechanism.NAME` with the values that a Kafka version stands for.

    Errors: `ValueError` for a text that is not a version from 0.8 to 4.x.
    """
    found = parsed(version)
    if found is None:
        raise ValueError("use a Kafka version from 0.8 to 4.x, such as 3.9")
    return {each.key: each.is_in(found) for each in MECHANISMS}


def model_of(version: str, given: Mapping[str, tuple[Any, str]]) -> str:
    """Return the modern model that a version means.

    ELR is on for clusters formatted at 4.1 or later (EligibleLeaderReplicasVersion); the key says otherwise where it is given.
    """
    has_elr = (parsed(version) or FIRST) >= (4, 1)
    if "eligible.leader.replicas" in given:
        has_elr = str(given["eligible.leader.replicas"][0]).strip().lower() in ("true", "on")
    return "kraft-elr" if has_elr else "kraft"


def is_on(configuration: Mapping[str, Any], name: str) -> bool:
    """Return True if a configuration has a mechanism."""
    return bool(configuration.get(f"mechanism.{name}", DEFAULTS[f"mechanism.{name}"]))
