"""Why KIP-320 keeps a committed record: the lemmas of its proof.

The heart is `committed-survives`: behind every offset below any broker's high watermark there is an epoch in which the whole
ISR had the record, and from then on each member of an ISR, and so each possible leader, has it too and is at least in that
epoch. The other lemmas say what makes that argument go round: leaders are unique per epoch, logs that share an entry share what
is before it, a follower's log is a prefix of its leader's, and a leader whose ISR has not moved on still contains every later
ISR.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from neverlost.model.classic.log import same_entry
from neverlost.model.kernel import NO_REPLICA, Value, at, for_every, for_some, implies
from neverlost.specs.lemma import Theory, as_lemma, each_of


def each_offset(k: Any, s: Any, body: Callable[[Any], list[Value]]) -> list[Value]:
    """Return the conjuncts that `body` gives for each offset, or one about all where logs have no bound."""
    return each_of(k, s, "offset", body)


def each_below(k: Any, s: Any, offset: Any, body: Callable[[Any], list[Value]]) -> list[Value]:
    """Return the conjuncts that `body` gives for each offset below `offset`: as implications, unless `offset` is a number."""
    if isinstance(offset, int):
        return [conjunct for each in range(offset) for conjunct in body(each)]
    return each_offset(k, s, lambda each: [implies(k, each < offset, conjunct) for conjunct in body(each)])


def each_replica(k: Any, s: Any, body: Callable[[Any], list[Value]]) -> list[Value]:
    """Return the conjuncts that `body` gives for each replica, or one about all where their number has no bound."""
    return each_of(k, s, "replica", body)


def each_pair(k: Any, s: Any, body: Callable[[Any, Any], list[Value]]) -> list[Value]:
    """Return the conjuncts that `body` gives for each pair of two different replicas, in both orders."""

    def second(one: Any, other: Any) -> list[Value]:
        return [implies(k, one != other, each) for each in body(one, other)]

    return each_replica(k, s, lambda one: each_replica(k, s, lambda other: second(one, other)))


def all_replicas(k: Any, s: Any, body: Callable[[Any], Value]) -> Value:
    """Return True if a condition holds for every replica."""
    return for_every(k, s, "replica", body)


def leads(s: Any, replica: int) -> Value:
    """Return True if a replica believes that it is the leader."""
    return s.leader[replica] == replica


def is_sent(s: Any, epoch: Value) -> Value:
    """Return True if the controller has issued this leader epoch, in a request to the brokers."""
    return epoch < s.next_leader_epoch


@as_lemma(
    "a high watermark lies in its log, whose records were produced and whose epochs never fall nor exceed the broker's",
    "a leader appends new records under its own epoch, and a broker's epoch only grows",
)
def log_shape(k: Any, s: Any) -> list[Value]:
    def of_replica(r: Any) -> list[Value]:
        def at_offset(o: Any) -> list[Value]:
            used = s.log_end_offset[r] > o
            produced = k.all_of(s.log_record[r][o] <= s.next_record, s.log_record[r][o] >= 1)
            owned = s.log_epoch[r][o] <= s.leader_epoch[r]
            rising = each_below(k, s, o, lambda p: [implies(k, used, s.log_epoch[r][p] <= s.log_epoch[r][o])])
            return [implies(k, used, produced), implies(k, used, owned), *rising]

        return [s.high_watermark[r] <= s.log_end_offset[r], *each_offset(k, s, at_offset)]

    return each_replica(k, s, of_replica)


@as_lemma("no broker is in an epoch that the controller has not issued", "a broker adopts the epoch of a request that was sent")
def epochs_are_issued(k: Any, s: Any) -> list[Value]:
    return each_replica(k, s, lambda r: [s.leader_epoch[r] < s.next_leader_epoch])


@as_lemma(
    "a broker's leader is the one that its epoch's request names",
    "a request is written once, and a broker takes leader and epoch from the same request",
)
def one_leader_per_epoch(k: Any, s: Any) -> list[Value]:
    def of_replica(r: Any) -> list[Value]:
        named = k.all_of(s.leader_epoch[r] >= 0, at(k, s.request_leader, s.leader_epoch[r]) == s.leader[r])
        has_leader = s.leader[r] != NO_REPLICA
        return [implies(k, has_leader, named), implies(k, s.leader_epoch[r] >= 0, has_leader)]

    return each_replica(k, s, of_replica)


@as_lemma(
    "no broker follows a leader that has not reached the follower's epoch",
    "a broker becomes a follower only of a leader that is in the request's epoch",
)
def leader_is_first(k: Any, s: Any) -> list[Value]:
    return each_pair(k, s, lambda leader, f: [implies(k, s.leader[f] == leader, s.leader_epoch[leader] >= s.leader_epoch[f])])


@as_lemma(
    "a broker that leads, or is named to lead, is in the ISR that goes with it",
    "the controller elects from the ISR, and removes a leader only with its leadership; a leader never drops itself",
)
def leader_is_in_isr(k: Any, s: Any) -> list[Value]:
    def of_replica(r: Any) -> list[Value]:
        def named(e: Any) -> Value:
            return implies(k, k.all_of(is_sent(s, e), s.request_leader[e] == r), s.request_isr[e][r])

        followed = each_replica(k, s, lambda f: [implies(k, s.leader[f] == r, s.isr[f][r])])
        return [implies(k, s.quorum_leader == r, s.quorum_isr[r]), *followed, for_every(k, s, "epoch", named)]

    return each_replica(k, s, of_replica)


@as_lemma(
    "the current leader's ISR is the quorum's; before it applies its leadership, its request's ISR is",
    "within an epoch only that leader changes the quorum's ISR, and writes its own with it",
)
def newest_leader_owns_isr(k: Any, s: Any) -> list[Value]:
    def is_quorums(isr: Any) -> Value:
        return all_replicas(k, s, lambda m: isr[m] == s.quorum_isr[m])

    def of_replica(r: Any) -> list[Value]:
        def waits(e: Any) -> Value:
            named = k.all_of(s.next_leader_epoch == e + 1, s.request_leader[e] == r, s.leader_epoch[r] < e)
            return implies(k, named, is_quorums(s.request_isr[e]))

        newest = k.all_of(leads(s, r), s.leader_epoch[r] == s.next_leader_epoch - 1)
        return [implies(k, newest, is_quorums(s.isr[r])), for_every(k, s, "epoch", waits)]

    return each_replica(k, s, of_replica)


def _contains_later(k: Any, s: Any, isr: Any, epoch: Value) -> Value:
    """Return True if an ISR contains the controller quorum's, and the ISR of every request of a newer epoch than `epoch`."""

    def contains(other: Any) -> Value:
        return all_replicas(k, s, lambda m: implies(k, other[m], isr[m]))

    def request(later: Any) -> Value:
        newer = k.all_of(is_sent(s, later), epoch < later)
        return implies(k, newer, contains(s.request_isr[later]))

    return k.all_of(contains(s.quorum_isr), for_every(k, s, "epoch", request))


