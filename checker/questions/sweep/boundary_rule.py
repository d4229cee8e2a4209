"""The smallest rule over a matrix's keys that is true in exactly the cells that are marked, and its proof.

A rule is a disjunction of terms, a term a conjunction of atoms (`key = value`, `key >= number`, `key >= other key`).
More faults are never safer, and a fault's number is no setting: their keys have lower bounds only, and are compared with no
other key.  Terms are enumerated up to a size; Z3 finds a smallest choice of them, and proves its equality with the matrix.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from itertools import combinations
from operator import eq, ge, gt, le, ne, or_
from typing import Any

import z3

Row = Mapping[str, Any]
"""A cell: its value of every key; numbers are ordered, everything else is only equal or not."""

FAULTS = "faults."
"""How the keys of fault limits begin."""

LONGEST_TERM = 4
MOST_TERMS = 600
MOST_COMBINATIONS = 400_000
PATIENCE_MS = 15_000

RELATIONS: Mapping[str, Callable[[Any, Any], Any]] = {"=": eq, "!=": ne, ">=": ge, "<=": le, ">": gt}


class OrderedLabel(int):
    """A value that is no number, such as a version, as its place in an order; as text it is its label."""

    label: str

    def __new__(cls, place: int, label: str) -> OrderedLabel:
        made = super().__new__(cls, place)
        made.label = label
        return made

    def __str__(self) -> str:
        return self.label


@dataclass(frozen=True)
class Atom:
    """A comparison of a key with `value`; if `other` is True, `value` is the name of a second key to compare with."""

    key: str
    relation: str
    value: Any
    other: bool = False

    def holds(self, row: Row) -> bool:
        """Return True if the comparison is true in a cell."""
        return bool(RELATIONS[self.relation](row[self.key], row[self.value] if self.other else self.value))

    def __str__(self) -> str:
        value = str(self.value).lower() if isinstance(self.value, bool) else self.value
        return f"{self.key} {self.relation} {value}"


@dataclass(frozen=True)
class BoundaryRule:
    """Terms (one must hold) of atoms (all must hold).  `smallest` is True if no smaller choice of the enumerated terms exists;
    `proved` is True if Z3 has proved that the rule is true in exactly the marked cells."""

    terms: tuple[tuple[Atom, ...], ...]
    smallest: bool
    proved: bool

    def holds(self, row: Row) -> bool:
        """Return True if the rule is true in a cell."""
        return any(all(atom.holds(row) for atom in term) for term in self.terms)

    @property
    def size(self) -> int:
        return sum(map(len, self.terms))

    def __str__(self) -> str:
        if not self.terms:
            return "never"
        if self.terms == ((),):
            return "always"
        parts = [" and ".join(map(str, term)) for term in self.terms]
        return " or ".join(f"({each})" if len(self.terms) > 1 and " and " in each else each for each in parts)


def atoms(rows: Sequence[Row]) -> list[Atom]:
    """Return every comparison that is true in some cells and false in others, simpler ones first; of those that agree in all
    cells, only the first."""
    found: list[Atom] = []
    numbers = []
    for key in rows[0]:
        values = sorted({row[key] for row in rows}, key=lambda value: (str(type(value)), value))
        if len(values) < 2:
            continue
        if key.startswith(FAULTS) and all(isinstance(value, int) for value in values):
            found += [Atom(key, ">=", value) for value in values[1:]]
        elif all(isinstance(value, int) and not isinstance(value, bool) for value in values):
            if not isinstance(values[0], OrderedLabel):
                numbers.append(key)
            found += [Atom(key, ">=", value) for value in values[1:]] + [Atom(key, "<=", value) for value in values[:-1]]
        else:
            found += [Atom(key, "=", value) for value in values]
            found += [Atom(key, "!=", value) for value in values] if len(values) > 2 else []
    for one, other in combinations(numbers, 2):
        found += [Atom(one, relation, other, True) for relation in (">=", ">")]
        found += [Atom(other, relation, one, True) for relation in (">=", ">")]
    different: dict[int, Atom] = {}
    for atom in found:
        different.setdefault(_mask(atom, rows), atom)
    return [atom for mask, atom in different.items() if mask not in (0, (1 << len(rows)) - 1)]


def _mask(atom: Atom, rows: Sequence[Row]) -> int:
    return sum(1 << number for number, row in enumerate(rows) if atom.holds(row))


class _Enumeration:
    """Finds terms that are true in marked cells only, the shorter first; one that is true in others too is made longer."""

    def __init__(self, masks: Sequence[int], marked: int, unmarked: int) -> None:
        self.masks, self.marked, self.unmarked = masks, marked, unmarked
        self.found: dict[int, tuple[int, ...]] = {}
        self.covered, self.tried = 0, 0

    def run(self) -> dict[int, tuple[int, ...]]:
        """Return the terms found, as numbers of atoms (up to `LONGEST_TERM`), by the cells, as bits, where each is true."""
        unfinished: dict[int, tuple[int, ...]] = {self.marked | self.unmarked: ()}
        for _ in range(LONGEST_TERM):
            unfinished = self._longer(unfinished)
            if self.tried > MOST_COMBINATIONS and self.covered == self.marked:
                break
        return self.found

    def _longer(self, terms: Mapping[int, tuple[int, ...]]) -> dict[int, tuple[int, ...]]:
        """Add an atom to each term: put what is then true in marked cells only into `found`, return what is true in both."""
        unfinished: dict[int, tuple[int, ...]] = {}
        for cells, term in terms.items():
            for number in range(term[-1] + 1 if term else 0, len(self.masks)):
                both = cells & self.masks[number]
                self.tried += 1
                if not both & self.marked or both == cells or both in self.found:
                    continue
                if both & self.unmarked:
                    unfinished.setdefault(both, (*term, number))
                else:
                    self._add(both, (*term, number))
        return unfinished

    def _add(self, cells: int, term: tuple[int, ...]) -> None:
        """Put a term into `found`, unless one there that is not longer is true in all of its cells."""
        if not any(cells & known == cells and len(other) <= len(term) for known, other in self.found.items()):
            self.found[cells] = term
            self.covered |= cells


def _terms(masks: Sequence[int], marked: int, unmarked: int) -> list[tuple[int, tuple[int, ...]]]:
    """Return the cheapest terms that are true in marked cells only, as (cells, atoms): at most `MOST_TERMS` if they cover every
    marked cell, else all."""
    found = _Enumeration(masks, marked, unmarked).run()
    best = sorted(found.items(), key=lambda each: (len(each[1]), -each[0].bit_count(), each[1]))
    return best[:MOST_TERMS] if _cover(best[:MOST_TERMS]) == marked else best


def _cover(terms: Sequence[tuple[int, tuple[int, ...]]]) -> int:
    """Return, as bits, the cells in which at least one of the terms is true."""
    return reduce(or_, (cells for cells, _ in terms), 0)


def _chosen(terms: Sequence[tuple[int, tuple[Atom, ...]]], marked: int, count: int) -> tuple[list[int], bool]:
    """Return the numbers of terms that cover the marked cells at the lowest price, and True; if Z3 does not finish, those of
    some cover, and False."""
    chosen: list[int] = []
    left = marked
    while left:
        best = max(range(len(terms)), key=lambda n: ((terms[n][0] & left).bit_count() / _cost(terms[n][1]), -n))
        chosen.append(best)
        left &= ~terms[best][0]
    solver = z3.Optimize()
    solver.set("timeout", PATIENCE_MS)
    picks = [z3.Bool(f"t{number}") for number in range(len(terms))]
    needed = set()
    for cell in range(count):
        if marked >> cell & 1:
            needed.add(tuple(number for number, (cells, _) in enumerate(terms) if cells >> cell & 1))
    for each in needed:
        solver.add(z3.Or([picks[number] for number in each]))
    cost = z3.Sum([z3.If(pick, _cost(terms[number][1]), 0) for number, pick in enumerate(picks)])
    solver.minimize(cost)
    if solver.check() != z3.sat:
        return chosen, False
    model = solver.model()
    return [number for number, pick in enumerate(picks) if z3.is_true(model.eval(pick))], True


def _cost(atoms_: Sequence[Atom]) -> int:
    """Return a term's price: 3 for itself and 3 for each atom, or 4 for an atom that compares two keys."""
    return 3 + sum(4 if atom.other else 3 for atom in atoms_)


