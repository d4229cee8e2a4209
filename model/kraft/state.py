"""The modern models' state: what the controller knows, what each broker knows and holds, and ghosts.

Epochs are kept as relations, not as numbers.  `leader_knows` says how far the elected leader has followed the
controller: `ELECTED` (not yet taken over), `BEHIND` (leads, but the partition epoch has moved on) or `UP_TO_DATE`.  A
broker that takes itself for the leader (`follows[b] == b`) and is not the elected one that has taken over is a zombie of
an older leader epoch.  With fenced fetches `follows[b] == l` says that `b` is in the same leader epoch as `l`, and
`NOBODY` that it has no leader that would answer it.

Fields and axes exist only where the configuration needs them: a part of the protocol that cannot happen takes no bits.
Sizes also hold the structural choices (`elr`, `truncation`, ...): they are fixed for a search, so Python may decide on
them.

Source: KIP-497, KIP-841, KIP-903, KIP-966; Partition.scala, ReplicationControlManager.java.
"""

from __future__ import annotations

from collections.abc import Callable, Set
from itertools import permutations
from typing import Any

from neverlost.model.kernel import Configuration, Field, Value, count, flag, number, replica_id, smaller
from neverlost.model.kraft.mechanisms import is_on

ELECTED, BEHIND, UP_TO_DATE = 0, 1, 2
"""Values of `leader_knows`."""

ACKS = {"0": 0, "1": 1, "all": 2, "min.insync.replicas": 3}
"""Numbers of the values of `acks`."""

POLICIES = {"any": 0, "preferred": 1, "longest-log": 2}
"""Numbers of the values of `election.policy`."""

TO_HIGH_WATERMARK, BY_EPOCH, BY_ITERATED_EPOCHS, ON_FETCH = range(4)
"""Kinds of truncation, values of the size `truncation`."""

BUDGETS = (
    "crash",
    "lossy_crash",
    "disk_loss",
    "isr_shrink",
    "fence",
    "leader_move",
    "reassign",
    "producer_retry",
    "consumer_crash",
    "rack_loss",
    "min_isr_change",
)
"""The faults that are bounded: each has a field `NAME_left`."""

SWITCHES = {
    "partition_epoch_check": "partition-epoch-check",
    "maximal_isr": "maximal-isr",
    "pending_isr_kept": "pending-isr-kept",
    "diverging_fetch_ignored": "diverging-fetch-ignored",
    "fenced_replicas_kept_out": "fenced-replicas-kept-out",
    "broker_epoch_in_isr": "broker-epoch-in-isr",
    "strict_high_watermark": "strict-high-watermark",
    "leader_epoch_start_rule": "leader-epoch-start",
    "reassignment_waits": "reassignment-waits-for-targets",
    "reassignment_needs_added": "reassignment-completes-when-added",
    "last_known_leader_rule": "last-known-leader-election",
    "unclean_restart_leaves_elr": "unclean-restart-leaves-elr",
    "elr_within_replicas": "elr-within-replicas",
    "reassignment_keeps_min_isr": "reassignment-keeps-min-isr",
    "isr_answer_with_config": "isr-answer-waits-for-config",
    "truncates_before_high_watermark": "truncation-before-high-watermark",
    "shrink_keeps_leader_epoch": "shrink-keeps-leader-epoch",
    "reelection_forgets_offsets": "reelection-forgets-offsets",
}
"""Frozen flags and the mechanisms that they stand for."""


def everyone(s: Any) -> range:
    """All brokers that have, or may get, a replica."""
    return range(s.sizes["replica"])


def others(s: Any, replica: int) -> list[int]:
    """All brokers but one."""
    return [each for each in everyone(s) if each != replica]


