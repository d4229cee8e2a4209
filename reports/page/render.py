"""Reports from a bundle's result: Markdown for a pull request, and one self-contained HTML page."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from neverlost.checker.engine.evidence import ledger
from neverlost.checker.engine.host.whole_files import write_text
from neverlost.checker.questions.atlas.lookup import ENGINE as ATLAS
from neverlost.model.protocols import models
from neverlost.model.system import System
from neverlost.reports.counterexample import tables
from neverlost.reports.counterexample.frames import Timelines
from neverlost.reports.counterexample.saved import SavedCounterexamples
from neverlost.reports.counterexample.space_time import STYLE as SPACE_TIME_STYLE
from neverlost.reports.documents import measurements
from neverlost.reports.documents.ledger_lines import lines_of
from neverlost.reports.documents.sweep_and_baseline import tolerance_lines
from neverlost.reports.documents.topic_groups import count_verdicts, group_by_answer, list_unstruck, notices_of, remedy_lines
from neverlost.reports.documents.topic_groups import list_topics as listed
from neverlost.reports.page.drawing import STYLE
from neverlost.reports.page.templating import markdown_templates, page_templates
from neverlost.reports.wording import provenance
from neverlost.reports.wording.merged_rows import settings_text
from neverlost.reports.wording.provenance import assumed_lines
from neverlost.reports.wording.provenance import notice_sentence as sentence_of
from neverlost.reports.wording.sentences import cite_verdict, say_never
from neverlost.specs.configuration.choose import chosen_of
from neverlost.specs.configuration.keys import MECHANISM, is_without_faults
from neverlost.specs.properties import properties
from neverlost.specs.setting import Sources

MOST_IN_MARKDOWN, MOST_RUNS, MOST_NAMED = 60, 6, 12


def write_reports(
    folder: Path, document: Mapping[str, Any], target: Path | None = None, traces: SavedCounterexamples | None = None
) -> list[Path]:
    """Write `report.md` and `report.html` of a result, with traces in `folder`, there or into `target`; return both paths."""
    place = target or folder
    data = report_data(folder, document, traces)
    packed = json.dumps(data, ensure_ascii=False, separators=(",", ":")).replace("<", "\\u003c")
    page = page_templates().get_template("report.html")
    write_text(place / "report.html", page.render(data=data, packed=packed, chart_style=STYLE + SPACE_TIME_STYLE))
    listed = {"pairs": tables.pairs(data), "alone": tables.alone(data), "most": MOST_IN_MARKDOWN, "most_runs": MOST_RUNS}
    write_text(place / "report.md", markdown_templates().get_template("report.md").render(data=data, **listed))
    return [place / "report.md", place / "report.html"]


def report_data(folder: Path, document: Mapping[str, Any], traces: SavedCounterexamples | None = None) -> dict[str, Any]:
    """Return the data that both reports show: question, verdicts, the conclusions from all of them, and counterexamples."""
    cells = [{"model": document.get("model"), **each} for each in document.get("cells") or [document]]
    drawn, traces = Timelines(), traces or SavedCounterexamples(folder)
    by_id = {each.get("id"): each for each in cells}

    @cache
    def system_of(cell_id: str) -> System:
        return chosen_of(by_id[cell_id]).system

    shown = [
        _cell(
            {**each, "settings": _settings(document, each)},
            [_entry(traces, each, entry, document, drawn, system_of) for entry in each["properties"]],
        )
        for each in cells
    ]
    lines = _ledger(document, cells, shown)
    first = next((each["timeline"] for each in shown[0]["properties"] if each.get("timeline") is not None), None)
    return {
        **_heading(document, cells),
        **_answer(document, cells),
        **_totals(document, cells, shown),
        "boundary": [{**each, "terms": each["rule"].get("terms", [])} for each in document.get("boundary", [])],
        "fault_tolerance": [{"setting": setting, "says": says} for setting, says in tolerance_lines(document)],
        "cells": shown,
        "assumed": assumed_lines(document),
        "groups": _groups(document),
        "calm": bool(cells) and all(is_without_faults(each["config"]) for each in cells),
        "ledger": {"lines": lines, "counts": dict(Counter(each["status"] for each in lines).most_common())},
        "frames": drawn.frames,
        "timelines": drawn.timelines,
        "comparisons": drawn.comparisons,
        "cause": [] if first is None or len(shown) > 1 else _cause(drawn, first),
    }


def _cause(drawn: Timelines, number: int) -> list[str]:
    """Return sentences: for each deciding step of the counterexample what it decides, and then which records can be lost so."""
    found = drawn.timelines[number]
    said = {step: drawn.frames[found["frames"][step]]["says"] for step in found["moments"]}
    decides = [f"{moment.capitalize()} in step {step}: {said[step]}." for step, moment in found["moments"].items()]
    return [*decides, found["affected"]] if found["affected"] else decides


def _heading(document: Mapping[str, Any], cells: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Return the fields of the heading: what was asked, and the version of neverlost that answered."""
    matrix = document.get("matrix") or {"name": document.get("model", "check"), "says": "", "varying": []}
    flags = [f"{key}={each['value']}" for key, each in document.get("sources", {}).items() if each["how"] == "flag"]
    return {
        "title": " with ".join([matrix["name"], *([" ".join(flags)] if flags and "matrix" in document else [])]),
        "says": matrix["says"],
        "varying": matrix["varying"],
        "id": document.get("id") or "",
        "version": document.get("version") or cells[0].get("version") or "",
    }


