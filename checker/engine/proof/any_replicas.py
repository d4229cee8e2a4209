"""Obligations for every number of replicas of a model whose conditions go over them, and over what else has no bound, by loops.

Loops are removed from its actions before they come here (`specs.any_replicas`).  A lemma or a property keeps its loops: each
runs once, for one element of which nothing is known.  So what a loop has found holds for every element.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field, replace
from functools import partial
from types import MappingProxyType
from typing import Any

import z3

from neverlost.checker.engine.proof.every_size import ParametricEncoding, resize
from neverlost.checker.engine.proof.large_sets import Sized
from neverlost.checker.engine.proof.obligations import Goal, ProofTask, find_symbols
from neverlost.model.interpreters.otherwise import call_otherwise
from neverlost.model.interpreters.quantified_terms import (
    REPLICA,
    Assumed,
    AxisRow,
    Functions,
    Length,
    Quantified,
    copy_unless_list,
    list_lengths,
    make_fresh,
    read_frozen,
)
from neverlost.model.interpreters.terms import Terms
from neverlost.model.kernel import ModelError, Value
from neverlost.model.system import System
from neverlost.specs.lemma import Lemma
from neverlost.specs.property import Property

Instead = Mapping[Callable[..., Any], Callable[..., Any]]
"""What a model's conditions call in place of some functions."""


@dataclass(frozen=True)
class Turns(Sized):
    """Primitives for a condition in which a loop over an axis without a length has one turn, for one unknown element.

    `over` has the element of each such loop that has ended.  It goes over a `range`, or over `others`: all replicas but one.
    """

    others: Callable[..., Any] = field(kw_only=True)
    instead: Instead = field(default_factory=dict, kw_only=True)
    over: dict[str, tuple[Any, Any]] = field(default_factory=dict)

    def range(self, *bounds: Any) -> Iterator[Any]:
        """Yield what Python's own range does; of an axis without a length, one unknown element (`ModelError` unless from 0)."""
        if not isinstance(bounds[-1], Length):
            return iter(range(*bounds))
        if len(bounds) > 1:
            raise ModelError(f"a loop over an axis without a length begins at {bounds[0]}")
        return self.turn(bounds[0].axis)

    def turn(self, axis: str, apart: Any = None) -> Iterator[Any]:
        """Yield one symbolic element of an axis, any but `apart` if that is given; as the loop ends, add it to `over`."""
        each = make_fresh(axis)
        named = [] if apart is None else [each != apart]
        named += [name_elements(axis)(each)] if self.lengths[axis] is None else []
        yield each
        self.over[str(each)] = each, Terms.all_of(self.within(axis, each), *named)

    def all_of(self, *conditions: Value) -> Value:  # type: ignore[override]
        """Return the condition that all conditions hold, for every element that their loops go over."""
        return Terms.all_of(*[self.close(each, True) for each in conditions])

    def any_of(self, *conditions: Value) -> Value:  # type: ignore[override]
        """Return the condition that some condition holds, for some element that its loop goes over."""
        return Terms.any_of(*[self.close(each, False) for each in conditions])

    def ite(self, condition: Value, then: Value, otherwise: Value) -> Value:
        """Return one of two values.  Errors: `ModelError` if the condition or a value is about one turn of an ended loop."""
        self._require_none_over([condition, then, otherwise])
        return super().ite(condition, then, otherwise)

    def is_big(self, elements: AxisRow | Sequence[Value]) -> Value:
        """Return the condition that a set is big; a set that a loop has listed is given by what it says of one turn."""
        if isinstance(elements, AxisRow):
            return super().is_big(elements)
        ((each, inside),) = self._find_over(elements)
        return super().is_big(AxisRow(each, z3.And(inside, *elements)))

    def close(self, condition: Value, is_every: bool) -> Value:
        """Return a condition on one turn of ended loops as one on all their turns (`is_every`) or some; others as they are."""
        found = self._find_over([condition])
        if not found:
            return condition
        elements, inside = [each for each, _ in found], Terms.all_of(*[each for _, each in found])
        if is_every:
            return z3.ForAll(elements, z3.Implies(inside, condition))
        return z3.Exists(elements, z3.And(inside, condition))

    def _find_over(self, terms: Sequence[Any]) -> list[tuple[Any, Any]]:
        names = find_symbols(each for each in terms if z3.is_expr(each)).keys() & self.over.keys()
        more = find_symbols(self.over[each][1] for each in names).keys() & self.over.keys()
        return [self.over[each] for each in sorted(names | more)]

    def _require_none_over(self, terms: Sequence[Any]) -> None:
        if self._find_over(terms):
            raise ModelError("what one turn of a loop has found is used after the loop, as if it were all")

    def read(self, function: Callable[..., Any], view: Any) -> list[Any]:
        """Return the list of what a function of a lemma or a property says, of all elements.  Errors: `ModelError` where a
        loop's turns depend on each other."""
        instead = {**self.instead, self.others: lambda s, replica: self.turn(REPLICA, replica)}
        said = call_otherwise(function, instead, {"range": self.range, "list": copy_unless_list}, is_deep=True)(self, view)
        found = [self.lift(self.close(each, True)) for each in (said if isinstance(said, list) else [said])]
        self._require_none_over(found)
        return found