def minimum_isr(k: Any, s: Any, broker: int | None = None) -> Value:
    """The ISR size below which acks=all is refused, as a broker knows it (None: as the controller does).

    It is at most the number of replicas, since 3.7.
    """
    found = s.min_isr
    if s.sizes["config_change"]:
        found = found + (s.min_isr_raised if broker is None else s.min_isr_known[broker])
    if not s.sizes["effective_min_isr"]:
        return found
    if s.sizes["reassignment"]:
        return smaller(k, found, count(k, list(s.is_replica)))
    return smaller(k, found, s.sizes["replica"]) if s.sizes["config_change"] else found


def is_isr_big_enough(k: Any, s: Any, isr: list[Value], broker: int | None = None) -> Value:
    """Whether an ISR has min.insync.replicas members, as a broker (None: the controller) knows that setting."""
    return count(k, isr) >= minimum_isr(k, s, broker)


def truncation(configuration: Configuration) -> int:
    """The kind of truncation that a configuration's mechanisms amount to."""
    if not is_on(configuration, "epoch-truncation"):
        return TO_HIGH_WATERMARK
    if not is_on(configuration, "iterated-truncation"):
        return BY_EPOCH
    return ON_FETCH if is_on(configuration, "truncate-on-fetch") else BY_ITERATED_EPOCHS


def racks(configuration: Configuration) -> tuple[int, ...]:
    """The number of each replica's rack; every replica has its own when none is given."""
    names = configuration["broker.rack"]
    order = sorted(set(names))
    return tuple(order.index(name) for name in names) or tuple(range(configuration["replication.factor"]))


def elections(configuration: Configuration) -> int:
    """How often the leader epoch can move at most: by elections, and where it does so by removals from the ISR."""
    budget = {each: configuration[f"faults.{each}"] for each in BUDGETS}
    away = budget["crash"] + budget["lossy_crash"] + budget["disk_loss"] + budget["fence"]
    away += configuration["replication.factor"] * budget["rack_loss"]
    removals = 0 if is_on(configuration, "shrink-keeps-leader-epoch") else 2 * away + budget["isr_shrink"]
    return int(3 * away + budget["leader_move"] + 4 * budget["reassign"] + removals)


def sizes(configuration: Configuration) -> dict[str, int]:
    """Axes, and the structural choices that decide which fields and steps exist."""
    records, growing = configuration["bounds.records"], configuration["faults.reassign"] > 0
    replicas = configuration["replication.factor"] + growing
    has_racks = configuration["faults.rack_loss"] > 0
    kind = truncation(configuration)
    is_fenced_fetch = is_on(configuration, "fenced-fetch")
    found = {
        "replica": replicas,
        "first_replicas": configuration["replication.factor"],
        "offset": records + configuration["faults.producer_retry"],
        "record": records,
        "elr": int(configuration["eligible.leader.replicas"]),
        "clean_stop": int(configuration["eligible.leader.replicas"]) * replicas,
        "truncation": kind,
        "fenced_fetch": int(is_fenced_fetch),
        "compares_logs": int(kind == ON_FETCH or (kind == BY_ITERATED_EPOCHS and is_fenced_fetch)),
        "epochs": int(kind == BY_EPOCH or configuration["election.policy"] == "longest-log"),
        "asks_controller": int(is_on(configuration, "alter-partition")),
        "effective_min_isr": int(is_on(configuration, "effective-min-isr")),
        "bounce": 0 if is_on(configuration, "bounce-detection") else replicas,
        "reassignment": int(growing),
        "target": 2**replicas if growing else 0,
        "choice": replicas if growing else 1,
        "movable": replicas if growing else 0,
        "diverging_reader": replicas if kind == ON_FETCH else 0,
        "retried": records if configuration["faults.producer_retry"] else 0,
        "consumer": int(configuration["faults.consumer_crash"] > 0),
        "configured": replicas if configuration["faults.min_isr_change"] else 0,
        "config_change": int(configuration["faults.min_isr_change"] > 0),
        "rack": max(racks(configuration)) + 1 if has_racks else 0,
    }
    return found | {f"rack_of_{each}": rack for each, rack in enumerate(racks(configuration) + (-1,) * growing)}


