"""The state graph: the same edges as the defining interpreter's, components, ways back, and reachability."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from pathlib import Path

import networkx as nx
import numpy as np
import pytest

from neverlost.checker.engine.disk import on_disk_search
from neverlost.checker.engine.engines.explore import explore_graph
from neverlost.checker.engine.outcome import EngineError, replay
from neverlost.checker.engine.search.graph import state_graph
from neverlost.checker.engine.search.graph.state_graph import StateGraph
from neverlost.checker.engine.search.options import Options, SearchLimits
from neverlost.checker.engine.storage.levels import Store
from neverlost.model.interpreters import ints
from neverlost.model.system import State, System
from tests.support.modern import system as modern
from tests.support.searches import classic

SMALL = {
    "kip-101": lambda: classic("kip-101", 2, 2, 2, 1),
    "kraft": lambda: modern("kraft", rf=2, min_isr=1, lossy_crash=1, isr_shrink=1),
    "majority": lambda: modern("majority", rf=3, min_isr=None, lossy_crash=1),
}


@pytest.fixture(scope="module", params=SMALL)
def graph(request: pytest.FixtureRequest) -> StateGraph:
    return explore_graph(SMALL[request.param]())


def by_hand(system: System) -> tuple[dict[State, int], Counter[tuple[State, State, int]]]:
    """Depth of every state, and every edge, by the defining interpreter."""
    depths = {state: 0 for _, state in system.initial_states()}
    edges: Counter[tuple[State, State, int]] = Counter()
    waiting = list(depths)
    for state in waiting:
        for number, step in enumerate(system.steps):
            after = ints.take(system, state, step)
            if after is None:
                continue
            edges[state, after, number] += 1
            if after not in depths:
                depths[after] = depths[state] + 1
                waiting.append(after)
    return depths, edges


def edges_of(graph: StateGraph) -> list[tuple[int, int, int]]:
    return list(zip(graph.sources.tolist(), graph.targets.tolist(), graph.steps.tolist(), strict=True))


def test_states_and_edges_are_those_of_the_defining_interpreter(graph: StateGraph) -> None:
    depths, edges = by_hand(graph.system)
    states = [graph.state(number) for number in range(len(graph))]
    assert {state: graph.depth(number) for number, state in enumerate(states)} == depths
    assert Counter((states[one], states[other], step) for one, other, step in edges_of(graph)) == edges
    assert [graph.depth(number) for number in range(len(graph))] == sorted(depths.values())


def test_numbers_do_not_depend_on_the_engine(graph: StateGraph, tmp_path: Path) -> None:
    on_disk_search.explore(graph.system, (), Options(state_dir=tmp_path / "levels"))
    other = state_graph.build_from_store(graph.system, Store.attach(tmp_path / "levels"))
    assert (other.states == graph.states).all()
    assert edges_of(other) == edges_of(graph)


def test_every_shortest_way_replays_and_is_as_long_as_the_state_is_deep(graph: StateGraph) -> None:
    for number in range(0, len(graph), max(1, len(graph) // 50)):
        way = replay(graph.system, graph.shortest_way(number))
        assert way.states[-1] == graph.state(number)
        assert len(way.steps) == graph.depth(number)


def test_networkx_gets_every_node_and_edge(graph: StateGraph) -> None:
    given = graph.as_networkx()
    assert sorted((one, other, data["step"]) for one, other, data in given.edges(data=True)) == sorted(edges_of(graph))
    assert {number: data["depth"] for number, data in given.nodes(data=True)} == {
        number: graph.depth(number) for number in range(len(graph))
    }
    assert all(data["action"] == graph.system.steps[data["step"]].label for _, _, data in given.edges(data=True))


def test_no_step_that_spends_a_budget_is_on_a_cycle(graph: StateGraph) -> None:
    home = {number: place for place, each in enumerate(graph.components()) for number in each.members}
    for (one, other, _), fault in zip(edges_of(graph), graph.is_fault.tolist(), strict=True):
        assert not (fault and home[one] == home[other])


def test_components_are_the_states_that_reach_each_other(graph: StateGraph) -> None:
    """On made-up edges, because these models have hardly a cycle."""
    count = 60
    random = np.random.default_rng(3)
    sources, targets = random.integers(0, count, (2, count + 25)).astype(np.int32)
    made_up = replace(graph, states=graph.states[:, :count], sources=sources, targets=targets, steps=np.zeros_like(sources))
    reach = np.array([made_up.reaching(np.arange(count) == number) for number in range(count)]).T
    mutual = {tuple(np.flatnonzero(reach[number] & reach[:, number]).tolist()) for number in range(count)}
    assert [each.members for each in made_up.components()] == sorted(mutual)
    assert max(map(len, mutual)) > 3
    for each in made_up.components():
        beyond = np.flatnonzero(reach[each.members[0]]).tolist()
        assert each.is_terminal == (beyond == list(each.members))


def test_reaching_agrees_with_a_search_backwards(graph: StateGraph) -> None:
    quiet = ~graph.is_fault
    wanted = np.arange(len(graph)) % 17 == 3
    every = zip(graph.targets.tolist(), graph.sources.tolist(), quiet.tolist(), strict=True)
    reverse = nx.DiGraph((one, other) for one, other, is_kept in every if is_kept)
    reverse.add_nodes_from(range(len(graph)))
    expected = {place for start in np.flatnonzero(wanted).tolist() for place in [start, *nx.descendants(reverse, start)]}
    assert set(np.flatnonzero(graph.reaching(wanted, quiet)).tolist()) == expected


def test_orbits_make_a_smaller_graph_with_the_same_depth() -> None:
    system = modern("kraft", rf=3, min_isr=2, lossy_crash=1)
    whole, folded = explore_graph(system), explore_graph(system, Options(workers=1, symmetry=True))
    assert len(folded) < len(whole)
    assert len(folded.bounds) == len(whole.bounds)


def test_an_unfinished_search_has_no_graph() -> None:
    with pytest.raises(EngineError, match="no state graph of an unfinished search: the depth limit of 2 levels was reached"):
        explore_graph(SMALL["kraft"](), Options(limits=SearchLimits(depth=2), workers=1))


def test_a_list_that_lacks_a_state_is_noticed() -> None:
    system = SMALL["kraft"]()
    whole = explore_graph(system)
    with pytest.raises(EngineError, match="leads to a state that the search did not list"):
        state_graph.build_from_levels(system, [whole.states[:, :-1]])
