"""The state graph of a finished exploration: every reachable state and every step between two of them.

States are numbered level by level and, within a level, in the order of their packed words; so the numbers depend on no
engine and no number of workers, and the first ones are the initial states.  Edges are three arrays, which hold tens of
millions; NetworkX answers what is about components.

Shapes: `states` is `uint64[words, n]`; `sources`, `targets`, `steps` have one element per edge, in order of their sources.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import networkx as nx
import numpy as np
from numpy.typing import NDArray

from neverlost.checker.engine.outcome import Behaviour, EngineError
from neverlost.checker.engine.search.expansion import BATCH
from neverlost.checker.engine.search.symmetry import Symmetry
from neverlost.checker.engine.search.visited_states import StateSet
from neverlost.checker.engine.storage.levels import Store
from neverlost.model.interpreters.columns import Packed, Successors, unpack_row
from neverlost.model.system import State, System

Numbers = NDArray[np.int32]
Chosen = NDArray[np.bool_]
"""One flag per state, or per edge."""


@dataclass(frozen=True)
class StateGraph:
    """Numbered states and the edges between them.

    `bounds[d]` is the number of the first state at depth `d`; `steps` are numbers in `System.steps`.  With symmetry a
    state stands for its orbit.  Steps that lead from a state to itself are edges too.
    """

    system: System
    states: Packed
    bounds: tuple[int, ...]
    sources: Numbers
    targets: Numbers
    steps: Numbers
    symmetry: bool = False

    def __len__(self) -> int:
        return int(self.states.shape[1])

    def state(self, number: int) -> State:
        return unpack_row(self.system, self.states, number)

    def depth(self, number: int) -> int:
        """Return how many steps a state is from the nearest initial one."""
        return int(np.searchsorted(self.bounds, number, side="right")) - 1

    @cached_property
    def is_fault(self) -> Chosen:
        """Return, for each edge, whether its step is a fault."""
        spends = np.array([step.action.fault is not None for step in self.system.steps], np.bool_)
        return spends[self.steps]

    def reaching(self, wanted: Chosen, edges: Chosen | None = None) -> Chosen:
        """Return the wanted states and those from which one of them can be reached along some edges (None: all)."""
        kept = slice(None) if edges is None else edges
        return _spread(wanted, self.targets[kept], self.sources[kept])

    def shortest_way(self, number: int) -> Behaviour:
        """Return a shortest behaviour to a state: at every step back from it the smallest predecessor and its lowest step.

        Its states are canonical forms where the graph is one of orbits.
        """
        numbers, steps = [number], list[int]()
        while self.depth(numbers[0]):
            edge = self._edge_back(numbers[0])
            numbers.insert(0, int(self.sources[edge]))
            steps.insert(0, int(self.steps[edge]))
        return Behaviour(tuple(map(self.state, numbers)), tuple(steps))

    def _edge_back(self, number: int) -> int:
        into = np.flatnonzero(self.targets == number)
        return int(into[np.lexsort((self.steps[into], self.sources[into]))[0]])

    def as_networkx(self) -> Any:
        """Return a `networkx.MultiDiGraph`: a node is a state's number and has its `depth`, an edge has the `step` number and
        the `action` as text."""
        graph = nx.MultiDiGraph()
        graph.add_nodes_from((number, {"depth": self.depth(number)}) for number in range(len(self)))
        labels = [step.label for step in self.system.steps]
        edges = zip(self.sources.tolist(), self.targets.tolist(), self.steps.tolist(), strict=True)
        graph.add_edges_from((one, other, {"step": step, "action": labels[step]}) for one, other, step in edges)
        return graph

    def components(self) -> list[Component]:
        """Return the strongly connected components, in the order of their smallest states."""
        home = _find_components(len(self), self.sources, self.targets)
        is_terminal = np.ones(len(self), np.bool_)
        is_terminal[home[self.sources[home[self.sources] != home[self.targets]]]] = False
        order = np.argsort(home, kind="stable")
        parts = np.split(order, np.flatnonzero(np.diff(home[order])) + 1) if len(order) else []
        return [Component(tuple(part.tolist()), bool(is_terminal[part[0]])) for part in parts]


def _spread(found: Chosen, heads: Numbers, tails: Numbers) -> Chosen:
    """Return, as a new array, the found states and all that arrows lead to from them; arrow i is from heads[i] to tails[i]."""
    found = found.copy()
    while True:
        leads = found[heads] & ~found[tails]
        if not leads.any():
            return found
        found[tails[leads]] = True
        left = ~found[tails]
        heads, tails = heads[left], tails[left]


def _find_components(count: int, sources: Numbers, targets: Numbers) -> NDArray[np.int64]:
    """Return, for each state, the smallest member of its component."""
    home = np.arange(count)
    core = _find_cyclic_part(count, sources, targets)
    graph = nx.DiGraph(zip(sources[core].tolist(), targets[core].tolist(), strict=True))
    for members in nx.strongly_connected_components(graph):
        home[list(members)] = min(members)
    return home


def _find_cyclic_part(count: int, sources: Numbers, targets: Numbers) -> NDArray[np.intp]:
    """Return the edges that may be on a cycle: those left when ends that nothing enters or leaves are cut off in turn.

    Most steps use something up for good, so most of a graph is on no cycle and NetworkX need not see it.
    """
    left = np.flatnonzero(sources != targets)
    while True:
        is_entered, is_left = np.zeros(count, np.bool_), np.zeros(count, np.bool_)
        is_entered[targets[left]], is_left[sources[left]] = True, True
        inner = is_entered[sources[left]] & is_left[targets[left]]
        if inner.all():
            return left
        left = left[inner]


@dataclass(frozen=True)
class Component:
    """States that all reach each other; nothing leads out of a terminal one."""

    members: tuple[int, ...]
    is_terminal: bool


def build_from_store(system: System, store: Store, notify: Callable[[int], None] = lambda done: None) -> StateGraph:
    """Return the graph of a complete search whose levels were kept."""
    levels = (np.concatenate([*map(store.read_packed, each.files)], axis=1) for each in store.levels() if each.rows)
    return build_from_levels(system, levels, bool(store.meta["symmetry"]), notify)


def build_from_levels(
    system: System,
    levels: Iterable[Packed],
    symmetry: bool = False,
    notify: Callable[[int], None] = lambda done: None,
    only: frozenset[int] | None = None,
) -> StateGraph:
    """Return the graph of all reachable states, given as packed levels in any order within each.

    With `only` it is the graph of the steps with these numbers, on states that they do not leave.  `notify` gets before each
    batch how many states are done; it may raise to give up.
    Errors: `EngineError` when a step leads to a state that is not among them.
    """
    known, bounds = StateSet(system.words), [0]
    for level in levels:
        known.add(level.take(np.lexsort(level[::-1]), axis=1))
        bounds.append(len(known))
    parts = []
    for start in range(0, len(known), BATCH):
        notify(start)
        parts.append(_find_edges(system, known, start, symmetry, only))
    edges = np.concatenate(parts, axis=1)
    return StateGraph(system, known.slice(0, len(known)), tuple(bounds[:-1]), edges[0], edges[1], edges[2], symmetry)


def _find_edges(system: System, known: StateSet, start: int, symmetry: bool, only: frozenset[int] | None) -> Numbers:
    """Return every edge, or those of the steps in `only`, that leaves a batch of states.  Shape: `(3, edges)`: source, target,
    step."""
    renamed = Symmetry(system).canonical if symmetry else lambda states: states
    batch = known.slice(start, min(start + BATCH, len(known)))
    edges = [np.empty((3, 0), np.int32)]
    for number, rows, after in Successors(system).of(batch):
        if only is not None and number not in only:
            continue
        places = known.find(renamed(after))
        if (places < 0).any():
            raise EngineError(f"{system.steps[number].label} leads to a state that the search did not list")
        edges.append(np.array([rows + start, places, np.full(len(rows), number)], np.int32))
    found = np.concatenate(edges, axis=1)
    return found.take(np.argsort(found[0], kind="stable"), axis=1)