def _answer(document: Mapping[str, Any], cells: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Return the answer as a headline, and the remedy of the worst group: what to change, in lines, and the commands."""
    worst = group_by_answer({**document, "cells": cells})[0]
    names = [each["name"] for each in worst.cells[0]["properties"]]
    lines = remedy_lines(worst.remedy) if worst.remedy else []
    commands = [f"{each['where']}: {each['line']}" if each["where"] else each["line"] for each in worst.commands]
    remedy = {"lines": lines, "commands": commands}
    if len(cells) > 1:
        first = f"; the worst, {listed(worst.topics)}: {worst.cause}" if worst.topics and worst.verdict == "violated" else ""
        return {"headline": count_verdicts(cells) + first, "remedy": remedy}
    if worst.verdict == "violated" and not lines:
        remedy["lines"] = ["The same command with --advise looks for the smallest change that helps."]
    more = f" and {len(names) - 1} more" if len(names) > 1 else ""
    headlines = {
        "violated": f"Violated {worst.cause}",
        "inconclusive": f"Not decided: {worst.cause or 'a limit was reached'}",
        "holds": f"Holds: {names[0] if names else 'nothing was asked'}{more}, within the faults and bounds below",
    }
    return {"headline": headlines[worst.verdict], "remedy": remedy}


def _totals(
    document: Mapping[str, Any], cells: Sequence[Mapping[str, Any]], shown: Sequence[Mapping[str, Any]]
) -> dict[str, Any]:
    """Return as fields how many cells have each verdict, the properties asked about, and what the search took."""
    verdicts = [each["verdict"] for each in shown]
    names = list(dict.fromkeys(each["name"] for cell in cells for each in cell["properties"]))
    return {
        "counts": {name: verdicts.count(name) for name in ("holds", "violated", "inconclusive")},
        "properties": [{"name": name, "says": properties()[name].says} for name in names],
        "searches": document.get("searches", []),
        "symmetry": bool(document.get("symmetry")),
        "seconds": document.get("seconds", 0),
        "measured": [{"place": place, "says": _measured(found)} for place, found in measurements.measured_values(document)],
    }


def _measured(values: Sequence[Any]) -> str:
    """Return measured values as text: a single value, or how many there are and, if all are numbers, their range."""
    numbers = [each for each in values if isinstance(each, int | float)]
    if len(values) == 1:
        return f"{values[0]:,}" if numbers else str(values[0])
    among = f", {min(numbers):,} to {max(numbers):,}" if len(numbers) == len(values) else ""
    return f"{len(values):,} values{among}"


def _groups(document: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return an entry for each group of topics with the same answer, the worst first; [] for a result without topics."""
    if not any(each.get("topics") for each in document.get("cells", ())):
        return []
    return [
        {
            "verdict": each.verdict,
            "topics": [
                [topic, number] for number, cell in zip(each.numbers, each.cells, strict=True) for topic in cell["topics"]
            ],
            "settings": each.settings,
            "cause": each.cause,
            "remedy": remedy_lines(each.remedy) if each.remedy else [],
            "commands": [f"{one['where']}: {one['line']}" if one["where"] else one["line"] for one in each.commands],
            "notices": [sentence_of(one) for one in notices_of(each)],
        }
        for each in group_by_answer(document)
    ]


def _settings(document: Mapping[str, Any], cell: Mapping[str, Any]) -> Sources:
    """Return where each setting of a cell comes from; those that all cells of a sweep share stand once in the document."""
    own: Sources = cell.get("settings") or {**document.get("sources", {}), **cell.get("sources", {})}
    return own


def _cell(cell: Mapping[str, Any], entries: list[dict[str, Any]]) -> dict[str, Any]:
    return {
        "id": cell.get("id"),
        "cell": cell.get("cell", {}),
        "verdict": cell.get("verdict"),
        "scope": scope(cell),
        "name": listed(cell.get("topics", ()), MOST_NAMED) or cell["model"],
        "properties": entries,
        "settings": provenance.sources(cell) if provenance.has_files(cell) else [],
        "notices": provenance.notices(cell),
    }


def scope(cell: Mapping[str, Any]) -> str:
    """Return a configuration with its bounds in a few words.  Left out are empty values, faults and `start.` keys of zero, and
    mechanisms at their defaults or, where a Kafka version is named, all mechanisms."""
    parts = []
    defaults = models()[cell["model"]].defaults
    release = cell.get("kafka.version") or cell.get("cell", {}).get("kafka.version")
    for name, value in {**cell["config"], **cell["bounds"]}.items():
        is_usual = name.startswith(MECHANISM) and (release is not None or value == defaults.get(name))
        is_quiet = is_usual or (name.startswith(("faults.", "start.")) and not value) or value == ""
        if not is_quiet:
            parts.append(f"{name}={str(value).lower() if isinstance(value, bool) else value}")
    if is_without_faults(cell["config"]):
        parts.append("no faults")
    named = cell["model"] if release is None else f"Kafka {release} ({cell['model']})"
    topics = f" (topics {listed(cell['topics'], MOST_NAMED)})" if cell.get("topics") else ""
    return f"{named} with " + ", ".join(parts) + topics


def cite(cell: Mapping[str, Any], entry: Mapping[str, Any], document: Mapping[str, Any]) -> str:
    """Return a verdict as a sentence to cite: property, verdict, configuration, bounds, counts, methods that agreed, id."""
    about = {**document, **cell}
    where = scope(cell)
    distinct = (cell.get("states") or {}).get("distinct")
    kind = "orbits of states under renaming of replicas" if about.get("symmetry") else "states"
    counts = f"{distinct:,} distinct {kind}, exact identity" if distinct else ""
    counts = "as the atlas has it" if about.get("engine") == ATLAS else counts
    off = f"NOT the model as it is, but without {' and '.join(about['without'])}: " if about.get("without") else ""
    commit, _, changed = (about.get("commit") or "").partition("-")
    commit = f" (commit {commit[:12]}{', with changes not committed' if changed else ''})" if commit else ""
    stamp = f"neverlost {about.get('version', '')}{commit}, {cell.get('id')}"
    stamp += _agreed(cell)
    is_proof = about.get("method") == "induction"
    said = f"{off}{cite_verdict(entry, is_proof)}"
    if entry["verdict"] == "violated":
        found = f"found among {counts}; " if counts else ""
        left = entry.get("trap")
        stuck = f"; without a further fault {left['states']:,} states follow, none of them as wanted" if left else ""
        again = f" ({found}re-executed step by step{stuck})"
        return f"{said}{again}: {where}. [{stamp}]"
    never = say_never(list_unstruck(cell, entry))
    never = f"; {never}" if never else ""
    if entry["verdict"] == "holds" and is_proof:
        free = [beyond for each in about.get("proofs", ()) if each["property"] == entry["name"] for beyond in each["unbounded"]]
        known = ledger.describe_bounds(free, {**cell["config"], **cell["bounds"]})
        return f"{said}{known}{never}: {where}. [{stamp}]"
    if entry["verdict"] == "holds":
        return f"{said}{f' ({counts})' if counts else ''}{never}: {where}. [{stamp}]"
    reason = about.get("reason") or "the search was cut short"
    return f"{said} ({reason}): {where}. [{stamp}]"


def _agreed(cell: Mapping[str, Any]) -> str:
    """Return which independent methods agreed on a verdict, or which DISAGREED, to append to a citation; empty without any."""
    asked = [each for each in cell.get("agreement", ()) if each["agrees"] is not None]
    against = [each["way"] for each in asked if not each["agrees"]]
    if against:
        return f"; {' and '.join(against)} DISAGREED"
    return f"; agreed: {', '.join(each['way'] for each in asked)}" if asked else ""


def _ledger(
    document: Mapping[str, Any], cells: Sequence[Mapping[str, Any]], shown: Sequence[dict[str, Any]]
) -> list[dict[str, str]]:
    """Return the lines of the ledger in the order of the cells, and add each to its verdict's entry in `shown`, in place."""
    known = {(each.model, json.dumps(each.config, sort_keys=True), each.goal): each for each in lines_of(document)}
    found = []
    for cell, seen in zip(cells, shown, strict=True):
        configuration = json.dumps({**cell["config"], **cell["bounds"]}, sort_keys=True)
        for entry in seen["properties"]:
            line = known.pop((cell["model"], configuration, entry["name"]), None)
            if line is not None:
                entry["ledger"] = {"status": line.known, "how": line.how}
                about = {"configuration": settings_text(seen["cell"]) or seen["scope"], "property": line.goal}
                found.append({**about, "status": line.status, "known": line.known, "how": line.how})
    return found


def _entry(
    traces: SavedCounterexamples,
    cell: Mapping[str, Any],
    each: Mapping[str, Any],
    document: Mapping[str, Any],
    drawn: Timelines,
    system_of: Callable[[str], System],
) -> dict[str, Any]:
    found: dict[str, Any] = {"name": each["name"], "verdict": each["verdict"], "says": cite(cell, each, document)}
    found["how"] = each.get("how", "explored")
    if each["verdict"] == "violated":
        found |= {"steps": each["steps"], "faults": each["faults"], "trace": each.get("trace")}
        sibling = each.get("sibling")
        if each.get("trace"):
            known = traces[str(each["trace"])]
            found["timeline"] = drawn.add(known)
            found["comparison"] = None if sibling is None else drawn.compare(known, system_of(sibling["id"]))
        if sibling is not None:
            found["sibling"] = {"id": sibling["id"], "changed": sibling["changed"]}
    return found
