"""Bounds of loss at a terminal: what a review cites, then what is assumed."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from neverlost.reports.questions.nines import document as describe
from neverlost.reports.terminal.results import show_settings
from neverlost.reports.wording import provenance

if TYPE_CHECKING:
    from neverlost.checker.questions.nines.configuration_nines import ConfigurationNines
    from neverlost.reports.questions.nines.api import NinesResult

MOST_IN_FULL = 2
"""Configurations that are shown in full; of more there is a table."""


def show(out: Console, result: NinesResult, with_loss: bool = False) -> None:
    """Print up to two configurations with their sentences, more as a table; `with_loss` also how each loses; then what is
    assumed, if anything is bounded."""
    if len(result.nines) > MOST_IN_FULL:
        _show_table(out, result.document)
    for found, judged in zip(result.nines.values(), result.judged, strict=True):
        if len(result.nines) <= MOST_IN_FULL:
            _show_one(out, found)
        if with_loss:
            _show_loss(out, judged, result.document["rates"])
    is_bounded = any(each["region"] is not None for each in result.nines.values())
    for each in result.document["assumptions"] if is_bounded else ():
        out.print(Text(each, "dim"))


def _show_one(out: Console, found: Mapping[str, Any]) -> None:
    out.print(Text(found["heading"], "bold"))
    for number, each in enumerate(describe.sentences(found)):
        out.print(Text(each, "" if number else "bold"))
    if provenance.has_files({"settings": found["sources"]}):
        show_settings(out, found["sources"])
    for each in found["notices"]:
        out.print(Text(f"{each['kind']}: {each['says']}", "yellow"))
    out.print()


def _show_table(out: Console, document: Mapping[str, Any]) -> None:
    """Print a table: settings down, rates across, the fewest nines first."""
    names = list(document["rates"])
    table = Table("settings", *names, "as shipped", box=None, pad_edge=False)
    for found in sorted(document["nines"].values(), key=describe.sort_key):
        table.add_row(
            Text(found["heading"]), *(Text(describe.cell(found, name)) for name in names), describe.shipped_words(found)
        )
    out.print(table)
    out.print()


def _show_loss(out: Console, judged: ConfigurationNines, rates: Mapping[str, Any]) -> None:
    from neverlost.reports.counterexample.timeline import timeline
    from neverlost.reports.questions.nines.bounds import dominant_loss
    from neverlost.reports.terminal.counterexample import show_timeline

    found = dominant_loss(judged)
    if found is None:
        out.print(Text("No way out of the region leads to a loss that is decided.", "yellow"))
    else:
        shown = timeline(*found)
        show_timeline(out, shown)
        for name, each in rates.items():
            if says := "tail" in each and describe.amount(shown.affected, each["tail"]):
                out.print(Text(f"At the rates of {name}: {says}" if len(rates) > 1 else says))


def lines(document: Mapping[str, Any]) -> Iterable[str]:
    """Yield the first sentence of each bound, and those of the settings that it is compared with, for `--quiet`."""
    for subject, found in document["nines"].items():
        yield from (f"{subject}: {each}" for each in (describe.sentences(found)[0], *describe.compared(found)))
