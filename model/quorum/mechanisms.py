"""The rules of the controller quorum that can be switched off, each with what it is for.

All that Kafka has are on unless said otherwise; what came later than KIP-595 is off.
"""

from __future__ import annotations

from neverlost.model.kraft.mechanisms import Mechanism

VOTE_LOG_CHECK = Mechanism(
    "vote-log-check",
    (2, 7),
    "KIP-595, Vote; KafkaRaftClient.handleVoteRequest; Raft 5.4.1",
    "a voter grants its vote only to a candidate whose log is no older than its own",
)
DURABLE_VOTES = Mechanism(
    "durable-votes",
    (2, 7),
    "KIP-595, quorum-state; FileQuorumStateStore; Raft 5.1",
    "the vote of an epoch, and its leader, are on disk before they count, and are read at a restart",
)
FLUSH_BEFORE_FETCH = Mechanism(
    "flush-before-fetch",
    (2, 7),
    "KafkaRaftClient.appendAsFollower",
    "a follower flushes what it has appended before its next fetch says that it has it",
    is_structural=True,
)
FLUSH_BEFORE_COMMIT = Mechanism(
    "flush-before-commit",
    (2, 7),
    "KafkaRaftClient.flushLeaderLog",
    "the leader flushes what it has appended before it counts itself for the majority",
    is_structural=True,
)
MAJORITY_QUORUM = Mechanism(
    "majority-quorum",
    (2, 7),
    "KIP-595; Raft 5.2",
    "elections and commits need more than half of the voters; without it, half of them",
    is_structural=True,
)
OWN_EPOCH_COMMIT = Mechanism(
    "own-epoch-commit",
    (2, 7),
    "LeaderState.maybeUpdateHighWatermark; Raft 5.4.2, figure 8",
    "a leader commits only once an entry of its own epoch is on a majority",
)
PRE_VOTE = Mechanism(
    "pre-vote",
    (4, 0),
    "KIP-996; ProspectiveState",
    "a voter that misses its leader begins a new epoch only once a majority says that it would vote for it",
)
DIRECTORY_IDS = Mechanism(
    "directory-ids",
    (3, 9),
    "KIP-853; ReplicaKey",
    "a voter that comes back with an empty directory is another one: it neither votes nor counts",
    is_structural=True,
)

COUNT_ON_FETCH = Mechanism(
    "count-on-fetch",
    (2, 7),
    "KIP-595, Fetch; LeaderState.updateReplicaState",
    "a leader counts an entry for a follower once the follower's next fetch says that it has it, not when it is sent",
)
CHANGE_AFTER_OWN_COMMIT = Mechanism(
    "change-after-own-commit",
    (3, 9),
    "KIP-853; AddVoterHandler, RemoveVoterHandler: the high watermark must be known",
    "a leader changes the voters only once it has committed an entry of its own epoch",
)
ONE_CHANGE_AT_A_TIME = Mechanism(
    "one-change-at-a-time",
    (3, 9),
    "KIP-853; AddVoterHandler, RemoveVoterHandler",
    "a leader changes the voters only if the set before is committed, and by one voter",
)
REMOVED_LEADER_NOT_COUNTED = Mechanism(
    "removed-leader-not-counted",
    (3, 9),
    "KAFKA-16530; LeaderState.maybeUpdateHighWatermark",
    "a leader that its own set of voters leaves out does not count itself for the high watermark",
)
SNAPSHOTS = Mechanism(
    "snapshots",
    (2, 8),
    "KIP-630; KafkaMetadataLog",
    "controllers write snapshots, and drop the beginning of their log (left out where that decides nothing: more states)",
    is_structural=True,
)
DELETE_TO_SNAPSHOT = Mechanism(
    "delete-to-snapshot",
    (3, 3),
    "KAFKA-14238; KafkaMetadataLog.maybeClean",
    "a controller deletes no more of its log than its snapshot has",
)
SNAPSHOT_FORCED = Mechanism(
    "snapshot-forced",
    (3, 6),
    "KAFKA-15312; FileRawSnapshotWriter.freeze",
    "a snapshot's content is on disk before it has its final name",
)

LEARN_COMMITTED = Mechanism(
    "learn-committed",
    (2, 8),
    "MetadataLoader.handleCommit; KIP-500",
    "brokers act on a controller's decision once it is committed (kraft-composed only)",
)

QUORUM_MECHANISMS = (
    VOTE_LOG_CHECK,
    DURABLE_VOTES,
    FLUSH_BEFORE_FETCH,
    FLUSH_BEFORE_COMMIT,
    MAJORITY_QUORUM,
    OWN_EPOCH_COMMIT,
    PRE_VOTE,
    DIRECTORY_IDS,
    COUNT_ON_FETCH,
    CHANGE_AFTER_OWN_COMMIT,
    ONE_CHANGE_AT_A_TIME,
    REMOVED_LEADER_NOT_COUNTED,
    SNAPSHOTS,
    DELETE_TO_SNAPSHOT,
    SNAPSHOT_FORCED,
)
"""Every one, in the order of the keys."""

LATER = (PRE_VOTE, DIRECTORY_IDS, SNAPSHOTS)
"""Those that are off unless they are asked for."""

READ = tuple(each for each in QUORUM_MECHANISMS if not each.is_structural)
"""Those that actions read as frozen flags."""
