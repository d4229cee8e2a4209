"""A counterexample as a picture: time runs down, a column per broker, a lost record is red."""

from __future__ import annotations

import textwrap
from dataclasses import dataclass
from xml.etree import ElementTree
from xml.etree.ElementTree import Element, SubElement

from neverlost.model.sentences import is_stale
from neverlost.model.snapshot import BrokerView
from neverlost.reports.counterexample.timeline import Frame, Timeline

MARGIN, GAP, PAD, COLUMN = 16, 10, 8, 252
HEAD, SAYS_LINE, LINE = 76, 19, 17
BOX, BOX_HEIGHT = 64, 22
LETTER = 6.9
"""How wide a letter of running text is, on the safe side."""

LEGEND = (("committed", "below the high watermark"), ("record", "above it"), ("lost", "lost"), ("cell changed", "changed"))

STYLE = """
text { font: 13px system-ui, "Segoe UI", Helvetica, Arial, sans-serif; fill: #1f2328; }
.page { fill: #ffffff; } .head { font-weight: 600; } .title { font-size: 16px; font-weight: 600; }
.dim { fill: #59636e; } .fault { fill: #7d4e00; font-weight: 600; } .says { font-weight: 600; }
.cell { fill: #f6f8fa; stroke: #d0d7de; } .changed { stroke: #0969da; stroke-width: 2; } .same { opacity: .6; }
.record { fill: #ffffff; stroke: #57606a; } .committed { fill: #dafbe1; stroke: #1a7f37; }
.lost { fill: #ffebe9; stroke: #cf222e; stroke-width: 2; stroke-dasharray: 4 3; }
.stale { fill: #bc4c00; font-style: italic; }
.bad { fill: #cf222e; font-weight: 700; } .watermark { stroke: #1a7f37; stroke-width: 3; }
.mono { font: 12px ui-monospace, Menlo, Consolas, monospace; }
@media (prefers-color-scheme: dark) {
text { fill: #e6edf3; } .page { fill: #0d1117; } .dim { fill: #9198a1; } .fault { fill: #d29922; }
.cell { fill: #161b22; stroke: #30363d; } .changed { stroke: #4493f8; }
.record { fill: #0d1117; stroke: #8d96a0; } .committed { fill: #12261e; stroke: #3fb950; }
.lost { fill: #25171c; stroke: #f85149; } .stale { fill: #ffa657; } .bad { fill: #f85149; } .watermark { stroke: #3fb950; }
}
"""


@dataclass(frozen=True)
class Sheet:
    """The layout of one picture: the width of a column, and where everything goes."""

    shown: Timeline
    column: int

    @property
    def width(self) -> int:
        """Pixels from side to side."""
        return 2 * MARGIN + (1 + len(self.shown.names)) * (self.column + GAP) - GAP

    def left(self, column: int) -> int:
        """Return the left edge of a column; the controller's is the first."""
        return MARGIN + column * (self.column + GAP)

    def wrapped(self, text: str) -> list[str]:
        """Break text into lines that fit into a column."""
        return textwrap.wrap(text, int((self.column - 2 * PAD) / LETTER)) or []

    def says(self, frame: Frame) -> list[str]:
        """Break a frame's sentence into lines that fit across the picture."""
        return textwrap.wrap(f"{frame.number}. {frame.says}", int((self.width - 2 * MARGIN) / (LETTER + 0.4)))

    def controller(self, frame: Frame) -> list[str]:
        """Return the lines of the controller's cell."""
        epoch = "" if frame.scene.epoch is None else f", epoch {frame.scene.epoch}"
        return [line for each in (self.shown.leader(frame) + epoch, *self.shown.metadata(frame)) for line in self.wrapped(each)]

    def beliefs(self, lane: BrokerView, frame: Frame) -> list[str]:
        """Return the lines under a broker's log."""
        return [line for each in self.shown.beliefs(lane, frame) for line in self.wrapped(each)]

    def cell_height(self, frame: Frame) -> int:
        """Return the height of a frame's cells, which is that of the fullest one."""
        beliefs = max(len(self.beliefs(lane, frame)) for lane in frame.scene.lanes)
        return max(62 + LINE * (beliefs + 1), 12 + LINE * len(self.controller(frame))) - 4

    def height(self, frame: Frame) -> int:
        """Return the height of a frame, including its sentence and the gap to the next one."""
        return SAYS_LINE * len(self.says(frame)) + 6 + self.cell_height(frame) + GAP


