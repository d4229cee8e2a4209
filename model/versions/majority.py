"""majority: the same producers and faults on a majority-quorum log, because every design review asks "why not just Raft?"."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from neverlost.model.kernel import Configuration, Field, Model, flag, number, replica_id
from neverlost.model.kraft.state import ACKS, ELECTED, UP_TO_DATE
from neverlost.model.majority import protocol as quorum_log
from neverlost.model.scene import DOWN, FOLLOWER, LEADER, STALE_LEADER, WAITING, Lane, Scene, members, named

BUDGETS = ("crash", "lossy_crash", "disk_loss", "leader_move")


def sizes(configuration: Configuration) -> dict[str, int]:
    """Axes; every failure of a leader and every move brings a term."""
    replicas, records = configuration["replication.factor"], configuration["bounds.records"]
    terms = 1 + sum(configuration[f"faults.{each}"] for each in BUDGETS)
    return {
        "replica": replicas,
        "offset": records,
        "record": records,
        "term": terms,
        "ballot": 2**replicas,
        "compares_logs": 1,
        "fenced_fetch": 1,
    }


def fields(configuration: Configuration) -> tuple[Field, ...]:
    """Every variable, by who knows it."""
    size = sizes(configuration)
    replicas, records, last_term = size["replica"], size["record"], size["term"] - 1
    return (
        number("acks", 0, 2, frozen=True),
        flag("flushes_each_record", frozen=True),
        # what everyone could find out: who won the newest election, and whether it still runs
        replica_id("leader", replicas),
        number("leader_knows", ELECTED, UP_TO_DATE),
        number("newest_term", 0, last_term),
        # on disk
        number("log_record", 0, records, "replica", "offset"),
        number("term", 0, last_term, "replica"),
        # in memory
        flag("is_running", "replica"),
        replica_id("follows", replicas, "replica"),
        number("high_watermark", 0, records, "replica"),
        number("fetch_offset", 0, records, "replica", "replica"),
        # clients and ghosts
        number("next_record", 0, records),
        number("record_epoch", 0, last_term, "record"),
        flag("ghost_acked", "record"),
        number("ghost_committed", 0, records, "offset"),
        *[number(f"{each}_left", 0, configuration[f"faults.{each}"]) for each in BUDGETS],
    )


def initial(configuration: Configuration) -> list[dict[str, Any]]:
    """One leader that everyone follows, and empty logs."""
    return [
        {
            "leader": 0,
            "leader_knows": UP_TO_DATE,
            "is_running": True,
            "follows": 0,
            **{f"{each}_left": configuration[f"faults.{each}"] for each in BUDGETS},
        }
    ]


def portrait(values: Mapping[str, Any]) -> Scene:
    """Every broker with its log and term; there is no ISR."""
    epochs = values["record_epoch"]
    lanes = []
    for replica, log in enumerate(values["log_record"]):
        follows, is_running = values["follows"][replica], values["is_running"][replica]
        leads = follows == replica
        is_leader = leads and values["leader"] == replica
        role = LEADER if is_leader else STALE_LEADER if leads else WAITING if follows < 0 else FOLLOWER
        lanes.append(
            Lane(
                broker=replica,
                role=role if is_running else DOWN,
                log=tuple((record, epochs[record - 1]) for record in log if record),
                high_watermark=values["high_watermark"][replica] if is_running else None,
                epoch=values["term"][replica],
                is_leader=is_leader,
                follows=named(follows),
            )
        )
    return Scene(
        leader=named(values["leader"]),
        epoch=values["newest_term"],
        isr=(),
        lanes=tuple(lanes),
        acked=frozenset(number + 1 for number in members(values["ghost_acked"])),
        committed=frozenset(record for record in values["ghost_committed"] if record),
    )


MODEL = Model(
    name="majority",
    summary="a majority-quorum log (Raft, KRaft's own log) with the same producers, faults and properties",
    keys=("replication.factor", "acks", "flush.messages", *[f"faults.{each}" for each in BUDGETS], "bounds.records"),
    sizes=sizes,
    fields=fields,
    initial=initial,
    actions=(
        quorum_log.leader_append,
        quorum_log.leader_note_fetch,
        quorum_log.follower_take_response,
        quorum_log.follower_truncate,
        quorum_log.voters_replace_dead_leader,
        quorum_log.voters_replace_live_leader,
        quorum_log.broker_follow,
        quorum_log.broker_crash,
        quorum_log.broker_crash_lossy,
        quorum_log.broker_lose_disk,
        quorum_log.broker_restart,
    ),
    guarantees=("acked-never-lost", "committed-never-lost", "log-matching", "single-leader-per-epoch"),
    frozen={
        "acks": lambda c: min(ACKS[c["acks"]], ACKS["all"]),
        "flushes_each_record": lambda c: int(c["flush.messages"] == "1"),
    },
    portrait=portrait,
    source="Raft (Ongaro and Ousterhout 2014); KIP-595",
)
