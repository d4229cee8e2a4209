"""What transactions promise: effects once and together, offsets beside them, one producer an epoch, and an end."""

from __future__ import annotations

from itertools import combinations
from typing import Any

from neverlost.model.kernel import Value, implies
from neverlost.model.transactions.state import (
    ABORT,
    CLOSED,
    COMMIT,
    INITIALISED,
    attempts,
    everyone,
    is_idle,
    is_open,
    outputs,
    partitions,
)
from neverlost.model.transactions.visible import effects_seen, has_effect, is_seen_somewhere, is_there, is_visible
from neverlost.specs.property import RECOVERY, as_property


@as_property(
    says="where a record or offset of a transaction can be read, each other is in its log, not aborted but perhaps undecided",
    failure="shows a part of a transaction",
    needs=("undecided", "committed", "reads_uncommitted"),
    violated_by="transactions-3.5",
    source="KIP-98, atomicity across partitions",
)
def atomic_visibility(k: Any, s: Any) -> Value:
    """If a record of a transaction can be read, each other is in its log and not aborted; one that is undecided counts, as its
    marker will come."""
    return k.all_of(
        *[
            implies(k, is_visible(k, s, each, one), is_there(k, s, each, other))
            for each in attempts(s)
            for one in partitions(s)
            for other in partitions(s)
            if one != other
        ]
    )


@as_property(
    says="a record is read, at isolation.level, only if its producer asked to commit and was not told that it was aborted",
    failure="shows records of a transaction that was aborted or is still open",
    needs=("asked", "ghost_answered", "committed"),
    violated_by="transactions-3.5",
    source="KIP-98, read_committed",
)
def no_commit_after_abort(k: Any, s: Any) -> Value:
    """A record that can be read is of a transaction that its producer asked to commit, and was not told to be aborted."""
    return k.all_of(
        *[
            implies(k, is_visible(k, s, each, one), k.all_of(s.asked[each] == COMMIT, s.ghost_answered[each] != ABORT))
            for each in attempts(s)
            for one in partitions(s)
        ]
    )


@as_property(
    says="the result of an input record can be read at most once in each output partition",
    failure="shows the result of an input record twice",
    needs=("input", "committed", "reads_uncommitted"),
    violated_by="transactions-3.5",
    source="KIP-98, KIP-129: exactly once",
)
def no_duplicate_effect(k: Any, s: Any) -> Value:
    """The result of an input record can be read once at most in each output, over all transactions that have processed it."""
    return k.all_of(*[effects_seen(k, s, number, each) <= 1 for number in attempts(s) for each in outputs(s)])


@as_property(
    says="every result of a transaction confirmed as committed is in its log and not aborted, though perhaps undecided",
    failure="loses results of a committed transaction",
    needs=("ghost_answered", "committed", "undecided"),
    violated_by="transactions-4.1",
    source="KIP-98; EndTxn is answered after the decision is in __transaction_state",
)
def no_lost_effect(k: Any, s: Any) -> Value:
    """Every result of a transaction that was confirmed as committed is in its log and not aborted, though perhaps undecided."""
    return k.all_of(
        *[
            implies(k, s.ghost_answered[each] == COMMIT, is_there(k, s, each, partition))
            for each in attempts(s)
            for partition in outputs(s)
        ]
    )


@as_property(
    says="every input record below the group's committed offset has its result in each output, committed or undecided",
    failure="skips an input record",
    needs=("group_offset", "input", "committed"),
    violated_by="transactions-4.1",
    source="KIP-98, sendOffsetsToTransaction",
)
def offsets_never_ahead(k: Any, s: Any) -> Value:
    """Every input record below the group's committed offset has its result in each output, not aborted; else it is skipped."""
    return k.all_of(
        *[
            implies(k, s.group_offset > number, has_effect(k, s, number, partition))
            for number in attempts(s)
            for partition in outputs(s)
        ]
    )


@as_property(
    says="where no offset commit is undecided, the group's offset is past every input record whose result can be read",
    failure="would process an input record again",
    needs=("group_offset", "input", "committed"),
    violated_by="transactions-4.1",
    source="KIP-98, sendOffsetsToTransaction; KIP-447",
)
def offsets_never_behind(k: Any, s: Any) -> Value:
    """Where no offset commit is undecided, the group's offset is past each record whose result can be read (KIP-447)."""
    is_stable = k.not_(is_open(k, s, s.sizes.offsets))
    return k.all_of(
        *[implies(k, k.all_of(is_stable, is_seen_somewhere(k, s, number)), s.group_offset > number) for number in attempts(s)]
    )


@as_property(
    says="no two producers that are alive have the same producer id and epoch",
    failure="gives two producers one epoch",
    needs=("phase", "epoch", "producer_epoch"),
    violated_by="transactions-without epoch-bump-on-init",
    source="Vanlightly/kafka-tlaplus, transactions: no two clients with equal (pid, epoch)",
    compares=("producer",),
)
def one_producer_per_epoch(k: Any, s: Any) -> Value:
    """No two producers have one epoch, on which fencing rests; they have it from InitProducerId's answer until they close."""

    def has_epoch(producer: int) -> Value:
        return k.all_of(s.phase[producer] >= INITIALISED, s.phase[producer] != CLOSED)

    return k.all_of(
        True,
        *[
            k.not_(k.all_of(has_epoch(one), has_epoch(other), s.epoch[one] == s.epoch[other]))
            for one, other in combinations(everyone(s), 2)
        ],
    )


@as_property(
    says="every coordinator of a transactional.id has an epoch that none before it had",
    failure="gives two coordinators one epoch",
    needs=("coordinator_epoch", "ghost_coordinators"),
    violated_by="transactions-without coordinator-epoch-bump",
    source="TCsHaveDifferentEpochs of Vanlightly/kafka-tlaplus, transactions",
    compares=("coordinator",),
)
def one_coordinator_per_epoch(k: Any, s: Any) -> Value:
    """Each coordinator has an epoch of its own, by which a partition knows a marker of one that was replaced."""
    return s.coordinator_epoch == s.ghost_coordinators


@as_property(
    says="from every reachable state, without a further fault, every transaction can come to its end, at its coordinator and "
    "in every partition",
    failure="leaves a transaction open for ever, where read_committed consumers stop",
    needs=("undecided", "transaction_state", "needs_marker"),
    violated_by="transactions-3.5",
    source="KAFKA-14402, KAFKA-19999; KIP-890",
    kind=RECOVERY,
)
def no_hanging_transaction(k: Any, s: Any) -> Value:
    """No transaction is open or undecided: from everywhere this must be possible again, by the coordinator's time-out too."""
    return k.all_of(is_idle(k, s), k.not_(k.any_of(*[is_open(k, s, each) for each in partitions(s)])))
