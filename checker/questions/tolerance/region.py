"""A region of the tolerance table, asked as one question: how many may be out while 0, 1, 2, ... have lost data."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from neverlost.model.any_number import AnyNumber
from neverlost.model.faults import DATA_LOSS, KILL, LEADER_MOVE, OUT
from neverlost.model.limits import AT_ONCE


@dataclass(frozen=True)
class Region:
    """`out_beside[n]` says how many replicas may be out while `n` others have lost data; more than the last `n` never have."""

    out_beside: tuple[int, ...]

    def contains(self, lost: int, out: int) -> bool:
        """Return True if in the region `lost` brokers may have lost data while `out` others are out."""
        return lost < len(self.out_beside) and out <= self.out_beside[lost]

    def limits(self, kills_count_as: str) -> dict[str, int | AnyNumber]:
        """Return the fault limits that say: never outside the region, with any number of leader moves.  `kills_count_as` is
        `lost` where a killed broker counts as one that has lost data, else `out`."""
        losing, first = len(self.out_beside) - 1, self.out_beside[0]
        data = AnyNumber(losing) if losing else 0
        out = AnyNumber(first, self.out_beside if losing else ()) if first else 0
        kind, limit = (DATA_LOSS, data) if kills_count_as == "lost" else (OUT, out)
        kill = AnyNumber(counts_as=kind.name) if limit else 0
        return {DATA_LOSS.key: data, OUT.key: out, KILL.key: kill, LEADER_MOVE.key: AnyNumber()}


def all_but_one(replicas: int) -> tuple[Region, dict[str, int | AnyNumber]]:
    """Return the region in which one replica is always unimpaired, and its fault limits: any number of losses of data, brokers
    out, kills and leader moves, over time, while at most `replicas` - 1 brokers are impaired at once."""
    limits = dict.fromkeys((DATA_LOSS.key, OUT.key, KILL.key, LEADER_MOVE.key), AnyNumber())
    return Region(tuple(range(replicas - 1, -1, -1))), limits | {AT_ONCE: replicas - 1}


def usual(configuration: Mapping[str, Any]) -> Region:
    """Return the region that the atlas asks about with acks=all and without unclean election.

    Any number may be out while none has lost data.  Else at least one that has not lost data is in sync; with eligible leader
    replicas all of these may be out too, as long as fewer than min.insync.replicas have lost data.
    """
    replicas, elr = configuration["replication.factor"], configuration["eligible.leader.replicas"]
    remembered = configuration["min.insync.replicas"] if elr else 0
    return Region((replicas, *(replicas - lost - (lost >= remembered) for lost in range(1, replicas))))


def kills_count_as(configuration: Mapping[str, Any]) -> str:
    """Return what a killed broker counts as: "lost" with eligible leader replicas, as it leaves the ELR; else "out"."""
    return "lost" if configuration["eligible.leader.replicas"] else "out"
