"""The group's offset, once it may be read, is past every input record whose result can be read."""

from __future__ import annotations

from typing import Any

from neverlost.model.kernel import Value, implies
from neverlost.model.transactions.state import attempts, is_open
from neverlost.model.transactions.visible import is_seen_somewhere
from neverlost.specs.property import Property


def offsets_never_behind(k: Any, s: Any) -> Value:
    """Else the next producer would process it again.  No producer reads it while a commit is undecided (KIP-447)."""
    is_stable = k.not_(is_open(k, s, s.sizes.offsets))
    return k.all_of(
        *[implies(k, k.all_of(is_stable, is_seen_somewhere(k, s, number)), s.group_offset > number) for number in attempts(s)]
    )


PROPERTY = Property(
    name="offsets-never-behind",
    says="where no offset commit is undecided, the group's offset is past every input record whose result can be read",
    failure="would process an input record again",
    condition=offsets_never_behind,
    needs=("group_offset", "input", "committed"),
    violated_by="transactions-4.1",
    source="KIP-98, sendOffsetsToTransaction; KIP-447",
)
