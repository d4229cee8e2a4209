"""Finds every distinct decision of the controller in a set of reachable states, with all the answers that the model gives.

A case is what the controller knows when an event comes (leader, ISR, ELR, who is fenced, ...) and the event; states that
differ in anything else share it.  States with equal knowledge and different answers are different cases, so that nothing
that the knowledge leaves out can hide an answer.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from neverlost.checker.engine.search.expansion import BATCH
from neverlost.checker.engine.search.owned_states import OwnedStates
from neverlost.model.interpreters.columns import Packed, Successors, pack_rows
from neverlost.model.kernel import NO_REPLICA, Configuration
from neverlost.model.kraft.mechanisms import BY_NAME
from neverlost.model.kraft.state import BEHIND, ELECTED, UP_TO_DATE
from neverlost.model.system import System

CONTROLLER = (
    "leader",
    "isr",
    "elr",
    "last_known_leader",
    "is_fenced",
    "is_replica",
    "is_adding",
    "is_removing",
    "leader_knows",
    "min_isr_changed",
)
"""The fields that hold what the controller knows; those that a configuration leaves out are not there."""

ANSWERED = ("elected", "first", "outcome")
"""Parameters that are part of an action's answer, not of the event."""

NUMBERS = ("target", "least")
"""Parameters that are no broker."""

KNOWS = {
    ELECTED: "leader epoch not yet known to the leader",
    BEHIND: "partition epoch not yet known to the leader",
    UP_TO_DATE: "epochs known to the leader",
}
"""Values of `leader_knows` in words."""


@dataclass(frozen=True)
class Knowledge:
    """What the controller knows of one partition and of its brokers; brokers are counted from 0.  `epochs` says which
    of the controller's epochs the leader knows, as a value of `leader_knows`."""

    leader: int
    isr: frozenset[int]
    elr: frozenset[int]
    last_known_leader: int
    fenced: frozenset[int]
    replicas: frozenset[int]
    adding: frozenset[int]
    removing: frozenset[int]
    epochs: int
    min_isr_changed: int = 0

    def __str__(self) -> str:
        """Return what is known in Kafka's words, brokers counted from 1; without `epochs` and empty lists, save the ISR."""
        shown = [f"leader={self.leader + 1 if self.leader >= 0 else -1}"]
        for each in fields(self):
            value = getattr(self, each.name)
            if isinstance(value, frozenset) and (value or each.name == "isr"):
                shown.append(f"{each.name}=[{','.join(str(broker + 1) for broker in sorted(value))}]")
        if self.last_known_leader != NO_REPLICA:
            shown.append(f"lastKnownLeader={self.last_known_leader + 1}")
        if self.min_isr_changed:
            shown.append(f"min.insync.replicas={self.min_isr_changed}")
        return " ".join(shown)


@dataclass(frozen=True)
class ConformCase:
    """An event, what the controller knows when it comes, and every answer of the model."""

    event: str
    arguments: tuple[tuple[str, int], ...]
    before: Knowledge
    answers: frozenset[Knowledge]
    proposed: frozenset[int] = frozenset()
    """The ISR that an AlterPartition request names."""

    def argument(self, name: str) -> int:
        return dict(self.arguments)[name]

    @property
    def shown(self) -> str:
        """The event as text, with brokers counted from 1."""
        inside = ", ".join(f"{name}={value + (name not in NUMBERS)}" for name, value in self.arguments)
        return f"{self.event}({inside})"


FENCED_LAST_KNOWN = "4.0 elects the last known leader although it is fenced (KAFKA-19522); the model takes one that may lead"
"""A difference that is known: ELR is off in 4.0 unless it is switched on, and 4.1 mended it."""


def known_of_4_0(case: ConformCase, configuration: Configuration) -> str | None:
    """Return why Kafka may differ in a case: by the ELR rules of 4.0, with a last known leader and no leader; else None."""
    has_rules_of_4_0 = configuration["eligible.leader.replicas"] and not configuration[LEADERLESS.key]
    is_asked = case.before.leader == NO_REPLICA and case.before.last_known_leader != NO_REPLICA
    return FENCED_LAST_KNOWN if has_rules_of_4_0 and is_asked else None


LEADERLESS = BY_NAME["last-known-leader-when-leaderless"]
"""What distinguishes the rules of 4.0 from later ones."""


@dataclass(frozen=True)
class ReachableStates:
    """The packed states of a complete search, and the system whose states they are."""

    system: System
    owned: OwnedStates

    def __len__(self) -> int:
        return len(self.owned.states)

    def batches(self) -> Iterator[Packed]:
        for start in range(0, len(self), BATCH):
            yield self.owned.states.slice(start, min(start + BATCH, len(self)))


def search_reachable(system: System) -> ReachableStates:
    """Search a system completely in this process, and return all its reachable states; no limit ends the search."""
    found = OwnedStates(system, (), False)
    found.absorb(pack_rows(system, sorted({state for _, state in system.initial_states()})))
    found.close_level()
    while found.waiting:
        while found.waiting:
            found.expand()
        found.close_level()
    return ReachableStates(system, found)


