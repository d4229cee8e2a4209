"""Two-phase commit, a protocol that is not Kafka's: participants vote, and a manager decides once all of them have.

Written with the kernel's own primitives, so that the engine is tested where no protocol of the package can be imported.
With three participants it has 288 reachable states, as Lamport's module TwoPhase has.

Source: Gray and Lamport, Consensus on Transaction Commit, 2006 (TwoPhase.tla).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from neverlost.model.kernel import Clauses, Model, Primitives, Sizes, Value, action, flag, implies, number
from neverlost.specs.lemma import Lemma
from neverlost.specs.property import Property

WORKING, PREPARED, COMMITTED, ABORTED = range(4)
"""States of a participant."""

UNDECIDED, COMMIT, ABORT = range(3)
"""What the manager has decided; the message that says so is sent with the decision."""


@dataclass(frozen=True)
class Participants(Sizes):
    """How many participants there are; symmetry permutes the axis `replica`."""

    replica: int


@action(replica="replica", says="participant {replica} prepares")
def prepare(k: Primitives, s: Any, replica: int) -> Clauses:
    """It votes to commit, and may no longer abort by itself."""
    yield "working", s.state[replica] == WORKING
    s.state[replica] = PREPARED
    s.vote_sent[replica] = True


@action(replica="replica", says="participant {replica} aborts by itself")
def abort_alone(k: Primitives, s: Any, replica: int) -> Clauses:
    """Before its vote it may."""
    yield "working", s.state[replica] == WORKING
    s.state[replica] = ABORTED


@action(replica="replica", says="the manager receives the vote of {replica}")
def receive_vote(k: Primitives, s: Any, replica: int) -> Clauses:
    """Votes count until the decision."""
    yield "undecided", s.decision == UNDECIDED
    yield "vote sent", s.vote_sent[replica]
    s.vote_received[replica] = True


@action(says="the manager commits")
def commit(k: Primitives, s: Any) -> Clauses:
    """Once every vote was received."""
    yield "undecided", s.decision == UNDECIDED
    yield "every vote received", k.all_of(*s.vote_received)
    s.decision = COMMIT


@action(says="the manager aborts", fault="abort")
def abort(k: Primitives, s: Any) -> Clauses:
    """At any time before its decision."""
    yield "undecided", s.decision == UNDECIDED
    s.decision = ABORT


@action(replica="replica", says="participant {replica} learns that all commit")
def learn_commit(k: Primitives, s: Any, replica: int) -> Clauses:
    """It obeys in whatever state it is."""
    yield "commit sent", s.decision == COMMIT
    s.state[replica] = COMMITTED


@action(replica="replica", says="participant {replica} learns that all abort")
def learn_abort(k: Primitives, s: Any, replica: int) -> Clauses:
    """It obeys in whatever state it is."""
    yield "abort sent", s.decision == ABORT
    s.state[replica] = ABORTED


MODEL = Model(
    name="two-phase-commit",
    summary="participants vote, a manager decides",
    keys=("participants",),
    sizes=lambda configuration: Participants(configuration["participants"]),
    fields=lambda configuration: (
        number("state", WORKING, ABORTED, "replica"),
        flag("vote_sent", "replica"),
        flag("vote_received", "replica"),
        number("decision", UNDECIDED, ABORT),
    ),
    initial=lambda configuration: [{}],
    actions=(prepare, abort_alone, receive_vote, commit, abort, learn_commit, learn_abort),
)


def is_consistent(k: Any, s: Any) -> Value:
    """Whether no participant has committed while another has aborted."""
    committed = k.any_of(*[each == COMMITTED for each in s.state])
    return k.not_(k.all_of(committed, k.any_of(*[each == ABORTED for each in s.state])))


PROPERTY = Property(
    name="consistent",
    says="no participant commits while another aborts",
    condition=is_consistent,
    needs=("state",),
    violated_by="",
)

NEVER_COMMITS = Property("never-commits", "nothing commits", lambda k, s: s.decision != COMMIT, ("decision",), "")
"""Broken by the shortest way to a decision: every participant prepares, every vote is received, and the manager commits."""


def _votes(k: Any, s: Any) -> list[Value]:
    """A vote that was received was sent; one who has sent it works no more, and has aborted only if all abort."""
    everyone = range(s.sizes["replica"])
    return [
        *[implies(k, s.vote_received[each], s.vote_sent[each]) for each in everyone],
        *[implies(k, s.vote_sent[each], s.state[each] != WORKING) for each in everyone],
        *[implies(k, k.all_of(s.vote_sent[each], s.state[each] == ABORTED), s.decision == ABORT) for each in everyone],
    ]


def _decisions(k: Any, s: Any) -> list[Value]:
    """All commit only on every vote, and a participant only once all do."""
    everyone = range(s.sizes["replica"])
    return [
        implies(k, s.decision == COMMIT, k.all_of(*[s.vote_received[each] for each in everyone])),
        *[implies(k, s.state[each] == COMMITTED, s.decision == COMMIT) for each in everyone],
    ]


LEMMAS = (
    Lemma("votes", "a vote binds who has sent it", "prepare is the one step that sends it", _votes),
    Lemma("decisions", "a decision rests on every vote", "the manager decides once", _decisions),
)


def counted(participants: int) -> int:
    """Return how many states can be reached, worked out by hand.

    Before the decision each participant works, has aborted alone, or is prepared with its vote on the way or received: 4.
    After an abort it works or has aborted without a vote, or is prepared or has aborted with a vote on the way or received: 6.
    After a commit every vote is received, and each participant is prepared or has committed: 2.
    """
    return int(4**participants + 6**participants + 2**participants)
