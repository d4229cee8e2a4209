"""What reduced searches would visit: `python -m tests.bench.reduction [NAME ...]` makes the table of decision 050.

*Slicing* leaves out what neither the property reads nor, step by step, what writes something that it reads.  *Stubborn sets*
(Valmari 1991) leave out steps: of a state only those are taken that a violation may need next, with all that do not commute
with them; what else could be done can as well be done later.  Violations are found, in as few steps (Wehrle, Helmert 2012).

Which steps commute, and which may make a clause true, is taken in three ways: from what they *read* and write; as Z3 *proves*
it of every state within the bounds; and as it was *observed* of the reachable states, of which no proof can know more.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from typing import Any

import numpy as np
import z3
from numpy.typing import NDArray

from neverlost.checker.search.visited_states import StateSet, mix
from neverlost.model.interpreters.columns import Batch, Columns, ColumnsView, Packed, Successors, pack_rows
from neverlost.model.interpreters.terms import Terms, bit_width, equal, transition, variables, within_bounds
from neverlost.model.kernel import Value
from neverlost.model.system import System, View, bind
from neverlost.model.versions import models
from neverlost.specs.configuration.keys import configuration
from neverlost.specs.properties import properties
from neverlost.specs.property import Property

BATCH = 1 << 14
WORTH_PROVING = 1.05
"""What cannot be known better than with less is not proved."""

SPACES = {
    "kip-320, epochs 0 to 1": ("strong-isr", "kip-320 bounds.records=2 bounds.max_leader_epoch=1"),
    "majority, once": ("acked-never-lost", "majority bounds.records=1 faults.crash=1 faults.lossy_crash=1"),
    "majority, any": ("acked-never-lost", "majority bounds.records=1 faults.crash=any faults.lossy_crash=any:1"),
    "kraft, any": (
        "acked-never-lost",
        "kraft min.insync.replicas=2 bounds.records=1 faults.crash=any faults.lossy_crash=any:1",
    ),
    "kraft, 2 records": ("acked-never-lost", "kraft min.insync.replicas=2 bounds.records=2 faults.crash=any"),
    "kraft-elr, any": ("acked-never-lost", "kraft-elr min.insync.replicas=2 bounds.records=1 faults.crash=any"),
    "kraft-elr, committed": ("committed-never-lost", "kraft-elr min.insync.replicas=2 bounds.records=1 faults.crash=any"),
    "kraft-elr, once": (
        "acked-never-lost",
        "kraft-elr min.insync.replicas=2 bounds.records=1 faults.crash=1 faults.lossy_crash=1 faults.isr_shrink=1",
    ),
    "kraft-quorum": ("quorum-keeps-acked", "kraft-quorum"),
    "transactions": ("no-lost-effect", "transactions"),
}
"""Property, model and keys."""


class Reads:
    """A value as the slots that it depends on."""

    def __init__(self, slots: frozenset[int]) -> None:
        self.slots = slots

    def _with(self, other: Value) -> Reads:
        return reading(self, other)

    __add__ = __radd__ = __sub__ = __rsub__ = __lt__ = __le__ = __gt__ = __ge__ = _with
    __eq__ = __ne__ = _with  # type: ignore[assignment]
    __hash__ = None  # type: ignore[assignment]


def slots_of(value: Value) -> frozenset[int]:
    """What a value depends on; nothing for Python's own."""
    return value.slots if isinstance(value, Reads) else frozenset()


def reading(*values: Value) -> Reads:
    """A value that depends on all of these."""
    return Reads(frozenset().union(*map(slots_of, values)))


class Reading:
    """Primitives over what values depend on; Python values fold away."""

    @staticmethod
    def all_of(*conditions: Value) -> Value:
        left = [each for each in conditions if each is not True]
        return False if any(each is False for each in left) else reading(*left) if left else True

    @staticmethod
    def any_of(*conditions: Value) -> Value:
        left = [each for each in conditions if each is not False]
        return True if any(each is True for each in left) else reading(*left) if left else False

    @staticmethod
    def not_(condition: Value) -> Value:
        return (not condition) if isinstance(condition, bool) else condition

    @staticmethod
    def ite(condition: Value, then: Value, otherwise: Value) -> Value:
        if isinstance(condition, bool):
            return then if condition else otherwise
        return then if then is otherwise else reading(condition, then, otherwise)