def render(shown: Timeline) -> str:
    """Return the SVG document."""
    slots = max(lane.log_end_offset + len(shown.lost_at(lane, each)) for each in shown.frames for lane in each.scene.lanes)
    sheet = Sheet(shown, max(COLUMN, 2 * PAD + max(slots, 3) * (BOX + 2)))
    height = HEAD + sum(sheet.height(each) for each in shown.frames) + 2 * MARGIN + 10
    root = Element("svg", xmlns="http://www.w3.org/2000/svg", width=str(sheet.width), height=str(height), role="img")
    root.set("viewBox", f"0 0 {sheet.width} {height}")
    SubElement(root, "title").text = shown.verdict_line
    SubElement(root, "style").text = STYLE
    _box(root, 0, 0, sheet.width, height, "page")
    _text(root, MARGIN, 30, f"{shown.model}: {shown.verdict_line}", "title")
    _text(root, MARGIN, 60, shown.authority, "head")
    for number, name in enumerate(shown.names, start=1):
        _text(root, sheet.left(number), 60, f"broker {name}", "head")
    top = HEAD
    for frame in shown.frames:
        _frame(root, sheet, frame, top)
        top += sheet.height(frame)
    _legend(root, top + MARGIN)
    ElementTree.indent(root)
    return ElementTree.tostring(root, encoding="unicode") + "\n"


def _legend(root: Element, top: int) -> None:
    _text(root, MARGIN, top, "stale: no longer so", "stale")
    x = MARGIN + 150
    for kind, says in LEGEND:
        _box(root, x, top - 11, 22, 14, kind)
        _text(root, x + 30, top, says, "dim")
        x += 50 + int(LETTER * len(says))


def _frame(root: Element, sheet: Sheet, frame: Frame, top: int) -> None:
    for line, text in enumerate(sheet.says(frame)):
        _text(root, MARGIN, top + 14 + SAYS_LINE * line, text, "fault" if frame.is_fault else "says")
    y = top + SAYS_LINE * len(sheet.says(frame)) + 6
    cell = _cell(root, sheet, 0, y, frame, frame.controller_changed)
    for line, text in enumerate(sheet.controller(frame)):
        _text(cell, MARGIN + PAD, y + 18 + LINE * line, text, _kind(text) if line else "")
    for number, lane in enumerate(frame.scene.lanes, start=1):
        lost = sheet.shown.lost_at(lane, frame)
        _lane(_cell(root, sheet, number, y, frame, bool(frame.changed[lane.broker] or lost)), sheet, lane, frame, y)


def _cell(root: Element, sheet: Sheet, column: int, y: int, frame: Frame, changed: bool) -> Element:
    """Draw the border of a cell.  A cell that did not change is pale, except in the first and the last frame, which are read
    whole."""
    is_whole = frame in (sheet.shown.frames[0], sheet.shown.last)
    group = SubElement(root, "g", {} if changed or is_whole else {"class": "same"})
    _box(group, sheet.left(column), y, sheet.column, sheet.cell_height(frame), "cell changed" if changed else "cell")
    return group


def _lane(root: Element, sheet: Sheet, lane: BrokerView, frame: Frame, y: int) -> None:
    x = sheet.left(lane.broker + 1) + PAD
    role = sheet.shown.role(lane)
    _text(root, x, y + 18, role + ("" if lane.epoch is None else f", epoch {lane.epoch}"), "stale" if is_stale(role) else "")
    for offset, (record, epoch) in enumerate(lane.log):
        below = lane.high_watermark is not None and offset < lane.high_watermark
        _record(root, x + offset * (BOX + 2), y, f"m{record}" + ("" if epoch is None else f" e{epoch}"), below)
    for place, record in enumerate(sheet.shown.lost_at(lane, frame), start=lane.log_end_offset):
        _box(root, x + place * (BOX + 2), y + 26, BOX, BOX_HEIGHT, "lost")
        _text(root, x + place * (BOX + 2) + 6, y + 41, f"m{record} lost", "bad")
    if lane.high_watermark is not None:
        mark = str(x - 1 + lane.high_watermark * (BOX + 2))
        SubElement(root, "line", {"class": "watermark", "x1": mark, "x2": mark, "y1": str(y + 24), "y2": str(y + 50)})
    watermark = "" if lane.high_watermark is None else f"  HW={lane.high_watermark}"
    lines = [f"LEO={lane.log_end_offset}{watermark}", *sheet.beliefs(lane, frame)]
    for line, text in enumerate(lines):
        _text(root, x, y + 66 + LINE * line, text, _kind(text))


def _kind(words: str) -> str:
    """Return the style of a belief."""
    return "stale" if is_stale(words) else "dim"


def _record(root: Element, x: int, y: int, says: str, is_committed: bool) -> None:
    _box(root, x, y + 26, BOX, BOX_HEIGHT, "committed" if is_committed else "record")
    _text(root, x + 6, y + 41, says, "mono")


def _box(root: Element, x: int, y: int, width: int, height: int, kind: str) -> None:
    radius = "0" if kind == "page" else "4"
    attributes = {"class": kind, "x": str(x), "y": str(y), "width": str(width), "height": str(height), "rx": radius}
    SubElement(root, "rect", attributes)


def _text(root: Element, x: int, y: int, content: str, kind: str) -> None:
    if content:
        SubElement(
            root, "text", {"class": kind, "x": str(x), "y": str(y)} if kind else {"x": str(x), "y": str(y)}
        ).text = content
