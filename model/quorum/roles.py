"""What a voter of the controller quorum is."""

from __future__ import annotations

from neverlost.model.kernel import Value
from neverlost.model.system import View

FOLLOWER, CANDIDATE, LEADER = 0, 1, 2
"""Roles; a voter that knows no leader counts as a follower of none."""


def is_leader(s: View, voter: int) -> Value:
    """Return True if a voter leads in its epoch."""
    return s.role[voter] == LEADER


def is_candidate(s: View, voter: int) -> Value:
    """Return True if a voter asks for votes in its epoch."""
    return s.role[voter] == CANDIDATE
