"""Runs as tables, for Markdown: a counterexample alone, or with the same steps under the nearest safe setting beside it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any

from neverlost.reports.documents.merged_rows import plain, words

Data = Mapping[str, Any]
"""What `neverlost.reports.page.render.report_data` gives."""


def pairs(data: Data) -> list[dict[str, Any]]:
    """Counterexamples with the run under the nearest safe setting, each pair once.

    One of each kind of reason comes first, and those with the fewest changes before others.
    """
    found = {}
    for cell in data["cells"]:
        for entry in cell["properties"]:
            if entry.get("run") is not None and (entry["story"], entry["run"]) not in found:
                found[entry["story"], entry["run"]] = _pair(cell, entry, data)
    kinds = Counter[str]()
    for pair in found.values():
        pair["again"] = kinds[pair["kind"]]
        kinds[pair["kind"]] += 1
    return sorted(found.values(), key=lambda each: (each["again"], each["distance"]))


def alone(data: Data) -> list[dict[str, Any]]:
    """Counterexamples of single configurations, each once."""
    if data["varying"]:
        return []
    told: dict[int, list[str]] = {}
    for cell in data["cells"]:
        where = f" for {cell['name']}" if len(data["cells"]) > 1 else ""
        for entry in cell["properties"]:
            if entry.get("story") is not None:
                told.setdefault(entry["story"], []).append(f"`{entry['name']}`{where}")
    stories = [(", ".join(names), data["stories"][story]) for story, names in sorted(told.items())]
    return [
        {"of": names, "title": each["title"], "says": [data["frames"][frame]["says"] for frame in each["frames"]]}
        for names, each in stories
    ]


def _pair(cell: Mapping[str, Any], entry: Mapping[str, Any], data: Data) -> dict[str, Any]:
    run = data["runs"][entry["run"]]
    refused, differs = run.get("refused") or {}, run.get("differs") or {}
    rows = []
    for number, frame in enumerate(data["stories"][entry["story"]]["frames"]):
        there = "the same"
        if differs and number >= differs["step"]:
            there = "; ".join(differs["says"]) if number == differs["step"] else "taken, too"
        if refused and number >= refused["step"]:
            there = f"**refused: `{refused['clause']}`**" if number == refused["step"] else ""
        rows.append([data["frames"][frame]["says"], there])
    if not refused:
        rows[-1][1] += "; nothing is lost"
    changes = ", ".join(f"{key}={plain(to)} (not {plain(value)})" for key, (value, to) in entry["sibling"]["changed"].items())
    return {
        "property": entry["name"],
        "here": words(cell["cell"]),
        "changes": changes,
        "rows": rows,
        "distance": len(entry["sibling"]["changed"]),
        "kind": f"{entry['name']} {changes} {refused.get('clause')}",
    }
