"""The state graph as files for other tools (GraphML, DOT), and as a picture if it is small."""

from __future__ import annotations

import io
import json
import math
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from os import PathLike
from pathlib import Path
from typing import Any
from xml.etree.ElementTree import Element, SubElement

import networkx as nx

from neverlost.checker.engine.engines.explore import explore_graph
from neverlost.checker.engine.host.whole_files import write_text
from neverlost.checker.engine.search.graph.state_graph import Component, StateGraph, build_from_levels
from neverlost.checker.engine.search.options import Options
from neverlost.model.interpreters import ints
from neverlost.model.interpreters.columns import evaluate_condition, pack_rows
from neverlost.model.sentences import beliefs_of, describe, leader_of, metadata_of, names_of, role_of
from neverlost.model.system import State, System
from neverlost.reports.page.drawing import canvas, standalone, text
from neverlost.specs.configuration.choose import Chosen
from neverlost.specs.errors import InputError
from neverlost.specs.properties import choose_properties, require_fields
from neverlost.specs.property import RECOVERY, Property

DRAWN, LISTED = 400, 200_000
"""States of a graph that is still drawn, and of one that is still written to files."""

GAP, ROW, MARGIN, RADIUS, TOP, LEGEND = 30, 62, 36, 8, 72, 800
NAMED = 60
"""Edges up to which their names are written into the picture; beyond that they appear under the pointer."""


Place = tuple[float, float]
"""Where something is drawn: pixels to the right and down."""


@dataclass(frozen=True)
class Picture:
    """A state graph with marks on its states: which properties they break, deadlocks, cycles."""

    graph: StateGraph
    asked: tuple[Property, ...]

    @cached_property
    def violated(self) -> dict[int, list[str]]:
        """Return the properties that a state breaks."""
        found: dict[int, list[str]] = defaultdict(list)
        for each in self.asked:
            for number in (~evaluate_condition(self.graph.system, self.graph.states, each.condition)).nonzero()[0].tolist():
                found[number].append(each.name)
        return found

    @cached_property
    def deadlocks(self) -> set[int]:
        """States in which no action is enabled."""
        return set(range(len(self.graph))) - set(self.graph.sources.tolist())

    @cached_property
    def components(self) -> list[Component]:
        return self.graph.components()

    @cached_property
    def cyclic(self) -> set[int]:
        """States on a cycle through another state."""
        return {number for each in self.components if len(each.members) > 1 for number in each.members}

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
        """Return a NetworkX graph with every mark as an attribute."""
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

    @cached_property
    def drawn(self) -> Element:
        """Return the graph as SVG, level by level downwards, with the crossings that a few sweeps over the levels leave."""
        places = _places(self.graph)
        width = max(x for x, _ in places.values()) + MARGIN
        height = max(y for _, y in places.values()) + MARGIN
        root = canvas(max(width, LEGEND), height, self.says)
        _legend(root)
        names: dict[tuple[int, int], list[int]] = defaultdict(list)
        for one, other, step in zip(self.graph.sources, self.graph.targets, self.graph.steps, strict=True):
            if one != other:
                names[int(one), int(other)].append(int(step))
        for (one, other), steps in names.items():
            self._edge(root, one, (places[one], places[other]), steps, len(names) <= NAMED)
        for number, (x, y) in places.items():
            self._node(root, number, x, y)
        return root

    def _says(self, source: int, number: int) -> str:
        """Return an edge as a sentence.  With symmetry it leads to a state of the target's orbit, in which the brokers have
        other numbers."""
        before, step = self.graph.state(source), self.graph.system.steps[number]
        after = ints.take(self.graph.system, before, step)
        assert after is not None
        return describe(self.graph.system, before, step, after)

    def _edge(self, root: Element, source: int, ends: tuple[Place, Place], steps: list[int], named: bool) -> None:
        system = self.graph.system
        (x, y), (u, v) = ends
        bend = 0.0 if v > y else 0.35 * (abs(u - x) + abs(v - y)) + GAP / 2
        middle = ((x + u) / 2 + bend, (y + v) / 2 - bend / 3)
        far = math.hypot(u - middle[0], v - middle[1]) / (RADIUS + 1)
        end = (u + (middle[0] - u) / far, v + (middle[1] - v) / far)
        path = f"M{x:.0f} {y:.0f}Q{middle[0]:.0f} {middle[1]:.0f} {end[0]:.1f} {end[1]:.1f}"
        is_fault = all(system.steps[step].action.fault for step in steps)
        edge = SubElement(root, "path", {"class": "edge fault" if is_fault else "edge", "d": path, "marker-end": "url(#head)"})
        SubElement(edge, "title").text = "\n".join(self._says(source, step) for step in steps)
        if named:
            label = ", ".join(dict.fromkeys(system.steps[step].action.name.replace("_", " ") for step in steps))
            text(root, (x + u) / 2 + bend / 2 + 4, (y + v) / 2 + 4, label, "faint")

    def _node(self, root: Element, number: int, x: float, y: float) -> None:
        marks = {
            "initial": self.graph.depth(number) == 0,
            "cyclic": number in self.cyclic,
            "deadlock": number in self.deadlocks,
            "violating": number in self.violated,
        }
        kind = " ".join(["node", *(name for name, is_so in marks.items() if is_so)])
        node = SubElement(root, "circle", {"class": kind, "cx": f"{x:.0f}", "cy": f"{y:.0f}", "r": str(RADIUS)})
        words = [f"state {number}", *(name for name, is_so in marks.items() if is_so and name != "violating")]
        words += [f"violates {', '.join(self.violated[number])}"] if number in self.violated else []
        SubElement(node, "title").text = f"{', '.join(words)}\n{state_words(self.graph.system, self.graph.state(number))}"


