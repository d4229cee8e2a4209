"""Counts that lemmas ask for by name, so that a reading for every number of replicas need not count."""

from __future__ import annotations

from typing import Any

from neverlost.model.faults import Fault
from neverlost.model.kernel import Value, count
from neverlost.model.kraft.state import minimum_isr
from neverlost.model.limits import MOST


def are_few(k: Any, s: Any, struck: list[Value], kind: Fault) -> Value:
    """Return True if the limit of a kind of fault is `any`, or `any:N` where N is at least how many of `struck` are true."""
    return count(k, struck) + MOST + 1 <= getattr(s, kind.limit)


def is_enough_alone(k: Any, s: Any) -> Value:
    """Return True if one member is enough for an ISR: min.insync.replicas, as the controller counts it, is at most 1."""
    return minimum_isr(k, s) <= 1
