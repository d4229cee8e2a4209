"""A counterexample as a picture: time runs down, a column per broker, the lost record marked."""

from __future__ import annotations

from xml.etree import ElementTree
from xml.etree.ElementTree import Element, SubElement

from neverlost.model.scene import Lane
from neverlost.reports.counterexample.timeline import Frame, Timeline, isr_text, missing

MARGIN, COLUMN, CONTROLLER = 16, 236, 200
STEP_LINE, CELL, GAP = 22, 76, 10
BOX, BOX_HEIGHT = 52, 22

STYLE = """
text { font: 13px system-ui, "Segoe UI", Helvetica, Arial, sans-serif; fill: #1f2328; }
.page { fill: #ffffff; } .head { font-weight: 600; } .title { font-size: 16px; font-weight: 600; }
.dim { fill: #656d76; } .fault { fill: #9a6700; font-weight: 600; } .says { font-weight: 600; }
.cell { fill: #f6f8fa; stroke: #d0d7de; } .changed { stroke: #0969da; stroke-width: 2; }
.record { fill: #ffffff; stroke: #57606a; } .committed { fill: #dafbe1; stroke: #1a7f37; }
.lost { fill: #ffebe9; stroke: #cf222e; stroke-width: 2; } .bad { fill: #cf222e; font-weight: 700; }
.watermark { stroke: #1a7f37; stroke-width: 3; } .mono { font: 12px ui-monospace, Menlo, Consolas, monospace; }
@media (prefers-color-scheme: dark) {
text { fill: #e6edf3; } .page { fill: #0d1117; } .dim { fill: #8d96a0; } .fault { fill: #d29922; }
.cell { fill: #161b22; stroke: #30363d; } .changed { stroke: #4493f8; }
.record { fill: #0d1117; stroke: #8d96a0; } .committed { fill: #12261e; stroke: #3fb950; }
.lost { fill: #25171c; stroke: #f85149; } .bad { fill: #f85149; } .watermark { stroke: #3fb950; }
}
"""


def render(shown: Timeline) -> str:
    """The SVG document."""
    slots = max(lane.log_end_offset for frame in shown.frames for lane in frame.scene.lanes)
    column = max(COLUMN, 24 + max(slots, 3) * (BOX + 2))
    brokers = len(shown.frames[0].scene.lanes)
    row = STEP_LINE + CELL + GAP
    width = 2 * MARGIN + CONTROLLER + brokers * (column + GAP)
    height = 2 * MARGIN + 66 + len(shown.frames) * row + 10
    root = Element("svg", xmlns="http://www.w3.org/2000/svg", width=str(width), height=str(height), role="img")
    root.set("viewBox", f"0 0 {width} {height}")
    SubElement(root, "title").text = shown.verdict_line
    SubElement(root, "style").text = STYLE
    _box(root, 0, 0, width, height, "page")
    _text(root, MARGIN, 30, f"{shown.model}: {shown.verdict_line}", "title")
    _text(root, MARGIN, 60, "controller", "head")
    for broker in range(brokers):
        _text(root, _left(broker, column), 60, f"broker {broker + 1}", "head")
    for number, frame in enumerate(shown.frames):
        top = 76 + number * row
        is_last = number == len(shown.frames) - 1
        _frame(root, frame, top, column, shown.lost, is_last)
    ElementTree.indent(root)
    return ElementTree.tostring(root, encoding="unicode") + "\n"


def _left(broker: int, column: int) -> int:
    return MARGIN + CONTROLLER + broker * (column + GAP)


def _frame(root: Element, frame: Frame, top: int, column: int, lost: frozenset[int], is_last: bool) -> None:
    _text(root, MARGIN, top + 14, f"{frame.number}. {frame.says}", "fault" if frame.is_fault else "says")
    scene = frame.scene
    y = top + STEP_LINE
    _box(root, MARGIN, y, CONTROLLER - GAP, CELL, "cell changed" if frame.controller_changed else "cell")
    leader = "no leader" if scene.leader is None else f"leader {scene.leader + 1}"
    _text(root, MARGIN + 8, y + 18, leader + ("" if scene.epoch is None else f", epoch {scene.epoch}"), "")
    _text(root, MARGIN + 8, y + 35, f"ISR {isr_text(scene.isr)}", "")
    for line, note in enumerate(scene.notes):
        _text(root, MARGIN + 8, y + 52 + 16 * line, note, "dim")
    for lane, changed in zip(scene.lanes, frame.changed, strict=True):
        _lane(root, lane, frame, _left(lane.broker, column), y, column, bool(changed), lost, is_last)


def _lane(
    root: Element, lane: Lane, frame: Frame, x: int, y: int, column: int, changed: bool, lost: frozenset[int], is_last: bool
) -> None:
    _box(root, x, y, column, CELL, "cell changed" if changed else "cell")
    belief = "" if lane.epoch is None else f", epoch {lane.epoch}"
    isr = "" if lane.isr is None else f", ISR {isr_text(lane.isr)}"
    _text(root, x + 8, y + 17, f"{lane.role}{belief}{isr}", "")
    for offset, (record, epoch) in enumerate(lane.log):
        left = x + 8 + offset * (BOX + 2)
        below = lane.high_watermark is not None and offset < lane.high_watermark
        kind = "lost" if record in lost else ("committed" if below else "record")
        _box(root, left, y + 24, BOX, BOX_HEIGHT, kind)
        _text(root, left + 6, y + 39, f"m{record}" + ("" if epoch is None else f" e{epoch}"), "mono")
    if lane.high_watermark is not None:
        mark = x + 7 + lane.high_watermark * (BOX + 2)
        SubElement(root, "line", {"class": "watermark", "x1": str(mark), "x2": str(mark), "y1": str(y + 22), "y2": str(y + 48)})
    watermark = "" if lane.high_watermark is None else f"  HW {lane.high_watermark}"
    _text(root, x + 8, y + 65, " ".join([f"LEO {lane.log_end_offset}{watermark}", *lane.notes]), "dim")
    gone = missing(lane, frame, lost) if is_last else []
    if gone:
        _text(root, x + column - 8, y + 65, "lost: " + ", ".join(f"m{record}" for record in gone), "bad", anchor="end")


def _box(root: Element, x: int, y: int, width: int, height: int, kind: str) -> None:
    radius = "0" if kind == "page" else "4"
    attributes = {"class": kind, "x": str(x), "y": str(y), "width": str(width), "height": str(height), "rx": radius}
    SubElement(root, "rect", attributes)


def _text(root: Element, x: int, y: int, content: str, kind: str, anchor: str = "start") -> None:
    if content:
        SubElement(root, "text", {"class": kind, "x": str(x), "y": str(y), "text-anchor": anchor}).text = content
