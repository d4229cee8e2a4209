"""A tolerance for people at a terminal: the table, its boundaries in sentences, and a counterexample on request."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.text import Text

from neverlost.checker.campaign.tolerance import Spot, Tolerance
from neverlost.reports.counterexample.timeline import timeline
from neverlost.reports.documents import tolerance as describe
from neverlost.reports.documents.merged_rows import many
from neverlost.reports.terminal.counterexample import show_timeline
from neverlost.specs.errors import InputError

if TYPE_CHECKING:
    from neverlost.tolerances import ToleranceResult

STYLES = ((describe.LOST, "bold red"), (describe.STOPS, "yellow"), (describe.UNDECIDED, "magenta"), (describe.OK, "green"))


def spot_of(text: str | None) -> Spot | None:
    """`1,2` as a spot of the table.

    Errors: `InputError` for anything else.
    """
    if text is None:
        return None
    parts = text.split(",")
    if len(parts) != 2 or not all(each.isascii() and each.isdigit() and len(each) == 1 for each in parts):
        raise InputError(f"bad value {text!r} for --show: write how many lose data and how many others are out, such as 1,2")
    return Spot(*map(int, parts))


def show(out: Console, result: ToleranceResult, spot: Spot | None) -> None:
    """A table for each configuration, worst outcome in red."""
    before: Tolerance | None = None
    for chosen, found in zip(result.chosen, result.tables, strict=True):
        designed, before = before, found
        if describe.variant(chosen.configuration) == "as shipped" and designed is not None:
            defects = describe.known_defects(chosen.configuration)
            if describe.is_same(designed, found):
                out.print(Text(f"As shipped: the same, with {many(len(defects), 'known defect')}.\n"))
                continue
            out.print(Text(f"As shipped it has known defects that make a difference, among {', '.join(defects)}:", "yellow"))
        out.print(Text(describe.heading(chosen.configuration, chosen.release, chosen.subjects), "bold"))
        for line in describe.table(found):
            out.print(_coloured(line))
        for sentence in describe.sentences(found):
            out.print(Text(sentence))
        for notice in chosen.notices:
            out.print(Text(f"{notice.kind}: {notice.says}", "yellow"))
        for assumption in describe.assumptions(chosen.configuration):
            out.print(Text(assumption, "dim"))
        if spot is not None:
            _show_spot(out, found, spot)
        out.print()


def _coloured(line: str) -> Text:
    text = Text(line)
    for words, style in STYLES:
        text.highlight_words([words], style)
    return text


def _show_spot(out: Console, found: Any, spot: Spot) -> None:
    decisions = [each for each in found.decisions.get(spot, ()) if each.trace is not None]
    if not decisions:
        out.print(Text(f"{spot.losing},{spot.out} has no counterexample", "yellow"))
        return
    shortest = min(decisions, key=lambda each: (each.property.kind != "safety", len(each.trace.steps)))
    show_timeline(out, timeline(found.sweep.systems[found.cells[spot]], shortest.property, shortest.trace))


def lines(document: Mapping[str, Any]) -> Iterable[str]:
    """The boundaries and nothing else."""
    return [f"{subject}: {sentence}" for subject, says in document["says"].items() for sentence in says]
