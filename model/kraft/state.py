"""The modern models' state: what the controller knows, what each broker knows and holds, and ghosts.

Epochs are kept as relations, not as numbers.  `leader_knows` says how far the elected leader has followed the
controller: `ELECTED` (leadership not applied yet), `BEHIND` (leads, but the partition epoch has moved on) or `UP_TO_DATE`.  A
broker that believes it is leader (`follows[b] == b`) and is not the elected one that has applied its leadership is a stale
leader, of an older leader epoch.  With fenced fetches `follows[b] == l` says that `b` is in the same leader epoch as `l`, and
`NO_REPLICA` that it has no leader that would answer it.

Fields and axes exist only where the configuration needs them (`sizes.py`): a part of the protocol that cannot happen takes
no bits.

Source: KIP-497, KIP-841, KIP-903, KIP-966; Partition.scala, ReplicationControlManager.java.
"""

from __future__ import annotations

from collections.abc import Callable, Set
from itertools import permutations
from typing import Any

from neverlost.model import limits
from neverlost.model.faults import CONSUMER_CRASH, FAULTS, PRODUCER_RETRY
from neverlost.model.kernel import NO_REPLICA, Configuration, Field, Primitives, Value, count, flag, number, replica_id, smaller
from neverlost.model.kraft import mechanisms
from neverlost.model.kraft.mechanisms import is_on
from neverlost.model.kraft.sizes import FENCED, ON_FETCH, KraftSizes, has_racks, sizes, truncation
from neverlost.model.limits import AT_ONCE, is_counted, left, limit_fields, limit_of
from neverlost.model.ranks import ranks
from neverlost.model.system import View

ELECTED, BEHIND, UP_TO_DATE = 0, 1, 2
"""Values of `leader_knows`."""

UNCHANGED = 0
"""Value of `min_isr_changed` and `min_isr_known` where min.insync.replicas is what it was at first."""

ACKS = {"0": 0, "1": 1, "all": 2, "min.insync.replicas": 3}
"""Numbers of the values of `acks`."""

POLICIES = {"any": 0, "preferred": 1, "longest-log": 2, FENCED: 3}
"""Numbers of the values of `election.policy`."""


def everyone(s: View) -> range:
    """Return the numbers of all brokers that have, or may get, a replica."""
    return range(s.sizes.replica)


def others(s: View, replica: int) -> list[int]:
    """Return the numbers of all brokers but one."""
    return [each for each in everyone(s) if each != replica]


def minimum_isr(k: Primitives, s: View, broker: int | None = None) -> Value:
    """Return the ISR size below which acks=all is refused, as a broker knows it (None: as the controller does).

    Since 3.7 it is at most the number of replicas; a leader counts those of the newest record that it has replayed.
    """
    found = s.min_isr
    if s.sizes.config_change:
        changed = s.min_isr_changed if broker is None else s.min_isr_known[broker]
        found = k.ite(changed == UNCHANGED, found, changed)
    if not s.sizes.effective_min_isr:
        return found
    if s.sizes.reassignment:
        return smaller(k, found, count(k, list(s.is_replica)) if broker is None else s.replicas_known[broker])
    return smaller(k, found, s.sizes.replica) if s.sizes.config_change else found


def is_isr_big_enough(k: Primitives, s: View, isr: list[Value], broker: int | None = None) -> Value:
    """Return True if an ISR has at least as many members as `minimum_isr` for a broker (None: the controller)."""
    return count(k, isr) >= minimum_isr(k, s, broker)


def highest_epoch(configuration: Configuration) -> int:
    """Return how often the leader epoch can move at most: by elections and, in versions where those move it, ISR removals.

    Where some fault has no total leader epochs are ranks, and the largest rank is returned (`highest_rank`).
    """
    size = sizes(configuration)
    if size.has_ranks:
        return size.highest_rank
    budget = {each.name: configuration[each.key] for each in FAULTS}
    away = sum(
        budget[each] for each in ("crash", "clean_stop", "kill", "data_loss", "lossy_crash", "disk_loss", "out", "fence")
    )
    away += configuration["replication.factor"] * budget["rack_loss"]
    removals = 0 if is_on(configuration, "shrink-keeps-leader-epoch") else 2 * away + budget["isr_shrink"] + budget["out"]
    return int(3 * away + budget["leader_move"] + budget["unclean_election"] + 4 * budget["reassign"] + removals)