def _some_beyond(k: Any, s: Any, isr: Any, epoch: Value) -> Value:
    """Return True if some member of an ISR is in a newer epoch than `epoch`."""
    return for_some(k, s, "replica", lambda m: k.all_of(isr[m], s.leader_epoch[m] > epoch))


@as_lemma(
    "an ISR of which no member has gone on to a newer epoch contains every newer ISR",
    "the controller only shrinks an ISR; only an active leader, which comes from that ISR, extends it",
)
def unmoved_isr_contains_later(k: Any, s: Any) -> list[Value]:
    def of_replica(r: Any) -> list[Value]:
        def moved_or_contains(isr: Any, epoch: Value) -> Value:
            return k.any_of(_some_beyond(k, s, isr, epoch), _contains_later(k, s, isr, epoch))

        def waits(e: Any) -> Value:
            named = k.all_of(is_sent(s, e), s.request_leader[e] == r, s.leader_epoch[r] < e)
            return implies(k, named, moved_or_contains(s.request_isr[e], e))

        owned = implies(k, leads(s, r), moved_or_contains(s.isr[r], s.leader_epoch[r]))
        return [owned, for_every(k, s, "epoch", waits)]

    return each_replica(k, s, of_replica)


@as_lemma(
    "a follower in its leader's epoch has a prefix of the leader's log",
    "it truncates to the last shared entry when it begins to follow, and then copies in order",
)
def follower_is_prefix(k: Any, s: Any) -> list[Value]:
    def of_pair(leader: Any, f: Any) -> list[Value]:
        follows = k.all_of(leads(s, leader), s.leader_epoch[f] == s.leader_epoch[leader])
        same = each_offset(k, s, lambda o: [implies(k, s.log_end_offset[f] > o, same_entry(k, s, f, leader, o))])
        return [implies(k, follows, k.all_of(s.log_end_offset[f] <= s.log_end_offset[leader], *same))]

    return each_pair(k, s, of_pair)


