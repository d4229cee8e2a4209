"""Interesting states are reached in every model, each by a shortest behaviour, written out in Kafka's words.

The ways are in `tests/data/witnesses.txt`, to be read; `NEVERLOST_REWRITE=1 pytest` on this file writes them again.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from neverlost.checker.engine.engines.explore import explore_graph
from neverlost.checker.engine.outcome import Behaviour, replay
from neverlost.checker.engine.search.graph.state_graph import StateGraph
from neverlost.model.interpreters import ints
from neverlost.model.sentences import sentences
from neverlost.model.system import System
from tests.support.modern import system as modern
from tests.support.searches import classic

GOLDEN = Path(__file__).resolve().parents[1] / "data" / "witnesses.txt"
CLASSIC = ("truncate-to-hw", "kip-101", "kip-279", "kip-320-first-try", "kip-320")
UNCLEAN: dict[str, Any] = {"rf": 2, "min_isr": 1, "isr_shrink": 1, "crash": 1, "leader_move": 1, "unclean": True}
SYSTEMS: dict[str, Callable[[], System]] = {
    **{name: lambda name=name: classic(name, 2, 2, 2, 2) for name in CLASSIC},
    "kraft": lambda: modern("kraft", **UNCLEAN),
    "kraft-elr": lambda: modern("kraft-elr", **UNCLEAN),
    "majority": lambda: modern("majority", min_isr=None, crash=1, leader_move=1),
}

Values = Mapping[str, Any]


def commits(before: Values, after: Values) -> bool:
    """A record is below the high watermark of who believes it is leader."""
    if "ghost_committed" in after:
        return any(after["ghost_committed"])
    leads = [leader == replica for replica, leader in enumerate(after["leader"])]
    return any(mark > 0 and led for mark, led in zip(after["high_watermark"], leads, strict=True))


def elects_uncleanly(before: Values, after: Values) -> bool:
    """A replica leads that was neither in the ISR nor in the ELR."""
    leader = after["leader"]
    eligible = [flags[leader] for name, flags in before.items() if name in ("isr", "elr")]
    return leader not in (before["leader"], -1) and not any(eligible)


def grows_isr(before: Values, after: Values) -> bool:
    """The ISR, which was full at first, gets a member back."""
    name = "quorum_isr" if "quorum_isr" in after else "isr"
    return sum(after[name]) > sum(before[name])


def truncates(before: Values, after: Values) -> bool:
    """A broker that runs drops records."""
    lengths = [[sum(record > 0 for record in log) for log in values["log_record"]] for values in (before, after)]
    runs = after.get("is_running", [True] * len(lengths[0]))
    return any(short < long and ran for long, short, ran in zip(*lengths, runs, strict=True))


def events(model: str) -> list[Callable[[Values, Values], bool]]:
    """Who has no ISR elects by majority; the classic controller elects from the ISR only."""
    if model == "majority":
        return [commits, truncates]
    return [commits, grows_isr, truncates] + ([] if model in CLASSIC else [elects_uncleanly])


@cache
def graph_of(model: str) -> StateGraph:
    return explore_graph(SYSTEMS[model]())


def witness(graph: StateGraph, event: Callable[[Values, Values], bool]) -> Behaviour:
    """A shortest behaviour that ends with the event: edges are listed by the depth of where they start."""
    system = graph.system
    nested = cache(lambda number: system.nested(graph.state(number)))
    for source, target, step in zip(graph.sources.tolist(), graph.targets.tolist(), graph.steps.tolist(), strict=True):
        if event(nested(source), nested(target)):
            way = graph.shortest_way(source)
            return replay(system, Behaviour((*way.states, graph.state(target)), (*way.steps, step)))
    raise AssertionError(f"{system.model.name}: no step {event.__name__.replace('_', ' ')}")


def written(model: str) -> str:
    """The witnesses of one model as text."""
    graph = graph_of(model)
    parts = []
    for event in events(model):
        trace = witness(graph, event)
        said = sentences(graph.system, trace.states, trace.steps)[1:]
        lines = [f"{number:3}  {text}" for number, text in enumerate(said, start=1)]
        parts.append("\n".join([f"{model}: {event.__name__.replace('_', ' ')}", *lines]))
    return "\n\n".join(parts) + "\n\n"


@pytest.mark.parametrize("model", SYSTEMS)
def test_interesting_states_are_reached_by_the_ways_on_record(model: str) -> None:
    assert written(model) in GOLDEN.read_text(encoding="utf-8")


def test_nothing_else_is_on_record() -> None:
    if os.environ.get("NEVERLOST_REWRITE"):
        GOLDEN.write_text("".join(map(written, SYSTEMS)), encoding="utf-8")
    assert GOLDEN.read_text(encoding="utf-8") == "".join(map(written, SYSTEMS))


@pytest.mark.parametrize("model", CLASSIC)
def test_every_action_fires(model: str) -> None:
    graph = graph_of(model)
    fired = {graph.system.steps[step].action.name for step in set(graph.steps.tolist())}
    assert fired == {each.name for each in graph.system.model.actions}


@pytest.mark.parametrize("model", SYSTEMS)
def test_no_shorter_way_commits(model: str) -> None:
    """Level by level on ints: nothing that is reached in fewer steps has a committed record."""
    graph = graph_of(model)
    length = len(witness(graph, commits).steps)
    level = {state for _, state in graph.system.initial_states()}
    for _ in range(length - 1):
        level |= {after for state in level for _, after in ints.successors(graph.system, state)}
        assert not any(commits({}, graph.system.nested(state)) for state in level)