def frozen_fields() -> tuple[Field, ...]:
    """Return the fields that hold the configuration (but for limits of faults), which actions read and never write."""
    return (
        number("min_isr", 1, 9, frozen=True),
        number("acks", 0, 3, frozen=True),
        number("election_policy", 0, 3, frozen=True),
        flag("unclean_election", frozen=True),
        flag("flushes_each_record", frozen=True),
        flag("idempotence", frozen=True),
        flag("commits_before_processing", frozen=True),
        *[flag(each.flag, frozen=True) for each in mechanisms.FLAGS],
        number("first_outside_isr", 0, 6, frozen=True),
    )


def _min_isr(configuration: Configuration) -> int:
    given, replicas = configuration["min.insync.replicas"], configuration["replication.factor"]
    is_capped = is_on(configuration, "effective-min-isr") and not configuration["faults.reassign"]
    return int(min(given, replicas) if is_capped else given)


def _configured(key: str) -> Callable[[Configuration], int]:
    """Return a function that gives the value of `key` in a configuration as an int."""
    return lambda configuration: int(configuration[key])


FROZEN: dict[str, Callable[[Configuration], int]] = {
    "min_isr": _min_isr,
    "acks": lambda c: ACKS[c["acks"]],
    "election_policy": lambda c: POLICIES[c["election.policy"]],
    "unclean_election": lambda c: int(c["unclean.leader.election.enable"]),
    "flushes_each_record": lambda c: int(c["flush.messages"] == "1"),
    "idempotence": lambda c: int(c["enable.idempotence"]),
    "commits_before_processing": lambda c: int(c["consumer.commit"] == "before-processing"),
    **{each.limit: limit_of(each) for each in FAULTS},
    "at_once": lambda c: min(c[AT_ONCE] + c["start.outside_isr"], 2 * limits.MOST) if c[AT_ONCE] else 0,
    "first_outside_isr": _configured("start.outside_isr"),  # so that states of other beginnings differ
    **{each.flag: _configured(each.key) for each in mechanisms.FLAGS},
    # a follower that truncates before it fetches has no fetch that diverges: KAFKA-13141 came with truncation on fetch
    "diverging_fetch_ignored": lambda c: int(is_on(c, "diverging-fetch-ignored") or truncation(c) != ON_FETCH),
}


def contradiction(configuration: Configuration) -> str | None:
    """Return in a sentence why these settings cannot be asked about together; None if they can."""
    racks, replicas = configuration["broker.rack"], configuration["replication.factor"]
    if racks and len(racks) != replicas:
        return f"broker.rack names {len(racks)} racks, but replication.factor is {replicas}: name one per replica"
    outside = configuration["start.outside_isr"]
    if outside >= replicas:
        return f"start.outside_isr is {outside}, but replication.factor is {replicas}: leave a replica in the ISR"
    asks, retries = configuration["election.policy"] == FENCED, configuration[PRODUCER_RETRY.key]
    if asks and retries and configuration["bounds.records"] > 1:
        why = "a record has one leader epoch in this model, although it may be sent again in a later one"
        return f"{PRODUCER_RETRY.key} with election.policy={FENCED} takes one record: {why}; set bounds.records=1"
    return limits.contradiction(configuration) or _uncountable(configuration)


def _uncountable(configuration: Configuration) -> str | None:
    """Return a sentence if a fault that this model has to count (producer retry, consumer crash) has no total; else None."""
    uncounted = [each for each in FAULTS if not is_counted(configuration, each)]
    for each in uncounted:
        if each is PRODUCER_RETRY:
            return f"{each.key}={configuration[each.key]} has no finite space in this model: give a number"
        if each is CONSUMER_CRASH:
            return f"{each.key}={configuration[each.key]} is not known to this model yet: give a number"
    return None


