"""The modern models' state: what the controller knows, what each broker knows and holds, and ghosts.

Epochs are kept as relations, not as numbers.  `leader_knows` says how far the elected leader has followed the
controller: `ELECTED` (not yet taken over), `BEHIND` (leads, but the partition epoch has moved on) or `UP_TO_DATE`.  A
broker that takes itself for the leader (`follows[b] == b`) and is not the elected one that has taken over is a zombie of
an older leader epoch.  `follows[b] == l` says that `b` is in the same leader epoch as `l`; `NOBODY` that it has no leader
that would answer it.

Source: KIP-497, KIP-841, KIP-903, KIP-966; Partition.scala, ReplicationControlManager.java.
"""

from __future__ import annotations

from typing import Any

from model.kernel import Configuration, Field, flag, number, replica_id

ELECTED, BEHIND, UP_TO_DATE = 0, 1, 2
"""Values of `leader_knows`."""

ACKS = {"0": 0, "1": 1, "all": 2, "min.insync.replicas": 3}
"""Numbers of the values of `acks`."""

POLICIES = {"any": 0, "preferred": 1, "longest-log": 2}
"""Numbers of the values of `election.policy`."""

BUDGETS = ("crash", "lossy_crash", "isr_shrink", "fence", "leader_move")
"""The faults that `kraft` bounds: each has a field `NAME_left`."""


def everyone(s: Any) -> range:
    """All replicas."""
    return range(s.sizes["replica"])


def others(s: Any, replica: int) -> list[int]:
    """All replicas but one."""
    return [each for each in everyone(s) if each != replica]


def sizes(configuration: Configuration) -> dict[str, int]:
    """Axes, and the structural choices that decide which fields exist."""
    return {
        "replica": configuration["replication.factor"],
        "offset": configuration["bounds.records"],
        "record": configuration["bounds.records"],
    }


def fields(configuration: Configuration) -> tuple[Field, ...]:
    """Every variable, by who knows it."""
    replicas, records = configuration["replication.factor"], configuration["bounds.records"]
    return (
        *frozen_fields(replicas),
        # the controller's metadata
        replica_id("leader", replicas),
        flag("isr", "replica"),
        flag("is_fenced", "replica"),
        number("leader_knows", ELECTED, UP_TO_DATE),
        # what a broker keeps on disk
        number("log_record", 0, records, "replica", "offset"),
        # what a running broker keeps in memory
        flag("is_running", "replica"),
        replica_id("follows", replicas, "replica"),
        number("high_watermark", 0, records, "replica"),
        # what a leader keeps in memory
        flag("leader_isr", "replica", "replica"),
        replica_id("pending", replicas, "replica"),
        number("fetch_offset", 0, records, "replica", "replica"),
        number("leader_epoch_start", 0, records),
        flag("request_outdated"),
        # clients and ghosts
        number("next_record", 0, records),
        flag("ghost_acked", "record"),
        flag("ghost_committed", "record"),
        *[number(f"{each}_left", 0, configuration[f"faults.{each}"]) for each in BUDGETS],
    )


def frozen_fields(replicas: int) -> tuple[Field, ...]:
    """Configuration that actions read."""
    return (
        number("min_isr", 1, 9, frozen=True),
        number("acks", 0, 3, frozen=True),
        number("election_policy", 0, 2, frozen=True),
        flag("unclean_election", frozen=True),
        flag("flushes_each_record", frozen=True),
    )


FROZEN = {
    "min_isr": lambda c: min(c["min.insync.replicas"], c["replication.factor"]),
    "acks": lambda c: ACKS[c["acks"]],
    "election_policy": lambda c: POLICIES[c["election.policy"]],
    "unclean_election": lambda c: c["unclean.leader.election.enable"],
    "flushes_each_record": lambda c: c["flush.messages"] == "1",
}


def initial(configuration: Configuration) -> list[dict[str, Any]]:
    """All replicas in sync behind a leader that has taken over; where the order of replicas matters, for every first leader."""
    replicas = configuration["replication.factor"]
    first_leaders = range(replicas) if configuration["election.policy"] == "preferred" else (0,)
    return [started(configuration, leader) for leader in first_leaders]


def started(configuration: Configuration, leader: int) -> dict[str, Any]:
    """The state in which every replica follows the given leader with an empty log."""
    replicas = configuration["replication.factor"]
    return {
        "leader": leader,
        "isr": [True] * replicas,
        "leader_knows": UP_TO_DATE,
        "is_running": [True] * replicas,
        "follows": [leader] * replicas,
        "leader_isr": [[each == leader] * replicas for each in range(replicas)],
        "pending": -1,
        **{f"{each}_left": configuration[f"faults.{each}"] for each in BUDGETS},
    }
