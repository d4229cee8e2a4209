"""What a consumer of the results can read."""

from __future__ import annotations

from neverlost.model.kernel import Primitives, Value
from neverlost.model.system import View
from neverlost.model.transactions.state import attempts, outputs


def copies_seen(k: Primitives, s: View, attempt: int, partition: int) -> Value:
    """Return how many copies of a transaction's record a consumer reads; read_uncommitted adds undecided and aborted ones.

    What is committed is always below the last stable offset, since whatever is undecided came after it.  The group's offset is
    read by committed commits only, whatever the isolation level.
    """
    if partition == s.sizes.offsets:
        return s.committed[attempt][partition]
    early = k.ite(k.any_of(s.reads_uncommitted, k.not_(s.last_stable_offset)), s.undecided[attempt][partition], 0)
    aborted = k.ite(k.all_of(s.reads_uncommitted, s.aborted[attempt][partition]), 1, 0)
    return s.committed[attempt][partition] + early + aborted


def is_visible(k: Primitives, s: View, attempt: int, partition: int) -> Value:
    """Return True if a consumer reads a transaction's record."""
    return copies_seen(k, s, attempt, partition) > 0


def is_there(k: Primitives, s: View, attempt: int, partition: int) -> Value:
    """Return True if a transaction's record is in the log, and not aborted."""
    return s.committed[attempt][partition] + s.undecided[attempt][partition] > 0


def has_effect(k: Primitives, s: View, number: int, partition: int) -> Value:
    """Return True if the result of input record `number` is in the output `partition`, and not aborted."""
    return k.any_of(*[k.all_of(s.input[each] == number, is_there(k, s, each, partition)) for each in attempts(s)])


def effects_seen(k: Primitives, s: View, number: int, partition: int) -> Value:
    """Return how many times a consumer reads the result of input record `number` in the output `partition`."""
    total: Value = 0
    for each in attempts(s):
        total = total + k.ite(s.input[each] == number, copies_seen(k, s, each, partition), 0)
    return total


def is_seen_somewhere(k: Primitives, s: View, number: int) -> Value:
    """Return True if the result of an input record can be read in some output."""
    return k.any_of(*[effects_seen(k, s, number, each) > 0 for each in outputs(s)])