def fields(configuration: Configuration) -> tuple[Field, ...]:
    """Return the fields that a configuration needs: the frozen ones, the others grouped by who knows them, those of limits."""
    size = sizes(configuration)
    replicas, records, slots = size.replica, size.record, size.offset
    return (
        *frozen_fields(),
        # the controller's metadata
        replica_id("leader", replicas),
        flag("isr", "replica"),
        flag("is_fenced", "replica"),
        number("leader_knows", ELECTED, UP_TO_DATE),
        *([flag("elr", "replica"), replica_id("last_known_leader", replicas)] if size.elr else []),
        *([flag(each, "replica") for each in ("is_replica", "is_adding", "is_removing")] if size.reassignment else []),
        # what a broker keeps on disk
        number("log_record", 0, records, "replica", "offset"),
        *([flag("stopped_cleanly", "replica")] if size.elr else []),
        # what a running broker keeps in memory
        flag("is_running", "replica"),
        replica_id("follows", replicas, "replica"),
        number("high_watermark", 0, slots, "replica"),
        *([flag("is_stale", "replica")] if not size.fenced_fetch else []),
        # what a leader keeps in memory
        flag("leader_isr", "replica", "replica"),
        replica_id("pending", replicas, "replica"),
        number("fetch_offset", 0, slots, "replica", "replica"),
        number("leader_epoch_start_offset", 0, slots),
        flag("request_outdated"),
        *([flag("request_names_no_epoch")] if size.fetches_unregistered else []),
        *_forgotten_fields(size),
        flag("record_to_come"),
        *_reassigned_fields(size),
        *_stalled_fields(size),
        *_config_fields(size),
        *_late_response_fields(size),
        *(_epoch_fields(highest_epoch(configuration)) if size.epochs else []),
        *(_late_bytes_fields(size, highest_epoch(configuration)) if size.late_bytes else []),
        # clients and ghosts
        number("next_record", 0, records),
        flag("ghost_acked", "record"),
        number("ghost_committed", 0, records, "offset"),
        *_consumer_fields(size),
        *limit_fields(configuration, FAULTS),
    )


def _epoch_fields(highest: int) -> list[Field]:
    """Return the fields of leader epochs as numbers up to `highest`; the caller asks only where something compares epochs."""
    return [
        number("leader_epoch", 0, highest),
        number("led_epoch", 0, highest, "replica"),
        number("record_epoch", 0, highest, "record"),
    ]


def _config_fields(size: KraftSizes) -> list[Field]:
    """Return the fields of a changed min.insync.replicas, who knows it and who is yet to learn it; [] if it never changes."""
    if not size.config_change:
        return []
    highest = size.first_replicas
    known = number("min_isr_known", UNCHANGED, highest, "replica")
    return [number("min_isr_changed", UNCHANGED, highest), known, flag("configuration_to_come", "replica")]


def _late_bytes_fields(size: KraftSizes, highest: int) -> list[Field]:
    """Return both fields: who, deposed, may still send a follower a fetch response, and the leader epoch of that fetch."""
    return [replica_id("late_sender", size.replica, "replica"), number("late_epoch", 0, highest, "replica")]


def _stalled_fields(size: KraftSizes) -> list[Field]:
    """Return the fields of where a produce request stands still, and of its record and its offset; [] where none can."""
    if not size.requests_stall:
        return []
    highest = max(size.offset - 1, 0)
    return [
        replica_id("stalled_on", size.replica),
        number("stalled_record", 0, size.record),
        number("stalled_offset", 0, highest),
    ]


def _reassigned_fields(size: KraftSizes) -> list[Field]:
    """Return the fields of what leaders have yet to read of reassignments, and how many replicas each knows of; or []."""
    if not size.reassignment:
        return []
    known = [number("replicas_known", 0, size.replica, "replica")] if size.effective_min_isr else []
    return [flag("late_record", "replica"), flag("assignment_to_come"), *known]


def _forgotten_fields(size: KraftSizes) -> list[Field]:
    """Return the fields of the replica in a request that its leader forgot and that is still valid; [] if there are none."""
    if not size.copies_requests:
        return []
    return [replica_id("forgotten", size.replica), *([flag("forgotten_names_no_epoch")] if size.fetches_unregistered else [])]


