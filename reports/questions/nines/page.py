"""The page of `nines`: a chart of the ranges, settings by rates, the exits from the safe region, what is assumed."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import Any
from xml.etree.ElementTree import Element, SubElement

from neverlost.reports.page.drawing import canvas, text
from neverlost.reports.page.tables import Section, Table, TableCell, TableReport
from neverlost.reports.questions.nines import document as describe
from neverlost.reports.wording import provenance

SCALE = "nines: a loss in a year has a probability of at most 10 to the minus this"
COLOURS = ("one", "two", "three")
LABEL, WIDTH, RIGHT, TOP, ROW, LINE = 4, 900, 24, 34, 12, 32
"""Pixels: the margins and width of the picture, a row's height for each set of rates, and the room for a label."""


def plot(document: Mapping[str, Any]) -> Element:
    """Return a chart: a line for each configuration and set of rates, from the low end of its range of nines to the high."""
    found, rates = list(document["nines"].values()), list(document["rates"])
    ends = [
        end for each in found for one in each.get("by_rates", {}).values() for end in one["nines"].values() if end is not None
    ]
    most = math.ceil(max([1.0, *ends]))
    height = TOP + len(found) * (len(rates) * ROW + LINE) + 40
    says = f"nines of {len(found)} configurations, from {min(ends, default=0):.1f} to {max(ends, default=0):.1f}"
    root = canvas(WIDTH, height, says)
    for nine in range(most + 1):
        x = f"{_x(nine, most):g}"
        SubElement(root, "line", {"class": "grid", "x1": x, "x2": x, "y1": f"{TOP}", "y2": f"{height - 36}"})
        text(root, _x(nine, most), height - 20, str(nine), "faint", "middle")
    text(root, _x(most / 2, most), height - 4, SCALE, "faint", "middle")
    for number, name in enumerate(rates):
        text(root, LABEL + 8 + number * 180, 20, name, COLOURS[number % len(COLOURS)])
    for number, each in enumerate(found):
        y = TOP + number * (len(rates) * ROW + LINE) + LINE - 2
        text(root, LABEL + 8, y - 8, each["label"], "", "start")
        if each["nines"] is None:
            text(root, LABEL + 8, y + 4, describe.cell(each, rates[0]), "faint")
        for place, name in enumerate(rates if each["nines"] else ()):
            _range(root, y + place * ROW, each["by_rates"][name]["nines"], most, COLOURS[place % len(COLOURS)])
    return root


def _range(root: Element, y: float, found: Mapping[str, float | None], most: int, kind: str) -> None:
    """Draw a range of nines at height `y` in colour `kind`, to the right edge (`most`) if loss has probability 0 at best."""
    low, high = (most if each is None else each for each in (found["low"], found["high"]))
    line = SubElement(root, "path", {"class": f"curve {kind}"})
    ends = "".join(f"M{_x(each, most):.1f} {y - 4:g}v8" for each in (low, high))
    line.set("d", f"M{_x(low, most):.1f} {y:g}H{_x(high, most):.1f}{ends}")
    SubElement(line, "title").text = describe.nines_text(found)


def _x(nines: float, most: int) -> float:
    return LABEL + 8 + (WIDTH - LABEL - RIGHT - 8) * nines / most


YEARLY = (
    "An upper bound of the probability that an acknowledged record is lost in a year: of leaving the region of faults in which"
    " a search decided that nothing is lost, at rates that are ranges."
)


def _nines(document: Mapping[str, Any]) -> Iterable[Section]:
    rates, found = list(document["rates"]), document["nines"].values()
    head = ["settings", *rates, "writes refused in a year", "as shipped"]
    rows = [[TableCell(each["label"]), *map(TableCell, describe.list_bounds(each, rates))] for each in found]
    yield Section("Bounds", picture=plot(document), tables=[Table("bounds", head, rows, has_sentences=True)])
    for each in found:
        settings, notices = provenance.sources({"settings": each["sources"]}), provenance.notices(each)
        title = f"What leads to a loss: {each['label']}"
        yield Section(title, lines=describe.sentences(each), notices=notices, settings=settings)
    for name, used in document["rates"].items():
        rows = [[*map(TableCell, describe.list_rate(*each))] for each in used.items() if "rate" in each[1]]
        table = Table(name, ["episode", "a year", "lasts", "source"], rows, has_sentences=True)
        yield Section(f"Rates: {name}", tables=[table])
    yield Section("What is assumed", lines=document["assumptions"])


def _answer(document: Mapping[str, Any]) -> list[str]:
    """Return one sentence: the bound of the configuration with the fewest nines, and of how many it is the worst."""
    worst = min(document["nines"].values(), key=describe.sort_key)
    first, *_ = describe.sentences(worst)
    return [first if len(document["nines"]) == 1 else f"The worst of {len(document['nines'])}, {worst['label']}: {first}"]


REPORT = TableReport(describe.SCHEMA, "how likely a loss is", YEARLY, _nines, _answer)
