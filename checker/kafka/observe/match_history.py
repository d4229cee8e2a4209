"""Decides whether some behaviour of a system explains what was seen of a run.

A run is seen through *observations*.  Each stands for one step out of a few, which leads to a state that fits; between them the
system may take any number of *silent* steps.  What is known after a prefix of the observations is the set of all states that
some behaviour with these observations ends in, so an empty set is a proof that no behaviour has them.  States are distinguished
by all their bits.

Clocks order observations only so far: one that may have happened from `earliest` to `latest` comes before another when it was
over before the other began, or when both are of one source.  Every order that this allows is followed.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from neverlost.checker.engine.host.processes import TIMEOUT
from neverlost.model.interpreters.columns import Batch, Columns, ColumnsView, Packed, Successors, evaluate_condition, pack_rows
from neverlost.model.kernel import Value
from neverlost.model.system import Predicate, State, System, View

Relation = Callable[[Any, View, View], Value]
"""Takes primitives and the views before and after a step; returns the condition that the step is the one that was seen."""

States = frozenset[int]
"""Numbers of states, as `Observer` counts them."""


@dataclass(frozen=True)
class ObservedStep:
    """An observation: one of the steps was taken, and satisfies the relation.  Observations with equal `key` have the same
    answer, which is computed once.  `label` is the caller's.  Units: seconds, or whatever orders the history."""

    key: Hashable
    steps: tuple[int, ...]
    fits: Relation | None = None
    earliest: float = 0.0
    latest: float = 0.0
    source: str = ""
    label: int = 0


class TooLarge(Exception):
    """A limit of states or time was reached, so there is no verdict."""


@dataclass(frozen=True)
class Explanation:
    """`refused` is the first observation that no behaviour has, after all before it; None if behaviours explain all.  `known`
    gives, by the observation's label, the states right after it; `last` those before the refusal, or at the end."""

    refused: ObservedStep | None
    known: dict[int, States]
    last: States


class Observer:
    """Computes sets of states under silent steps and observations, and caches them."""

    def __init__(
        self,
        system: System,
        silent: Iterable[int],
        quiet: Mapping[int, Relation] | None = None,
        limit: int = 1_000_000,
        until: float = float("inf"),
    ) -> None:
        """`quiet` names steps that are silent only if a relation holds; `limit` counts states; `until` is monotonic time."""
        self.system, self.silent, self.limit, self.until = system, tuple(silent), limit, until
        self._quiet = dict(quiet or {})
        self._successors = Successors(system)
        self._numbers: dict[bytes, int] = {}
        self._words = np.zeros((system.words, 1024), dtype=np.uint64)
        self._next: dict[int, tuple[int, ...]] = {}
        self._closed: dict[States, States] = {}
        self._seen: dict[tuple[States, Hashable], States] = {}

    def __len__(self) -> int:
        return len(self._numbers)

    def number_states(self, states: Sequence[State]) -> States:
        """Return the observer's numbers of states, which are given as tuples; new ones get the next numbers."""
        return frozenset(self.number_packed(pack_rows(self.system, list(states)))) if states else frozenset()

    def get_packed(self, states: Iterable[int]) -> Packed:
        """Return the packed columns of numbered states, in increasing order of number."""
        found: Packed = self._words.take(np.array(sorted(states), dtype=np.intp), axis=1)
        return found

    def close_silently(self, states: States) -> States:
        """Return the given states and all that silent steps lead to from them; `TooLarge` when a limit is reached."""
        found = self._closed.get(states)
        if found is None:
            found = self._closed[states] = self._reach(states)
            self._closed[found] = found
        return found

    def after(self, states: States, observation: ObservedStep) -> States:
        """Return the states that one step that fits leads to from the given ones, without silent steps; empty if none fits."""
        place = (states, observation.key)
        found = self._seen.get(place)
        if found is None:
            found = self._seen[place] = self._take(states, observation)
        return found

    def _reach(self, states: States) -> States:
        reached, waiting = set(states), set(states)
        while waiting:
            self._expand([each for each in waiting if each not in self._next])
            waiting = {each for at in waiting for each in self._next[at]} - reached
            reached |= waiting
        return frozenset(reached)

    def _expand(self, states: list[int]) -> None:
        if not states:
            return
        if time.monotonic() > self.until:
            raise TooLarge(TIMEOUT)
        found: dict[int, set[int]] = {each: set() for each in states}
        before = self._words.take(states, axis=1)
        for step, rows, words in self._successors.of(before, (*self.silent, *self._quiet)):
            if step in self._quiet:
                kept = self._fitting(self._quiet[step], before, rows, words)
                rows, words = rows[kept], words[:, kept]
            for row, number in zip(rows.tolist(), self.number_packed(words), strict=True):
                found[states[row]].add(number)
        for each, following in found.items():
            self._next[each] = tuple(following - {each})

    def _take(self, states: States, observation: ObservedStep) -> States:
        found: set[int] = set()
        before = self.get_packed(states)
        for _, rows, words in self._successors.of(before, observation.steps):
            kept = words if observation.fits is None else words[:, self._fitting(observation.fits, before, rows, words)]
            found.update(self.number_packed(kept))
        return frozenset(found)

    def _fitting(self, fits: Relation, before: Packed, rows: NDArray[np.intp], after: Packed) -> NDArray[np.bool_]:
        views = ColumnsView(Batch(self.system, before[:, rows])), ColumnsView(Batch(self.system, after))
        found = fits(Columns, *views)
        return np.full(len(rows), found) if isinstance(found, bool) else np.asarray(found)

    def where(self, states: States, condition: Predicate) -> States:
        ordered = sorted(states)
        found = evaluate_condition(self.system, self.get_packed(states), condition) if ordered else np.zeros(0, dtype=np.bool_)
        return frozenset(ordered[at] for at in np.flatnonzero(found).tolist())

    def values(self, states: States, term: Predicate) -> list[int]:
        found = term(Columns, ColumnsView(Batch(self.system, self.get_packed(states))))
        return [int(each) for each in np.broadcast_to(np.asarray(found), len(states))] if states else []

    def able_to_reach(self, targets: States) -> States:
        """Return the targets, and each state whose silent steps were computed already and from which some lead to a target."""
        sources: dict[int, list[int]] = {}
        for state, following in self._next.items():
            for each in following:
                sources.setdefault(each, []).append(state)
        found, waiting = set(targets), list(targets)
        while waiting:
            fresh = [each for each in sources.get(waiting.pop(), ()) if each not in found]
            found.update(fresh)
            waiting += fresh
        return frozenset(found)

    def number_packed(self, words: Packed) -> list[int]:
        """Return the numbers of packed states; new states get the next numbers, `TooLarge` beyond the limit."""
        rows, numbers = np.ascontiguousarray(words.T), self._numbers
        found = []
        for row in rows:
            key = row.tobytes()
            number = numbers.get(key)
            if number is None:
                number = numbers[key] = len(numbers)
                self._store(number, row)
            found.append(number)
        return found

    def _store(self, number: int, row: NDArray[np.uint64]) -> None:
        if number >= self.limit:
            raise TooLarge(f"more than {self.limit} states explain the observations")
        if number >= self._words.shape[1]:
            self._words = np.concatenate([self._words, np.zeros_like(self._words)], axis=1)
        self._words[:, number] = row


