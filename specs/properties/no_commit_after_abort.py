"""What was aborted, or never asked to be committed, is not seen."""

from __future__ import annotations

from typing import Any

from neverlost.model.kernel import Value, implies
from neverlost.model.transactions.state import ABORT, COMMIT, attempts, partitions
from neverlost.model.transactions.visible import is_visible
from neverlost.specs.property import Property


def no_commit_after_abort(k: Any, s: Any) -> Value:
    """By what the application asked for and was answered, not by what the coordinator believes to have decided."""
    return k.all_of(
        *[
            implies(k, is_visible(k, s, each, one), k.all_of(s.asked[each] == COMMIT, s.ghost_answered[each] != ABORT))
            for each in attempts(s)
            for one in partitions(s)
        ]
    )


PROPERTY = Property(
    name="no-commit-after-abort",
    says="a record that can be read is of a transaction whose producer has asked to commit it",
    failure="shows records of a transaction that was aborted or is still open",
    condition=no_commit_after_abort,
    needs=("asked", "ghost_answered", "committed"),
    violated_by="transactions-3.5",
    source="KIP-98, read_committed",
)
