"""A result on many topics at a terminal: one line for each group of topics with the same answer, and what to change."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rich.console import Console
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from neverlost.reports.documents import answers, provenance
from neverlost.reports.documents.answers import Group
from neverlost.reports.documents.merged_rows import many
from neverlost.reports.terminal.results import NOTHING_FAILS, STYLES
from neverlost.specs.configuration.keys import is_without_faults

MOST_COMMANDS = 4
"""How many commands of one group are printed; the files of `--out` have all."""


def show_groups(out: Console, document: Mapping[str, Any]) -> None:
    """The groups, the worst first; then what to change, and what was noticed about the input."""
    found = answers.groups(document)
    out.print(_table(found))
    if all(is_without_faults(each["config"]) for each in document["cells"]):
        out.print(Text(NOTHING_FAILS, "bold yellow"))
    for each in found:
        if each.remedy is not None:
            show_remedy(out, each, title=f"{answers.named(each.topics)}: ")
    for notice in answers.general_notices(document):
        _show_notice(out, notice)
    for group in found:
        for notice in answers.notices_of(group)[:MOST_COMMANDS]:
            _show_notice(out, notice)
    broken = next((each for each in found if each.verdict == "violated"), None)
    if broken is not None and broken.topics:
        out.print(Text(f"the same command with --topic {_first(broken)} shows the counterexample, step by step", "dim"))


def _first(group: Group) -> str:
    from neverlost.specs.kafka_files.remedies import topic_of

    return topic_of(group.topics[0])


def _table(found: list[Group]) -> Table:
    table = Table(box=None, padding=(0, 2, 0, 0), header_style="bold", pad_edge=False)
    for name, ratio in (("verdict", 0), ("topics", 0), ("which", 3), ("settings", 3), ("how", 4), ("change", 3)):
        table.add_column(name, overflow="fold", justify="right" if name == "topics" else "left", ratio=ratio or None)
    for each in found:
        table.add_row(
            Text(each.verdict.upper(), STYLES[each.verdict]),  # type: ignore[index]
            str(len(each.topics)),
            answers.named(each.topics, 2),
            each.settings,
            each.cause,
            each.change,
        )
    return table


def show_remedy(out: Console, group: Group, title: str = "") -> None:
    """What to change, that it was decided, what it costs, and the commands."""
    remedy = group.remedy
    if remedy is None:
        return
    if remedy["changes"]:
        costs = "".join(f"; {each}" for each in remedy["drawbacks"])
        out.print(Text.assemble((f"{title}change {remedy['says']}", "bold"), f": decided, then it holds{costs}"))
    else:
        out.print(Text(f"{title}{remedy['says']}", "bold"))
    if remedy["holds_as_designed"]:
        names = ", ".join(f"{each['name']} ({each['report']})" for each in remedy["defects"]) or "several together"
        out.print(Padding(Text(f"as designed it holds: what loses is a known defect of this version: {names}"), (0, 0, 0, 2)))
    for command in group.commands[:MOST_COMMANDS]:
        place = f"{command['where']}: " if command["where"] else ""
        out.print(Text(f"  {place}{command['line']}"), soft_wrap=True)
    more = len(group.commands) - MOST_COMMANDS
    if more > 0:
        out.print(Text(f"  ... and {many(more, 'more command')} (--format shell has all)", "dim"))


def _show_notice(out: Console, notice: Mapping[str, Any]) -> None:
    matters = notice["kind"] in provenance.SPOKEN
    out.print(Text(f"{notice['kind']}: {provenance.sentence(notice)}", "yellow" if matters else "dim"))
