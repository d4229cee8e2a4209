"""Symmetry over replicas: one packed state stands for all that differ only by their names.

A permutation of replicas moves the elements of every array over replicas and renames replica-valued ones.  What is
said of each replica alone is its description; the canonical state of an orbit is the smallest, comparing packed words in
order, of those whose replicas stand in the order of their descriptions.  Few permutations give one of these: as many as
there are ways to order replicas that are described alike.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from itertools import permutations

import numpy as np
from numpy.typing import NDArray

from neverlost.checker.engine.outcome import Behaviour, EngineError
from neverlost.model.interpreters import ints
from neverlost.model.interpreters.columns import Packed, pack_rows
from neverlost.model.system import Slot, State, System

FEW = 2048
"""The most states for which one pass over all permutations is faster than one pass for each permutation."""

DESCRIBED = 64
"""Bits of a description at most."""

POINTING = 2
"""Bits of a description that say whether a replica-valued element is this replica, and whether it is any."""


class Symmetry:
    """The permutations of a system's replicas, as moves of bits in packed states; finds the canonical states."""

    def __init__(self, system: System) -> None:
        self.system = system
        self.replicas = system.sizes.get("replica", 1)
        self.orders = list(permutations(range(self.replicas)))
        self._moves = [_list_moves(system, order) for order in self.orders]
        self._standing = np.argsort(np.array(self.orders), axis=1)

    @cached_property
    def descriptions(self) -> list[tuple[Slot, ...]]:
        """The elements that describe a replica, each as its slots, one per replica; one that would exceed `DESCRIBED` bits is
        left out.  A replica-valued element that is of no replica describes all of them, with the same slot for each."""
        found: dict[tuple[str, tuple[int, ...]], dict[int, Slot]] = {}
        for slot in [each for each in self.system.slots if not each.is_constant]:
            places = [*zip(slot.field.axes, slot.index, strict=True)]
            whose = {index for axis, index in places if axis == "replica"}
            if not whose and slot.field.kind == "replica":
                whose = {*range(self.replicas)}
            elif len(whose) != 1:
                continue
            label = slot.field.name, tuple(index for axis, index in places if axis != "replica")
            found.setdefault(label, {}).update(dict.fromkeys(whose, slot))
        used, chosen = 0, []
        for slots in found.values():
            width = count_described_bits(slots[0])
            if used + width <= DESCRIBED:
                used += width
                chosen.append(tuple(slots[replica] for replica in range(self.replicas)))
        return chosen

    def _ranks(self, states: Packed) -> NDArray[np.int8]:
        """Return for each replica in each state how many other replicas have a smaller description.  Shape: `(replicas, n)`."""
        said = np.zeros((self.replicas, states.shape[1]), np.uint64)
        for slots in self.descriptions:
            for replica, slot in enumerate(slots):
                said[replica] = said[replica] << np.uint64(count_described_bits(slot)) | _describe_element(
                    states, slot, replica, self.replicas
                )
        ranks = np.zeros(said.shape, np.int8)
        for one, other in permutations(range(self.replicas), 2):
            ranks[one] += said[other] < said[one]
        return ranks

    @cached_property
    def _all_at_once(self) -> AllAtOnce:
        return AllAtOnce(self.system, self.orders)

    def canonical(self, states: Packed) -> Packed:
        """Return for each packed state the canonical state of its orbit, in the same order."""
        if len(self.orders) == 1 or not states.shape[1]:
            return states
        ranks = self._ranks(states)
        if states.shape[1] <= FEW:
            return self._all_at_once.canonical(states, _are_in_order(ranks[self._standing]))
        best = np.full_like(states, ~np.uint64(0))
        for rows, image in self._fitting_images(states, ranks):
            known = best[:, rows]
            best[:, rows] = np.where(_is_less(image, known), image, known)
        return best

    def _fitting_images(self, states: Packed, ranks: NDArray[np.int8]) -> Iterator[tuple[NDArray[np.intp], Packed]]:
        """Yield, for each permutation that puts replicas of some states in order, these states' positions and their images."""
        for moves, standing in zip(self._moves, self._standing, strict=True):
            rows = np.flatnonzero(_are_in_order(ranks[standing]))
            if len(rows):
                yield rows, _move_bits(states.take(rows, axis=1), moves)

    def orbit_total(self, states: Packed) -> int:
        """Return the sum of the sizes of the orbits of some canonical states."""
        fixed = np.zeros(states.shape[1], np.int64)
        for rows, image in self._fitting_images(states, self._ranks(states)):
            fixed[rows] += (image == states[:, rows]).all(axis=0)
        return int((len(self.orders) // fixed).sum())


def _are_in_order(ranks: NDArray[np.int8]) -> NDArray[np.bool_]:
    """Return for each state True if its ranks never fall along the replicas.  Shapes: `(..., replicas, n)` to `(..., n)`."""
    return np.asarray((ranks[..., :-1, :] <= ranks[..., 1:, :]).all(axis=-2))


def count_described_bits(slot: Slot) -> int:
    """Return how many bits an element takes in a description."""
    return POINTING if slot.field.kind == "replica" else slot.bits


def _describe_element(states: Packed, slot: Slot, replica: int, replicas: int) -> NDArray[np.uint64]:
    """Return for each state what the element in a slot says of a replica: its value as stored; for a replica-valued element two
    bits, of which the low one is set if it is this replica, the high one if it is any replica."""
    raw: NDArray[np.uint64] = (states[slot.word] >> np.uint64(slot.shift)) & np.uint64(slot.mask)
    if slot.field.kind != "replica":
        return raw
    value = raw.astype(np.int64) + slot.low
    is_any = (value >= 0) & (value < replicas)
    return np.asarray((value == replica).astype(np.uint64) | is_any.astype(np.uint64) << np.uint64(1))


class AllAtOnce:
    """Makes a few states canonical, with all permutations at once in a handful of array operations."""

    def __init__(self, system: System, orders: list[tuple[int, ...]]) -> None:
        slots = [slot for slot in system.slots if not slot.is_constant]
        places = {(slot.field.name, slot.index): number for number, slot in enumerate(slots)}
        self._source = np.array([[_find_source(slot, order, places) for slot in slots] for order in orders], np.intp)
        self._shift = np.array([slot.shift for slot in slots], np.uint64).reshape(-1, 1)
        self._mask = np.array([slot.mask for slot in slots], np.uint64).reshape(-1, 1)
        self._word = np.array([slot.word for slot in slots], np.intp)
        self._renamed = [
            (number, np.array([_make_renaming(slot, order) for order in orders]))
            for number, slot in enumerate(slots)
            if slot.field.kind == "replica"
        ]
        self._words = [np.flatnonzero(self._word == word) for word in range(system.words)]

    def canonical(self, states: Packed, fits: NDArray[np.bool_]) -> Packed:
        """Return the smallest image of each state under the permutations that are True for it in `fits`.

        Shapes: states `(words, n)`, `fits` `(permutations, n)`, inside `(permutations, elements, n)`.
        """
        values = (states[self._word] >> self._shift) & self._mask
        images = values[self._source]
        rows = np.arange(len(images)).reshape(-1, 1)
        for number, table in self._renamed:
            images[:, number] = table[rows, images[:, number].astype(np.intp)]
        images <<= self._shift
        best = np.empty_like(states)
        smallest = fits
        for word, members in enumerate(self._words):
            packed = np.bitwise_or.reduce(images[:, members], axis=1)
            best[word] = np.where(smallest, packed, ~np.uint64(0)).min(axis=0)
            smallest = smallest & (packed == best[word])
        return best


def _find_source(slot: Slot, order: tuple[int, ...], places: dict[tuple[str, tuple[int, ...]], int]) -> int:
    """Return the number, from `places`, of the element that a permutation moves to a slot."""
    back = {to: replica for replica, to in enumerate(order)}
    index = tuple(back[i] if axis == "replica" else i for axis, i in zip(slot.field.axes, slot.index, strict=True))
    return places[slot.field.name, index]


Move = tuple[int, int, int, int, int, NDArray[np.uint64] | None]
"""From word, shift, mask; to word, shift; and a table of new values for replica-valued elements."""


def _list_moves(system: System, order: tuple[int, ...]) -> list[Move]:
    """Return the bit moves of one permutation: replica `r` becomes `order[r]`."""
    places = {(slot.field.name, slot.index): slot for slot in system.slots}
    found: list[Move] = []
    for slot in system.slots:
        if slot.is_constant:
            continue
        index = tuple(order[i] if axis == "replica" else i for axis, i in zip(slot.field.axes, slot.index, strict=True))
        target = places[slot.field.name, index]
        table = _make_renaming(slot, order) if slot.field.kind == "replica" else None
        found.append((slot.word, slot.shift, slot.mask, target.word, target.shift, table))
    return _join_moves(found)


def _make_renaming(slot: Slot, order: tuple[int, ...]) -> NDArray[np.uint64]:
    values = range(slot.low, slot.low + slot.mask + 1)
    renamed = [order[value] if 0 <= value < len(order) else value for value in values]
    return np.array([value - slot.low for value in renamed], np.uint64)


def _join_moves(moves: list[Move]) -> list[Move]:
    """Return the moves with one move for neighbouring elements that stay neighbours; moves with a table are never joined."""
    joined: list[Move] = []
    for move in sorted(moves, key=lambda each: each[:2]):
        if joined and move[5] is None and joined[-1][5] is None:
            word, shift, mask, to_word, to_shift, _ = joined[-1]
            width = mask.bit_length()
            if (word, shift + width, to_word, to_shift + width) == (move[0], move[1], move[3], move[4]):
                joined[-1] = (word, shift, mask | move[2] << width, to_word, to_shift, None)
                continue
        joined.append(move)
    return joined


def _move_bits(states: Packed, moves: list[Move]) -> Packed:
    image = np.zeros_like(states)
    for word, shift, mask, to_word, to_shift, table in moves:
        part = (states[word] >> np.uint64(shift)) & np.uint64(mask)
        if table is not None:
            part = table.take(part.astype(np.intp))
        image[to_word] |= part << np.uint64(to_shift)
    return image


def _is_less(one: Packed, other: Packed) -> NDArray[np.bool_]:
    less: NDArray[np.bool_] = one[-1] < other[-1]
    for first, second in zip(one[-2::-1], other[-2::-1], strict=True):
        less = (first < second) | ((first == second) & less)
    return less


class Renaming:
    """Renames the replicas in a behaviour of canonical states, so that each keeps one name from state to state."""

    def __init__(self, system: System) -> None:
        self.system = system
        self.symmetry = Symmetry(system)
        self.starts = {form: start for start, form in self._forms(sorted({state for _, state in system.initial_states()}))}
        self._known: dict[State, list[tuple[int, State, State]]] = {}

    def __call__(self, trace: Behaviour) -> Behaviour:
        """Return a behaviour of the system whose states have the trace's as canonical forms.  Errors: `EngineError` if none."""
        states = [self.starts[trace.states[0]]]
        steps: list[int] = []
        for wanted in trace.states[1:]:
            number, after = self._next(states[-1], wanted)
            states.append(after)
            steps.append(number)
        return Behaviour(tuple(states), tuple(steps))

    def _next(self, state: State, wanted: State) -> tuple[int, State]:
        for number, after, form in self._successors(state):
            if form == wanted:
                return number, after
        raise EngineError("a symmetric trace cannot be made concrete")

    def _successors(self, state: State) -> list[tuple[int, State, State]]:
        """Return step number, state and canonical form of each successor; they are remembered: counterexamples begin alike."""
        if state not in self._known:
            reached = [(number, ints.take(self.system, state, step)) for number, step in enumerate(self.system.steps)]
            enabled = [(number, after) for number, after in reached if after is not None]
            forms = self._forms([after for _, after in enabled])
            self._known[state] = [(number, after, form) for (number, _), (after, form) in zip(enabled, forms, strict=True)]
        return self._known[state]

    def _forms(self, states: list[State]) -> list[tuple[State, State]]:
        packed = self.symmetry.canonical(pack_rows(self.system, states))
        return [(state, self.system.unpack([int(word[row]) for word in packed])) for row, state in enumerate(states)]
