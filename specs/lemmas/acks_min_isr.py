"""Why acks=min.insync.replicas loses nothing where the controller asks for logs: for any number of faults, none of which
takes a record from a log.

It is the argument of Paxos and Raft, in Kafka's words.  A leader answers for a record of its own epoch that min.insync.replicas
replicas have; an election hears replicas - min.insync.replicas + 1 of them, at least one of the former, and they no longer
follow an older leader.  So what an older leader may still acknowledge (`within_reach`) is in the log of every later leader
(`reach-of-older-leaders`), and so is what was acknowledged (`acknowledged-stays`).  How large the ISR is has no part in it, and
the leader and the controller may differ about it.

A record of an older epoch counts only beneath one of the leader's own: else a log that ends in an epoch between the two would
win an election against its copies.
"""

from __future__ import annotations

from typing import Any

from neverlost.model.faults import FAULTS
from neverlost.model.kernel import NO_REPLICA, Configuration, Value, count, implies
from neverlost.model.kraft.broker.high_watermark import is_waited_for
from neverlost.model.kraft.broker.leader import leads
from neverlost.model.kraft.broker.log import EMPTY, epoch_of, holds_record, log_end, offsets
from neverlost.model.kraft.mechanisms import is_on
from neverlost.model.kraft.sizes import FENCED
from neverlost.model.kraft.state import ACKS, ELECTED, everyone, minimum_isr, others
from neverlost.model.limits import can_happen, is_counted
from neverlost.specs.lemma import Theory, as_lemma
from neverlost.specs.lemmas import unimpaired
from neverlost.specs.lemmas.kraft_elr import is_active, no_gaps

NOT_COVERED = ("reassign", "min_isr_change", "unclean_election", "producer_retry", "consumer_crash")
"""The faults that the argument does not cover, beside those that lose data."""


def covers(configuration: Configuration) -> bool:
    """Return True if acks=min.insync.replicas, elections ask for logs and are clean, mechanisms are on, and no fault may happen
    that takes a record or is in `NOT_COVERED`.  Some fault must have no total, too: leader epochs are ranks then, and epochs
    that are counted would leave their bounds.
    """
    asked = configuration["election.policy"] == FENCED and configuration["acks"] == "min.insync.replicas"
    changes = configuration["unclean.leader.election.enable"] or any(configuration[f"faults.{each}"] for each in NOT_COVERED)
    loses = any(each.loses_data and can_happen(configuration, each) for each in FAULTS)
    needed = (*unimpaired.NEEDED, "shrink-keeps-leader-epoch")
    has_ranks = not all(is_counted(configuration, each) for each in FAULTS)
    return bool(asked and has_ranks and not changes and not loses and all(is_on(configuration, each) for each in needed))


def is_elected(k: Any, s: Any, broker: int) -> Value:
    """Return True if a broker is the elected leader and has not applied its leadership yet."""
    return k.all_of(s.leader == broker, s.leader_knows == ELECTED)


def is_later(k: Any, s: Any, broker: int, epoch: Value) -> Value:
    """Return True if a broker leads, or is elected to lead, in a later leader epoch than `epoch`."""
    elected = k.all_of(is_elected(k, s, broker), s.leader_epoch > epoch)
    return k.any_of(elected, k.all_of(leads(s, broker), s.led_epoch[broker] > epoch))


def entry_epoch(k: Any, s: Any, replica: int, offset: int) -> Value:
    """Return the leader epoch of the entry at an offset of a replica's log; -1 where there is no entry."""
    return epoch_of(k, s, s.log_record[replica][offset])


def is_own(k: Any, s: Any, leader: int, offset: int) -> Value:
    """Return True if a broker believes that it leads, and the entry at this offset of its log is of its own leader epoch."""
    return k.all_of(leads(s, leader), entry_epoch(k, s, leader, offset) == s.led_epoch[leader])


