"""Counts that lemmas ask for by name, so that a reading for every number of replicas need not count."""

from __future__ import annotations

from typing import Any

from neverlost.model.faults import Fault
from neverlost.model.kernel import Value, count
from neverlost.model.kraft.state import minimum_isr
from neverlost.model.limits import MOST


def are_few(k: Any, s: Any, struck: list[Value], kind: Fault) -> Value:
    """Return True if a kind's limit is `any`, or `any:N` and at least as many as were struck."""
    return count(k, struck) + MOST + 1 <= getattr(s, kind.limit)


def is_enough_alone(k: Any, s: Any) -> Value:
    """Return True if an ISR of one member has min.insync.replicas members."""
    return minimum_isr(k, s) <= 1
