"""The known defects of Kafka as shipped that the modern models know: data, one entry each.

A defect is a mechanism that a version lacks although its design promises what the mechanism keeps.  `defects=fixed`
switches all of these mechanisms on and leaves the version's features as they are: Kafka as designed.
"""

from __future__ import annotations

from dataclasses import dataclass

from neverlost.model.kraft.mechanisms import BY_NAME, FIRST, NEWEST, Mechanism, Version, version_text

NOT_REPORTED = "not reported"


@dataclass(frozen=True)
class SeenOnBrokers:
    """A published try of a counterexample on Apache Kafka's own brokers: how many of the tries reproduced it."""

    case: str
    kafka: str
    reproduced: int
    tries: int


@dataclass(frozen=True)
class Defect:
    """One defect: where it is reported, the mechanism that mends it, the first version that has it, and what goes wrong.

    `seen` are the published tries on real brokers (folders of `reports/published/reproductions`) that show it.  `needs` is
    the fewest faults at which it alone loses a record with three replicas and min.insync.replicas=2, where that is decided;
    `avoid` is what an operator can do against it.
    """

    name: str
    report: str
    mends: str
    first: Version
    says: str
    seen: tuple[SeenOnBrokers, ...] = ()
    needs: str = ""
    avoid: str = ""

    @property
    def mechanism(self) -> Mechanism:
        """The mechanism that mends it."""
        return BY_NAME[self.mends]

    def is_in(self, version: Version) -> bool:
        """Return True if a version has it."""
        return self.first <= version and not self.mechanism.is_in(version)

    @property
    def mended(self) -> str:
        """The first release without it, or that there is none."""
        fixed = self.mechanism.since
        return "in no release" if fixed is None or fixed <= self.first else f"in {version_text(fixed)}"

    @property
    def versions(self) -> str:
        """From which version on, and until which."""
        fixed = self.mechanism.since
        if fixed is None or fixed <= self.first:
            return f"{version_text(self.first)} to {version_text(NEWEST)}"
        return f"{version_text(self.first)} until {version_text(fixed)}"


