"""Lemmas found, not written: clauses over the state's fields that every reachable state keeps.

A clause survives if it holds in the complete reachable sets, and no shorter survivor implies it.  An inductive set then grows
around the property from the survivors, longer clauses being made where they are too weak; at last only those are kept that
the proof leans on.
"""

from __future__ import annotations

import contextlib
import random
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import z3
from numpy.typing import NDArray

from neverlost.checker.engine.outcome import EngineError
from neverlost.checker.engine.proof.candidate_lemmas import Bits, Clause, Literal, Vocabulary, false_rows, reachable, survivors
from neverlost.checker.engine.proof.obligations import BoundedEncoding
from neverlost.model.interpreters.columns import Packed
from neverlost.model.interpreters.ints import Ints
from neverlost.model.interpreters.terms import (
    Symbols,
    Terms,
    TermsView,
    bit_width,
    condition,
    state_of,
    transition,
    variables,
    within_bounds,
)
from neverlost.model.kernel import Value
from neverlost.model.system import State, System
from neverlost.specs.errors import InputError
from neverlost.specs.lemma import Lemma
from neverlost.specs.property import Property

SCAN_SECONDS = 15.0
"""Seconds for each configuration that is only scanned."""


@dataclass(frozen=True)
class Mined:
    """What mining found, and how much work it was.  `is_inductive` says whether the lemmas prove the property; minimising them
    takes at most about twice as long as finding them.

    `states` counts the reachable states of each configuration that was scanned, the one of the proof first.
    Units: seconds.
    """

    lemmas: tuple[Lemma, ...]
    is_inductive: bool
    states: tuple[int, ...]
    literals: int
    candidates: int
    survivors: int
    inductive: int
    seconds_scanning: float
    seconds_proving: float

    @property
    def says(self) -> str:
        """The work in one sentence."""
        found = f"{len(self.lemmas)} kept" if self.is_inductive else "no inductive set found"
        more = f" of {len(self.states)} configurations" if len(self.states) > 1 else ""
        return (
            f"mined {' + '.join(map(str, self.states))} reachable states{more}: "
            f"{self.candidates} clauses of {self.literals} literals looked at, {self.survivors} survived "
            f"({self.seconds_scanning:.1f} s), {self.inductive} in the inductive set, {found} ({self.seconds_proving:.1f} s)"
        )


class Pool:
    """All surviving clauses with their renamings, as rows of literal numbers, to be searched for those that a state breaks."""

    def __init__(
        self, vocabulary: Vocabulary, literals: Sequence[Literal], false: Bits, clauses: Sequence[Clause], size: int
    ) -> None:
        self.vocabulary, self.literals, self._false = vocabulary, list(literals), false
        self.orbits = [vocabulary.renamed(each) for each in clauses]
        numbers = {each: number for number, each in enumerate(self.literals)}
        never = len(self.literals)
        rows = [[numbers[each] for each in image] + [never] * (size - len(image)) for orbit in self.orbits for image in orbit]
        self._rows = np.array(rows, np.intp).reshape(len(rows), size)
        self._owners = np.repeat(np.arange(len(self.orbits)), [len(each) for each in self.orbits])
        self._is_usable = np.ones(len(self.orbits), np.bool_)
        self._strength = np.zeros(len(self.orbits), np.int64)
        for state in _random_states(vocabulary.system):
            self._strength[self._broken(state)] += 1

    def _false_in(self, state: State) -> NDArray[np.bool_]:
        """Return which literals are false in a state."""
        flags = self.vocabulary.flags

        def read(slot: int) -> int | bool:
            return bool(state[slot]) if flags[slot] else state[slot]

        return np.array([not each.holds(Ints, read, flags[each.slot]) for each in self.literals])

    def _broken(self, state: State) -> NDArray[np.intp]:
        """Return the orbits that a state breaks."""
        table = np.append(self._false_in(state), True)
        return np.unique(self._owners[table[self._rows].all(axis=1)])

    def excluding(self, state: State) -> int | None:
        """Return the usable orbit that excludes a state and as many others as possible; a longer clause where none does."""
        broken = self._broken(state)
        usable = broken[self._is_usable[broken]]
        if len(usable):
            return int(usable[np.argmax(self._strength[usable])])
        longer = self._longer(state)
        if longer is None:
            return None
        self.orbits.append(self.vocabulary.renamed(longer))
        return len(self.orbits) - 1

    def _longer(self, state: State) -> Clause | None:
        """A clause that is false in this state and true in all reachable ones: literals chosen greedily, then spared."""
        usable = np.flatnonzero(self._false_in(state))
        uncovered = np.bitwise_and.reduce(self._false[usable], axis=0)
        if uncovered.any():
            return None
        chosen: list[int] = []
        left = np.full(self._false.shape[1], 255, np.uint8)
        while left.any():
            counts = np.bitwise_count(self._false[usable] & left).sum(axis=1)
            best = int(usable[np.argmin(counts)])
            chosen.append(best)
            left = left & self._false[best]
        for each in list(chosen):
            rest = [other for other in chosen if other != each]
            if rest and not np.bitwise_and.reduce(self._false[rest], axis=0).any():
                chosen = rest
        return tuple(sorted(self.literals[each] for each in chosen))

    def ban(self, number: int) -> None:
        """Never again to be chosen."""
        if number < len(self._is_usable):
            self._is_usable[number] = False


