"""A result on many topics at a terminal: one line for each group of topics with the same answer, and what to change."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from rich.console import Console, JustifyMethod
from rich.table import Table
from rich.text import Text

from neverlost.checker.engine.outcome import Verdict
from neverlost.reports.documents import topic_groups
from neverlost.reports.documents.topic_groups import Group
from neverlost.reports.terminal.results import NOTHING_FAILS, STYLES, show_below
from neverlost.reports.wording import provenance
from neverlost.reports.wording.merged_rows import pluralize
from neverlost.specs.configuration.keys import is_without_faults
from neverlost.specs.inputs.remedies import topic_of

NARROW = 110
"""Columns below which a screen is narrow."""

MOST_COMMANDS = 4
"""How many commands of one group are printed; the files of `--out` have all."""


def show_groups(out: Console, document: Mapping[str, Any]) -> None:
    """Print the groups, the worst first; then what to change, and notices about the input."""
    found = topic_groups.group_by_answer(document)
    has_several = len({topic_of(each) for group in found for each in group.topics}) > 1
    if has_several:
        out.print(Text(f"{topic_groups.count_verdicts(document['cells'])}.", "bold"))
    out.print(_table(found, out.width))
    if all(is_without_faults(each["config"]) for each in document["cells"]):
        out.print(Text(NOTHING_FAILS, "bold yellow"))
    remedies = {(topic_groups.list_topics(each.topics), each.change): each for each in found}
    asked_again = Counter(topics for topics, _ in remedies)
    for (topics, _), each in remedies.items():
        which = " or ".join(dict.fromkeys(cell.get("differs", "").strip("() ") for cell in each.cells))
        show_remedy(out, each, title=f"{topics}{f' with {which}' if asked_again[topics] > 1 and which else ''}: ")
    special = [notice for group in found for notice in topic_groups.notices_of(group)[:MOST_COMMANDS]]
    for notice in {str(each): each for each in (*topic_groups.general_notices(document), *special)}.values():
        matters = notice["kind"] in provenance.SPOKEN
        out.print(Text(f"{notice['kind']}: {provenance.notice_sentence(notice)}", "yellow" if matters else "dim"))
    broken = next((each for each in found if each.verdict == "violated"), None)
    if broken is not None and has_several:
        out.print(Text(f"the same command with --topic {topic_of(broken.topics[0])} shows how, step by step", "dim"))


def _table(found: list[Group], width: int) -> Table:
    """Return the table of groups; on a screen narrower than `NARROW` without the settings and the change."""
    table = Table(box=None, padding=(0, 2, 0, 0), header_style="bold", pad_edge=False)
    columns = {"verdict": 0, "topics": 0, "which": 3, "settings": 3, "how": 4, "change": 3}
    kept = [name for name in columns if width >= NARROW or name not in ("settings", "change")]
    for name in kept:
        justify: JustifyMethod = "right" if name == "topics" else "left"
        table.add_column(name, overflow="fold", justify=justify, ratio=columns[name] or None)
    for each in found:
        cells = {
            "verdict": Text(each.verdict.upper(), STYLES[Verdict(each.verdict)]),
            "topics": Text(_count_topics(each.topics, found)),
            "which": Text(topic_groups.list_topics(each.topics, 2) or each.settings),
            "settings": Text(_few_settings(each.settings)),
            "how": Text(each.cause),
            "change": Text(each.change),
        }
        table.add_row(*(cells[name] for name in kept))
    return table


def _count_topics(subjects: Sequence[str], found: list[Group]) -> str:
    """Return how many topics there are, and how many of them are also in another of the groups that were found."""
    groups = Counter(topic for group in found for topic in set(map(topic_of, group.topics)))
    parts = [groups[each] > 1 for each in set(map(topic_of, subjects))]
    return f"{len(parts)}" + (f" ({sum(parts)} in part)" if any(parts) else "")


def _few_settings(settings: str) -> str:
    """Return what the settings of a group have in common, and what only some of them have."""
    several = [each.split(", ") for each in settings.split("; ")]
    every = dict.fromkeys(part for each in several for part in each)
    shared = [part for part in every if all(part in each for each in several)]
    return "; ".join(filter(None, [", ".join(shared), ", ".join(f"some {part}" for part in every if part not in shared)]))


def show_remedy(out: Console, group: Group, title: str = "") -> None:
    """Print what to change, that it was decided, its drawbacks, and the commands; nothing for a group without a remedy."""
    remedy = group.remedy
    if remedy is None:
        return
    first, *more = topic_groups.remedy_lines(remedy)
    out.print(Text(title + first, "bold"))
    for line in more:
        show_below(out, Text(line))
    for command in group.commands[:MOST_COMMANDS]:
        place = f"{command['where']}: " if command["where"] else ""
        out.print(Text(f"  {place}{command['line']}"), soft_wrap=True)
    left = len(group.commands) - MOST_COMMANDS
    if left > 0:
        out.print(Text(f"  ... and {pluralize(left, 'more command')} (--format shell has all)", "dim"))
