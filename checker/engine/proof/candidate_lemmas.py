"""Candidates for lemmas: clauses over the slots of a system, and which of them every reachable state keeps.

Clauses of up to three literals, derived from the kinds of the fields and closed under renaming of interchangeable replicas,
are scanned as bit sets over the complete reachable sets.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations, permutations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from neverlost.checker.engine.proof.bounded_search import interchangeable
from neverlost.model.interpreters.columns import Batch, Columns, ColumnsView, Packed, Successors, pack_rows
from neverlost.model.kernel import Value
from neverlost.model.system import System
from neverlost.specs.errors import InputError

Bits = NDArray[np.uint8]
LARGEST = 300_000
"""Reachable states beyond which mining is refused."""


@dataclass(frozen=True, order=True)
class Literal:
    """A comparison of a slot with a constant, or with another slot.

    `relation` is `==`, `!=`, `<=` or `>`; `other` is a slot where `to_slot`, else a constant.
    """

    slot: int
    relation: str
    other: int
    to_slot: bool = False

    def holds(self, k: Any, read: Any, is_flag: bool) -> Value:
        """Its truth in a state whose slots `read` gives."""
        left = read(self.slot)
        if is_flag and not self.to_slot:
            return left if (self.relation == "==") == bool(self.other) else k.not_(left)
        right = read(self.other) if self.to_slot else self.other
        if self.relation == "==":
            return left == right
        if self.relation == "!=":
            return left != right
        return left <= right if self.relation == "<=" else left > right

    @property
    def negated(self) -> Literal:
        """The opposite."""
        opposite = {"==": "!=", "!=": "==", "<=": ">", ">": "<="}[self.relation]
        return Literal(self.slot, opposite, self.other, self.to_slot)


Clause = tuple[Literal, ...]


class Vocabulary:
    """The literals of a system and how renaming replicas moves them."""

    def __init__(self, system: System) -> None:
        self.system = system
        self.flags = [slot.field.kind == "flag" for slot in system.slots]
        self._places = {(slot.field.name, slot.index): number for number, slot in enumerate(system.slots)}
        alike = interchangeable(system)
        replicas = range(len(alike))
        self._orders = [each for each in permutations(replicas) if all(each[r] in alike[r] for r in replicas)]

    def literals(self) -> list[Literal]:
        """Return every literal, a positive one before its negation."""
        found: list[Literal] = []
        varying = [number for number, slot in enumerate(self.system.slots) if not slot.is_constant]
        for number in varying:
            found += self._unary(number)
        for one, other in combinations(varying, 2):
            found += self._binary(one, other)
        return [each for positive in found for each in (positive, positive.negated)]

    def _unary(self, number: int) -> Iterator[Literal]:
        slot = self.system.slots[number]
        if slot.field.kind == "flag":
            yield Literal(number, "==", 1)
        elif slot.field.kind == "replica":
            yield from (Literal(number, "==", value) for value in range(slot.low, slot.high + 1))
        else:
            yield from (Literal(number, "<=", value) for value in range(slot.low, slot.high))

    def _binary(self, one: int, other: int) -> Iterator[Literal]:
        """Comparisons of numbers of one field, of one replica's different fields, and with scalars of a like range."""
        left, right = self.system.slots[one], self.system.slots[other]
        if left.field.kind != right.field.kind or left.field.kind == "flag":
            return
        if left.field is right.field:
            yield Literal(one, "==", other, True)
            if left.field.kind == "number":
                yield Literal(one, "<=", other, True)
                yield Literal(other, "<=", one, True)
        elif left.field.kind == "number" and abs(left.high - right.high) <= 1 and _meet(left.index, right.index):
            yield Literal(one, "<=", other, True)
            yield Literal(other, "<=", one, True)
            yield Literal(one, "==", other, True)

    def renamed(self, clause: Clause) -> list[Clause]:
        """Return the clause under every renaming of interchangeable replicas."""
        return sorted({tuple(sorted(self._renamed(each, order) for each in clause)) for order in self._orders})

    def _renamed(self, literal: Literal, order: tuple[int, ...]) -> Literal:
        slot = self._moved(literal.slot, order)
        if literal.to_slot:
            other = self._moved(literal.other, order)
            if literal.relation in ("==", "!=") and other < slot:
                slot, other = other, slot
            return Literal(slot, literal.relation, other, True)
        is_name = self.system.slots[literal.slot].field.kind == "replica" and literal.other >= 0
        return Literal(slot, literal.relation, order[literal.other] if is_name else literal.other)

    def _moved(self, number: int, order: tuple[int, ...]) -> int:
        slot = self.system.slots[number]
        axes = zip(slot.field.axes, slot.index, strict=True)
        return self._places[slot.field.name, tuple(order[i] if axis == "replica" else i for axis, i in axes)]

    def value(self, k: Any, clause: Clause, read: Any) -> Value:
        """Return a clause's truth."""
        return k.any_of(*[each.holds(k, read, self.flags[each.slot]) for each in clause])

    def text(self, clause: Clause) -> str:
        """Return a clause in the model's notation."""
        return " or ".join(self._literal_text(each) for each in clause)

    def _literal_text(self, literal: Literal) -> str:
        name = self.system.slots[literal.slot].name
        if literal.to_slot:
            return f"{name} {literal.relation} {self.system.slots[literal.other].name}"
        if self.flags[literal.slot]:
            return name if (literal.relation == "==") == bool(literal.other) else f"not {name}"
        return f"{name} {literal.relation} {literal.other}"