def frozen_fields() -> tuple[Field, ...]:
    """Configuration that actions read."""
    return (
        number("min_isr", 1, 9, frozen=True),
        number("acks", 0, 3, frozen=True),
        number("election_policy", 0, 2, frozen=True),
        flag("unclean_election", frozen=True),
        flag("flushes_each_record", frozen=True),
        flag("idempotence", frozen=True),
        flag("commits_before_processing", frozen=True),
        *[flag(each, frozen=True) for each in SWITCHES],
        *[number(f"{each}_budget", 0, 9, frozen=True) for each in BUDGETS],
        number("first_outside_isr", 0, 6, frozen=True),
    )


def _min_isr(configuration: Configuration) -> int:
    given, replicas = configuration["min.insync.replicas"], configuration["replication.factor"]
    is_capped = is_on(configuration, "effective-min-isr") and not configuration["faults.reassign"]
    return int(min(given, replicas) if is_capped else given)


def _configured(key: str) -> Callable[[Configuration], int]:
    """No action reads it: it tells configurations that begin differently apart when one search decides them all."""
    return lambda configuration: int(configuration[key])


def _switch(mechanism: str) -> Callable[[Configuration], int]:
    return lambda configuration: int(is_on(configuration, mechanism))


FROZEN: dict[str, Callable[[Configuration], int]] = {
    "min_isr": _min_isr,
    "acks": lambda c: ACKS[c["acks"]],
    "election_policy": lambda c: POLICIES[c["election.policy"]],
    "unclean_election": lambda c: int(c["unclean.leader.election.enable"]),
    "flushes_each_record": lambda c: int(c["flush.messages"] == "1"),
    "idempotence": lambda c: int(c["enable.idempotence"]),
    "commits_before_processing": lambda c: int(c["consumer.commit"] == "before-processing"),
    **{f"{each}_budget": _configured(f"faults.{each}") for each in BUDGETS},
    "first_outside_isr": _configured("start.outside_isr"),
    **{name: _switch(mechanism) for name, mechanism in SWITCHES.items()},
    # a follower that truncates before it fetches has no fetch that diverges: KAFKA-13141 came with truncation on fetch
    "diverging_fetch_ignored": lambda c: int(is_on(c, "diverging-fetch-ignored") or truncation(c) != ON_FETCH),
}


def contradiction(configuration: Configuration) -> str | None:
    """What is wrong with the racks or with the beginning, if anything."""
    racks, replicas = configuration["broker.rack"], configuration["replication.factor"]
    if racks and len(racks) != replicas:
        return f"broker.rack names {len(racks)} racks, but replication.factor is {replicas}: name one per replica"
    outside = configuration["start.outside_isr"]
    if outside >= replicas:
        return f"start.outside_isr is {outside}, but replication.factor is {replicas}: leave a replica in the ISR"
    return None


def fields(configuration: Configuration) -> tuple[Field, ...]:
    """Every variable, by who knows it."""
    size = sizes(configuration)
    replicas, records, slots = size["replica"], size["record"], size["offset"]
    return (
        *frozen_fields(),
        # the controller's metadata
        replica_id("leader", replicas),
        flag("isr", "replica"),
        flag("is_fenced", "replica"),
        number("leader_knows", ELECTED, UP_TO_DATE),
        *([flag("elr", "replica"), replica_id("last_known_leader", replicas)] if size["elr"] else []),
        *([flag(each, "replica") for each in ("is_replica", "is_adding", "is_removing")] if size["reassignment"] else []),
        # what a broker keeps on disk
        number("log_record", 0, records, "replica", "offset"),
        *([flag("stopped_cleanly", "replica")] if size["elr"] else []),
        # what a running broker keeps in memory
        flag("is_running", "replica"),
        replica_id("follows", replicas, "replica"),
        number("high_watermark", 0, slots, "replica"),
        *([flag("is_stale", "replica")] if not size["fenced_fetch"] else []),
        # what a leader keeps in memory
        flag("leader_isr", "replica", "replica"),
        replica_id("pending", replicas, "replica"),
        number("fetch_offset", 0, slots, "replica", "replica"),
        number("leader_epoch_start", 0, slots),
        flag("request_outdated"),
        *_config_fields(size, configuration["faults.min_isr_change"]),
        *_epoch_fields(size, elections(configuration)),
        # clients and ghosts
        number("next_record", 0, records),
        flag("ghost_acked", "record"),
        number("ghost_committed", 0, records, "offset"),
        *_consumer_fields(size),
        *[number(f"{each}_left", 0, configuration[f"faults.{each}"]) for each in BUDGETS],
    )


