"""Why KIP-320 keeps a committed record: the lemmas of its proof.

The heart is `committed-survives`: behind every offset below any broker's high watermark there is an epoch in which the whole
ISR had the record, and from then on each member of an ISR, and so each possible leader, has it too and is at least in that
epoch. The other lemmas say what makes that argument go round: leaders are unique per epoch, logs that share an entry share what
is before it, a follower's log is a prefix of its leader's, and a leader whose ISR has not moved on still contains every later
ISR.
"""

from __future__ import annotations

from typing import Any

from neverlost.model.classic.log import same_entry
from neverlost.model.kernel import NO_REPLICA, Value, at, for_every, for_some, implies
from neverlost.specs.lemma import Lemma, Theory


def everyone(s: Any) -> range:
    """All replicas."""
    return range(s.sizes.replica)


def offsets(s: Any) -> range:
    """All offsets."""
    return range(s.sizes.offset)


def leads(s: Any, replica: int) -> Value:
    """The replica believes itself to be the leader."""
    return s.leader[replica] == replica


def is_sent(s: Any, epoch: Value) -> Value:
    """A request of this epoch exists."""
    return epoch < s.next_leader_epoch


def log_shape(k: Any, s: Any) -> list[Value]:
    found: list[Value] = []
    for r in everyone(s):
        found.append(s.high_watermark[r] <= s.log_end_offset[r])
        for o in offsets(s):
            used = s.log_end_offset[r] > o
            found.append(implies(k, used, k.all_of(s.log_record[r][o] <= s.next_record, s.log_record[r][o] >= 1)))
            found.append(implies(k, used, s.log_epoch[r][o] <= s.leader_epoch[r]))
            if o:
                found.append(implies(k, used, s.log_epoch[r][o - 1] <= s.log_epoch[r][o]))
    return found


def epochs_are_issued(k: Any, s: Any) -> list[Value]:
    return [s.leader_epoch[r] < s.next_leader_epoch for r in everyone(s)]


def one_leader_per_epoch(k: Any, s: Any) -> list[Value]:
    return [
        implies(
            k,
            s.leader[r] != NO_REPLICA,
            k.all_of(s.leader_epoch[r] >= 0, at(k, s.request_leader, s.leader_epoch[r]) == s.leader[r]),
        )
        for r in everyone(s)
    ] + [implies(k, s.leader_epoch[r] >= 0, s.leader[r] != NO_REPLICA) for r in everyone(s)]


def leader_is_first(k: Any, s: Any) -> list[Value]:
    return [
        implies(k, s.leader[f] == leader, s.leader_epoch[leader] >= s.leader_epoch[f])
        for leader in everyone(s)
        for f in everyone(s)
        if f != leader
    ]


def leader_is_in_isr(k: Any, s: Any) -> list[Value]:
    found: list[Value] = []
    for r in everyone(s):

        def named(e: Any, r: int = r) -> Value:
            return implies(k, k.all_of(is_sent(s, e), s.request_leader[e] == r), s.request_isr[e][r])

        found.append(implies(k, s.quorum_leader == r, s.quorum_isr[r]))
        found.extend(implies(k, s.leader[f] == r, s.isr[f][r]) for f in everyone(s))
        found.append(for_every(k, s, "epoch", named))
    return found


def newest_leader_owns_isr(k: Any, s: Any) -> list[Value]:
    found: list[Value] = []
    for r in everyone(s):

        def waits(e: Any, r: int = r) -> Value:
            named = k.all_of(s.next_leader_epoch == e + 1, s.request_leader[e] == r, s.leader_epoch[r] < e)
            return implies(k, named, k.all_of(*[s.request_isr[e][m] == s.quorum_isr[m] for m in everyone(s)]))

        newest = k.all_of(leads(s, r), s.leader_epoch[r] == s.next_leader_epoch - 1)
        found.append(implies(k, newest, k.all_of(*[s.isr[r][m] == s.quorum_isr[m] for m in everyone(s)])))
        found.append(for_every(k, s, "epoch", waits))
    return found


def _contains_later(k: Any, s: Any, isr: list[Value], epoch: Value) -> Value:
    """An ISR contains the quorum's, and every request's that is newer than an epoch."""

    def request(later: Any) -> Value:
        newer = k.all_of(is_sent(s, later), epoch < later)
        return implies(k, newer, k.all_of(*[implies(k, s.request_isr[later][m], isr[m]) for m in everyone(s)]))

    quorum = [implies(k, s.quorum_isr[m], isr[m]) for m in everyone(s)]
    return k.all_of(*quorum, for_every(k, s, "epoch", request))


def _none_beyond(k: Any, s: Any, isr: list[Value], epoch: Value) -> Value:
    """No member of an ISR has left an epoch for a newer one."""
    return k.all_of(*[implies(k, isr[m], s.leader_epoch[m] <= epoch) for m in everyone(s)])


def unmoved_isr_contains_later(k: Any, s: Any) -> list[Value]:
    found: list[Value] = []
    for r in everyone(s):

        def waits(e: Any, r: int = r) -> Value:
            isr = [s.request_isr[e][m] for m in everyone(s)]
            named = k.all_of(is_sent(s, e), s.request_leader[e] == r, s.leader_epoch[r] < e)
            return implies(k, k.all_of(named, _none_beyond(k, s, isr, e)), _contains_later(k, s, isr, e))

        isr = list(s.isr[r])
        unmoved = k.all_of(leads(s, r), _none_beyond(k, s, isr, s.leader_epoch[r]))
        found.append(implies(k, unmoved, _contains_later(k, s, isr, s.leader_epoch[r])))
        found.append(for_every(k, s, "epoch", waits))
    return found


