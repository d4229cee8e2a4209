"""A counterexample as text: what each step did, and every broker that changed."""

from __future__ import annotations

from rich.console import Console, JustifyMethod
from rich.table import Table
from rich.text import Text

from neverlost.model.sentences import records_named
from neverlost.model.snapshot import BrokerView
from neverlost.reports.counterexample.timeline import Frame, Timeline

COLUMNS = 100
"""How wide a counterexample is at most."""

NARROWEST = 20
"""How wide its last column is at least."""


def show_timeline(out: Console, shown: Timeline) -> None:
    """Print a counterexample in at most 100 columns: the first and the last frame whole, between them a line for each broker
    (and the controller) that changed.  Changes are bold, a lost record is red."""
    widths, room = _widths(shown), min(COLUMNS, out.width)
    for frame in shown.frames:
        head = _table([3], room, "right")
        head.add_row(str(frame.number), frame.says, style="bold yellow" if frame.is_fault else "bold")
        out.print(head)
        is_whole = frame in (shown.frames[0], shown.last)
        lines = [_lane(shown, lane, frame) for lane in frame.scene.lanes if is_whole or frame.changed[lane.broker]]
        lines += [_controller(shown, frame)] if is_whole or frame.controller_changed else []
        if lines:
            out.print(_lines(lines, widths, room))
    out.print(Text(shown.verdict_line, "bold red"))
    if shown.affected.says:
        out.print(Text(shown.affected.says))


def _widths(shown: Timeline) -> list[int]:
    """Return the widths of all columns but the last, enough for every frame; the last takes the space that is left."""
    lines = [[_controller(shown, each), *(_lane(shown, lane, each) for lane in each.scene.lanes)] for each in shown.frames]
    return [max(len(cells[column]) for frame in lines for cells in frame) for column in range(6)]


def _lines(lines: list[list[Text]], widths: list[int], room: int) -> Table:
    """Return lines whose columns stand at the same place in every frame."""
    table = _table([3, *filter(None, widths)], room)
    for cells in lines:
        table.add_row("", *(cell for cell, width in zip(cells, [*widths, COLUMNS], strict=True) if width))
    return table


def _table(widths: list[int], room: int, justify: JustifyMethod = "left") -> Table:
    """Return columns separated by a blank; the last one is wrapped into the space that is left."""
    table = Table(box=None, show_header=False, padding=(0, 1, 0, 0), pad_edge=False)
    for width in widths:
        table.add_column(width=width, no_wrap=True, justify=justify)
    table.add_column(width=max(room - sum(widths) - len(widths), NARROWEST), overflow="fold")
    return table


def _lane(shown: Timeline, lane: BrokerView, frame: Frame) -> list[Text]:
    """Return the columns of a broker: name, role, epoch, log, log end offset, high watermark, beliefs."""
    changed, lost = frame.changed[lane.broker], shown.lost_at(lane, frame)

    def cell(text: str, part: str) -> Text:
        return Text(text, "bold cyan" if part in changed else "")

    records = " ".join(f"m{record}" + ("" if epoch is None else f"(e{epoch})") for record, epoch in lane.log)
    log = cell(f"[{records}]", "log")
    log.append(f" lost: {records_named(lost)}" if lost else "", "bold red reverse")
    return [
        Text(f"broker {shown.name(lane)}"),
        cell(shown.role(lane), "role"),
        cell("" if lane.epoch is None else f"e{lane.epoch}", "epoch"),
        log,
        cell(f"LEO={lane.log_end_offset}", "log"),
        cell("" if lane.high_watermark is None else f"HW={lane.high_watermark}", "HW"),
        cell("; ".join(shown.beliefs(lane, frame)), "beliefs"),
    ]


def _controller(shown: Timeline, frame: Frame) -> list[Text]:
    """Return the controller's line, in the columns of the brokers."""
    style = "bold cyan" if frame.controller_changed else ""
    epoch, metadata = "" if frame.scene.epoch is None else f"e{frame.scene.epoch}", "; ".join(shown.metadata(frame))
    return [Text(shown.authority), *(Text(each, style) for each in (shown.leader(frame), epoch, "", "", "", metadata))]