def within_reach(k: Any, s: Any, leader: int, offset: int) -> Value:
    """Return True if a leader may yet acknowledge its own entry at an offset, or one to come: enough members of the ISR that it
    knows, itself included, have fetched it or follow the leader."""
    may_be_own = k.any_of(is_own(k, s, leader, offset), s.log_record[leader][offset] == EMPTY)
    members = [
        k.all_of(s.leader_isr[leader][m], k.any_of(s.fetch_offset[leader][m] > offset, s.follows[m] == leader))
        for m in others(s, leader)
    ]
    return k.all_of(leads(s, leader), may_be_own, count(k, [True, *members]) >= minimum_isr(k, s))


@as_lemma(
    "the elected leader is in the ISR and not fenced; it follows nobody before it has applied its leadership, and then "
    "runs and leads; who is followed leads",
    "who is elected has answered, and refuses older epochs; a leader that is fenced is replaced",
)
def leadership(k: Any, s: Any) -> list[Value]:
    found: list[Value] = []
    for r in everyone(s):
        found.append(implies(k, s.leader == r, k.all_of(s.isr[r], k.not_(s.is_fenced[r]))))
        found.append(implies(k, is_active(k, s, r), k.all_of(s.is_running[r], leads(s, r))))
        found.append(implies(k, is_elected(k, s, r), s.follows[r] == NO_REPLICA))
        found.append(implies(k, s.follows[r] != NO_REPLICA, s.is_running[r]))
        found += [implies(k, s.follows[r] == leader, leads(s, leader)) for leader in others(s, r)]
    return found


@as_lemma(
    "no two brokers lead in one epoch, and only the elected leader in the newest",
    "each election begins an epoch, in which one broker applies its leadership",
)
def led_epochs(k: Any, s: Any) -> list[Value]:
    found: list[Value] = []
    for r in everyone(s):
        found.append(implies(k, is_active(k, s, r), s.led_epoch[r] == s.leader_epoch))
        found.append(implies(k, k.all_of(leads(s, r), k.not_(is_active(k, s, r))), s.led_epoch[r] < s.leader_epoch))
        for other in others(s, r):
            both = k.all_of(leads(s, r), leads(s, other))
            found.append(implies(k, both, s.led_epoch[r] != s.led_epoch[other]))
    return found


@as_lemma(
    "a log's epochs do not fall, and none is above that of the leader that its replica follows",
    "a leader appends in its own epoch, and a replica that follows one later has truncated what that one lacks",
)
def epochs_of_records(k: Any, s: Any) -> list[Value]:
    found: list[Value] = []
    for r in everyone(s):
        for o in offsets(s):
            epoch = entry_epoch(k, s, r, o)
            found.append(s.log_record[r][o] <= s.next_record)
            found.append(epoch <= s.leader_epoch)
            if o:
                found.append(implies(k, s.log_record[r][o] != EMPTY, entry_epoch(k, s, r, o - 1) <= epoch))
            for leader in everyone(s):
                found.append(implies(k, s.follows[r] == leader, epoch <= s.led_epoch[leader]))
                waits = k.all_of(is_elected(k, s, leader), s.is_running[leader])
                found.append(implies(k, waits, epoch < s.leader_epoch))
    return found


@as_lemma(
    "a record has one offset and the same records before it in every log; those of one epoch are its leader's",
    "one broker appends in an epoch; others copy its log in order",
)
def one_log_per_epoch(k: Any, s: Any) -> list[Value]:
    found: list[Value] = []
    for r in everyone(s):
        for o in offsets(s):
            here, epoch = s.log_record[r][o], entry_epoch(k, s, r, o)
            exists = here != EMPTY
            for other in everyone(s):
                own = k.all_of(exists, leads(s, other), epoch == s.led_epoch[other])
                found.append(implies(k, own, s.log_record[other][o] == here))
                for p in offsets(s):
                    if p != o:
                        found.append(implies(k, exists, s.log_record[other][p] != here))
                    if p >= o:
                        later = k.all_of(exists, entry_epoch(k, s, other, p) == epoch)
                        found.append(implies(k, later, s.log_record[other][o] == here))
                    if p < o:
                        same = k.all_of(exists, s.log_record[other][o] == here)
                        found.append(implies(k, same, s.log_record[other][p] == s.log_record[r][p]))
    return found


