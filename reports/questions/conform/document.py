"""The results of `conform` as documents, Markdown and text for a terminal."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

import neverlost
from neverlost.checker.engine.host.whole_files import as_json, write_text
from neverlost.checker.kafka.conform.cases.comparison import Difference, Tally
from neverlost.checker.kafka.conform.exploration.explore_classes import ExplorationResult, list_missing
from neverlost.checker.kafka.conform.exploration.explored_group import Bounds
from neverlost.checker.kafka.conform.run import ConformReport
from neverlost.checker.kafka.conform.walk import walks
from neverlost.checker.kafka.conform.walk.broker_group import GroupSight
from neverlost.reports.output import exit_status as statuses
from neverlost.reports.output.output import verdict_line
from neverlost.reports.questions.conform import java_test_writer
from neverlost.specs.configuration.choose import read_settings
from neverlost.specs.errors import InputError, unknown

SCHEMA = "neverlost.conform/1"
STATUSES = {
    **dict.fromkeys(("agrees", "holds"), statuses.HOLDS),
    "differs": statuses.ENGINES_DISAGREE,
    "violated": statuses.VIOLATED,
    "inconclusive": statuses.INCONCLUSIVE,
}
"""The exit status of each verdict."""

SHOWN = 5
"""Differences of one method that are shown; the document has all."""


def comparison_document(found: ConformReport) -> dict[str, Any]:
    differences = [_difference(each) for tally in found.tallies.values() for each in tally.differences]
    new = [each for each in differences if each["new"]]
    return {
        "schema": SCHEMA,
        "version": neverlost.__version__,
        "kafka": found.kafka.version,
        "verdict": "differs" if new else ("inconclusive" if found.left else "agrees"),
        "parts": [_part(each) for each in found.tallies.values()],
        "differences": differences,
        "left": found.left,
        "seconds": round(found.seconds, 1),
    }


def verdict_lines(stated: Mapping[str, Any]) -> list[str]:
    parts = [f"{each['differences']} differences in {each['part']}" for each in stated.get("parts", ())]
    return [verdict_line(stated["verdict"], ", ".join([f"Kafka {stated['kafka']}", *parts]))]


def _part(tally: Tally) -> dict[str, Any]:
    return {
        **{name: getattr(tally, name) for name in ("part", "states", "transitions", "cases", "calls")},
        "differences": len(tally.differences),
        "unexplained": len(tally.unexplained),
        "by_event": dict(sorted(tally.by_event.items())),
        "gaps": tally.gaps,
        "seconds": round(tally.seconds, 1),
    }


def _difference(each: Difference) -> dict[str, Any]:
    return {
        **{name: getattr(each, name) for name in ("part", "method", "setting", "case")},
        "kafka": list(each.kafka),
        "model": list(each.model),
        "known": each.known,
        "new": each.known is None,
        "test": None if each.test is None else each.test.document,
        "records": list(each.records),
    }


def comparison_progress(name: str, so_far: ConformReport) -> str:
    calls = sum(each.calls for each in so_far.tallies.values())
    pace = calls / max(so_far.seconds, 1e-9)
    return f"{calls:,} calls of Kafka's code, {pace:,.0f}/s, {so_far.unexplained} differ; {name[:60]}"


def show_comparison(out: Console, stated: dict[str, Any]) -> None:
    """Print the result of a comparison with Kafka's classes at a terminal."""
    table = Table("part", "states", "transitions", "distinct cases", "calls of Kafka's code", "differ")
    for each in stated["parts"]:
        style = "bold red" if each["unexplained"] else "green"
        numbers = [f"{each[name]:,}" for name in ("states", "transitions", "cases", "calls")]
        table.add_row(each["part"], *numbers, Text(f"{each['differences']:,}", style))
    out.print(table)
    for text in _summaries(stated):
        out.print(Text(text))
    colour = {"agrees": "bold green", "differs": "bold red", "inconclusive": "bold yellow"}[stated["verdict"]]
    out.print(Text(_verdict_sentence(stated), colour))


def _summaries(stated: dict[str, Any]) -> Iterable[str]:
    """Yield the first new differences of each method, what the walks did, how many are known, and what was not compared."""
    shown: dict[str, int] = {}
    for each in stated["differences"]:
        if each["new"]:
            shown[each["method"]] = shown.get(each["method"], 0) + 1
            if shown[each["method"]] <= SHOWN:
                yield from _difference_lines(each)
    yield from (f"{method}: {count - SHOWN} more" for method, count in shown.items() if count > SHOWN)
    for part in stated["parts"]:
        if part["part"] == walks.PART and part["cases"]:
            yield from _walk_lines(part)
    reasons = [each["known"] for each in stated["differences"] if each["known"]]
    yield from (f"known: {reasons.count(each)} x {each}" for each in dict.fromkeys(reasons))
    yield from (f"not in this version: {gap}" for part in stated["parts"] for gap in part["gaps"])
    yield from (f"not compared: {name}: {reason}" for name, reason in stated["left"].items())