def _epoch_fields(size: dict[str, int], highest: int) -> list[Field]:
    """Leader epochs as numbers, where something compares them."""
    if not size["epochs"]:
        return []
    return [
        number("leader_epoch", 0, highest),
        number("led_epoch", 0, highest, "replica"),
        number("record_epoch", 0, highest, "record"),
    ]


def _config_fields(size: dict[str, int], changes: int) -> list[Field]:
    """How often min.insync.replicas has been raised, and how often each broker knows."""
    if not size["config_change"]:
        return []
    return [number("min_isr_raised", 0, changes), number("min_isr_known", 0, changes, "replica")]


def _consumer_fields(size: dict[str, int]) -> list[Field]:
    if not size["consumer"]:
        return []
    return [
        number("consumer_position", 0, size["offset"]),
        number("consumer_committed", 0, size["offset"]),
        flag("consumer_holds_record"),
        number("ghost_processed", 0, 2, "offset"),
    ]


def initial(configuration: Configuration) -> list[dict[str, Any]]:
    """A leader that has taken over, behind it all replicas in sync, or all but some.

    Where replicas are not alike, whoever they are.
    """
    order = range(configuration["replication.factor"])
    orders = [tuple(order)] if is_symmetric(configuration) else permutations(order)
    return [started(configuration, *each) for each in dict.fromkeys(_roles(configuration, each) for each in orders)]


def _roles(configuration: Configuration, order: tuple[int, ...]) -> tuple[int, frozenset[int], frozenset[int]]:
    """Leader, ISR and ELR when replicas left the ISR from the last of an order on.

    Who leaves while fewer than min.insync.replicas remain is in the ELR.
    """
    inside = len(order) - configuration["start.outside_isr"]
    eligible = max(inside, _min_isr(configuration)) if configuration["eligible.leader.replicas"] else inside
    return order[0], frozenset(order[:inside]), frozenset(order[inside:eligible])


def is_symmetric(configuration: Configuration) -> bool:
    """Whether replicas may be exchanged for one another: neither their order nor their rack nor their age matters."""
    is_ordered = configuration["election.policy"] == "preferred"
    return not (is_ordered or configuration["faults.rack_loss"] or configuration["faults.reassign"])


def started(configuration: Configuration, leader: int, isr: Set[int], elr: Set[int]) -> dict[str, Any]:
    """The state in which every replica follows the given leader with an empty log."""
    replicas, spare = configuration["replication.factor"], int(configuration["faults.reassign"] > 0)
    members = [each in isr for each in range(replicas + spare)]
    return {
        "leader": leader,
        "isr": members,
        "elr": [each in elr for each in range(replicas + spare)],
        "is_replica": [True] * replicas + [False] * spare,
        "leader_knows": UP_TO_DATE,
        "is_running": True,
        "follows": [leader] * replicas + [-1] * spare,
        "leader_isr": [[each == leader and member for member in members] for each in range(replicas + spare)],
        "pending": -1,
        **{f"{each}_left": configuration[f"faults.{each}"] for each in BUDGETS},
    }