@dataclass(frozen=True)
class _Cut:
    """A set of observations that were taken: all before `low`, and `extra`."""

    low: int
    extra: frozenset[int] = field(default_factory=frozenset)

    def with_(self, number: int) -> _Cut:
        low, extra = self.low, self.extra | {number}
        while low in extra:
            extra, low = extra - {low}, low + 1
        return _Cut(low, extra)


def explain(observer: Observer, starts: States, observations: Sequence[ObservedStep]) -> Explanation:
    """Find the behaviours from these starts that have all observations, in any order that their times allow; return what they
    explain, or which observation none has.  Errors: `TooLarge` when a limit of the observer is reached."""
    ordered = sorted(observations, key=lambda each: each.earliest)
    known: dict[int, States] = {}
    level = {_Cut(0): observer.close_silently(starts)}
    for _ in ordered:
        following: dict[_Cut, States] = {}
        tried: set[int] = set()
        for cut, states in level.items():
            for number in _list_possible(ordered, cut):
                tried.add(number)
                after = observer.after(states, ordered[number])
                if after:
                    label, place = ordered[number].label, cut.with_(number)
                    known[label] = known.get(label, frozenset()) | after
                    following[place] = following.get(place, frozenset()) | observer.close_silently(after)
        if not following:
            refused = min((ordered[number] for number in tried), key=lambda each: each.latest)
            return Explanation(refused, known, frozenset().union(*level.values()))
        level = following
    return Explanation(None, known, frozenset().union(*level.values()))


def _list_possible(ordered: Sequence[ObservedStep], cut: _Cut) -> Iterable[int]:
    """Yield the indices in `ordered` of the observations that may come next after those of the cut."""
    sources: set[str] = set()
    over = float("inf")
    for number in range(cut.low, len(ordered)):
        each = ordered[number]
        if each.earliest > over:
            return
        if number in cut.extra:
            continue
        if each.source not in sources:
            yield number
        sources.add(each.source)
        over = min(over, each.latest)