DEFECTS = (
    Defect(
        "restart-within-session",
        "KAFKA-7235",
        "bounce-detection",
        FIRST,
        "a broker that restarts within its session stays in the ISR with what is left of its log",
    ),
    Defect(
        "early-isr-member",
        "KAFKA-7128",
        "leader-epoch-start",
        (1, 1),
        "a follower behind the committed records joins the ISR of a leader that has just been elected",
    ),
    Defect(
        "returning-leader",
        NOT_REPORTED,
        "reelection-forgets-offsets",
        FIRST,
        "a leader that is elected again counts what its followers had fetched in its earlier epoch and have truncated since",
        seen=(
            SeenOnBrokers("returning-leader-3.9", "3.9.2", 5, 5),
            SeenOnBrokers("returning-leader-4.3", "4.3.1", 5, 5),
        ),
        needs="leadership that moves away and back; no broker has to be impaired",
        avoid="hold back preferred elections (auto.leader.rebalance.enable=false) while a replica is out of the ISR or behind",
    ),
    Defect(
        "diverging-fetch-counts",
        "KAFKA-13141",
        "diverging-fetch-ignored",
        (2, 7),
        "a fetch whose log diverges raises the high watermark past records that the follower is about to truncate",
    ),
    Defect(
        "late-response-truncates-leader",
        "KAFKA-13207",
        "removed-partition-not-truncated",
        (2, 7),
        "a response that comes after the broker has left off following truncates its log, a leader's too",
    ),
    Defect(
        "late-response-truncates-follower",
        "KAFKA-18991",
        "response-of-older-epoch-ignored",
        (2, 7),
        "a response to a fetch of an older leader epoch truncates what the broker has copied since",
    ),
    Defect(
        "answer-overtakes-configuration",
        NOT_REPORTED,
        "isr-answer-waits-for-config",
        (2, 7),
        "the answer to an ISR change arrives before the new min.insync.replicas, and records are committed by the old one",
        seen=(SeenOnBrokers("raised-min-isr-4.3", "4.3.1", 5, 5),),
        avoid="raise min.insync.replicas only while every replica is in the ISR",
    ),
    Defect(
        "late-record-forgets-request",
        NOT_REPORTED,
        "equal-epoch-record-skipped",
        (2, 8),
        "the record of an ISR change that is already applied makes the leader forget the change that it has asked for since",
        seen=(SeenOnBrokers("late-record-4.3", "4.3.1", 5, 5),),
        needs="1 broker that is slow, cut off or stopped; none loses data",
        avoid="min.insync.replicas as large as the replication factor, at the price that writes stop with one replica out",
    ),
    Defect(
        "configuration-after-topics",
        NOT_REPORTED,
        "configuration-before-isr",
        (2, 8),
        "a broker applies a new ISR before the new min.insync.replicas, and commits records by the old one",
        seen=(SeenOnBrokers("configuration-after-topics-4.3", "4.3.1", 5, 5),),
        avoid="raise min.insync.replicas only while every replica is in the ISR",
    ),
    Defect(
        "fenced-replica-joins",
        "KAFKA-13916",
        "fenced-replicas-kept-out",
        FIRST,
        "a fenced replica, or one that is shutting down, joins the ISR",
    ),
    Defect(
        "stale-broker-epoch",
        "KAFKA-14139",
        "broker-epoch-in-isr",
        (2, 7),
        "a replica joins the ISR after a restart in which it lost the records for which it was proposed",
    ),
    Defect(
        "late-bytes-of-newer-epoch",
        "KAFKA-18723",
        "newer-epochs-dropped",
        (2, 7),
        "a fetch response is read from the log when it is sent, and brings records that a later leader has put there",
    ),
    Defect(
        "late-bytes-of-older-epoch",
        NOT_REPORTED,
        "older-epochs-dropped",
        (2, 7),
        "a fetch response is read from the log when it is sent, and brings records of an older leader that stand there again",
    ),
    Defect(
        "acknowledged-by-offset",
        NOT_REPORTED,
        "acknowledged-in-epoch-of-append",
        FIRST,
        "a request that stands still while its broker follows and leads again is answered, though its record was truncated",
    ),
    Defect(
        "unregistered-fetch-skips-epoch",
        NOT_REPORTED,
        "unregistered-fetch-refused",
        (3, 5),
        "a broker that fetches before it has registered is proposed for the ISR without an epoch, and joins after a restart "
        "in which it lost the records for which it was proposed",
        needs="1 broker that loses data while it restarts",
    ),
    Defect(
        "refused-request-committed-later",
        NOT_REPORTED,
        "refusal-outdates-copies",
        (3, 3),
        "a copy of an AlterPartition that was refused is committed when its replica is eligible again, and the leader, which "
        "has forgotten the request, commits records without that replica",
        needs="a leader sends AlterPartition twice and the controller handles the first copy last (`faults.request_copy`)",
    ),
    Defect(
        "high-watermark-before-truncation",
        "KAFKA-14704",
        "truncation-before-high-watermark",
        (2, 7),
        "a follower shows records as committed that it truncates next",
    ),
    Defect(
        "thin-reassignment",
        "KAFKA-15665",
        "reassignment-waits-for-targets",
        FIRST,
        "a reassignment completes with fewer than min.insync.replicas replicas in sync",
        seen=(SeenOnBrokers("thin-reassignment-3.5", "3.5.2", 5, 5),),
    ),
    Defect(
        "reassignment-below-minimum",
        "PR 14604 (closed); linkedin/kafka 422 and 442",
        "reassignment-keeps-min-isr",
        FIRST,
        "a reassignment is completed or cancelled although the ISR that is left is below min.insync.replicas",
        seen=(SeenOnBrokers("cancelled-reassignment-4.2", "4.2.1", 5, 5),),
    ),
    Defect(
        "reassignment-waits-for-all",
        "KAFKA-19975",
        "reassignment-completes-when-added",
        (3, 8),
        "a reassignment away from a broker that is down does not complete",
    ),
    Defect(
        "early-last-known-leader",
        "PR 20629",
        "last-known-leader-when-leaderless",
        (4, 0),
        "the last known leader is not the last that led when the ISR empties first",
    ),
    Defect(
        "directory-assignment-clears-elr",
        "PR 20716",
        "directory-assignment-keeps-elr",
        (4, 0),
        "assigning a replica to a log directory clears the ELR, so that a replica without the records may be elected",
        seen=(SeenOnBrokers("assigned-directory-4.1", "4.1.2", 5, 5),),
    ),
    Defect(
        "missing-directory-stays-eligible",
        NOT_REPORTED,
        "missing-directory-is-unclean",
        (4, 0),
        "a broker that stopped cleanly and returns without its log directory stays in the ELR with an empty log",
        seen=(SeenOnBrokers("taken-out-directory-4.3", "4.3.1", 5, 5),),
        needs="1 broker that loses its directory while 2 others are out",
        avoid="do not take a log directory out of a broker that stopped cleanly, while other replicas are out of the ISR",
    ),
    Defect(
        "removed-replica-in-elr",
        NOT_REPORTED,
        "elr-within-replicas",
        (4, 0),
        "a replica that a reassignment has removed stays in the ELR",
        seen=(
            SeenOnBrokers("removed-replica-in-elr-4.2", "4.2.1", 5, 5),
            SeenOnBrokers("removed-replica-in-elr-4.3", "4.3.1", 5, 5),
        ),
    ),
)
"""Every known defect, by the version that first has it."""

FIXES: tuple[str, ...] = tuple(each.mechanism.key for each in DEFECTS)
"""The keys that `defects=fixed` switches on."""