def _walk_lines(part: Mapping[str, Any]) -> Iterable[str]:
    """Yield the share of walks with each event and fate of a message, how many lose records by which defects, what is rare."""
    counts, cases = part["by_event"], part["cases"]
    shares = [f"{name} {count * 100 / cases:.0f}%" for name, count in counts.items() if not name.startswith(walks.LOST)]
    yield f"of {cases:,} walks: {', '.join(shares)}"
    yield from (f"{count:,} x {name}" for name, count in counts.items() if name.startswith(walks.LOST))
    rare = walks.rare(counts, cases)
    yield from ([f"fewer than 1% of the walks: {', '.join(rare)}"] if rare else [])


def _verdict_sentence(stated: dict[str, Any]) -> str:
    calls = sum(each["calls"] for each in stated["parts"])
    new = sum(each["new"] for each in stated["differences"])
    words = {
        "agrees": f"Kafka {stated['kafka']} and the model agree",
        "differs": f"Kafka {stated['kafka']} and the model differ in {new:,} cases",
        "inconclusive": f"Kafka {stated['kafka']}: not everything was compared",
    }
    return f"{words[stated['verdict']]} ({calls:,} calls of Kafka's code, {stated['seconds']:,} s)"


def markdown(stated: dict[str, Any]) -> str:
    lines = [f"# Kafka {stated['kafka']}'s own classes and the model", "", _verdict_sentence(stated) + ".", ""]
    lines += ["| part | states | transitions | distinct cases | calls | differ |", "| --- | --- | --- | --- | --- | --- |"]
    for each in stated["parts"]:
        numbers = " | ".join(f"{each[name]:,}" for name in ("states", "transitions", "cases", "calls", "differences"))
        lines.append(f"| {each['part']} | {numbers} |")
    lines += ["", *(f"    {text}" for text in _summaries(stated)), ""]
    return "\n".join(lines)


def _difference_lines(each: Mapping[str, Any]) -> Iterable[str]:
    """Yield a difference as text in Kafka's own names, brokers counted from 1."""
    yield from (f"{each['method']}: {each['case']}", f"   setting: {each['setting']}")
    yield from (f"   Kafka: {answer}" for answer in each["kafka"] or ["nothing"])
    yield from (f"   model: {answer}" for answer in each["model"] or ["nothing"])


def write_comparison(directory: str, stated: dict[str, Any]) -> None:
    """Write the Markdown page and, of the new differences, the metadata records and (from Kafka 4.3 on) Java tests."""
    write_text(Path(directory) / f"conform-{stated['kafka']}.md", markdown(stated))
    java_test_writer.write_java_tests(directory, stated["kafka"], [each for each in stated["differences"] if each["new"]])


def read_bounds(settings: Iterable[str], fixes: Iterable[str]) -> Bounds:
    """Read the bounds of an exploration of Kafka's classes from settings and stand-in fixes. Errors: `InputError` for a key
    that it does not read, a value out of range, and an unknown fix."""
    found: dict[str, Any] = {}
    for name, (text, where) in read_settings(settings).items():
        if name not in EXPLORATION_KEYS:
            raise unknown("key", name, EXPLORATION_KEYS, f"{where} with --free")
        field, low, high = EXPLORATION_KEYS[name]
        if not str(text).isdecimal() or not low <= int(text) <= high:
            raise InputError(f"bad value {text!r} for {name} in {where}: use {low} to {high}")
        found[field] = int(text)
    for name in fixes:
        if name not in FIXES:
            raise unknown("fix", name, FIXES, "--fix")
        found[FIXES[name]] = True
    return Bounds(**found)


EXPLORATION_KEYS = {
    "replication.factor": ("brokers", 2, 3),
    "min.insync.replicas": ("min_isr", 1, 3),
    "bounds.records": ("records", 1, 6),
    "bounds.acks_1": ("acks_one", 0, 6),
    "faults.leader_move": ("moves", 0, 9),
    "faults.kill": ("kills", 0, 9),
    "faults.lossy_crash": ("power_losses", 0, 9),
    "faults.isr_shrink": ("lags", 0, 9),
    "faults.fence": ("fences", 0, 9),
    "faults.request_copy": ("copies", 0, 9),
    "faults.broken_connection": ("losses", 0, 9),
    "faults.stalled_request": ("stalls", 0, 9),
}
"""The keys that a free search reads: the bound's name, least and greatest value."""