@as_lemma(
    "high watermarks and fetch offsets lie in the log; none that a leader waits for is seen below its high watermark",
    "a fetch agrees with the leader's log before it counts",
)
def offsets_are_in_the_log(k: Any, s: Any) -> list[Value]:
    found: list[Value] = []
    for r in everyone(s):
        found.append(s.high_watermark[r] <= log_end(k, s, r))
        for m in others(s, r):
            found.append(s.fetch_offset[r][m] <= log_end(k, s, r))
            waits = k.all_of(leads(s, r), is_waited_for(k, s, r, m))
            found.append(implies(k, waits, s.fetch_offset[r][m] >= s.high_watermark[r]))
    return found


@as_lemma(
    "a replica that was seen to have a leader's own record has it, while that may count, and follows no older leader",
    "it truncates only to a later leader's log, which has the record",
)
def fetched_is_there(k: Any, s: Any) -> list[Value]:
    found: list[Value] = []
    for leader in everyone(s):
        for o in offsets(s):
            counts = k.all_of(is_own(k, s, leader, o), k.any_of(is_active(k, s, leader), within_reach(k, s, leader, o)))
            for m in others(s, leader):
                fetched = k.all_of(counts, s.fetch_offset[leader][m] > o)
                found.append(implies(k, fetched, s.log_record[m][o] == s.log_record[leader][o]))
                for followed in everyone(s):
                    not_older = s.led_epoch[followed] >= s.led_epoch[leader]
                    found.append(implies(k, k.all_of(fetched, s.follows[m] == followed), not_older))
    return found


@as_lemma(
    "what an older leader may still acknowledge is in the log of every later leader, and of who has a later record",
    "one of those who answered at the election has it, and the longest log of a later epoch is no shorter",
)
def reach_of_older_leaders(k: Any, s: Any) -> list[Value]:
    found: list[Value] = []
    for leader in everyone(s):
        for o in offsets(s):
            reached, here = within_reach(k, s, leader, o), s.log_record[leader][o]
            for r in others(s, leader):
                newer = [entry_epoch(k, s, r, p) > s.led_epoch[leader] for p in offsets(s)]
                beyond = k.any_of(is_later(k, s, r, s.led_epoch[leader]), *newer)
                found.append(implies(k, k.all_of(reached, beyond), k.all_of(here != EMPTY, s.log_record[r][o] == here)))
    return found


@as_lemma(
    "min.insync.replicas replicas have an acknowledged record, and each later leader has it",
    "so many had it when it was acknowledged, and none drops what the leader that it follows has",
    only_for="acked-never-lost",
)
def acknowledged_stays(k: Any, s: Any) -> list[Value]:
    def stays(record: int, last: int) -> Value:
        epoch, holds = s.record_epoch[last], [holds_record(k, s, r, last) for r in everyone(s)]
        found = [s.ghost_acked[last], count(k, holds) >= minimum_isr(k, s)]
        for r in everyone(s):
            newer = [entry_epoch(k, s, r, p) > epoch for p in offsets(s)]
            found.append(implies(k, k.any_of(is_later(k, s, r, epoch), *newer), holds[r]))
            found.append(implies(k, holds[r], holds_record(k, s, r, record)))
        return k.all_of(*found)

    records = range(s.sizes.record)
    asked = s.acks == ACKS["min.insync.replicas"]
    return [implies(k, k.all_of(asked, s.ghost_acked[n]), k.any_of(*[stays(n, last) for last in records])) for n in records]


THEORY = Theory(
    models=("kraft",),
    covers=covers,
    lemmas=(
        no_gaps,
        leadership,
        led_epochs,
        unimpaired.only_leaders_remember,
        unimpaired.leader_waits_for_isr,
        epochs_of_records,
        one_log_per_epoch,
        offsets_are_in_the_log,
        fetched_is_there,
        reach_of_older_leaders,
        acknowledged_stays,
    ),
)
