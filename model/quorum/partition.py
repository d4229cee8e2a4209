"""A partition whose controller is a quorum: decisions are records of the controllers' log, and brokers act on what they learn.

The partition is as small as the question allows: one record, copies that never lose it, and two decisions, to take a copy out
of the ISR and to make another the leader.  What can go wrong is in the controllers' log alone: what is lost here is lost by
metadata.  Brokers learn all decisions at one moment.  If the quorum has lost some they learn what it has now: a broker that has
replayed beyond the new leader's log stops, and comes back with the log that the quorum has.
"""

from __future__ import annotations

from neverlost.model.kernel import Clauses, Primitives, Value, action, count
from neverlost.model.kraft.broker.log import has_room, offsets
from neverlost.model.quorum.log import append_as_leader
from neverlost.model.quorum.roles import is_leader
from neverlost.model.quorum.voters import commit_alone, everyone
from neverlost.model.system import View


def copies(s: View) -> range:
    """Return all replicas of the partition."""
    return range(s.sizes.copy)


def leader_by(k: Primitives, s: View, decision: Value, copy: int) -> Value:
    """Return True if a decision (0: none yet) makes a copy the leader; the first one leads at first."""
    found: Value = k.all_of(decision == 0, copy == 0)
    for record in range(s.sizes.record):
        found = k.any_of(found, k.all_of(decision == record + 1, s.decided_leader[record] == copy))
    return found


def in_isr_by(k: Primitives, s: View, decision: Value, copy: int) -> Value:
    """Return True if a copy is in the ISR after a decision (0: none yet); all are at first."""
    found: Value = decision == 0
    for record in range(s.sizes.record):
        found = k.any_of(found, k.all_of(decision == record + 1, s.decided_isr[record][copy]))
    return found


def last_decision(k: Primitives, s: View, controller: int, end: Value) -> Value:
    """Return the last decision of a controller's log before an offset; 0 for none."""
    found: Value = 0
    for offset in offsets(s):
        here = s.log_record[controller][offset]
        is_decision = k.all_of(end > offset, here > 0, here <= s.sizes.record)
        found = k.ite(is_decision, here, found)
    return found


def decide(k: Primitives, s: View, controller: int, leader: list[Value], isr: list[Value]) -> None:
    """Effect: the controller appends a decision: the copy flagged in `leader` leads, and those flagged in `isr` are the ISR."""
    record = s.next_record + 1
    s.next_record = record
    for each in range(s.sizes.record):
        here = record == each + 1
        s.record_epoch[each] = k.ite(here, s.epoch[controller], s.record_epoch[each])
        for copy in copies(s):
            s.decided_isr[each][copy] = k.any_of(k.all_of(here, isr[copy]), k.all_of(k.not_(here), s.decided_isr[each][copy]))
            s.decided_leader[each] = k.ite(k.all_of(here, leader[copy]), copy, s.decided_leader[each])
    append_as_leader(k, s, controller, record)
    commit_alone(k, s, controller)


def active(k: Primitives, s: View, controller: int) -> Clauses:
    """Clauses: this controller believes it is the active one, and can append."""
    yield "is active", k.all_of(s.is_running[controller], is_leader(s, controller))
    yield "bound: a decision is left", s.next_record < s.sizes.record
    yield "bound: a slot is left", has_room(k, s, controller)


@action(candidate="replica", copy="copy", says="controller {candidate} decides to take {copy} out of the ISR")
def controller_shrink(k: Primitives, s: View, candidate: int, copy: int) -> Clauses:
    """The leader has asked to drop a slow follower, or the controller fences it: a record of the metadata log.

    Source: ReplicationControlManager.alterPartition, handleBrokerFenced.
    """
    yield from active(k, s, candidate)
    now = last_decision(k, s, candidate, s.sizes.offset)
    yield "is in the ISR", in_isr_by(k, s, now, copy)
    yield "does not lead", k.not_(leader_by(k, s, now, copy))
    isr = [k.all_of(each != copy, in_isr_by(k, s, now, each)) for each in copies(s)]
    decide(k, s, candidate, [leader_by(k, s, now, each) for each in copies(s)], isr)


@action(candidate="replica", copy="copy", says="controller {candidate} elects {copy}, from the ISR")
def controller_elect(k: Primitives, s: View, candidate: int, copy: int) -> Clauses:
    """Another ISR member leads, and the leader before it leaves the ISR.  Source: PartitionChangeBuilder.electLeader."""
    yield from active(k, s, candidate)
    now = last_decision(k, s, candidate, s.sizes.offset)
    yield "is in the ISR", in_isr_by(k, s, now, copy)
    yield "does not lead", k.not_(leader_by(k, s, now, copy))
    isr = [k.all_of(in_isr_by(k, s, now, each), k.not_(leader_by(k, s, now, each))) for each in copies(s)]
    decide(k, s, candidate, [each == copy for each in copies(s)], isr)


@action(leader="replica", says="brokers replay what {leader} has committed")
def brokers_learn(k: Primitives, s: View, leader: int) -> Clauses:
    """All brokers replay the log of the leader of the newest epoch, up to its high watermark; without that rule all of it.

    Source: KafkaRaftClient observers; MetadataLoader.handleCommit.
    """
    yield "leads", k.all_of(s.is_running[leader], is_leader(s, leader))
    newest = [s.epoch[each] <= s.epoch[leader] for each in everyone(s)]
    yield "knows of no newer epoch", k.all_of(*newest)
    end = k.ite(s.learn_committed, s.high_watermark[leader], s.sizes.offset)
    found = last_decision(k, s, leader, end)
    yield "bound: something new", found != s.learned
    yield "has committed in its epoch", k.any_of(k.not_(s.learn_committed), s.high_watermark[leader] > 0)
    ahead = [k.all_of(s.log_record[leader][each] == s.learned, s.learned != 0, end <= each) for each in offsets(s)]
    yield "brokers are not ahead of it", k.not_(k.any_of(*ahead))
    s.learned = found


@action(copy="copy", says="broker {copy}, which leads, appends m1")
def leader_append(k: Primitives, s: View, copy: int) -> Clauses:
    """The producer's record reaches the leader of which brokers have learned.  Source: Partition.appendRecordsToLeader."""
    yield "leads", leader_by(k, s, s.learned, copy)
    yield "bound: not there yet", k.not_(s.has_data[copy])
    yield "bound: sent once", k.not_(s.was_sent)
    s.has_data[copy] = True
    s.was_sent = True


@action(copy="copy", says="broker {copy} follows the leader, in what it has and in what it has not")
def follower_fetch(k: Primitives, s: View, copy: int) -> Clauses:
    """A follower copies the leader's log, or truncates to it.  Source: ReplicaFetcherThread."""
    led = k.any_of(False, *[k.all_of(leader_by(k, s, s.learned, each), s.has_data[each]) for each in copies(s)])
    yield "bound: differs", led != s.has_data[copy]
    s.has_data[copy] = led


@action(says="the producer's m1 is acknowledged")
def leader_acknowledge(k: Primitives, s: View) -> Clauses:
    """Every member of the ISR of which brokers have learned has the record, and they are enough.

    Source: Partition.maybeIncrementLeaderHW.
    """
    isr = [in_isr_by(k, s, s.learned, each) for each in copies(s)]
    yield "the ISR has it", k.all_of(*[k.any_of(k.not_(isr[each]), s.has_data[each]) for each in copies(s)])
    yield "enough replicas", count(k, isr) >= s.least_isr
    yield "bound: not yet", k.not_(s.ghost_data_acked)
    s.ghost_data_acked = True
