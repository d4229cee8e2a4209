"""The state graph as files for other tools: GraphML and DOT."""

from __future__ import annotations

import io
import json
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from os import PathLike
from pathlib import Path
from typing import Any

import networkx as nx

from neverlost.checker.engine.engines.explore import explore_graph
from neverlost.checker.engine.host.whole_files import write_text
from neverlost.checker.engine.search.graph.state_graph import Component, StateGraph
from neverlost.checker.engine.search.options import Options
from neverlost.model.interpreters import ints
from neverlost.model.interpreters.columns import evaluate_condition
from neverlost.model.sentences import beliefs_of, describe, leader_of, metadata_of, names_of, role_of
from neverlost.model.system import State, System
from neverlost.specs.configuration.choose import Chosen
from neverlost.specs.errors import InputError
from neverlost.specs.properties import choose_properties, require_fields
from neverlost.specs.property import RECOVERY, Property

LISTED = 200_000
"""How many states a graph has at most that is written to files."""


@dataclass(frozen=True)
class MarkedGraph:
    """A state graph with marks on its states: which of the properties `asked` they break, deadlocks, cycles."""

    graph: StateGraph
    asked: tuple[Property, ...]

    @cached_property
    def violated(self) -> dict[int, list[str]]:
        """Return for each state that breaks properties, by its number, their names."""
        found: dict[int, list[str]] = defaultdict(list)
        for each in self.asked:
            for number in (~evaluate_condition(self.graph.system, self.graph.states, each.condition)).nonzero()[0].tolist():
                found[number].append(each.name)
        return found

    @cached_property
    def deadlocks(self) -> set[int]:
        """The numbers of the states in which no action is enabled."""
        return set(range(len(self.graph))) - set(self.graph.sources.tolist())

    @cached_property
    def components(self) -> list[Component]:
        return self.graph.components()

    @property
    def says(self) -> str:
        several = [len(each.members) for each in self.components if len(each.members) > 1]
        ends = sum(each.is_terminal for each in self.components)
        loops = f", {len(several)} of more than one state (the largest of {max(several)})" if several else ", each of one state"
        kind = "orbits" if self.graph.symmetry else "states"
        return (
            f"{len(self.graph):,} {kind} and {len(self.graph.sources):,} steps in {len(self.graph.bounds)} levels; "
            f"{self.graph.bounds[1] if len(self.graph.bounds) > 1 else len(self.graph)} initial, "
            f"{len(self.violated):,} violating, {len(self.deadlocks):,} without an enabled step; "
            f"strongly connected components: {len(self.components):,}{loops}; nothing leaves {ends:,} of them."
        )

    def named(self) -> Any:
        """Return a NetworkX graph whose nodes and edges have every mark as an attribute, and their words."""
        found = self.graph.as_networkx()
        home = {number: place for place, each in enumerate(self.components) for number in each.members}
        for number, attributes in found.nodes(data=True):
            attributes["label"] = state_words(self.graph.system, self.graph.state(number))
            attributes["initial"] = attributes["depth"] == 0
            attributes["deadlock"] = number in self.deadlocks
            attributes["violates"] = ",".join(self.violated.get(number, ()))
            attributes["component"] = home[number]
        for one, _, attributes in found.edges(data=True):
            step = self.graph.system.steps[attributes["step"]]
            attributes["says"] = self._says(one, attributes["step"])
            attributes["fault"] = step.action.fault or ""
        return found

    def _says(self, source: int, number: int) -> str:
        """Return an edge, step `number` from state `source`, as a sentence.  With symmetry it may lead to a state of the
        target's orbit in which brokers have other numbers than in the target."""
        before, step = self.graph.state(source), self.graph.system.steps[number]
        after = ints.take(self.graph.system, before, step)
        assert after is not None
        return describe(self.graph.system, before, step, after)


def state_words(system: System, state: State) -> str:
    if system.model.portrait is None:
        return json.dumps(system.nested(state))
    scene = system.model.portrait(system.nested(state))
    names = names_of(system)
    parts = [", ".join([leader_of(scene, names), *metadata_of(scene, names)])]
    for lane in scene.lanes:
        log = " ".join(f"m{record}" for record, _ in lane.log)
        watermark = "" if lane.high_watermark is None else f" HW={lane.high_watermark}"
        beliefs = "".join(f", {each}" for each in beliefs_of(lane, scene, names))
        parts.append(f"{names[lane.broker]}: {role_of(lane, names)} [{log}]{watermark}{beliefs}")
    return " | ".join(parts)


def marked_properties(chosen: Chosen, names: Iterable[str] | None) -> list[Property]:
    """Return the properties whose violations are marked: the named ones, or if none is named all guarantees.  Errors:
    `InputError` for an unknown property, and for a named one that the model cannot decide."""
    asked = choose_properties(chosen.model, names)
    require_fields(chosen.system, asked if names else [])
    return asked


def write_graph(
    system: System,
    asked: Sequence[Property],
    states: int,
    symmetry: bool,
    place: str | PathLike[str],
    notify: Callable[[str], None],
) -> list[str]:
    """Write the graph to the file `place` if it ends in `.graphml` or `.dot`, else to `graph.graphml` and `graph.dot` in that
    folder; return a sentence about the graph, and one for each file.  Errors: `InputError` for more than `LISTED` states."""
    if states > LISTED:
        raise InputError(
            f"{states:,} states are too many for --graph ({LISTED:,} is the most): "
            "lower the bounds, or use --export DIR for Parquet"
        )
    notify(f"building the graph of {states:,} states")
    of_one_state = tuple(each for each in asked if set(each.needs) <= set(system.places) and each.kind != RECOVERY)
    marked = MarkedGraph(explore_graph(system, Options(symmetry=symmetry, workers=1)), of_one_state)
    notify("naming its states and steps")
    named = marked.named()
    path, makers = Path(place), {".graphml": graphml, ".dot": dot}
    files = (
        {path: makers[path.suffix]} if path.suffix in makers else {path / f"graph{end}": each for end, each in makers.items()}
    )
    written = [write_text(file, make(named)) for file, make in files.items()]
    return [marked.says, *(f"wrote {path}" for path in written)]


def graphml(named: Any) -> str:
    """Return the graph as GraphML text, for Gephi, yEd, Cytoscape and igraph."""
    stream = io.BytesIO()
    nx.write_graphml_xml(named, stream)
    return stream.getvalue().decode()


def dot(named: Any) -> str:
    """Return the graph as text in DOT, Graphviz's language."""
    lines = ["digraph states {", '  node [shape=circle, label="", width=0.15];']
    for number, each in named.nodes(data=True):
        fill = "red" if each["violates"] else ("blue" if each["initial"] else "white")
        shape = "doublecircle" if each["deadlock"] else "circle"
        lines.append(f"  {number} [tooltip={_quoted(each['label'])}, style=filled, fillcolor={fill}, shape={shape}];")
    for one, other, each in named.edges(data=True):
        style = ", style=dashed" if each["fault"] else ""
        lines.append(f"  {one} -> {other} [label={_quoted(each['action'])}, tooltip={_quoted(each['says'])}{style}];")
    return "\n".join([*lines, "}"]) + "\n"


def _quoted(content: str) -> str:
    return '"' + content.replace("\\", "\\\\").replace('"', '\\"') + '"'
