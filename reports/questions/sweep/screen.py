"""A sweep at a terminal: its table, the boundary of the safe cells, what each setting survives, and what changed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from neverlost.reports.documents.sweep_and_baseline import NOT_COMPARABLE, tolerance_lines
from neverlost.reports.documents.topic_groups import general_notices, list_unstruck
from neverlost.reports.terminal.results import show_settings
from neverlost.reports.wording.merged_rows import faults_text, pluralize, value_text, where_violated
from neverlost.reports.wording.provenance import notice_sentence, source
from neverlost.reports.wording.sentences import say_left_out, say_never

STYLES = {"holds": "green", "violated": "bold red", "inconclusive": "yellow"}


def show(out: Console, found: Mapping[str, Any], most: int = 60) -> None:
    """Print the cells as a table (only the first `most` of many), and the summary."""
    varying = found["matrix"]["varying"]
    cells = found["cells"]
    asked = [each["name"] for each in cells[0]["properties"]]
    table = Table(box=None, padding=(0, 1), header_style="bold")
    for name in [*varying, *asked, "steps", "faults"]:
        table.add_column(name, overflow="fold")
    for cell in cells[:most]:
        violated = [each for each in cell["properties"] if each["verdict"] == "violated"]
        shortest = min(violated, key=lambda each: each["steps"], default=None)
        faults = faults_text(shortest["faults"]) if shortest else ""
        table.add_row(
            *[value_text(cell["cell"][name]) for name in varying],
            *[Text(each["verdict"], STYLES[each["verdict"]]) for each in cell["properties"]],
            str(shortest["steps"]) if shortest else "",
            faults,
        )
    out.print(table)
    if len(cells) > most:
        out.print(Text(f"... and {len(cells) - most} more cells (--json or --out has them all)", "dim"))
    counts, searches = found["verdicts"], found["searches"]
    distinct = sum(each["states"]["distinct"] for each in searches)
    kind = "orbits" if found["symmetry"] else "states"
    vacuous = sum(any(list_unstruck(cell, each) for each in cell["properties"]) for cell in cells)
    hold = f"{counts['holds']} hold" + (f" ({vacuous} of them vacuous)" if vacuous else "")
    out.print(f"{len(cells)} cells: {hold}, {counts['violated']} violated, {counts['inconclusive']} inconclusive")
    never = sorted({name for cell in cells for each in cell["properties"] for name in list_unstruck(cell, each)})
    if never:
        out.print(Text(f"VACUOUS where it holds: {say_never(never)} in {pluralize(vacuous, 'cell')}", "bold yellow"))
    how = ", ".join(f"{count} {name}" for name, count in found["decided_by"].items())
    out.print(Text(f"verdicts: {how}; {len(searches)} searches, {distinct:,} distinct {kind}, {found['seconds']:.1f} s", "dim"))
    show_settings(out, found["sources"])
    if places := [f"{name} ({source(cells[0]['sources'][name])})" for name in varying if name in cells[0]["sources"]]:
        out.print(Text(f"varied: {', '.join(places)}", "dim"))
    for notice in general_notices(found):
        out.print(Text(f"{notice['kind']}: {notice_sentence(notice)}", "yellow"))
    for reason in dict.fromkeys(each["reason"] for each in searches if each["reason"]):
        out.print(Text(f"inconclusive: {reason}", "bold yellow"))


def show_boundary(out: Console, found: Mapping[str, Any], most: int = 12) -> None:
    """Print the rule for the unsafe cells, its exceptions, and the loosest safe settings."""
    for each in found["boundary"]:
        rule = each["rule"]
        smallest = "" if rule["smallest"] else " (a shorter rule may exist)"
        proof = "" if rule["proved"] else " (NOT proved equal to the matrix)"
        head = f"In these {pluralize(rule['cells'], 'cell')} {each['property']} is violated "
        out.print(Text.assemble((head, "bold"), (where_violated(rule), "bold red"), (f"{smallest}{proof}", "dim")))
        if rule.get("vacuous"):
            out.print(Text(f"  {say_left_out(rule['vacuous'])}", "yellow"))
        for exception in each["exceptions"][:most]:
            out.print(Text(f"  not safer: {exception['says']}", "yellow"))
        if len(each["exceptions"]) > most:
            out.print(Text(f"  ... and {len(each['exceptions']) - most} more exceptions", "dim"))
        if not each["exceptions"]:
            out.print(Text("  no surprises: safer settings were never less safe here", "dim"))
        for cell in each["maximal_safe"][:most]:
            out.print(Text(f"  loosest safe: {cell}", "green"))
        if len(each["maximal_safe"]) > most:
            out.print(Text(f"  ... and {len(each['maximal_safe']) - most} more", "dim"))


def show_tolerance(out: Console, found: Mapping[str, Any], most: int = 24) -> None:
    """Print which faults each setting survives, a sentence each, and how many more there are than `most`."""
    lines = tolerance_lines(found)
    if lines:
        out.print(Text("fault tolerance", "bold"))
    for setting, says in lines[:most]:
        out.print(Text.assemble("  ", (setting, "dim"), ": ", says))
    if len(lines) > most:
        out.print(Text(f"  ... and {len(lines) - most} more (--out has them all)", "dim"))


def show_changes(out: Console, changed: Sequence[Mapping[str, Any]]) -> None:
    """Print the differences from a baseline, a line each; without any, that all is as the baseline says."""
    if not changed:
        out.print(Text("as the baseline says", "green"))
    for each in changed:
        out.print(Text(f"changed: {each['cell']}: {each['property']} {change_words(each)}", "bold red"))


def change_words(change: Mapping[str, Any]) -> str:
    """Return in words a cell's verdict before and now, that it is missing from one matrix, and that its question changed."""
    was = "held" if change["was"] == "holds" else f"was {change['was']}"
    now = "holds" if change["is"] == "holds" else f"is {change['is']}"
    if change["is"] is None:
        return f"{was}, is no longer in the matrix"
    words = f"{was}, {now}" if change["was"] else f"{now}, and was not in the baseline"
    return f"{words}; {NOT_COMPARABLE.format(change['question'])}" if change.get("question") else words
