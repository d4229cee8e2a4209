"""The modern protocol as a real cluster's history can be held against it: one offset, unlimited faults, named records.

A behaviour of the modern model, looked at through one offset of the partition, is a behaviour of this one.  The log has a
single slot, the tracked offset: a log end offset is 1 where it is beyond that offset and 0 where it is not, and so is every
other offset.  A record is not the next one but one of the names that were seen there, or the last name, which stands for every
unknown record.  Budgets are refilled after every step, so faults are not limited.  Starting is split into registering and
unfencing, because the controller's log shows both; what a follower learns of the high watermark need not come with the tracked
record.

Source: ReplicationControlManager (handleBrokerUncleanShutdown, handleBrokerUnfenced, handleBrokerInControlledShutdown),
Partition.maybeShrinkIsr, KafkaApis.handleListOffsetRequest (KIP-207).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

from neverlost.model.faults import FAULTS, REASSIGN, Fault
from neverlost.model.kernel import (
    NO_REPLICA,
    Action,
    Clauses,
    Configuration,
    Field,
    Primitives,
    action,
    different,
    flag,
    members,
    number,
)
from neverlost.model.kraft.broker.high_watermark import is_waited_for
from neverlost.model.kraft.broker.leader import accepts_writes, is_answered, is_up_to_date_leader, leads, logs_agree, put_in_log
from neverlost.model.kraft.broker.log import EMPTY, log_end, truncate_to
from neverlost.model.kraft.controller.partition_change import (
    Change,
    assignment_of,
    change_partition,
    move_leader_epoch,
    outdate_leader,
    unfenced,
)
from neverlost.model.kraft.lifecycle.stops import start, stop
from neverlost.model.kraft.sizes import KraftSizes, sizes_of
from neverlost.model.kraft.state import everyone, fields
from neverlost.model.protocols.kraft import MODEL as KRAFT
from neverlost.model.system import View

REFILLED = tuple(each for each in FAULTS if each.seen)
"""Faults that may always happen once more: their counter is set to 1 after every step."""


def refilled(sizes: Mapping[str, int]) -> tuple[Fault, ...]:
    """Return the faults whose counter is set to 1 after every step: `REFILLED`, and reassignments where there may be any."""
    return (*REFILLED, REASSIGN) if sizes["reassignment"] else REFILLED


SPLIT = (
    "broker_restart",
    "broker_restart_clean",
    "broker_stop_cleanly",
    "broker_bounce",
    "rack_lose_power",
    "broker_lose_directory_cleanly",
)
"""Actions of kraft that are left out, because a history shows each as several."""

REPLACED = ("leader_append", "leader_append_retry", "producer_send_lost_in_transit", "leader_ask_to_shrink_isr")
"""Actions of kraft that are left out because those below stand for them, or because no history shows them."""


def unknown_record(s: View) -> int:
    """Return the number (from 0) of the name that stands for every record that is not asked about."""
    return int(s.sizes.record) - 1


@action(leader="replica", record="record", says="leader {leader} appends record {record} at the tracked offset")
def leader_append_named(k: Primitives, s: View, leader: int, record: int) -> Clauses:
    """The leader appends a named record: once at most, unless clients may send again or the name stands for unknown records."""
    yield "believes it is leader", leads(s, leader)
    yield "sent", s.is_sent[record]
    repeats = record == unknown_record(s) or s.sizes.retried > 0
    yield "not appended before", k.any_of(repeats, k.not_(s.is_written[record]))
    yield "offset is the next one", s.log_record[leader][0] == EMPTY
    yield "enough in-sync replicas", accepts_writes(k, s, leader)
    s.is_written[record] = True
    put_in_log(k, s, leader, record + 1)


@action(follower="replica", leader="replica", where=different, says="broker {follower} takes other records of {leader}")
def follower_take_others(k: Primitives, s: View, follower: int, leader: int) -> Clauses:
    """A response without the tracked record: the follower's high watermark rises to the leader's, within its own log."""
    yield "in the leader's epoch", is_answered(k, s, follower, leader)
    yield (
        "request was handled",
        k.any_of(
            k.not_(is_waited_for(k, s, leader, follower)),
            s.fetch_offset[leader][follower] >= log_end(k, s, follower),
        ),
    )
    yield "logs agree", logs_agree(k, s, follower, leader)
    end = log_end(k, s, follower)
    yield (
        "brings a high watermark",
        k.all_of(s.high_watermark[follower] < end, s.high_watermark[follower] < s.high_watermark[leader]),
    )
    s.high_watermark[follower] = k.ite(s.high_watermark[leader] < end, s.high_watermark[leader], end)


@action(follower="replica", leader="replica", where=different, says="broker {follower} truncates another record of that name")
def follower_truncate_namesake(k: Primitives, s: View, follower: int, leader: int) -> Clauses:
    """Two logs with the same name may still diverge, and the follower truncates: the unknown name, or with resends any, stands
    for many appends."""
    yield "in the leader's epoch", is_answered(k, s, follower, leader)
    here, there = s.log_record[follower][0], s.log_record[leader][0]
    is_shared = here != EMPTY if s.sizes.retried else here == unknown_record(s) + 1
    yield "a name for many", k.all_of(is_shared, here == there)
    truncate_to(k, s, follower, 0)
    s.high_watermark[follower] = 0


@action(
    leader="replica",
    dropped="subset",
    outcome="isr_change_outcome",
    where=lambda leader, dropped, outcome: dropped > 0 and leader not in members(dropped),
    says="the controller commits that leader {leader} drops the slow brokers of set {dropped} from the ISR",
    fault="isr_shrink",
)
def leader_drop(k: Primitives, s: View, leader: int, dropped: int, outcome: int) -> Clauses:
    """A leader drops ISR members, request and commit at once: until the commit the maximal ISR is the old one.

    `dropped` has as bits every replica that is out of sync, running or not; `outcome` says who leads after the commit.
    """
    going = members(dropped)
    yield "leader is up to date", is_up_to_date_leader(k, s, leader)
    yield "no request in flight", s.pending[leader] == NO_REPLICA
    yield "in the ISR", k.all_of(*[s.leader_isr[leader][each] for each in going])
    isr = [False if each in going else s.leader_isr[leader][each] for each in everyone(s)]
    active = unfenced(k, s) if s.sizes.reassignment else [each == leader for each in everyone(s)]
    yield from change_partition(k, s, Change(isr, active, assignment_of(s)), outcome)
    outdate_leader(k, s, True)


def register(k: Primitives, s: View, broker: int, outcome: int, unclean: bool) -> Clauses:
    """The controller registers a broker that was down: it is fenced, and runs; with ELR an unclean one leaves ISR and ELR."""
    yield "broker is down", k.not_(s.is_running[broker])
    active = [k.all_of(alive, each != broker) for each, alive in enumerate(unfenced(k, s))]
    isr, touched = list(s.isr), False
    if s.sizes.elr and unclean:
        isr = [k.all_of(s.isr[each], k.any_of(each != broker, k.not_(s.unclean_shutdown_leaves_elr))) for each in everyone(s)]
        touched = k.any_of(s.isr[broker], s.elr[broker])
    gone = broker if unclean else None
    change = Change(isr, active, assignment_of(s), unclean_shutdown=gone, has_record=touched)
    yield from change_partition(k, s, change, outcome)
    s.is_fenced[broker] = True
    start(k, s, broker)


@action(broker="replica", outcome="outcome", says="broker {broker} registers after an unclean shutdown: {outcome}")
def broker_register(k: Primitives, s: View, broker: int, outcome: int) -> Clauses:
    """The controller's log shows a registration that no clean-shutdown file vouches for: with ELR it leaves ISR and ELR."""
    if s.sizes.elr:
        yield "unclean shutdown", k.not_(s.stopped_cleanly[broker])
    yield from register(k, s, broker, outcome, True)


