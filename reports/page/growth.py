"""A chart of a search's growth: states generated, distinct and new per level, on a logarithmic scale."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any
from xml.etree.ElementTree import Element, SubElement

from neverlost.reports.page.drawing import canvas, text

WIDTH, HEIGHT = 720, 300
LEFT, RIGHT, TOP, BOTTOM = 56, 150, 16, 40


def growth_of(document: Mapping[str, Any]) -> Element | None:
    """Return the growth of the result's search with the most states; None if its levels are not recorded."""
    searches = document.get("searches", [document])
    counted = [each for each in searches if each.get("levels", {}).get("distinct")]
    return draw_growth(max(counted, key=lambda each: each["levels"]["distinct"][-1])) if counted else None


def draw_growth(search: Mapping[str, Any]) -> Element:
    generated, distinct = search["levels"]["generated"], search["levels"]["distinct"]
    frontier = [after - before for before, after in zip([0, *distinct], distinct, strict=False)]
    top = max(1, math.ceil(math.log10(max(*generated, 10))))
    label = f"{len(distinct)} levels with {distinct[-1]:,} distinct states, at most {max(frontier):,} new in one level"
    root = canvas(WIDTH, HEIGHT, label)
    for power in range(top + 1):
        y = _y(10**power, top)
        SubElement(root, "line", {"class": "grid", "x1": f"{LEFT}", "x2": f"{WIDTH - RIGHT}", "y1": f"{y:g}", "y2": f"{y:g}"})
        text(root, LEFT - 8, y + 4, ("1", "10", "100")[power % 3] + ("", "k", "M", "G", "T")[power // 3], "faint", "end")
    every = max(1, len(distinct) // 12)
    for level in range(0, len(distinct), every):
        text(root, _x(level, len(distinct)), HEIGHT - BOTTOM + 18, str(level + 1), "faint", "middle")
    text(root, (LEFT + WIDTH - RIGHT) / 2, HEIGHT - 4, "level", "faint", "middle")
    curves = {"generated": ("two", generated), "distinct": ("one", distinct), "new per level": ("three", frontier)}
    places = _spread_labels([_y(values[-1], top) + 4 for _, values in curves.values()])
    for place, (name, (kind, values)) in zip(places, curves.items(), strict=True):
        points = " ".join(f"{_x(level, len(values)):.1f},{_y(value, top):.1f}" for level, value in enumerate(values))
        curve = SubElement(root, "polyline", {"class": f"curve {kind}", "points": points})
        SubElement(curve, "title").text = f"{name}: {', '.join(f'{each:,}' for each in values)}"
        total = search["states"].get(name)
        text(root, WIDTH - RIGHT + 8, place, name if total is None else f"{total:,} {name}", kind)
    return root


def _x(level: int, levels: int) -> float:
    return LEFT + (WIDTH - LEFT - RIGHT) * (level / max(levels - 1, 1))


def _y(value: int, top: int) -> float:
    return HEIGHT - BOTTOM - (HEIGHT - TOP - BOTTOM) * math.log10(max(value, 1)) / top


def _spread_labels(places: Sequence[float], least: float = 15) -> list[float]:
    order = sorted(range(len(places)), key=lambda number: places[number])
    moved = list(places)
    for before, number in pairwise(order):
        moved[number] = max(moved[number], moved[before] + least)
    return moved
