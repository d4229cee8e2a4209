"""pull-raft: a published Raft whose followers pull, messages and all, to be compared with TLC's counts of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from neverlost.model.classic.log import log_fields
from neverlost.model.faults import KILL, LEADER_MOVE
from neverlost.model.kernel import Configuration, Field, Model, Sizes, flag, number, replica_id
from neverlost.model.limits import Limits, is_counted, left, limit_fields, limit_of, limits_of
from neverlost.model.quorum import message_history as history
from neverlost.model.quorum import roles
from neverlost.model.snapshot import (
    FOLLOWER,
    LEADER,
    STALE_LEADER,
    WAITING,
    BrokerView,
    ClusterSnapshot,
    log_of,
    members,
    named,
)

FAULTS = (KILL, LEADER_MOVE)
"""Restarts and elections: what the module counts."""


@dataclass(frozen=True)
class HistorySizes(Sizes):
    """Lengths of the axes; `sent_term` are the terms that messages can have, which begin with the second."""

    replica: int
    offset: int
    record: int
    term: int
    limits: Limits

    @property
    def snapshots(self) -> bool:
        """False: the module has no snapshots."""
        return False

    @property
    def sent_term(self) -> int:
        """How many terms have elections: all but the first."""
        return self.term - 1

    @property
    def answer(self) -> int:
        """How many answers a vote request may have: refused, or granted."""
        return 2

    @property
    def position(self) -> int:
        """How many ends a log may have: the empty log's, and every length with the term of the last entry."""
        return 1 + self.offset * self.sent_term

    @property
    def entry(self) -> int:
        """How many different entries a log may have: a record, and a term that has elections, in which it was appended."""
        return self.record * self.sent_term

    @property
    def commit(self) -> int:
        """How many commit indices there are: from 0 to the longest log's end."""
        return self.offset + 1


def sizes(configuration: Configuration) -> HistorySizes:
    """Return the sizes that a configuration needs: the first term, and one for each leader move it allows, at least one."""
    replicas, records = configuration["replication.factor"], configuration["bounds.records"]
    elections = configuration[LEADER_MOVE.key]
    return HistorySizes(replicas, records, records, 1 + max(1, elections), limits_of(configuration, FAULTS))


def fields(configuration: Configuration) -> tuple[Field, ...]:
    """Return the variables of the TLA+ module."""
    size = sizes(configuration)
    last_term, status = size.term - 1, history.CONSUMED
    pair = ("replica", "replica", "sent_term")
    return (
        *log_fields(size.offset, size.record, last_term),
        number("epoch", 0, last_term, "replica"),
        number("role", roles.FOLLOWER, roles.LEADER, "replica"),
        replica_id("leader", size.replica, "replica"),
        number("high_watermark", 0, size.offset, "replica"),
        flag("has_vote", "replica", "replica"),
        number("match_index", 0, size.offset, "replica", "replica"),
        flag("is_received", "record"),
        flag("ghost_acked", "record"),
        # messages
        number("candidate_end", 0, size.offset, "replica", "sent_term"),
        number("candidate_last_term", 0, last_term, "replica", "sent_term"),
        number("vote_request", 0, status, *pair),
        number("vote_response", 0, status, *pair, "answer"),
        number("notification", 0, status, *pair),
        number("pull_request", 0, status, *pair, "position"),
        number("pull_success", 0, status, *pair, "entry", "commit"),
        number("pull_failure", 0, status, *pair, "position"),
        *limit_fields(configuration, FAULTS),
    )


def contradiction(configuration: Configuration) -> str | None:
    """Return what is wrong with the limits, or None: both restarts and elections need a number, not `any`."""
    endless = next((each.key for each in FAULTS if not is_counted(configuration, each)), None)
    return f"{endless}={configuration[endless]}: pull-raft counts restarts and elections; use a number" if endless else None


def portrait(values: Mapping[str, Any]) -> ClusterSnapshot:
    """Return every server with its log and term."""
    newest = max(values["epoch"])
    lanes = []
    for replica, term in enumerate(values["epoch"]):
        leads = values["role"][replica] == roles.LEADER
        follows = values["leader"][replica]
        role = (LEADER if term == newest else STALE_LEADER) if leads else FOLLOWER if follows not in (-1, replica) else WAITING
        lanes.append(
            BrokerView(
                broker=replica,
                role=role,
                log=log_of(values, replica),
                high_watermark=values["high_watermark"][replica],
                epoch=term,
                is_leader=role == LEADER,
                follows=named(follows),
            )
        )
    return ClusterSnapshot(
        leader=next((each.broker for each in lanes if each.is_leader), None),
        epoch=newest,
        isr=(),
        lanes=tuple(lanes),
        acked=frozenset(place + 1 for place in members(values["ghost_acked"])),
        authority="quorum",
    )


MODEL = Model(
    name="pull-raft",
    summary="Raft whose followers pull, with all messages ever sent in the state, as a published specification has it",
    keys=("replication.factor", *[each.key for each in FAULTS], "bounds.records"),
    sizes=sizes,
    fields=fields,
    initial=lambda configuration: [left(configuration, FAULTS)],
    actions=(
        history.restart,
        history.update_term,
        history.request_vote,
        history.handle_vote_request,
        history.handle_vote_response,
        history.become_leader,
        history.client_request,
        history.learn_of_leader,
        history.send_pull_request,
        history.reject_pull_request,
        history.accept_pull_request,
        history.handle_success,
        history.handle_failure,
    ),
    guarantees=("quorum-keeps-acked", "log-matching", "one-leader-per-epoch"),
    frozen={**{each.limit: limit_of(each) for each in FAULTS}, "at_once": lambda c: 0},
    contradiction=contradiction,
    portrait=portrait,
    source="Vanlightly/raft-tlaplus at 69ad9d60, specifications/pull-raft/PullRaft.tla",
)