@action(broker="clean_stop", outcome="outcome", says="broker {broker} registers after a clean stop: {outcome}")
def broker_register_clean(k: Primitives, s: View, broker: int, outcome: int) -> Clauses:
    """A broker registers whose clean-shutdown file names the broker epoch that it had before, so it stays in ISR and ELR."""
    yield "clean shutdown", s.stopped_cleanly[broker]
    yield from register(k, s, broker, outcome, False)
    s.stopped_cleanly[broker] = False


@action(broker="replica", says="broker {broker} stops cleanly", fault="clean_stop")
def broker_stop(k: Primitives, s: View, broker: int) -> Clauses:
    """The process ends cleanly; what the controller did for that, if it did anything, was a step of its own."""
    yield "broker is running", s.is_running[broker]
    if s.sizes.elr:
        s.stopped_cleanly[broker] = True
    stop(k, s, broker)


@action(broker="replica", says="the disk of broker {broker}, which is down, loses the tracked offset", fault="disk_loss")
def broker_lose_down(k: Primitives, s: View, broker: int) -> Clauses:
    """A broker that is down has lost its log from the tracked offset on, which a history may show only once it is back."""
    yield "broker is down", k.not_(s.is_running[broker])
    truncate_to(k, s, broker, 0)


@action(change="one", says="the controller writes a change that the model leaves out (directories, leader recovery)")
def controller_touch(k: Primitives, s: View, change: int) -> Clauses:
    """The controller writes a change that the model leaves out: the partition epoch moves, and the leader has to learn it."""
    yield "a partition", True
    outdate_leader(k, s, True)


