"""Reports from a bundle's result: Markdown for a pull request, and one self-contained HTML page."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined, select_autoescape

from model.catalogue import models
from reports.files import write_text
from reports.itf import read_itf
from reports.timeline import Frame, Timeline, isr_text, missing, timeline
from specs.keys import MECHANISM
from specs.property import properties

MOST_IN_MARKDOWN = 60


def write_reports(folder: Path, document: Mapping[str, Any], target: Path | None = None) -> None:
    """`report.md` and `report.html` of a directory with a result and its traces, written there or elsewhere."""
    place = target or folder
    data = report_data(folder, document)
    environment = Environment(
        loader=PackageLoader("reports", "templates"),
        autoescape=select_autoescape(["html"]),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    packed = json.dumps(data, ensure_ascii=False, separators=(",", ":")).replace("<", "\\u003c")
    write_text(place / "report.html", environment.get_template("report.html").render(data=data, packed=packed))
    write_text(place / "report.md", environment.get_template("report.md").render(data=data, most=MOST_IN_MARKDOWN))


def report_data(folder: Path, document: Mapping[str, Any]) -> dict[str, Any]:
    """What both reports show."""
    cells = document.get("cells") or [document]
    matrix = document.get("matrix") or {"name": document.get("model", "check"), "says": "", "varying": []}
    stories: list[Any] = []
    known: dict[str, int] = {}
    shown = []
    for cell in cells:
        merged = {"model": document.get("model"), **cell}
        entries = [_entry(folder, merged, each, document, stories, known) for each in cell["properties"]]
        shown.append(
            {
                "id": cell.get("id"),
                "cell": cell.get("cell", {}),
                "verdict": cell.get("verdict"),
                "scope": scope(merged),
                "properties": entries,
            }
        )
    verdicts = [each["verdict"] for each in shown]
    names = list(dict.fromkeys(each["name"] for cell in cells for each in cell["properties"]))
    return {
        "title": matrix["name"],
        "says": matrix["says"],
        "varying": matrix["varying"],
        "id": document.get("id") or "",
        "version": document.get("version") or cells[0].get("version") or "",
        "counts": {name: verdicts.count(name) for name in ("holds", "violated", "inconclusive")},
        "properties": [{"name": name, "says": properties()[name].says} for name in names],
        "boundary": document.get("boundary", []),
        "searches": document.get("searches", []),
        "symmetry": bool(document.get("symmetry")),
        "seconds": document.get("seconds", 0),
        "cells": shown,
        "stories": stories,
    }


def scope(cell: Mapping[str, Any]) -> str:
    """A configuration with its bounds in a few words: what is usual, empty or nought goes without saying, and what a
    Kafka version implies."""
    parts = []
    defaults = models()[cell["model"]].defaults
    release = cell.get("cell", {}).get("kafka.version")
    for name, value in {**cell["config"], **cell["bounds"]}.items():
        is_usual = name.startswith(MECHANISM) and (release is not None or value == defaults.get(name))
        is_quiet = is_usual or (name.startswith("faults.") and not value) or value == ""
        if not is_quiet:
            parts.append(f"{name}={str(value).lower() if isinstance(value, bool) else value}")
    named = cell["model"] if release is None else f"Kafka {release} ({cell['model']})"
    return f"{named} with " + ", ".join(parts)


def sentence(cell: Mapping[str, Any], entry: Mapping[str, Any], document: Mapping[str, Any]) -> str:
    """A verdict that survives being pasted: property, verdict, configuration, bounds, counts, identity, id."""
    where = scope(cell)
    distinct = (cell.get("states") or {}).get("distinct")
    kind = "orbits of states under renaming of replicas" if document.get("symmetry") else "states"
    counted = f" ({distinct:,} distinct {kind}, exact identity)" if distinct else ""
    stamp = f"neverlost {document.get('version', '')}, {cell.get('id')}"
    if entry["verdict"] == "violated":
        faults = ", ".join(f"{count} {name.replace('_', ' ')}" for name, count in entry["faults"].items()) or "no fault"
        steps = "1 step" if entry["steps"] == 1 else f"{entry['steps']} steps"
        return f"{entry['name']} is violated in {steps} with {faults}: {where}. [{stamp}]"
    if entry["verdict"] == "holds":
        return f"{entry['name']} holds in every reachable state{counted}: {where}. [{stamp}]"
    reason = document.get("reason") or "the search was cut short"
    return f"{entry['name']} is undecided ({reason}): {where}. [{stamp}]"


def _entry(
    folder: Path,
    cell: Mapping[str, Any],
    each: Mapping[str, Any],
    document: Mapping[str, Any],
    stories: list[Any],
    known: dict[str, int],
) -> dict[str, Any]:
    found: dict[str, Any] = {"name": each["name"], "verdict": each["verdict"], "says": sentence(cell, each, document)}
    found["how"] = each.get("how", "explored")
    if each["verdict"] == "violated":
        found |= {"steps": each["steps"], "faults": each["faults"], "trace": each.get("trace")}
        if each.get("sibling"):
            found["sibling"] = each["sibling"]
        if each.get("trace"):
            found["story"] = _story(folder / str(each["trace"]), stories, known)
    return found


def _story(path: Path, stories: list[Any], known: dict[str, int]) -> int | None:
    """The number of a counterexample's frames; equal ones are kept once."""
    system, broken, trace = read_itf(path)
    if system.model.portrait is None:
        return None
    shown = timeline(system, broken, trace)
    frames = [_frame(each, shown) for each in shown.frames]
    text = json.dumps([frames, shown.verdict_line], sort_keys=True)
    if text not in known:
        known[text] = len(stories)
        stories.append({"title": shown.verdict_line, "frames": frames})
    return known[text]


def _frame(frame: Frame, shown: Timeline) -> dict[str, Any]:
    scene = frame.scene
    is_last = frame is shown.frames[-1]
    controller = ["no leader" if scene.leader is None else f"leader {scene.leader + 1}", f"ISR {isr_text(scene.isr)}"]
    controller += [] if scene.epoch is None else [f"epoch {scene.epoch}"]
    lanes = []
    for lane, changed in zip(scene.lanes, frame.changed, strict=True):
        notes = [*([] if lane.isr is None else [f"ISR {isr_text(lane.isr)}"]), *lane.notes]
        lanes.append(
            {
                "role": lane.role,
                "log": [record for record, _ in lane.log],
                "hw": lane.high_watermark,
                "notes": notes,
                "changed": sorted(changed),
                "lost": missing(lane, frame, shown.lost) if is_last else [],
            }
        )
    return {
        "says": frame.says,
        "fault": frame.is_fault,
        "controller": [*controller, *scene.notes],
        "moved": frame.controller_changed,
        "lanes": lanes,
    }
