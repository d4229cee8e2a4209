"""Counterexamples as tables for Markdown: alone, or beside the same steps under the nearest safe setting."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any

from neverlost.reports.wording.merged_rows import settings_text, value_text

Data = Mapping[str, Any]
"""What `neverlost.reports.page.render.report_data` gives."""


def pairs(data: Data) -> list[dict[str, Any]]:
    """Return tables of counterexamples beside the same steps under the nearest safe setting, each pair once.  First comes one
    for each kind of reason, those with the fewest changed settings first; then a second for each, and so on."""
    found = {}
    for cell in data["cells"]:
        for entry in cell["properties"]:
            if entry.get("comparison") is not None and (entry["timeline"], entry["comparison"]) not in found:
                found[entry["timeline"], entry["comparison"]] = _pair(cell, entry, data)
    kinds = Counter[str]()
    for pair in found.values():
        pair["again"] = kinds[pair["kind"]]
        kinds[pair["kind"]] += 1
    return sorted(found.values(), key=lambda each: (each["again"], each["distance"]))


def alone(data: Data) -> list[dict[str, Any]]:
    """Return the counterexamples of a result, each once with the names of all properties that it breaks; of a sweep none."""
    if data["varying"]:
        return []
    broken: dict[int, list[str]] = {}
    for cell in data["cells"]:
        where = f" for {cell['name']}" if len(data["cells"]) > 1 else ""
        for entry in cell["properties"]:
            if entry.get("timeline") is not None:
                broken.setdefault(entry["timeline"], []).append(f"`{entry['name']}`{where}")
    found = [(", ".join(names), data["timelines"][number]) for number, names in sorted(broken.items())]
    return [{"of": names, **each, "says": [data["frames"][frame]["says"] for frame in each["frames"]]} for names, each in found]


def _pair(cell: Mapping[str, Any], entry: Mapping[str, Any], data: Data) -> dict[str, Any]:
    other = data["comparisons"][entry["comparison"]]
    refused, differs = other.get("refused") or {}, other.get("differs") or {}
    rows = []
    for number, frame in enumerate(data["timelines"][entry["timeline"]]["frames"]):
        there = "the same"
        if differs and number >= differs["step"]:
            there = "; ".join(differs["says"]) if number == differs["step"] else "taken, too"
        if refused and number >= refused["step"]:
            there = f"**refused: `{refused['clause']}`**" if number == refused["step"] else ""
        rows.append([data["frames"][frame]["says"], there])
    if not refused:
        rows[-1][1] += "; nothing is lost"
    changes = ", ".join(
        f"{key}={value_text(to)} (not {value_text(value)})" for key, (value, to) in entry["sibling"]["changed"].items()
    )
    return {
        "property": entry["name"],
        "here": settings_text(cell["cell"]),
        "changes": changes,
        "rows": rows,
        "distance": len(entry["sibling"]["changed"]),
        "kind": f"{entry['name']} {changes} {refused.get('clause')}",
    }