def _legend(root: Element) -> None:
    head = {"id": "head", "viewBox": "0 0 8 8", "refX": "7", "refY": "4", "markerWidth": "7", "markerHeight": "7"}
    marker = SubElement(SubElement(root, "defs"), "marker", head | {"orient": "auto", "markerUnits": "userSpaceOnUse"})
    SubElement(marker, "path", {"class": "head", "d": "M0 0L8 4L0 8Z"})
    marks = {"initial": "initial", "violating": "breaks a property", "deadlock": "no step is enabled", "cyclic": "on a cycle"}
    for place, (kind, says) in enumerate(marks.items()):
        x = MARGIN + place * 160
        SubElement(root, "circle", {"class": f"node {kind}", "cx": str(x), "cy": "24", "r": str(RADIUS)})
        text(root, x + 14, 28, says)
    x = MARGIN + len(marks) * 160
    SubElement(root, "path", {"class": "edge fault", "d": f"M{x - 10} 24L{x + 14} 24"})
    text(root, x + 20, 28, "fault")


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


def _places(graph: StateGraph) -> dict[int, tuple[float, float]]:
    """Return the position of each state: its level is its row, the mean position of its neighbours its column."""
    levels = [list(range(*ends)) for ends in zip(graph.bounds, [*graph.bounds[1:], len(graph)], strict=True)]
    around: dict[int, set[int]] = defaultdict(set)
    for one, other in zip(graph.sources.tolist(), graph.targets.tolist(), strict=True):
        if one != other:
            around[one].add(other)
            around[other].add(one)
    widest = max(map(len, levels))
    place: dict[int, float] = {}

    def spread(level: Sequence[int]) -> None:
        for order, number in enumerate(level):
            place[number] = (order + 0.5) * widest / len(level)

    for level in levels:
        spread(level)
    for sweep in range(8):
        for level in levels if sweep % 2 == 0 else reversed(levels):
            mean = {n: sum(place[other] for other in around[n]) / len(around[n]) if around[n] else place[n] for n in level}
            spread([number for _, number in sorted((mean[number], number) for number in level)])
    depths = {number: depth for depth, level in enumerate(levels) for number in level}
    return {number: (MARGIN + place[number] * GAP, TOP + depths[number] * ROW) for number in place}


def build_picture(system: System, asked: Sequence[Property], most: int) -> Picture | None:
    """Return the whole state graph of a system; None if it has more than `most` states."""
    levels = [sorted({state for _, state in system.initial_states()})]
    seen = set(levels[0])
    while levels[-1] and len(seen) <= most:
        after = {found for state in levels[-1] for _, found in ints.successors(system, state)} - seen
        seen |= after
        levels.append(sorted(after))
    if len(seen) > most:
        return None
    graph = build_from_levels(system, [pack_rows(system, level) for level in levels if level])
    return Picture(graph, _markable(system, asked))


def _markable(system: System, asked: Sequence[Property]) -> tuple[Property, ...]:
    """Return the properties that a single state can break."""
    return tuple(each for each in asked if set(each.needs) <= set(system.places) and each.kind != RECOVERY)


def marked_properties(chosen: Chosen, names: Iterable[str] | None) -> list[Property]:
    """Return the properties whose violations are marked: the named ones, else all guarantees.  Errors: `InputError` for an
    unknown property, and for one that the model cannot decide."""
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
    """Write the file `place`, whose ending says how, or into that folder `graph.graphml`, `graph.dot` and, if it is small,
    `graph.svg`; return a sentence about the graph, and one for each file.  Errors: `InputError` for more states than such files
    are good for."""
    if states > LISTED:
        raise InputError(
            f"{states:,} states are too many for --graph ({LISTED:,} is the most): "
            "lower the bounds, or use --export DIR for Parquet"
        )
    notify(f"building the graph of {states:,} states")
    picture = Picture(explore_graph(system, Options(symmetry=symmetry, workers=1)), _markable(system, asked))
    notify("naming its states and steps")
    named = picture.named()
    is_small, path = len(picture.graph) <= DRAWN, Path(place)
    makers: dict[str, Callable[[], str]] = {".graphml": lambda: graphml(named), ".dot": lambda: dot(named)}
    makers |= {".svg": lambda: standalone(picture.drawn)} if is_small else {}
    if path.suffix == ".svg" and not is_small:
        raise InputError(f"{states:,} states are too many for a picture ({DRAWN:,} is the most): name a .graphml or .dot file")
    files = (
        {path: makers[path.suffix]} if path.suffix in makers else {path / f"graph{end}": each for end, each in makers.items()}
    )
    written = [write_text(file, make()) for file, make in files.items()]
    return [picture.says, *(f"wrote {path}" for path in written)]


def graphml(named: Any) -> str:
    """Return the graph as GraphML, for Gephi, yEd, Cytoscape and igraph."""
    stream = io.BytesIO()
    nx.write_graphml_xml(named, stream)
    return stream.getvalue().decode()


def dot(named: Any) -> str:
    """Return the graph in Graphviz's language."""
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