def follower_is_prefix(k: Any, s: Any) -> list[Value]:
    found: list[Value] = []
    for leader in everyone(s):
        for f in everyone(s):
            if f == leader:
                continue
            follows = k.all_of(leads(s, leader), s.leader_epoch[f] == s.leader_epoch[leader])
            same = [implies(k, s.log_end_offset[f] > o, same_entry(k, s, f, leader, o)) for o in offsets(s)]
            found.append(implies(k, follows, k.all_of(s.log_end_offset[f] <= s.log_end_offset[leader], *same)))
    return found


def logs_match(k: Any, s: Any) -> list[Value]:
    return [
        implies(k, same_entry(k, s, one, other, o), same_entry(k, s, one, other, o - 1))
        for o in offsets(s)
        for one in everyone(s)
        for other in everyone(s)
        if o and one < other
    ]


def current_epoch_watermark(k: Any, s: Any) -> list[Value]:
    found: list[Value] = []
    for leader in everyone(s):
        for f in everyone(s):
            if f == leader:
                continue
            follows = k.all_of(leads(s, leader), s.leader_epoch[f] == s.leader_epoch[leader])
            for o in offsets(s):
                new = k.all_of(follows, s.high_watermark[f] > o, s.log_epoch[f][o] == s.leader_epoch[f])
                found.append(implies(k, new, s.high_watermark[leader] > o))
    return found


def _survives_since(k: Any, s: Any, replica: int, offset: int, since: Value) -> Value:
    """Everyone in the quorum's ISR or a request's after an epoch has a replica's entry and has reached the epoch."""
    safe = [
        k.all_of(same_entry(k, s, replica, m, offset), s.leader_epoch[m] >= since)
        if m != replica
        else s.leader_epoch[m] >= since
        for m in everyone(s)
    ]

    def request(e: Any) -> Value:
        newer = k.all_of(since < e, is_sent(s, e))
        return implies(k, newer, k.all_of(*[implies(k, s.request_isr[e][m], safe[m]) for m in everyone(s)]))

    quorum = [implies(k, s.quorum_isr[m], safe[m]) for m in everyone(s)]
    return k.all_of(s.leader_epoch[replica] >= since, *quorum, for_every(k, s, "epoch", request))


def committed_survives(k: Any, s: Any) -> list[Value]:
    found: list[Value] = []
    for r in everyone(s):
        for o in offsets(s):

            def since(c: Any, r: int = r, o: int = o) -> Value:
                return _survives_since(k, s, r, o, c)

            found.append(implies(k, s.high_watermark[r] > o, for_some(k, s, "epoch", since)))
    return found


THEORY = Theory(
    models=("kip-320",),
    lemmas=(
        Lemma(
            "log-shape",
            "a high watermark lies in its log, whose records were produced and whose epochs never fall nor exceed the broker's",
            "a leader appends new records under its own epoch, and a broker's epoch only grows",
            log_shape,
        ),
        Lemma(
            "epochs-are-issued",
            "no broker is in an epoch that the controller has not issued",
            "a broker adopts the epoch of a request that was sent",
            epochs_are_issued,
        ),
        Lemma(
            "one-leader-per-epoch",
            "a broker's leader is the one that its epoch's request names",
            "a request is written once, and a broker takes leader and epoch from the same request",
            one_leader_per_epoch,
        ),
        Lemma(
            "leader-is-first",
            "no broker follows a leader that has not reached the follower's epoch",
            "a broker becomes a follower only of a leader that is in the request's epoch",
            leader_is_first,
        ),
        Lemma(
            "leader-is-in-isr",
            "a broker that leads, or is named to lead, is in the ISR that goes with it",
            "the controller elects from the ISR, and removes a leader only with its leadership; a leader never drops itself",
            leader_is_in_isr,
        ),
        Lemma(
            "newest-leader-owns-isr",
            "the current leader's ISR is the quorum's; before it applies its leadership, its request's ISR is",
            "within an epoch only that leader changes the quorum's ISR, and writes its own with it",
            newest_leader_owns_isr,
        ),
        Lemma(
            "unmoved-isr-contains-later",
            "an ISR of which no member has gone on to a newer epoch contains every newer ISR",
            "the controller only shrinks an ISR; only an active leader, which comes from that ISR, extends it",
            unmoved_isr_contains_later,
        ),
        Lemma(
            "follower-is-prefix",
            "a follower in its leader's epoch has a prefix of the leader's log",
            "it truncates to the last shared entry when it begins to follow, and then copies in order",
            follower_is_prefix,
        ),
        Lemma(
            "logs-match",
            "two logs that share an entry share the one before it",
            "a record is appended once, and copied only onto a prefix of its source",
            logs_match,
        ),
        Lemma(
            "current-epoch-watermark",
            "what a follower knows to be committed of the current epoch's records, its leader knows too",
            "such records and the watermark above them come from this leader alone",
            current_epoch_watermark,
        ),
        Lemma(
            "committed-survives",
            "for every offset below any broker's high watermark there is an epoch, not newer than that broker's, since when "
            "everyone in the quorum's or a newer request's ISR has its entry and has reached that epoch",
            "the epoch in which a leader saw its whole ISR, in its own epoch, hold the record",
            committed_survives,
        ),
    ),
)
