"""Obligations of the modern models for every number of replicas.

Actions are read as `specs.any_replicas` says.  A lemma or a property is read as it is written: each of its loops over replicas
has one turn, for a replica of which nothing is known, and what the loop has collected is said of all replicas.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import z3

from neverlost.checker.engine.proof.every_size import COMPARED, ParametricEncoding
from neverlost.checker.engine.proof.obligations import BOUNDS, INITIATION, SAFETY, Goal, ProofTask, find_symbols
from neverlost.model.interpreters.otherwise import call_otherwise
from neverlost.model.interpreters.quantified_terms import (
    REPLICA,
    Functions,
    Quantified,
    list_lengths,
    make_fresh,
    make_generic_steps,
    transition,
    variables,
)
from neverlost.model.interpreters.terms import Terms
from neverlost.model.kernel import ModelError, Value
from neverlost.model.kraft.state import everyone, others
from neverlost.model.system import System, bind
from neverlost.specs.any_replicas import open_replicas
from neverlost.specs.errors import InputError
from neverlost.specs.lemma import Lemma
from neverlost.specs.property import Property


@dataclass(frozen=True)
class Turns(Quantified):
    """Primitives for a condition whose loops over replicas have one turn each; `over` are the loops that have ended."""

    over: dict[str, tuple[Any, Any]] = field(default_factory=dict)

    def everyone(self, s: Any) -> Iterator[Any]:
        """Yield a replica of which nothing is known."""
        yield from self.others(s, None)

    def others(self, s: Any, replica: Any) -> Iterator[Any]:
        """Yield a replica that is not the given one."""
        each = make_fresh(REPLICA)
        inside = self.within(REPLICA, each)
        yield each
        self.over[str(each)] = each, inside if replica is None else z3.And(inside, each != replica)

    def all_of(self, *conditions: Value) -> Value:  # type: ignore[override]
        """Whether all conditions hold, in every turn of the loops that gave them."""
        return Terms.all_of(*[self.close(each, True) for each in conditions])

    def any_of(self, *conditions: Value) -> Value:
        """Whether some condition holds, in some turn of the loop that gave it."""
        return Terms.any_of(*[self.close(each, False) for each in conditions])

    def close(self, condition: Value, is_every: bool) -> Value:
        """Return a condition that speaks of all turns of the loops that have ended, or of one."""
        found = self._find_over([condition])
        if not found:
            return condition
        elements, inside = [each for each, _ in found], z3.And([each for _, each in found])
        return z3.ForAll(elements, z3.Implies(inside, condition)) if is_every else z3.Exists(elements, z3.And(inside, condition))

    def _find_over(self, terms: Sequence[Any]) -> list[tuple[Any, Any]]:
        names = find_symbols(each for each in terms if z3.is_expr(each)).keys() & self.over.keys()
        more = find_symbols(self.over[each][1] for each in names).keys() & self.over.keys()
        return [self.over[each] for each in sorted(names | more)]

    def conjuncts(self, function: Any, view: Any) -> list[Any]:
        """Return what a function of a lemma says, of all replicas."""
        read = call_otherwise(function, {everyone: self.everyone, others: self.others})(self, view)
        found = [self.lift(self.close(each, True)) for each in (read if isinstance(read, list) else [read])]
        if find_symbols(found).keys() & self.over.keys():
            raise ModelError("a loop's turn is used after the loop")
        return found


class LedEncoding(ParametricEncoding):
    """The reading for every number of replicas of a model that begins with a leader."""

    def __init__(self, system: System, lemmas: Sequence[Lemma], goal: Property) -> None:
        self.system, self.lemmas, self.goal = open_replicas(system), tuple(lemmas), goal
        self._lengths = list_lengths(system)
        self.unbounded = (f"{REPLICA}s",)
        self._k = Quantified(None, self._lengths)
        try:
            self.before = self._freeze(variables(self.system, self._lengths, "before"))
            self.steps = make_generic_steps(self.system, self._k)
            self.transitions = [transition(self.system, self._k, each, self.before) for each in self.steps]
            self._first = begin(system, self._lengths)
        except ModelError as problem:
            raise InputError(f"model {system.model.name!r} has no reading for every number of replicas: {problem}") from None
        self._assumed = [self._lengths[REPLICA] >= 1, self._k.lift(self._in_bounds(self._k, self._view(self.before)))]
        self._shapes = {}
        for each in lemmas:
            found = self._read_at(each.conjuncts, self.before)
            self._shapes[each.name] = len(found)
            self._assumed += found
        self._enough = {}

    def _freeze(self, state: Functions) -> Functions:
        for each in self.system.fields:
            if each.frozen:
                low, high = self.system._domain(each)
                assert low == high
                value: Any = bool(low) if each.kind == "flag" else low
                state[each.name] = {(): lambda value=value: value}
        return state

    def _read_at(self, function: Any, state: Functions) -> list[Any]:
        return Turns(None, self._lengths).conjuncts(function, self._view(state))

    def goals(self, task: ProofTask) -> list[Goal]:
        if task.kind == SAFETY:
            return [Goal(self.goal.name, self.goal.condition)]
        found = [Goal(BOUNDS, self._in_bounds)]
        for lemma in self.lemmas:
            many = self._shapes[lemma.name]
            for part in range(many):
                name = lemma.name if many == 1 else f"{lemma.name}, {part + 1} of {many}"
                found.append(Goal(name, lambda k, s, lemma=lemma, part=part: self._read_at(lemma.conjuncts, s.functions)[part]))
        return found

    def premises(self, task: ProofTask) -> list[Any]:
        if task.kind == INITIATION:
            return [self._lengths[REPLICA] >= 1, *self._first[1]]
        return [*self._assumed, *(self.transitions[task.step][0] if task.step is not None else [])]

    def refutation(self, task: ProofTask, goal: Goal) -> list[Any]:
        if task.kind == INITIATION:
            after = self._first[0]
        else:
            after = self.before if task.step is None else self.transitions[task.step][1]
        if task.kind == SAFETY:
            (found,) = self._read_at(goal.predicate, after)
        else:
            found = self._k.lift(goal.predicate(self._k, self._view(after)))
        return [z3.Not(found)]

    def attempts(self, task: ProofTask, goal: Goal) -> list[str]:
        return ["all"]


def begin(system: System, lengths: Mapping[str, Any]) -> tuple[Functions, list[Any]]:
    """Return the state at first, with a leader of which nothing else is known, and that it is a replica.

    Errors: `ModelError` where a value depends on more than which of its replicas is the leader.
    """
    first = z3.Int("first_leader")
    key = "replication.factor"
    known: dict[str, dict[tuple[int, ...], dict[tuple[bool, ...], Any]]] = {}
    for replicas in COMPARED:
        other = bind(system.model, *[{**each, key: replicas, "faults.at_once": 0} for each in system.configurations])
        (state,) = {state for _, state in other.initial_states()}
        (leader,) = [v for slot, v in zip(other.slots, state, strict=True) if slot.field.name == "leader"]
        for slot, value in zip(other.slots, state, strict=True):
            if slot.field.frozen:
                continue
            pairs = list(zip(slot.field.axes, slot.index, strict=True))
            closed = tuple(i for axis, i in pairs if axis not in lengths)
            case = tuple(i == leader for axis, i in pairs if axis in lengths)
            meant: Any = z3.BoolVal(bool(value)) if slot.field.kind == "flag" else z3.IntVal(value)
            if slot.field.kind == "replica" and value >= 0:
                if value != leader:
                    raise ModelError(f"{slot.field.name} names a replica that is not the leader")
                meant = first
            cases = known.setdefault(slot.field.name, {}).setdefault(closed, {})
            if not cases.setdefault(case, meant).eq(meant):
                raise ModelError(f"{slot.field.name} does not begin alike")
    found: Functions = {
        name: {closed: (lambda *at, cases=cases: _choose(cases, at, first)) for closed, cases in rows.items()}
        for name, rows in known.items()
    }
    for each in system.fields:
        if each.frozen:
            low, _ = system._domain(each)
            value: Any = bool(low) if each.kind == "flag" else low
            found[each.name] = {(): lambda value=value: value}
    return found, [first >= 0, first < lengths[REPLICA]]


def _choose(cases: Mapping[tuple[bool, ...], Any], at: Sequence[Any], first: Any) -> Any:
    (_, term), *rest = cases.items()
    for case, value in rest:
        here = z3.And([(one == first) if same else (one != first) for one, same in zip(at, case, strict=True)])
        term = z3.If(here, value, term)
    return term