def _random_states(system: System, count: int = 400) -> list[State]:
    chance = random.Random(0)
    return [tuple(chance.randint(slot.low, slot.high) for slot in system.slots) for _ in range(count)]


PROPERTY = -1
"""The member of an inductive set that is the property itself."""


class Houdini:
    """Grows an inductive set around the property: a step that breaks a member is met by a clause of the pool that excludes
    the state before it; a member that no clause can save is dropped, as Houdini does.

    Members are numbers of the pool's orbits, and `PROPERTY`.
    """

    def __init__(self, system: System, goal: Property, pool: Pool) -> None:
        self.system, self.goal, self.pool = system, goal, pool
        self.terms = Terms(bit_width(system))
        self.before = variables(system, self.terms, "before")
        self.members: list[int] = []
        self.rounds = 0
        self._solvers: list[Any] = []
        self._after: list[Symbols] = []
        for step in system.steps:
            guard, after = transition(system, self.terms, step, self.before)
            solver = z3.SolverFor("QF_FD")
            solver.add(*within_bounds(system, self.terms, self.before), *[self.terms.lift(each) for _, each in guard])
            self._solvers.append(solver)
            self._after.append(after)
        self._stale: set[int] = set()
        self._add(PROPERTY)

    def _add(self, member: int) -> None:
        self.members.append(member)
        assumed = self._term(member, self.before)
        for solver, after in zip(self._solvers, self._after, strict=True):
            solver.add(z3.Implies(_holds(member), assumed))
            solver.add(z3.Implies(_breaks(member), z3.Not(self._term(member, after))))
        self._stale = set(range(len(self.system.steps)))

    def _term(self, member: int, symbols: Symbols) -> Any:
        if member == PROPERTY:
            return condition(self.system, self.terms, symbols, self.goal.condition)
        view = TermsView(self.system, symbols)
        values = [self.pool.vocabulary.value(self.terms, each, view._read) for each in self.pool.orbits[member]]
        return self.terms.lift(self.terms.all_of(*values))

    def grow(self, deadline: float) -> bool:
        """Return True if the property became part of an inductive set in time."""
        while self._stale:
            if time.monotonic() > deadline:
                return False
            step = min(self._stale)
            found = self._counterexample(step)
            if found is None:
                self._stale.discard(step)
                continue
            broken, state = found
            saviour = self.pool.excluding(state)
            if saviour is not None:
                self._add(saviour)
            elif PROPERTY in broken:
                return False
            else:
                self._drop(broken)
        return True

    def _drop(self, broken: set[int]) -> None:
        for member in broken:
            self.members.remove(member)
            self.pool.ban(member)
        self._stale = set(range(len(self.system.steps)))

    def _counterexample(self, step: int) -> tuple[set[int], State] | None:
        """Members that a step can break from a state that keeps them all, and that state."""
        self.rounds += 1
        solver, asked = self._solvers[step], z3.Bool(f"asked:{self.rounds}")
        solver.add(z3.Implies(asked, z3.Or([_breaks(each) for each in self.members])))
        answer = solver.check(asked, *[_holds(each) for each in self.members])
        if answer == z3.unsat:
            return None
        if answer != z3.sat:
            raise EngineError(f"z3 said {answer} on a candidate: {solver.reason_unknown()}")
        found = solver.model()
        broken = {each for each in self.members if z3.is_true(found.eval(_breaks(each)))}
        return broken, state_of(self.system, self.terms, found, self.before)

    def needed(self) -> list[int]:
        """Return the orbits that the property's proof leans on, and theirs in turn."""
        kept, waiting = {PROPERTY}, [PROPERTY]
        while waiting:
            target = waiting.pop()
            for solver in self._solvers:
                if solver.check(_breaks(target), *[_holds(each) for each in self.members]) != z3.unsat:
                    raise EngineError("a member of an inductive set can be broken")
                core = {str(each) for each in solver.unsat_core()}
                fresh = [each for each in self.members if str(_holds(each)) in core and each not in kept]
                kept.update(fresh)
                waiting += fresh
        return sorted(kept - {PROPERTY})


def _holds(member: int) -> Any:
    return z3.Bool(f"holds:{member}")


def _breaks(member: int) -> Any:
    return z3.Bool(f"breaks:{member}")