class Values(View):
    """A view of a list of values; assignments go to a copy."""

    __slots__ = ("values",)
    values: list[Value]

    def __init__(self, system: System, values: list[Value]) -> None:
        super().__init__(system)
        object.__setattr__(self, "values", [*values])

    def _read(self, slot: int) -> Value:
        return self.values[slot]

    def _write(self, slot: int, value: Value) -> None:
        self.values[slot] = value


@dataclass(frozen=True)
class Shape:
    """A condition whose parts are kept; `kind` is and, or, not."""

    kind: str
    parts: tuple[Value, ...]

    def without_not(self, is_denied: bool) -> Value:
        """The same with every negation at a condition that has no parts."""
        if self.kind == "not":
            return denied(self.parts[0], not is_denied)
        kind = {"and": "or", "or": "and"}[self.kind] if is_denied else self.kind
        parts: list[Value] = []
        for each in self.parts:
            found = denied(each, is_denied)
            parts += found.parts if isinstance(found, Shape) and found.kind == kind else [found]
        return Shape(kind, tuple(parts))


def denied(condition: Value, is_denied: bool = True) -> Value:
    """A condition or its negation, with every negation at a condition that has no parts."""
    if isinstance(condition, Shape):
        return condition.without_not(is_denied)
    return Shape("not", (condition,)) if is_denied else condition


class Shaping:
    """Primitives that keep the parts of conditions, over another interpreter's values."""

    def __init__(self, k: Any) -> None:
        self.k = k

    def all_of(self, *conditions: Value) -> Value:
        return Shape("and", conditions)

    def any_of(self, *conditions: Value) -> Value:
        return Shape("or", conditions)

    def not_(self, condition: Value) -> Value:
        return Shape("not", (condition,))

    def ite(self, condition: Value, then: Value, otherwise: Value) -> Value:
        return self.k.ite(*map(self.value, (condition, then, otherwise)))

    def value(self, condition: Value) -> Value:
        """The other interpreter's value."""
        if not isinstance(condition, Shape):
            return condition
        parts = map(self.value, condition.parts)
        return {"and": self.k.all_of, "or": self.k.any_of, "not": self.k.not_}[condition.kind](*parts)


def parts_of(condition: Value, kind: str) -> tuple[Value, ...]:
    """The parts of a condition of a kind; of another one, itself."""
    return condition.parts if isinstance(condition, Shape) and condition.kind == kind else (condition,)