@action(change="one", says="the controller moves the leader epoch and keeps the leader")
def controller_renew_leader(k: Primitives, s: View, change: int) -> Clauses:
    """The leader epoch moves, not the leader: a reassignment drops a replica or, until 3.6, the ISR shrinks (KAFKA-15021)."""
    yield "partition has a leader", s.leader != NO_REPLICA
    move_leader_epoch(k, s, True)


def leadership_applied_anew(body: Callable[..., Clauses]) -> Callable[..., Clauses]:
    """Return `body`, which is that of `broker_apply_leadership`, with one effect more: the shown high watermark is 0 again."""

    def taken(k: Primitives, s: View, broker: int) -> Clauses:
        yield from body(k, s, broker)
        s.shown[broker] = 0

    taken.__name__ = "broker_apply_leadership"
    return taken


def settle(k: Primitives, s: View) -> None:
    """Effect, after every step: the counters of `refilled` faults are 1 again, records below a leader's high watermark become
    visible, and what is not asked about is forgotten: what is committed, what a broker that does not lead has shown."""
    for fault in refilled(s.sizes):
        setattr(s, fault.left, 1)
    s.ghost_committed[0] = 0
    for each in everyone(s):
        s.shown[each] = k.ite(leads(s, each), s.shown[each], 0)
    name = unknown_record(s)
    s.ghost_acked[name] = False
    s.is_written[name] = False
    for record in range(s.sizes.retried):
        s.is_written[record] = False
    for record in range(name):
        showing = [
            k.all_of(leads(s, each), s.high_watermark[each] > 0, s.log_record[each][0] == record + 1) for each in everyone(s)
        ]
        s.is_visible[record] = k.any_of(s.is_visible[record], *showing)


@dataclass(frozen=True)
class OneOffsetSizes(KraftSizes):
    """The protocol's sizes for a log of one slot, and what an observation may say."""

    one: int = 1
    two: int = 2
    epoch: int = 3

    @property
    def subset(self) -> int:
        """How many sets of brokers there are, as bits, the empty one and that of all included."""
        return 1 << self.replica

    @property
    def content(self) -> int:
        """How many contents a disk may show at the tracked offset: nothing, or one of the names."""
        return self.record + 1


def one_offset_sizes(configuration: Configuration) -> OneOffsetSizes:
    """Return the sizes that a configuration needs, for logs of one offset."""
    return replace(sizes_of(configuration, OneOffsetSizes), offset=1)


def one_offset_fields(configuration: Configuration) -> tuple[Field, ...]:
    """Return the fields of kraft, whose offsets are at most 1 here, and ghosts of what was seen."""
    seen = (
        flag("is_sent", "record"),
        flag("is_written", "record"),
        flag("is_visible", "record"),
        number("shown", 0, 1, "replica"),
    )
    return tuple(_one_slot(each) for each in fields(configuration)) + seen


def _one_slot(declared: Field) -> Field:
    is_offset = declared.name in ("high_watermark", "fetch_offset", "leader_epoch_start_offset")
    return replace(declared, high=1) if is_offset else declared


def _kept() -> tuple[Action, ...]:
    kept = [each for each in KRAFT.actions if each.name not in SPLIT + REPLACED and not each.name.startswith("consumer")]
    return tuple(
        replace(each, body=leadership_applied_anew(each.body)) if each.name == "broker_apply_leadership" else each
        for each in kept
    )


ONE_OFFSET_ACTIONS = (
    *_kept(),
    leader_append_named,
    follower_take_others,
    follower_truncate_namesake,
    leader_drop,
    broker_register,
    broker_register_clean,
    broker_stop,
    broker_lose_down,
    controller_touch,
    controller_renew_leader,
)
"""The actions of today's protocol, seen at one offset."""