def smallest_rule(rows: Sequence[Row], marks: Sequence[bool]) -> BoundaryRule:
    """Return the smallest rule found that is true in exactly the marked cells, and whether Z3 has proved that it is."""
    if not any(marks):
        return BoundaryRule((), True, prove((), rows, marks))
    if all(marks):
        return BoundaryRule(((),), True, prove(((),), rows, marks))
    usable = atoms(rows)
    masks = [_mask(each, rows) for each in usable]
    marked = sum(1 << number for number, mark in enumerate(marks) if mark)
    unmarked = ((1 << len(rows)) - 1) & ~marked
    found = _terms(masks, marked, unmarked)
    written: list[tuple[int, tuple[Atom, ...]]] = [(cells, tuple(usable[number] for number in term)) for cells, term in found]
    left = marked & ~_cover(found)
    for number, row in enumerate(rows):
        if left >> number & 1:
            written.append((1 << number, tuple(Atom(key, "=", value) for key, value in row.items())))
    chosen, certain = _chosen(written, marked, len(rows))
    terms = tuple(written[number][1] for number in sorted(chosen))
    return BoundaryRule(terms, certain and not left, prove(terms, rows, marks))


def prove(terms: Sequence[Sequence[Atom]], rows: Sequence[Row], marks: Sequence[bool]) -> bool:
    """Return True if Z3 proves that, within the cells, the terms are true exactly where the marks are."""
    codes = {key: {value: number for number, value in enumerate(dict.fromkeys(row[key] for row in rows))} for key in rows[0]}
    variables = {key: z3.Int(key) for key in rows[0]}

    def term_of(key: str, value: Any) -> int:
        is_number = isinstance(value, int) and not isinstance(value, bool)
        return int(value) if is_number else -1 - codes[key].get(value, len(rows))

    def atom_of(atom: Atom) -> Any:
        left = variables[atom.key]
        right = variables[atom.value] if atom.other else term_of(atom.key, atom.value)
        return RELATIONS[atom.relation](left, right)

    solver = z3.Solver()
    cells = [z3.And([variables[key] == term_of(key, value) for key, value in row.items()]) for row in rows]
    solver.add(z3.Or(cells))
    in_rule = z3.Or([z3.And([atom_of(atom) for atom in term]) for term in terms])
    is_marked = z3.Or([cell for cell, mark in zip(cells, marks, strict=True) if mark])
    solver.add(in_rule != is_marked)
    return bool(solver.check() == z3.unsat)