def name_elements(axis: str) -> Any:
    """Return a predicate that says nothing (`LedEncoding` assumes it of every number): it is a term that has the element in it.

    A solver looks for instances of a quantifier among terms, and a comparison of numbers is none.
    """
    return z3.Function(f"is_{axis}", z3.IntSort(), z3.BoolSort())


class LedEncoding(ParametricEncoding):
    """The reading, for every number of replicas, of a model that `specs.any_replicas` has made free of loops; at first, one
    replica is not as the others: the field `differs` has its number."""

    def __init__(
        self,
        opened: System,
        lemmas: Sequence[Lemma],
        goal: Property,
        others: Callable[..., Any],
        differs: str,
        instead: Instead = MappingProxyType({}),
    ) -> None:
        self._named: dict[ProofTask, Set[str]] = {}
        self._turns, self._differs = Turns(None, list_lengths(opened), others=others, instead=instead), differs
        asked = replace(goal, condition=lambda k, s: Terms.all_of(*self._turns.read(goal.condition, s)))
        super().__init__(opened, [replace(each, conjuncts=self._read_lemma(each)) for each in lemmas], asked)

    def _read(self, k: Assumed) -> list[Any]:
        each = z3.Int("each")
        named = [z3.ForAll([each], name_elements(axis)(each)) for axis, length in self._lengths.items() if length is None]
        return [*super()._read(k), *named]

    def _read_lemma(self, lemma: Lemma) -> Callable[[Any, Any], list[Any]]:
        """Return a function that reads a lemma's conjuncts, of the same state only once."""
        known: dict[tuple[int, ...], tuple[Any, list[Any]]] = {}

        def read(k: Any, s: Any) -> list[Any]:
            functions = [*s.functions.values()]
            key = tuple(map(id, functions))
            if key not in known:
                known[key] = functions, self._turns.read(lemma.conjuncts, s)
            return [*known[key][1]]

        return read

    def _make_primitives(self) -> Quantified:
        return Sized(None, self._lengths, asked=self._turns.asked)

    def refutation(self, task: ProofTask, goal: Goal) -> list[Any]:
        """Return the negated conclusion, and what is known of the sets that are asked about."""
        refuted = super().refutation(task, goal)
        if task not in self._named:
            self._named[task] = find_symbols(self.premises(task)).keys()
        return [*refuted, *self._turns.list_known(self._named[task] | find_symbols(refuted).keys())]

    def _configuration(self) -> Functions:
        """Return the configuration, but for what depends on the number of replicas: of that nothing is known but its bounds."""
        return read_frozen([*resize(self.system)])

    def _begin(self) -> tuple[list[Functions], list[Any]]:
        begun = begin(self.system, self._lengths, self._differs) | {
            each.name: self.before[each.name] for each in self.system.fields if each.frozen
        }
        bounds = [self._field_in_bounds(self._k, self._view(begun), each, False) for each in self.system.fields if each.frozen]
        return [begun], [self._k.within(REPLICA, CHOSEN), self._k.lift(self._k.all_of(*bounds))]


CHOSEN = z3.Int("chosen_first")


def begin(system: System, lengths: Mapping[str, Any], differs: str) -> Functions:
    """Return the initial state, in which one replica, whichever the field `differs` names, is not as the others.

    A value depends on nothing but which of its replicas are that one, at every size that is compared; along other axes without
    a length (`lengths` has these axes) all values are alike.
    Errors: `ModelError` where a value depends on more.
    """
    known: dict[tuple[str, tuple[int, ...]], dict[tuple[bool | None, ...], Any]] = {}
    for other in resize(system):
        for _, state in other.initial_states():
            chosen = state[other.places[differs][0]]
            for slot, value in zip(other.slots, state, strict=True):
                if slot.field.frozen:
                    continue
                pairs = list(zip(slot.field.axes, slot.index, strict=True))
                closed = tuple(each for axis, each in pairs if axis not in lengths)
                case = tuple(each == chosen if axis == REPLICA else None for axis, each in pairs if axis in lengths)
                meant = z3.BoolVal(bool(value)) if slot.field.kind == "flag" else z3.IntVal(value)
                if slot.field.kind == "replica" and value == chosen:
                    meant = CHOSEN
                if not known.setdefault((slot.field.name, closed), {}).setdefault(case, meant).eq(meant):
                    raise ModelError(f"{slot.field.name} does not begin alike everywhere but at one replica")
    found: Functions = {}
    for (name, closed), cases in known.items():
        found.setdefault(name, {})[closed] = partial(_choose, cases)
    return found


def _choose(cases: Mapping[tuple[bool | None, ...], Any], *at: Any) -> Any:
    """Return the value at some elements, by whether each is the chosen replica; None stands for an element of another axis."""
    (_, found), *rest = cases.items()
    for case, value in rest:
        same = [(one == CHOSEN) == each for one, each in zip(at, case, strict=True) if each is not None]
        found = z3.If(Terms.all_of(*same), value, found)
    return found