def _meet(one: tuple[int, ...], other: tuple[int, ...]) -> bool:
    """Return True if two elements belong together: one is a scalar, or both begin with the same index."""
    return not one or not other or one[0] == other[0]


def reachable(system: System, seconds: float | None = None) -> Packed:
    """Return every reachable state, packed.

    Errors: `InputError` for a system with more of them than mining can take.
    """
    started = time.monotonic()
    successors = Successors(system)
    frontier = pack_rows(system, sorted({state for _, state in system.initial_states()}))
    seen = {each.tobytes() for each in np.ascontiguousarray(frontier.T)}
    levels = [frontier]
    while frontier.shape[1]:
        fresh = []
        for _, _, words in successors.of(frontier):
            for row in np.ascontiguousarray(words.T):
                key = row.tobytes()
                if key not in seen:
                    seen.add(key)
                    fresh.append(row)
        if len(seen) > LARGEST or (seconds is not None and time.monotonic() - started > seconds):
            raise InputError(f"--mine needs all reachable states of a small configuration; this one has more than {len(seen)}")
        frontier = np.ascontiguousarray(np.array(fresh, np.uint64).reshape(len(fresh), system.words).T)
        levels.append(frontier)
    return np.concatenate(levels, axis=1)


def false_rows(vocabulary: Vocabulary, literals: Sequence[Literal], states: Packed) -> Bits:
    """For each literal the bit set of the states in which it is false."""
    view = ColumnsView(Batch(vocabulary.system, states))
    rows = []
    for each in literals:
        value = each.holds(Columns, view._read, vocabulary.flags[each.slot])
        rows.append(np.packbits(~np.broadcast_to(np.asarray(value, np.bool_), (states.shape[1],))))
    return np.array(rows)


def survivors(vocabulary: Vocabulary, literals: Sequence[Literal], false: Bits, size: int) -> tuple[list[Clause], int]:
    """Clauses of up to `size` literals that no state falsifies and no shorter one implies, one of each orbit; and how many
    clauses were looked at."""
    found: list[Clause] = []
    looked = len(literals)
    alive = [number for number in range(len(literals)) if false[number].any() and not _is_full(false[number])]
    found += [(literals[number],) for number in range(len(literals)) if not false[number].any()]
    open_pairs: list[tuple[int, int]] = []
    useful = np.array(alive, np.intp)
    dead: set[tuple[int, int]] = set()
    for position, one in enumerate(useful):
        rest = useful[position + 1 :]
        looked += len(rest)
        both = false[one] & false[rest]
        for other, is_alive in zip(rest.tolist(), both.any(axis=1).tolist(), strict=True):
            if literals[one].negated == literals[other]:
                continue
            if not is_alive:
                found.append((literals[one], literals[other]))
                dead.add((int(one), other))
            elif size > 2 and not (both[other_index(rest, other)] == false[one]).all():
                open_pairs.append((int(one), other))
    if size > 2:
        triples, more = _triples(literals, false, useful, open_pairs, dead)
        found += triples
        looked += more
    return _representatives(vocabulary, found), looked


def other_index(rest: NDArray[np.intp], other: int) -> int:
    """Return the position of a literal among the rest."""
    return int(np.searchsorted(rest, other))


def _is_full(bits: Bits) -> bool:
    return bool((bits[:-1] == 255).all() and bits[-1] in (128, 192, 224, 240, 248, 252, 254, 255))


def _triples(
    literals: Sequence[Literal], false: Bits, useful: NDArray[np.intp], pairs: list[tuple[int, int]], dead: set[tuple[int, int]]
) -> tuple[list[Clause], int]:
    found: list[Clause] = []
    looked = 0
    for one, other in pairs:
        rest = useful[np.searchsorted(useful, other) + 1 :]
        looked += len(rest)
        empty = ~(false[rest] & (false[one] & false[other])).any(axis=1)
        for third in rest[empty].tolist():
            if (one, third) not in dead and (other, third) not in dead and _is_proper(literals, one, other, third):
                found.append((literals[one], literals[other], literals[third]))
    return found, looked


def _is_proper(literals: Sequence[Literal], *numbers: int) -> bool:
    chosen = [literals[number] for number in numbers]
    return all(one.negated != other for one, other in combinations(chosen, 2))


def _representatives(vocabulary: Vocabulary, clauses: Sequence[Clause]) -> list[Clause]:
    known: set[Clause] = set()
    found = []
    for clause in clauses:
        ordered = tuple(sorted(clause))
        if ordered not in known:
            orbit = vocabulary.renamed(ordered)
            known.update(orbit)
            found.append(orbit[0])
    return found
