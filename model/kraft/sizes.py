"""Sizes of the modern models: how long the axes are, and which parts of the protocol exist at all.

They are fixed for a search, so Python may decide on them; what can differ between configurations that share a search is in
the frozen fields of the state instead.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeVar

from neverlost.model.faults import (
    CLEAN_STOP,
    CRASH,
    FAULTS,
    FENCE,
    LEADER_MOVE,
    MIN_ISR_CHANGE,
    OF_RACKS,
    OUT,
    RACK_LOSS,
    REASSIGN,
    REQUEST_COPY,
    UNCLEAN_ELECTION,
)
from neverlost.model.kernel import NO_REPLICA, Configuration, Primitives, Sizes, Value
from neverlost.model.kraft.mechanisms import is_on
from neverlost.model.limits import Limits, can_happen, is_counted, limits_of, payer
from neverlost.model.system import View

KEPT = NO_REPLICA - 1
"""The outcome of a change that keeps the leader; others are `NO_REPLICA`, when none can be elected, and the elected replica."""

TO_HIGH_WATERMARK, BY_EPOCH, BY_ITERATED_EPOCHS, ON_FETCH = range(4)
"""Kinds of truncation: before KIP-101, with it, with KIP-279, and since 2.7."""


def is_impaired(k: Primitives, s: View, broker: int) -> Value:
    """Return True if a broker has a replica and is down, fenced, outside the ISR or, as its leader asks, about to leave it.

    A replica that a reassignment adds does not count before it is in the ISR.
    """
    leaders = range(s.sizes.replica)
    removed = [k.all_of(s.leader == each, s.pending[each] == broker, s.leader_isr[each][broker]) for each in leaders]
    impaired = k.any_of(k.not_(s.is_running[broker]), s.is_fenced[broker], k.not_(s.isr[broker]), *removed)
    if not s.sizes.reassignment:
        return impaired
    joining = k.all_of(s.is_adding[broker], k.not_(s.isr[broker]))
    return k.all_of(s.is_replica[broker], k.not_(joining), impaired)


FENCED = "fenced-longest-log"
"""The election policy under which the controller asks replicas for their logs, which refuse older leader epochs then."""

MOST_EPOCHS_OF_A_STEP = 3
"""How often one step moves the leader epoch at most."""


@dataclass(frozen=True)
class KraftSizes(Sizes):
    """Lengths of the axes, and what the layout of the state depends on.

    Units: `replica` counts every broker that has or may get a replica, `first_replicas` those that have one at first;
    `offset` slots of a log; `racks` the number of each replica's rack, empty where that decides nothing; `rack` counts the
    racks, if racks may lose power, else it is 0.
    """

    replica: int
    first_replicas: int
    offset: int
    record: int
    truncation: int
    racks: tuple[int, ...]
    rack: int
    elr: bool
    reassignment: bool
    config_change: bool
    has_retries: bool
    has_consumer: bool
    fenced_fetch: bool
    detects_bounces: bool
    asks_controller: bool
    effective_min_isr: bool
    epochs: bool
    limits: Limits
    stops_cleanly: bool
    truncates_when_removed: bool
    truncates_in_later_epoch: bool
    has_ranks: bool
    fetches_unregistered: bool
    requests_stall: bool
    copies_requests: bool
    late_bytes: bool
    asks_for_logs: bool

    is_impaired = staticmethod(is_impaired)

    @property
    def highest_rank(self) -> int:
        """The largest rank of a leader epoch: one for the controller, each leader, late response, record, and 3 for a step."""
        return 1 + self.replica * (1 + self.late_bytes) + self.record + MOST_EPOCHS_OF_A_STEP

    @property
    def compares_logs(self) -> bool:
        """True if a fetch, or the look-up before it, finds the last entry that the follower's and the leader's log share."""
        return self.truncation == ON_FETCH or (self.truncation == BY_ITERATED_EPOCHS and self.fenced_fetch)

    @property
    def controlled_shutdown(self) -> int:
        """How many brokers have a controlled shutdown as a step: all, or 0 where dying and being fenced does the same."""
        return self.replica if self.elr or self.stops_cleanly else 0

    @property
    def clean_stop(self) -> int:
        """How many brokers' clean stops the controller distinguishes from unclean ones: all with ELR, else none."""
        return self.replica if self.elr else 0

    @property
    def bounce(self) -> int:
        """How many brokers may restart unnoticed by the controller: all, or 0 where it detects that."""
        return 0 if self.detects_bounces else self.replica

    @property
    def late_follower(self) -> int:
        """How many followers may be sent a fetch response after its leader was deposed: all or 0."""
        return self.replica if self.late_bytes else 0

    @property
    def stalling(self) -> int:
        """On how many brokers a produce request may wait while the broker follows and leads again: all or 0."""
        return self.replica if self.requests_stall else 0

    @property
    def unregistered(self) -> int:
        """How many brokers may fetch before they have registered: all or none."""
        return self.replica if self.fetches_unregistered else 0

    @property
    def sending_twice(self) -> int:
        """How many leaders a copied AlterPartition may be handled of late, when they have forgotten it: all or none."""
        return self.replica if self.copies_requests else 0

    @property
    def target(self) -> int:
        """How many sets of brokers there are, as bits, the empty one among them; 0 without reassignments."""
        return 1 << self.replica if self.reassignment else 0

    @property
    def reassigned(self) -> int:
        """How many brokers there are, where the partition may be reassigned; else 0."""
        return self.replica if self.reassignment else 0

    @property
    def asking(self) -> int:
        """How many leaders ask the controller to change the ISR and are answered: all since KIP-497, else none."""
        return self.replica if self.asks_controller else 0

    @property
    def minimum(self) -> int:
        """One more than the largest min.insync.replicas that an operator may set; 0 where that is never changed."""
        return self.first_replicas + 1 if self.config_change else 0

    @property
    def configured(self) -> int:
        """How many brokers learn a changed min.insync.replicas: all where it may change, else none."""
        return self.replica if self.config_change else 0

    @property
    def diverging_reader(self) -> int:
        """How many followers learn from a fetch response that their log diverges: all with truncation on fetch, else none."""
        return self.replica if self.truncation == ON_FETCH else 0

    @property
    def late_responses(self) -> bool:
        """True if a diverging response may truncate a log after its time."""
        return self.truncates_when_removed or self.truncates_in_later_epoch

    @property
    def late_reader(self) -> int:
        """How many followers a diverging response may reach late: all or none."""
        return self.replica if self.late_responses else 0

    @property
    def retried(self) -> int:
        """How many records may be sent again: all or none."""
        return self.record if self.has_retries else 0

    @property
    def consumer(self) -> int:
        """How many consumers there are: one where consumers may crash, else none."""
        return int(self.has_consumer)

    @property
    def elected(self) -> int:
        """How many results an election may have: who is elected and, where the controller asks for logs, who else answered."""
        return self.replica << (self.replica - 1) if self.asks_for_logs else self.replica

    @property
    def kept(self) -> int:
        """How many lengths a power loss may leave a log: 0 to `offset` - 1, and `offset` too where losing nothing is a step."""
        return self.offset + self.limits.harmless_losses

    @property
    def parts(self) -> int:
        """How many ways there are to cut the logs of the largest rack's brokers, each at 0 to `offset`; 1 if no rack fails."""
        most = max(map(self.racks.count, range(self.rack)), default=0)
        return int((self.offset + 1) ** most)

    def parts_kept(self, rack: int, parts: int) -> dict[int, int]:
        """Return by broker where a rack's logs end: `parts` to base `offset` + 1, the last digit for the lowest broker."""
        members = [broker for broker, each in enumerate(self.racks) if each == rack]
        return {broker: parts // (self.offset + 1) ** place % (self.offset + 1) for place, broker in enumerate(members)}

    def paid_by(self, fault: str) -> str:
        """Return the kind of fault whose limit is spent: this one, unless the limits say that another pays for it."""
        return dict(self.limits.payers).get(fault, fault)

    def along(self, axis: str) -> range:
        """Return an axis's values: from 0; of outcomes `KEPT`, `NO_REPLICA` and each `elected` (some kinds: fewer or none)."""
        last = {
            "outcome": self.elected,
            "isr_change_outcome": self.elected if self.reassignment else NO_REPLICA,
            "reassignment_outcome": self.elected if self.reassignment else KEPT,
            "directory_outcome": self.elected if self.reassignment else NO_REPLICA + 1 if self.elr else KEPT,
        }
        return range(KEPT, last[axis]) if axis in last else super().along(axis)


def truncation(configuration: Configuration) -> int:
    """Return which of the four kinds of truncation, `TO_HIGH_WATERMARK` to `ON_FETCH`, a configuration's mechanisms make."""
    if not is_on(configuration, "epoch-truncation"):
        return TO_HIGH_WATERMARK
    if not is_on(configuration, "iterated-truncation"):
        return BY_EPOCH
    return ON_FETCH if is_on(configuration, "truncate-on-fetch") else BY_ITERATED_EPOCHS


def racks(configuration: Configuration) -> tuple[int, ...]:
    """Return the number of each replica's rack, from 0 in the sorted order of rack names; without names each has its own."""
    names = configuration["broker.rack"]
    order = sorted(set(names))
    return tuple(order.index(name) for name in names) or tuple(range(configuration["replication.factor"]))


def has_racks(configuration: Configuration) -> bool:
    """Return True if it matters which replicas share a rack: a fault that strikes racks has a limit that allows it."""
    return any(configuration[each.key] for each in OF_RACKS)


def is_deposed_alive(configuration: Configuration) -> bool:
    """Return True if some fault that can happen ends a leadership while the broker goes on running."""
    return any(can_happen(configuration, each) for each in (LEADER_MOVE, FENCE, OUT, REASSIGN, UNCLEAN_ELECTION))


def _replicas(configuration: Configuration) -> int:
    """Return how many brokers there are: replication.factor, and one more where reassignments may happen."""
    return int(configuration["replication.factor"]) + bool(configuration["faults.reassign"])


ORDERED = "filesystem.ordered"

RECORDS_OF_UNDOING = 2
"""One that is truncated, and one that is put in its place."""

RECORDS_OF_LATE_BYTES = 4
"""Two logs of two records that share none."""


def has_late_bytes(configuration: Configuration) -> bool:
    """Return True if a late response could bring other records than it was read for, given enough records (not asked here).

    It takes three brokers: the follower that takes it, the leader that sends it and the one that the sender follows by then.
    """
    is_dropped = all(is_on(configuration, each) for each in ("newer-epochs-dropped", "older-epochs-dropped"))
    is_known = truncation(configuration) == ON_FETCH and is_on(configuration, "fenced-fetch")
    return is_known and _replicas(configuration) > 2 and not is_dropped


def _late_bytes(configuration: Configuration) -> bool:
    is_shown = configuration["bounds.records"] >= RECORDS_OF_LATE_BYTES and is_deposed_alive(configuration)
    return is_shown and has_late_bytes(configuration)


RECORDS_OF_STALLED_REQUESTS = 2
"""One that is truncated, and one that stands at its offset since."""


def has_stalled_requests(configuration: Configuration) -> bool:
    """Return True if a produce request may outlast the leadership of its append, given enough records (which is not asked)."""
    waits = configuration["acks"] == "all" and _replicas(configuration) > 1
    return waits and not is_on(configuration, "acknowledged-in-epoch-of-append")


def _requests_stall(configuration: Configuration) -> bool:
    is_shown = configuration["bounds.records"] >= RECORDS_OF_STALLED_REQUESTS and is_deposed_alive(configuration)
    return is_shown and has_stalled_requests(configuration)


def _fetches_unregistered(configuration: Configuration) -> bool:
    """Return True if a fetch of a broker that has not registered passes where a registered one's epoch is compared (KIP-903).

    What a broker has when it is proposed, it has when it joins, unless a fault takes it: False where no fault may.
    """
    guards = ("broker-epoch-in-isr", "bounce-detection", "fenced-fetch", "alter-partition")
    is_compared = all(is_on(configuration, each) for each in guards) and not is_on(configuration, "unregistered-fetch-refused")
    loses = any(each.loses_data and can_happen(configuration, each) for each in FAULTS)
    return is_compared and _replicas(configuration) > 1 and loses


def has_request_copies(configuration: Configuration) -> bool:
    """Return True if the controller may commit a copy of a request that it refused; `faults.request_copy` is not asked here."""
    is_refused = is_on(configuration, "alter-partition") and is_on(configuration, "fenced-replicas-kept-out")
    return is_refused and not is_on(configuration, "refusal-outdates-copies") and _replicas(configuration) > 1


Kind = TypeVar("Kind", bound=KraftSizes)


def sizes_of(configuration: Configuration, kind: type[Kind]) -> Kind:
    """Return, as an object of class `kind`, the sizes that a configuration needs: a part that cannot happen takes no room."""
    records, replicas = configuration["bounds.records"], configuration["replication.factor"]
    growing, retries = bool(configuration["faults.reassign"]), configuration["faults.producer_retry"]
    names = racks(configuration) if has_racks(configuration) else ()
    on_fetch = truncation(configuration) == ON_FETCH
    by_epoch = truncation(configuration) == BY_EPOCH or configuration["election.policy"] in ("longest-log", FENCED)
    has_epochs = by_epoch or _late_bytes(configuration)
    return kind(
        replica=replicas + growing,
        first_replicas=replicas,
        offset=records + retries,
        record=records,
        truncation=truncation(configuration),
        racks=names + (NO_REPLICA,) * growing if names else (),
        rack=max(names) + 1 if configuration[RACK_LOSS.key] else 0,
        elr=configuration["eligible.leader.replicas"],
        reassignment=growing,
        config_change=can_happen(configuration, MIN_ISR_CHANGE),
        has_retries=retries > 0,
        has_consumer=configuration["faults.consumer_crash"] > 0,
        fenced_fetch=is_on(configuration, "fenced-fetch"),
        detects_bounces=is_on(configuration, "bounce-detection"),
        asks_controller=is_on(configuration, "alter-partition"),
        effective_min_isr=is_on(configuration, "effective-min-isr"),
        limits=limits_of(configuration, FAULTS),
        stops_cleanly=can_happen(configuration, CLEAN_STOP) and payer(configuration, CLEAN_STOP) is not CRASH,
        truncates_when_removed=on_fetch and not is_on(configuration, "removed-partition-not-truncated"),
        truncates_in_later_epoch=on_fetch and not is_on(configuration, "response-of-older-epoch-ignored"),
        epochs=has_epochs,
        fetches_unregistered=_fetches_unregistered(configuration),
        requests_stall=_requests_stall(configuration),
        copies_requests=has_request_copies(configuration) and can_happen(configuration, REQUEST_COPY),
        late_bytes=_late_bytes(configuration),
        asks_for_logs=configuration["election.policy"] == FENCED,
        has_ranks=has_epochs and not all(is_counted(configuration, each) for each in FAULTS),
    )


def sizes(configuration: Configuration) -> KraftSizes:
    """Return the sizes of the modern models that a configuration needs."""
    return sizes_of(configuration, KraftSizes)