class Projection:
    """Packs some fields of states into one number each, and unpacks them."""

    def __init__(self, system: System, names: tuple[str, ...], rows: tuple[tuple[str, int], ...] = ()) -> None:
        """Pack the fields in `names` that exist, and of each in `rows` the row at an index.  `ValueError` beyond 63 bits."""
        self.system = system
        self.slots: dict[tuple[str, int], int] = {}
        for name in names:
            if name in system.places:
                base, shape = system.places[name]
                self.slots |= {(name, index): base + index for index in range(shape[0] if shape else 1)}
        for name, first in rows:
            base, shape = system.places[name]
            self.slots |= {(name, index): base + first * shape[1] + index for index in range(shape[1])}
        if sum(system.slots[each].bits for each in self.slots.values()) > 63:
            raise ValueError("a projection holds 63 bits")

    def of(self, words: Packed) -> NDArray[np.uint64]:
        """Return the number of each packed state: the projection's fields, packed into it."""
        found = np.zeros(words.shape[1], np.uint64)
        at = 0
        for slot in self.slots.values():
            place = self.system.slots[slot]
            if place.bits:
                bits = (words[place.word] >> np.uint64(place.shift)) & np.uint64(place.mask)
                found |= bits << np.uint64(at)
                at += place.bits
        return found

    def values(self, number: int) -> dict[tuple[str, int], int]:
        """Unpack the number of a state into the values of the fields, by name and index."""
        found, at = {}, 0
        for key, slot in self.slots.items():
            place = self.system.slots[slot]
            found[key] = place.low + ((number >> at) & place.mask)
            at += place.bits
        return found


def knowledge(system: System, values: dict[tuple[str, int], int]) -> Knowledge:
    """Return the values of a projection on `CONTROLLER` as `Knowledge`."""
    brokers = range(system.sizes["replica"])

    def members(name: str, otherwise: bool) -> frozenset[int]:
        return frozenset(each for each in brokers if values.get((name, each), otherwise))

    return Knowledge(
        leader=values["leader", 0],
        isr=members("isr", False),
        elr=members("elr", False),
        last_known_leader=values.get(("last_known_leader", 0), NO_REPLICA),
        fenced=members("is_fenced", False),
        replicas=members("is_replica", True),
        adding=members("is_adding", False),
        removing=members("is_removing", False),
        epochs=values["leader_knows", 0],
        min_isr_changed=values.get(("min_isr_changed", 0), 0),
    )


def find_cases(found: ReachableStates, events: dict[str, Any]) -> tuple[list[ConformCase], int]:
    """Return every distinct case of the actions named in `events`, and how many transitions these cases stand for."""
    system = found.system
    groups: dict[tuple[str, tuple[tuple[str, int], ...]], list[int]] = {}
    for number, step in enumerate(system.steps):
        if step.action.name in events:
            event = tuple((name, value) for name, value in step.arguments.items() if name not in ANSWERED)
            groups.setdefault((step.action.name, event), []).append(number)
    successors, after = Successors(system), Projection(system, CONTROLLER)
    distinct: set[ConformCase] = set()
    transitions = 0
    for (name, event), numbers in groups.items():
        rows = (("leader_isr", dict(event)["leader"]),) if name == "controller_alter_isr" else ()
        before = Projection(system, CONTROLLER, rows)
        seen: set[tuple[int, ...]] = set()
        for batch in found.batches():
            answers = {step: (at, after.of(words)) for step, at, words in successors.of(batch, numbers)}
            transitions += sum(len(at) for at, _ in answers.values())
            if answers:
                seen |= _distinct(before.of(batch), list(answers.values()))
        for key, *reply in seen:
            distinct.add(_case(system, name, event, before.values(key), after, reply))
    return sorted(distinct, key=lambda each: (each.event, each.arguments, repr(each.before), repr(each.answers))), transitions


def _distinct(before: NDArray[np.uint64], answers: list[tuple[NDArray[np.intp], NDArray[np.uint64]]]) -> set[tuple[int, ...]]:
    """Return the distinct rows of a table with a row for each state in which some step is possible: the number of the
    knowledge before, then for each step the number of its answer plus one, or 0 where it is not possible."""
    enabled = np.unique(np.concatenate([at for at, _ in answers]))
    table = np.zeros((len(enabled), 1 + len(answers)), np.uint64)
    table[:, 0] = before[enabled]
    for column, (at, numbers) in enumerate(answers, start=1):
        table[np.searchsorted(enabled, at), column] = numbers + np.uint64(1)
    order = np.lexsort(table.T)
    ordered = table[order]
    first = np.concatenate([[True], np.any(ordered[1:] != ordered[:-1], axis=1)])
    return {tuple(map(int, row)) for row in ordered[first]}


def _case(
    system: System,
    name: str,
    event: tuple[tuple[str, int], ...],
    values: dict[tuple[str, int], int],
    after: Projection,
    reply: list[int],
) -> ConformCase:
    answers = frozenset(knowledge(system, after.values(each - 1)) for each in reply if each)
    proposed: frozenset[int] = frozenset()
    if name == "controller_alter_isr":
        changed = dict(event)["replica"]
        known = frozenset(index for (field, index), value in values.items() if field == "leader_isr" and value)
        proposed = known ^ {changed}
    return ConformCase(name, event, knowledge(system, values), answers, proposed)


def follow_epochs(before: Knowledge, after: Knowledge, partition_epochs: int, leader_epochs: int) -> Knowledge:
    """Return `after` with `epochs` set to what the leader of `before` knows once each epoch has been raised so many times."""
    epochs = before.epochs
    if leader_epochs:
        epochs = ELECTED
    elif partition_epochs and epochs == UP_TO_DATE:
        epochs = BEHIND
    return replace(after, epochs=epochs)