class Space:
    """A system with what its steps read and write, and a property; `ways` in which it is violated are as steps that do nothing.

    Elements that no step changes are constants, and steps that these rule out are none.
    """

    def __init__(self, system: System, asked: Property) -> None:
        self.system, self.asked = system, asked
        self._successors = Successors(system)
        initial = [state for _, state in system.initial_states()]
        self.constants = {
            slot: bool(values[0]) if system.slots[slot].field.kind == "flag" else values[0]
            for slot, values in enumerate(zip(*initial, strict=True))
            if len({*values}) == 1
        }
        while True:
            self.numbers, self.guards, self.writes = [], [], []
            for number in range(len(system.steps)):
                self._read_step(number)
            changed = self.constants.keys() & {slot for each in self.writes for slot in each}
            if not changed:
                break
            self.constants = {slot: value for slot, value in self.constants.items() if slot not in changed}
        self.steps = [system.steps[number] for number in self.numbers]
        owners, self.clause_reads = [], []
        for owner, value in self.clauses(Reading, Values(system, self.variables)):
            owners.append(owner)
            self.clause_reads.append(slots_of(value))
        self.ways = owners[-1] + 1 - len(self.steps)
        self.begins = np.searchsorted(owners, np.arange(owners[-1] + 2))

    @property
    def variables(self) -> list[Value]:
        """What each slot depends on: itself, or nothing."""
        return [self.constants.get(slot, Reads(frozenset([slot]))) for slot in range(len(self.system.slots))]

    def _read_step(self, number: int) -> None:
        """Note a step with what its guard reads, and what it writes from what; not one whose guard is false everywhere."""
        before = self.variables
        view = Values(self.system, before)
        guard = [value for _, value in self._guard(number, Reading, view)]
        if any(each is False for each in guard):
            return
        if self.system.model.normalise is not None:
            self.system.model.normalise(Reading, view)
        written = (
            (slot, after, old) for slot, (after, old) in enumerate(zip(view.values, before, strict=True)) if after is not old
        )
        self.numbers.append(number)
        self.guards.append(reading(*guard).slots)
        self.writes.append({slot: slots_of(new) for slot, new, old in written if isinstance(new, Reads) or new is not old})

    def _guard(self, number: int, k: Any, view: View) -> Iterator[tuple[str, Value]]:
        step = self.system.steps[number]
        return (each for each in step.run(k, view) if (step.action.name, each[0]) not in self.system.disabled)

    def clauses(self, k: Any, view: View) -> Iterator[tuple[int, Value]]:
        """Every clause with the number of the step, or way, that it belongs to."""
        shaping = Shaping(k)
        for owner, number in enumerate(self.numbers):
            kept = Values(self.system, view.values) if isinstance(view, Values) else fresh(view)
            yield from ((owner, value) for _, value in self._guard(number, k, kept))
        ways = parts_of(denied(self.asked.condition(shaping, view)), "or")
        for way, condition in enumerate(ways, start=len(self.numbers)):
            yield from ((way, shaping.value(each)) for each in parts_of(condition, "and"))

    def held(self, states: Packed) -> NDArray[np.bool_]:
        """Whether each clause holds in each state.  Shape: `(clauses, states)`."""
        found = np.empty((len(self.clause_reads), states.shape[1]), np.bool_)
        for row, (_, value) in enumerate(self.clauses(Columns, ColumnsView(Batch(self.system, states)))):
            found[row] = value
        return found

    def enabled(self, held: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """Whether each step, and each way, has all of its clauses.  Shape: `(steps and ways, states)`."""
        found: NDArray[np.bool_] = np.logical_and.reduceat(held, self.begins[:-1], axis=0)
        return found

    def after(self, states: Packed, step: int) -> Packed:
        """The successors of states in which a step is enabled."""
        return next((words for _, _, words in self._successors.of(states, [self.numbers[step]])), states[:, :0])

    @cached_property
    def reachable(self) -> StateSet:
        """Every reachable state."""
        return self.searched(None)[0]

    def searched(self, relations: Relations | None) -> tuple[StateSet, int | None]:
        """The states that a search meets, with reduction by relations, and after how many steps one violates the property."""
        seen, begun, depth, violated = StateSet(self.system.words), 0, 0, None
        seen.add(pack_rows(self.system, [state for _, state in self.system.initial_states()]))
        chosen = Chosen(self, relations) if relations else None
        while begun < len(seen):
            end = len(seen)
            for start in range(begun, end, BATCH):
                states = seen.slice(start, min(end, start + BATCH))
                held = self.held(states)
                enabled = self.enabled(held)
                if violated is None and enabled[len(self.steps) :].any():
                    violated = depth
                taken = enabled if chosen is None else chosen.of(held, enabled)
                for step in range(len(self.steps)):
                    seen.add(self.after(states.compress(taken[step], axis=1), step))
            begun, depth = end, depth + 1
        return seen, violated

    @property
    def slice(self) -> frozenset[int]:
        """The slots that the property depends on, directly or by what is written into others."""
        kept = slots_of(self.asked.condition(Reading, Values(self.system, self.variables)))
        while True:
            more = [kept]
            for guard, written in zip(self.guards, self.writes, strict=True):
                more += [guard | sources for slot, sources in written.items() if slot in kept]
            found = frozenset().union(*more)
            if found == kept:
                return kept
            kept = found

    def sliced(self) -> int:
        """How many reachable states differ in the slice."""
        masks = np.zeros((self.system.words, 1), np.uint64)
        for slot in map(self.system.slots.__getitem__, self.slice):
            masks[slot.word] |= np.uint64(slot.mask << slot.shift)
        found = StateSet(self.system.words)
        for start in range(0, len(self.reachable), BATCH):
            found.add(self.reachable.slice(start, min(len(self.reachable), start + BATCH)) & masks)
        return len(found)


def fresh(view: View) -> View:
    """The same view without assignments."""
    return ColumnsView(view._batch)  # type: ignore[attr-defined]


@dataclass(frozen=True)
class Relations:
    """Sets of steps, as bits: of each step those that may not commute with it, of each clause those that may make it true."""

    conflicts: list[int]
    helpers: list[int]

    @property
    def dependent(self) -> float:
        """The part of the pairs of steps that may not commute."""
        steps = len(self.conflicts)
        return sum(each.bit_count() for each in self.conflicts) / (steps * (steps - 1))


def read(space: Space) -> Relations:
    """From what steps read and write."""
    uses = [guard.union(*written.values(), written) for guard, written in zip(space.guards, space.writes, strict=True)]
    writes = [frozenset(each) for each in space.writes]
    pairs = [(one, other) for one in range(len(writes)) for other in range(len(writes)) if one != other]
    conflicts = [0] * len(writes)
    for one, other in pairs:
        conflicts[one] |= bool(writes[one] & uses[other] or writes[other] & uses[one]) << other
    helpers = [sum(bool(each & reads) << step for step, each in enumerate(writes)) for reads in space.clause_reads]
    return Relations(conflicts, helpers)


def observed(space: Space) -> Relations:
    """As it is in the reachable states: more than this no relation can leave out."""
    steps = range(len(space.steps))
    conflicts, helpers = [0] * len(steps), [0] * len(space.clause_reads)
    for start in range(0, len(space.reachable), BATCH):
        states = space.reachable.slice(start, min(len(space.reachable), start + BATCH))
        held = space.held(states)
        enabled, met = space.enabled(held), dict[tuple[int, int], NDArray[np.uint64]]()
        for one in steps:
            rows = np.flatnonzero(enabled[one])
            after = space.after(np.ascontiguousarray(states[:, rows]), one)
            then = space.held(after)
            for clause in np.flatnonzero((then & ~held[:, rows]).any(axis=1)):
                helpers[clause] |= 1 << one
            before, still = enabled[:, rows], space.enabled(then)
            for other in np.flatnonzero(before[: len(steps)].any(axis=1)).tolist():
                if other == one or conflicts[one] >> other & 1:
                    continue
                is_stopped = (before[other] & ~still[other]).any()
                both = np.array([0]) if is_stopped else mix(space.after(after.compress(before[other], axis=1), other))
                if is_stopped or not np.array_equal(met.setdefault((other, one), both), both):
                    conflicts[one] |= 1 << other
                    conflicts[other] |= 1 << one
                met[one, other] = both
    return Relations(conflicts, helpers)


def proved(space: Space, most: Relations, least: Relations) -> Relations:
    """As Z3 proves it of every state within the bounds; asked is what is read so, and was not observed otherwise."""
    terms = Terms(bit_width(space.system))
    symbols = variables(space.system, terms, "0")
    for slot, value in space.constants.items():
        symbols[slot] = value
    solver = z3.Solver()
    solver.add(*within_bounds(space.system, terms, symbols))
    found = [transition(space.system, terms, step, symbols) for step in space.steps]
    guards = [terms.lift(terms.all_of(*[value for _, value in clauses])) for clauses, _ in found]

    def is_impossible(*conditions: Any) -> bool:
        solver.push()
        solver.add(*conditions)
        answer = solver.check()
        solver.pop()
        return bool(answer == z3.unsat)

    conflicts = [*least.conflicts]
    for one, other in combinations(range(len(guards)), 2):
        if (most.conflicts[one] & ~least.conflicts[one]) >> other & 1:
            (second, ends), (first, others) = (
                transition(space.system, terms, space.steps[last], found[before][1])
                for before, last in ((one, other), (other, one))
            )
            stay = [terms.lift(value) for _, value in (*second, *first)]
            commute = z3.And(*stay, equal(terms, ends, others))
            if not is_impossible(guards[one], guards[other], z3.Not(commute)):
                conflicts[one] |= 1 << other
                conflicts[other] |= 1 << one
    helpers = [*least.helpers]
    clauses = [terms.lift(value) for _, value in space.clauses(terms, Values(space.system, symbols))]
    for step, (_, end) in enumerate(found):
        then = [terms.lift(value) for _, value in space.clauses(terms, Values(space.system, end))]
        for clause, (before, after) in enumerate(zip(clauses, then, strict=True)):
            if (most.helpers[clause] & ~least.helpers[clause]) >> step & 1:
                helpers[clause] |= (not is_impossible(guards[step], z3.Not(before), after)) << step
    return Relations(conflicts, helpers)


class Chosen:
    """The steps that are taken of a state; they follow from which clauses hold, so states alike in that are decided once."""

    def __init__(self, space: Space, relations: Relations) -> None:
        self.space, self.relations = space, relations
        self._known: dict[bytes, NDArray[np.bool_]] = {}

    def of(self, held: NDArray[np.bool_], enabled: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """Shapes: `(clauses, states)`, `(steps and ways, states)`."""
        keys = np.ascontiguousarray(np.packbits(held, axis=0).T)
        _, first, kinds = np.unique(keys, axis=0, return_index=True, return_inverse=True)
        for state in first:
            key = keys[state].tobytes()
            if key not in self._known:
                self._known[key] = self._decided(held[:, state], enabled[:, state])
        return np.stack([self._known[keys[state].tobytes()] for state in first], axis=1)[:, kinds.ravel()]

    def _decided(self, held: NDArray[np.bool_], enabled: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """Begin with the ways; what is disabled needs what makes a clause true, what is enabled what it conflicts with."""
        steps, begins = len(self.space.steps), self.space.begins
        able = sum(1 << int(step) for step in np.flatnonzero(enabled[:steps]))
        found = left = (1 << self.space.ways) - 1 << steps
        while left and found & able != able:
            lowest = left & -left
            number = lowest.bit_length() - 1
            if enabled[number] and number >= steps:
                return enabled[:steps]
            if enabled[number]:
                needed = self.relations.conflicts[number]
            else:
                false = (clause for clause in range(begins[number], begins[number + 1]) if not held[clause])
                needed = min(
                    (self.relations.helpers[clause] & ~found for clause in false),
                    key=lambda each: ((each & able).bit_count(), each.bit_count()),
                )
            left = (left ^ lowest) | needed & ~found
            found |= needed
        return np.array([bool(found >> step & 1) for step in range(steps)]) & enabled[:steps]


def reduced(space: Space, relations: Relations) -> float:
    """By how much a search with these relations visits less.  Errors: `AssertionError` where it finds something else."""
    seen, violated = space.searched(relations)
    assert violated == space.searched(None)[1], f"violated after {violated} steps"
    return len(space.reachable) / len(seen)


def row(name: str) -> str:
    """One line of the table."""
    asked, keys = SPACES[name]
    model = models()[keys.split()[0]]
    chosen = configuration(
        model, {key: (value, "bench") for key, _, value in (each.partition("=") for each in keys.split()[1:])}
    )
    space = Space(bind(model, chosen), properties()[asked])
    most, least = read(space), observed(space)
    factors = [reduced(space, most), reduced(space, least)]
    known, took = "-", "-"
    if factors[1] > WORTH_PROVING:
        started = time.monotonic()
        between = proved(space, most, least)
        took = f"{time.monotonic() - started:.0f} s"
        known = f"{reduced(space, between):.3f}"
    columns = [
        name,
        asked,
        f"{len(space.reachable):,}",
        f"{len(space.reachable) / space.sliced():.3f}",
        f"{most.dependent:.0%}",
        f"{factors[0]:.3f}",
        known,
        took,
        f"{factors[1]:.3f}",
    ]
    return f"| {' | '.join(columns)} |"


def main(names: list[str]) -> None:
    """Print the table."""
    columns = ["space", "property", "states", "sliced", "pairs that read", "read", "proved", "proving took", "observed"]
    print(f"| {' | '.join(columns)} |\n|{' --- |' * len(columns)}")
    for name in names or SPACES:
        print(row(name), flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
