"""The result of `observe` at a terminal."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from neverlost.checker.kafka.observe.history_verdict import HistoryVerdict, describe_observation
from neverlost.checker.kafka.observe.losses import Exposure, Interval
from neverlost.reports.output.output import verdict_line
from neverlost.reports.questions.observe.document import MEANING
from neverlost.reports.terminal import results as terminal
from neverlost.specs.inputs.syntax.topics_and_settings import ranges

STYLES = {"explained": "bold green", "refused": "bold red", "inconclusive": "bold yellow"}

SHOWN = (
    "replication.factor",
    "min.insync.replicas",
    "acks",
    "unclean.leader.election.enable",
    "eligible.leader.replicas",
    "election.policy",
)
LEGEND = """eligible copies: how many members of ISR and ELR have the record on disk; a range is what the history leaves open
one further fault that loses: after it, and no other, a leader without the record may follow"""


def verdict_lines(found: Mapping[str, Any]) -> list[str]:
    return [verdict_line(found["verdict"], f"{found['topic']}-{found['partition']}")]


def show(out: Console, judgement: HistoryVerdict, intervals: list[Interval]) -> None:
    """Print the verdict, the observation that is not explained, and what could have been lost."""
    setting = judgement.setting
    name = f"{setting.history.topic}-{setting.history.partition}"
    line = Text(f"{judgement.verdict.upper():12} ", STYLES[judgement.verdict])
    line.append(f"{name}: ", "bold")
    says = {"explained": MEANING, "refused": "no behaviour of the model shows what was seen"}
    line.append(says.get(judgement.verdict, f"nothing is claimed: {judgement.reason}"))
    out.print(line)
    shown_keys = {name: value for name, value in setting.configuration.items() if name in SHOWN}
    out.print(Text(terminal.summary(shown_keys), style="dim"))
    if judgement.refusal is not None:
        _show_refusal(out, judgement)
    if judgement.unsaid is not None:
        out.print(Text(f"What could have been lost is not said: {judgement.unsaid}", "bold yellow"))
    if intervals:
        _show_intervals(out, setting.start_at, intervals)
    offsets = sum(len(each.offsets) for each in judgement.groups if each.names)
    seen = len(setting.history.seen)
    out.print(
        f"{seen:,} observations, {offsets:,} offsets in {len(judgement.groups)} offset groups, "
        f"{judgement.states:,} states, exact identity"
    )


def _show_refusal(out: Console, judgement: HistoryVerdict) -> None:
    refusal = judgement.refusal
    assert refusal is not None
    out.print("first observation that is not explained:")
    for each in refusal.seen:
        out.print(
            f"  {each.at - judgement.setting.start_at:9.3f} s  {describe_observation(each)}   ({each.place or each.source})"
        )
    names = f", records {', '.join(map(repr, refusal.group.names))}" if refusal.group.names else ""
    out.print(f"  seen through offset {refusal.group.tracked.offset}{names}")
    out.print("explained there would have been:")
    for text in refusal.allowed or ("nothing of the kind",):
        out.print(f"  {text}")


def _show_intervals(out: Console, start: float, intervals: list[Interval]) -> None:
    has_elr = any(each.elr for each in intervals)
    table = Table(title="what could have been lost", title_justify="left", box=None, pad_edge=False)
    columns = ("second", "event", "leader", "ISR", *(("ELR",) if has_elr else ()), "acknowledged", "eligible copies")
    for column in (*columns, "one further fault that loses"):
        table.add_column(column, overflow="fold", justify="right" if column == "second" else "left")
    for each in intervals:
        head = [f"{each.since - start:.1f}", each.event, str(each.leader) if each.leader >= 0 else "none"]
        head += [",".join(map(str, each.isr)) or "empty", *([",".join(map(str, each.elr))] if has_elr else [])]
        for number, exposure in enumerate(each.exposures or (None,)):
            table.add_row(*(head if number == 0 else [""] * len(head)), *_cells(exposure))
    out.print(table)
    if any(each.exposures for each in intervals):
        out.print(Text(LEGEND, style="dim"))
    if any(exposure.repeats for each in intervals for exposure in each.exposures):
        out.print(Text("sent twice: which copy is meant is not known, so less can be said", style="dim"))


def _cells(exposure: Exposure | None) -> list[str]:
    if exposure is None:
        return ["none", "", ""]
    offsets = ranges(exposure.offsets)
    if len(offsets) > 40:
        offsets = f"{len(exposure.offsets):,} of {exposure.offsets[0]}-{exposure.offsets[-1]}"
    disks = str(exposure.fewest) if exposure.fewest == exposure.most else f"{exposure.fewest} to {exposure.most}"
    lost = "none needed: may be lost" if exposure.may_be_lost else ", ".join(exposure.lost_by) or "none"
    return [offsets, disks, lost + (" (sent twice)" if exposure.repeats else "")]