@as_lemma(
    "two logs that share an entry share every one before it",
    "a record is appended once, and copied only onto a prefix of its source",
)
def logs_match(k: Any, s: Any) -> list[Value]:
    def of_pair(one: Any, other: Any) -> list[Value]:
        def at_offset(o: Any) -> list[Value]:
            shared = same_entry(k, s, one, other, o)
            return each_below(k, s, o, lambda p: [implies(k, shared, same_entry(k, s, one, other, p))])

        return each_offset(k, s, at_offset)

    return each_pair(k, s, of_pair)


@as_lemma(
    "what a follower knows to be committed of the current epoch's records, its leader knows too",
    "such records and the watermark above them come from this leader alone",
)
def current_epoch_watermark(k: Any, s: Any) -> list[Value]:
    def of_pair(leader: Any, f: Any) -> list[Value]:
        follows = k.all_of(leads(s, leader), s.leader_epoch[f] == s.leader_epoch[leader])

        def new(o: Any) -> Value:
            return k.all_of(follows, s.high_watermark[f] > o, s.log_epoch[f][o] == s.leader_epoch[f])

        return each_offset(k, s, lambda o: [implies(k, new(o), s.high_watermark[leader] > o)])

    return each_pair(k, s, of_pair)


def _survives_since(k: Any, s: Any, replica: Any, offset: Any, since: Value) -> Value:
    """Return True if a replica has reached epoch `since`, and so has each member of the quorum's ISR and of the ISR of every
    request with a later epoch than `since`, and each of these members has the replica's entry at the offset."""

    def safe(isr: Any) -> Value:
        def member(m: Any) -> Value:
            has_entry = k.any_of(m == replica, same_entry(k, s, replica, m, offset))
            return implies(k, isr[m], k.all_of(has_entry, s.leader_epoch[m] >= since))

        return all_replicas(k, s, member)

    def request(e: Any) -> Value:
        return implies(k, k.all_of(since < e, is_sent(s, e)), safe(s.request_isr[e]))

    return k.all_of(s.leader_epoch[replica] >= since, safe(s.quorum_isr), for_every(k, s, "epoch", request))


@as_lemma(
    "for every offset below any broker's high watermark there is an epoch, not newer than that broker's, since when "
    "everyone in the quorum's or a newer request's ISR has its entry and has reached that epoch",
    "the epoch in which a leader saw its whole ISR, in its own epoch, hold the record",
)
def committed_survives(k: Any, s: Any) -> list[Value]:
    def of_replica(r: Any) -> list[Value]:
        def since(o: Any) -> Value:
            return for_some(k, s, "epoch", lambda c: _survives_since(k, s, r, o, c))

        return each_offset(k, s, lambda o: [implies(k, s.high_watermark[r] > o, since(o))])

    return each_replica(k, s, of_replica)


THEORY = Theory(
    models=("kip-320",),
    lemmas=(
        log_shape,
        epochs_are_issued,
        one_leader_per_epoch,
        leader_is_first,
        leader_is_in_isr,
        newest_leader_owns_isr,
        unmoved_isr_contains_later,
        follower_is_prefix,
        logs_match,
        current_epoch_watermark,
        committed_survives,
    ),
)