def _late_response_fields(size: KraftSizes) -> list[Field]:
    """Return the fields of who sent a follower a diverging response that is late, and of its offset; [] if none can be."""
    if not size.late_responses:
        return []
    return [replica_id("diverging_sender", size.replica, "replica"), number("diverging_end", 0, size.offset, "replica")]


def _consumer_fields(size: KraftSizes) -> list[Field]:
    if not size.consumer:
        return []
    return [
        number("consumer_position", 0, size.offset),
        number("consumer_committed", 0, size.offset),
        flag("consumer_holds_record"),
        number("ghost_processed", 0, 2, "offset"),
    ]


def initial(configuration: Configuration) -> list[dict[str, Any]]:
    """Return the initial states: a leader that has applied its leadership, and in its ISR all but `start.outside_isr` replicas.

    Where replicas are not alike, there is one for every choice of leader and of who is outside (and in the ELR); else there is
    only one: replica 0 leads, the last are outside.
    """
    order = range(configuration["replication.factor"])
    orders = [tuple(order)] if is_symmetric(configuration) else permutations(order)
    return [started(configuration, *each) for each in dict.fromkeys(_roles(configuration, each) for each in orders)]


def _roles(configuration: Configuration, order: tuple[int, ...]) -> tuple[int, frozenset[int], frozenset[int]]:
    """Return leader, ISR and ELR where the first replica of an order leads and the last `start.outside_isr` have left the ISR.

    With ELR, the first of those outside, as many as the ISR lacks to min.insync.replicas, are in the ELR; else it is empty.
    """
    inside = len(order) - configuration["start.outside_isr"]
    eligible = max(inside, _min_isr(configuration)) if configuration["eligible.leader.replicas"] else inside
    return order[0], frozenset(order[:inside]), frozenset(order[inside:eligible])


def settle(k: Primitives, s: View) -> None:
    """Effect, after every step: settle the limits, clear what ended requests leave, renumber epochs as ranks if `has_ranks`."""
    limits.settle(k, s)
    if s.sizes.fetches_unregistered:
        asked = [k.all_of(s.leader == each, s.pending[each] != NO_REPLICA) for each in everyone(s)]
        is_open = k.all_of(s.leader_knows == UP_TO_DATE, k.any_of(*asked))
        s.request_names_no_epoch = k.all_of(s.request_names_no_epoch, is_open)
    if s.sizes.copies_requests:
        s.forgotten = k.ite(s.leader_knows == UP_TO_DATE, s.forgotten, NO_REPLICA)
        if s.sizes.fetches_unregistered:
            s.forgotten_names_no_epoch = k.all_of(s.forgotten_names_no_epoch, s.forgotten != NO_REPLICA)
    if not s.sizes.has_ranks:
        return
    late = list(s.late_epoch) if s.sizes.late_bytes else []
    found = ranks(k, [s.leader_epoch, *s.led_epoch, *s.record_epoch, *late], s.sizes.highest_rank)
    s.leader_epoch = found[0]
    for broker, epoch in enumerate(found[1 + s.sizes.replica + s.sizes.record :]):
        s.late_epoch[broker] = epoch
    for broker in everyone(s):
        s.led_epoch[broker] = found[1 + broker]
    for record in range(s.sizes.record):
        s.record_epoch[record] = found[1 + s.sizes.replica + record]


def is_symmetric(configuration: Configuration) -> bool:
    """Return True if replicas may be exchanged for one another: neither their order nor their rack nor their age matters."""
    is_ordered = configuration["election.policy"] == "preferred"
    return not (is_ordered or has_racks(configuration) or configuration["faults.reassign"])


def started(configuration: Configuration, leader: int, isr: Set[int], elr: Set[int]) -> dict[str, Any]:
    """Return a state by field: this ISR and ELR, an up-to-date leader whom every replica follows, and only empty logs."""
    replicas, spare = configuration["replication.factor"], int(bool(configuration["faults.reassign"]))
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
        "replicas_known": [replicas * (each == leader) for each in range(replicas + spare)],
        "pending": -1,
        "stalled_on": -1,
        "forgotten": -1,
        "late_sender": -1,
        **left(configuration, FAULTS),
    }