def mined(system: System, goal: Property, *, size: int = 3, seconds: float | None = None, also: Sequence[System] = ()) -> Mined:
    """Lemmas that prove a property of a system small enough to be explored completely.

    Clauses must hold in `also` too, systems that have all its slots and more; those that are too large are left out.
    Errors: `InputError` where the system itself is too large, or another lacks a slot.
    """
    started = time.monotonic()
    deadline = started + (600.0 if seconds is None else seconds)
    vocabulary = Vocabulary(system)
    literals = vocabulary.literals()
    scanned_sets = [(system, literals, reachable(system, seconds)), *_small_enough(vocabulary, also, literals, seconds)]
    tables = [false_rows(Vocabulary(each), named, rows) for each, named, rows in scanned_sets]
    false = np.concatenate(tables, axis=1)
    clauses, looked = survivors(vocabulary, literals, false, size)
    scanned, busy = time.monotonic(), time.process_time()
    pool = Pool(vocabulary, literals, false, clauses, size)
    houdini = Houdini(system, goal, pool)
    is_proof = houdini.grow(deadline)
    found = [pool.orbits[each][0] for each in houdini.needed()] if is_proof else []
    allowed = 2 * (time.process_time() - busy) + 20
    kept = _minimal(system, goal, vocabulary, found, deadline, allowed)
    return Mined(
        (*kept, Lemma("the-property", goal.says, "it is part of its own induction", _itself(goal))) if is_proof else (),
        is_proof,
        tuple(int(rows.shape[1]) for _, _, rows in scanned_sets),
        len(literals),
        looked,
        len(clauses),
        len(houdini.members),
        scanned - started,
        time.monotonic() - scanned,
    )


def _small_enough(
    vocabulary: Vocabulary, also: Sequence[System], literals: Sequence[Literal], seconds: float | None
) -> Iterator[tuple[System, list[Literal], Packed]]:
    """Those systems that can be explored completely, with the literals in their slots, and their states."""
    for each in also:
        named = _named(vocabulary, each, literals)
        with contextlib.suppress(InputError):
            yield each, named, reachable(each, min(SCAN_SECONDS, seconds or SCAN_SECONDS))


def _named(vocabulary: Vocabulary, other: System, literals: Sequence[Literal]) -> list[Literal]:
    """Return the same literals over another system's slots, by name.

    Errors: `InputError` where it lacks one.
    """
    numbers = {slot.name: number for number, slot in enumerate(other.slots)}
    try:
        moved = {number: numbers[slot.name] for number, slot in enumerate(vocabulary.system.slots)}
    except KeyError as missing:
        raise InputError(f"a configuration to mine in has no {missing}") from None
    return [
        Literal(moved[each.slot], each.relation, moved[each.other] if each.to_slot else each.other, each.to_slot)
        for each in literals
    ]


def _minimal(
    system: System, goal: Property, vocabulary: Vocabulary, clauses: Sequence[Clause], deadline: float, allowed: float
) -> list[Lemma]:
    """As few of an inductive set's clauses as still prove the property, as lemmas; dropped one by one while there is time.

    Units: `deadline` on the clock, `allowed` seconds of work, so that a busy machine keeps no more than an idle one.
    """
    until = time.process_time() + allowed
    itself = Lemma("the-property", goal.says, "", _itself(goal))
    kept = [_lemma(vocabulary, clause, number) for number, clause in enumerate(clauses, start=1)]
    before = 0
    while len(kept) != before:
        before = len(kept)
        for each in kept[::-1]:
            rest = [other for other in kept if other is not each]
            has_time = time.monotonic() < deadline and time.process_time() < until
            if has_time and is_inductive(system, goal, [*rest, itself]):
                kept = rest
    return kept


def is_inductive(system: System, goal: Property, lemmas: Sequence[Lemma]) -> bool:
    """Return True if lemmas, of which the property is one, are kept by every step."""
    reading = BoundedEncoding(system, lemmas, goal)
    for task in reading.tasks():
        solver = z3.SolverFor("QF_FD")
        solver.add(*reading.premises(task))
        refuted = [z3.And(reading.refutation(task, each)) for each in reading.goals(task)]
        if solver.check(z3.Or(refuted)) != z3.unsat:
            return False
    return True


def _itself(goal: Property) -> Any:
    return lambda k, s: [goal.condition(k, s)]


def _lemma(vocabulary: Vocabulary, clause: Clause, number: int) -> Lemma:
    orbit = vocabulary.renamed(clause)

    def conjuncts(k: Any, s: Any) -> list[Value]:
        return [vocabulary.value(k, each, s._read) for each in orbit]

    text = vocabulary.text(clause)
    more = f", and with replicas renamed ({len(orbit)} clauses)" if len(orbit) > 1 else ""
    return Lemma(f"mined-{number}", text + more, "holds in every reachable state of the mined configuration", conjuncts)
