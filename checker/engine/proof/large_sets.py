"""Sets of which a proof asks whether they are big or small, and never how many members they have.

Each set that is asked about has a flag.  What is known of the flags is what there is to know of a number that a big set reaches
and a small one stays below: a set that contains a big one is big, one within a small one is small, and (the *threshold*) a big
set has a member that is not in a given small one.  All elements together are big, and one by itself is small.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence, Set
from dataclasses import dataclass, field
from itertools import permutations, product
from typing import Any

import z3

from neverlost.checker.engine.proof.obligations import find_symbols
from neverlost.model.interpreters.quantified_terms import REPLICA, AxisRow, Quantified
from neverlost.model.kernel import Value

MEMBER, OTHER = z3.Int("member!"), z3.Int("other!")


@dataclass(frozen=True)
class AskedSet:
    """A set as a condition on `MEMBER` and its parameters; its flag says that it is big, or, without `asks_big`, small."""

    has_member: Any
    parameters: tuple[Any, ...]
    is_flagged: Any
    asks_big: bool

    @property
    def flag(self) -> Any:
        """The term for the flag at the set's own parameters."""
        return self.is_flagged(*self.parameters)


@dataclass(frozen=True)
class Sized(Quantified):
    """Primitives with which it can be asked whether a set of elements is big or small; `asked` gets the sets asked about."""

    asked: list[AskedSet] = field(default_factory=list, kw_only=True)

    def is_big(self, elements: AxisRow) -> Value:
        """Return the condition that a set is big."""
        return self._ask(elements, True)

    def is_small(self, elements: AxisRow) -> Value:
        """Return the condition that a set is small."""
        return self._ask(elements, False)

    def _ask(self, elements: AxisRow, asks_big: bool) -> Value:
        has_member = z3.simplify(self.lift(elements[MEMBER]))
        symbols = find_symbols([has_member])
        about = [symbols[name]() for name in sorted(symbols) if name.startswith(f"{REPLICA}?")]
        parameters = tuple(z3.Int(f"about!{place}") for place in range(len(about)))
        has_member = z3.substitute(has_member, *zip(about, parameters, strict=True))
        for each in self.asked:
            if each.asks_big == asks_big and each.has_member.eq(has_member):
                return each.is_flagged(*about)
        name = f"is_{'big' if asks_big else 'small'}!{len(self.asked)}"
        made = z3.Function(name, *[z3.IntSort()] * len(about), z3.BoolSort())
        self.asked.append(AskedSet(has_member, parameters, made, asks_big))
        return made(*about)

    def list_known(self, names: Set[str]) -> Iterator[Any]:
        """Yield what is known of the flags that are among some names, and of those that these sets depend on."""
        known = self._find_asked(names)
        big, small = ([each for each in known if each.asks_big is asks_big] for asks_big in (True, False))
        for each in big:
            yield self._is_left([each], z3.Not(each.flag), True, each.has_member)
            yield self._has_two(each, each.flag)
        for each in small:
            yield self._has_two(each, z3.Not(each.flag))
        for one, other in permutations(big, 2):
            yield self._is_left([one, other], z3.And(one.flag, z3.Not(other.flag)), one.has_member, other.has_member)
        for one, other in permutations(small, 2):
            yield self._is_left([one, other], z3.And(one.flag, z3.Not(other.flag)), other.has_member, one.has_member)
        yield from self.threshold(big, small)

    def threshold(self, big: Sequence[AskedSet], small: Sequence[AskedSet]) -> Iterator[Any]:
        """Yield for each of `big` and of `small` the assertion: if they are so, a member of the first is not in the second."""
        for one, other in product(big, small):
            yield self._is_left([one, other], z3.And(one.flag, other.flag), one.has_member, other.has_member)

    def _find_asked(self, names: Set[str]) -> list[AskedSet]:
        found: list[AskedSet] = []
        while more := [each for each in self.asked if each.is_flagged.name() in names and each not in found]:
            found += more
            names = names | find_symbols(each.has_member for each in more).keys()
        return found

    def _is_left(self, sets: list[AskedSet], condition: Any, one: Any, other: Any) -> Any:
        """Return the assertion that under a condition some element is in the set `one` and not in `other`."""
        left = z3.Exists([MEMBER], self.all_of(self.within(REPLICA, MEMBER), one, z3.Not(other)))
        return self._close(sets, z3.Implies(condition, left))

    def _has_two(self, asked: AskedSet, condition: Any) -> Any:
        """Return the assertion that under a condition a set has at least two members."""
        other = z3.substitute(asked.has_member, (MEMBER, OTHER))
        two = z3.And(self.within(REPLICA, MEMBER), self.within(REPLICA, OTHER), MEMBER != OTHER, asked.has_member, other)
        return self._close([asked], z3.Implies(condition, z3.Exists([MEMBER, OTHER], two)))

    def _close(self, sets: list[AskedSet], said: Any) -> Any:
        about = list({str(each): each for asked in sets for each in asked.parameters}.values())
        inside = self.all_of(*[self.within(REPLICA, each) for each in about])
        return z3.ForAll(about, z3.Implies(inside, said)) if about else said