FIXES = {"equal-epoch": "skips_known_epoch"}
"""Stand-in fixes: a metadata record with a partition epoch that the leader has already is left out."""

EXPLORATION_SCHEMA = "neverlost.conform-free/1"


def exploration_progress(so_far: ExplorationResult) -> str:
    pace = so_far.transitions / max(so_far.seconds, 1e-9)
    return f"depth {so_far.depth}: {so_far.states:,} states, {so_far.transitions:,} transitions, {pace:,.0f}/s"


def exploration_document(found: ExplorationResult) -> dict[str, Any]:
    """Return the result document of an exploration of Kafka's classes."""
    return {
        "schema": EXPLORATION_SCHEMA,
        "version": neverlost.__version__,
        "kafka": found.kafka,
        "bounds": asdict(found.bounds),
        "verdict": found.verdict,
        "reason": found.reason,
        "states": {"generated": found.transitions, "distinct": found.states, "depth": found.depth, "left": found.left},
        "calls": found.calls,
        "replayed": found.replayed,
        "by_event": dict(sorted(found.by_event.items())),
        "never": list_missing(found),
        "property": found.broken,
        "trace": None if found.trace is None else [[name, *arguments] for name, arguments in found.trace],
        "described": _described(found),
        "explanation": list(found.explanation),
        "seconds": round(found.seconds, 1),
    }


def _described(found: ExplorationResult) -> list[str]:
    """Return a counterexample's lines: what is seen at first, then each event with what is seen after it; [] without one."""
    lines = [f"{number:3} {event} | {walks.shown(view)}" for number, (event, view) in enumerate(found.steps) if number]
    return [f"    {walks.shown(view)}" for _, view in found.steps[:1]] + lines


def write_exploration(directory: str, found: ExplorationResult) -> None:
    """Write the counterexample of `found` (there has to be one): as ITF, with what is seen of Kafka after each event, and as a
    JUnit test where one can be."""
    asked = {"schema": EXPLORATION_SCHEMA, "kafka": found.kafka, "bounds": asdict(found.bounds), "property": found.broken}
    document = {
        "#meta": {
            "format": "ITF",
            "format-description": "https://apalache-mc.org/docs/adr/015adr-trace.html",
            "description": f"Kafka {found.kafka}'s own classes break {found.broken}; {'; '.join(found.explanation)}",
            "neverlost": asked,
        },
        "vars": ["action", "leader", "isr", "fenced", "acked", "brokers"],
        "states": [
            {"#meta": {"index": index}, "action": str(event) if index else "begin"} | _itf_state(view)
            for index, (event, view) in enumerate(found.steps)
        ],
    }
    write_text(Path(directory) / "trace.itf.json", as_json(document))
    java_test_writer.write_path_test(directory, found)


def _itf_state(view: GroupSight) -> dict[str, Any]:
    brokers = [
        [
            number,
            {
                "state": each.state,
                "log": [{"record": record, "epoch": epoch} for record, epoch in each.log],
                "high_watermark": each.high_watermark,
                "follows": each.follows or 0,
                "isr": _itf_set(each.isr),
            },
        ]
        for number, each in enumerate(view.brokers, start=1)
    ]
    sets = {name: _itf_set(members) for name, members in (("isr", view.isr), ("fenced", view.fenced), ("acked", view.acked))}
    return {"leader": view.leader, **sets, "brokers": {"#map": brokers}}


def _itf_set(members: Iterable[int]) -> dict[str, Any]:
    return {"#set": sorted(members)}


def show_exploration(out: Console, found: ExplorationResult) -> None:
    """Print an exploration's result at a terminal."""
    for line in (*_described(found), *found.explanation):
        out.print(Text(line))
    words = {
        "violated": f"Kafka {found.kafka}'s own classes break {found.broken} in {len(found.trace or ())} events",
        "holds": f"Kafka {found.kafka}'s own classes: nothing is lost, and nothing is left to explore",
        "inconclusive": f"Kafka {found.kafka}'s own classes: undecided ({found.reason}; {found.left:,} states not expanded)",
    }
    out.print(Text(words[found.verdict], {"violated": "bold red", "holds": "bold green"}.get(found.verdict, "bold yellow")))
    never = f"; never happened: {', '.join(list_missing(found))}" if list_missing(found) else ""
    again = f"{found.replayed:,} paths walked from the beginning"
    out.print(Text(f"{exploration_progress(found)}, {found.calls:,} by Kafka, {again}, {found.seconds:,.0f} s{never}", "dim"))
