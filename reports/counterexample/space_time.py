"""A counterexample as a space-time diagram: a lane for each broker and the controller, time downwards, an arrow for each
message.  A lane is dashed while its broker is down and dotted while its beliefs are stale; a lost record is red from its loss
on."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from xml.etree import ElementTree
from xml.etree.ElementTree import Element, SubElement

from neverlost.model.sentences import is_stale, isr_of
from neverlost.model.snapshot import DOWN, STALE_LEADER, BrokerView
from neverlost.reports.counterexample.messages import CLIENT, CONTROLLER, Message, broker_of, message_of
from neverlost.reports.counterexample.timeline import ACKNOWLEDGED, Frame, Timeline

SAYS, LANE, HEAD, ROW, LINE, MARGIN = 330, 166, 44, 50, 15, 14
NOTE = 60
"""What a note beside the last lane needs more than half a lane."""

LETTER = 7.6
"""How wide a letter of a note is, on the safe side."""

LETTERS = 50
"""How many letters of a sentence fit on a line."""

KINDS = (
    ("record", "records"),
    ("fetch", "fetch request"),
    ("AlterPartition", "AlterPartition"),
    ("answer", "its answer"),
    ("metadata", "metadata"),
)

OTHERS = (("life down", "down"), ("life old", "has stale metadata"))
"""What the legend says of lanes."""

LOG = "[m1 m2] the log of a broker"

LEGEND = MARGIN + sum(52 + 7 * len(says) for _, says in (*KINDS, *OTHERS)) + 7 * len(LOG)
"""How wide the legend is; with fewer than three brokers it is wider than the lanes."""

LIGHT = (
    "--st-text:#1f2328;--st-dim:#59636e;--st-line:#8c959f;--st-box:#ffffff;--st-good:#116329;--st-bad:#cf222e;"
    "--st-stale:#a53a00;--st-fault:#7d4e00;--st-record:#1a7f37;--st-fetch:#0969da;--st-AlterPartition:#8250df;"
    "--st-answer:#8250df;--st-metadata:#bc4c00"
)
DARK = (
    "--st-text:#e6edf3;--st-dim:#9198a1;--st-line:#6e7681;--st-box:#0d1117;--st-good:#3fb950;--st-bad:#ff7b72;"
    "--st-stale:#ffa657;--st-fault:#e3b341;--st-record:#3fb950;--st-fetch:#58a6ff;--st-AlterPartition:#d2a8ff;"
    "--st-answer:#d2a8ff;--st-metadata:#ffa657"
)
SHAPES = (
    """
svg.spacetime { max-width: 100%; height: auto; }
.spacetime text { font: 12.5px system-ui, "Segoe UI", Helvetica, Arial, sans-serif; fill: var(--st-text); }
.spacetime .name { font-weight: 600; } .spacetime .dim { fill: var(--st-dim); }
.spacetime .fault { fill: var(--st-fault); font-weight: 600; }
.spacetime .bad { fill: var(--st-bad); font-weight: 700; } .spacetime .stale { fill: var(--st-stale); font-style: italic; }
.spacetime .life { stroke: var(--st-line); stroke-width: 2; } .spacetime .life.down { stroke-dasharray: 2 6; opacity: .7; }
.spacetime .life.old { stroke: var(--st-stale); stroke-dasharray: 7 4; }
.spacetime .box { fill: var(--st-box); stroke: var(--st-line); }
.spacetime .box.gone { stroke: var(--st-bad); stroke-width: 2; }
.spacetime .dot { fill: var(--st-text); } .spacetime .dot.fault { fill: var(--st-bad); }
.spacetime .good { fill: var(--st-good); font-weight: 700; } .spacetime .moment { stroke: none; }
.spacetime .row { stroke: var(--st-line); opacity: .25; }
.spacetime .step { fill: none; } .spacetime .step.now { fill: var(--st-fetch); opacity: .13; }
"""
    + "".join(
        f".spacetime .{kind} {{ stroke: var(--st-{kind}); fill: none; stroke-width: 2; }} "
        f".spacetime .tip-{kind} {{ fill: var(--st-{kind}); }}\n"
        for kind, _ in KINDS
    )
    + ".spacetime .answer { stroke-dasharray: 5 3; }\n"
)
STYLE = f"{SHAPES}.spacetime {{{LIGHT}}} :root[data-theme=dark] .spacetime {{{DARK}}}\n"
"""For a page, which says by `data-theme` whether it is dark."""


def render(shown: Timeline, labels: Sequence[str]) -> str:
    """Return the diagram as text, an SVG element for a page; step `labels[i]` leads to frame `i + 1`."""
    return ElementTree.tostring(_draw(shown, labels), encoding="unicode")


def render_file(shown: Timeline, labels: Sequence[str]) -> str:
    """Return the diagram as the text of an SVG file of its own, light or dark as its reader's system is."""
    root = _draw(shown, labels)
    root.set("xmlns", "http://www.w3.org/2000/svg")
    root.insert(0, Element("rect", {"class": "ground", "width": "100%", "height": "100%"}))
    title, style = Element("title"), Element("style")
    title.text = f"{shown.model}: {shown.verdict_line}"
    style.text = (
        f"{SHAPES}.spacetime {{{LIGHT}}} .ground {{ fill: var(--st-box); }}"
        f" @media (prefers-color-scheme: dark) {{ .spacetime {{{DARK}}} }}"
    )
    root[:0] = [title, style]
    return ElementTree.tostring(root, encoding="unicode") + "\n"


def _draw(shown: Timeline, labels: Sequence[str]) -> Element:
    lanes = len(shown.names) + 1
    rows = [textwrap.wrap(f"{frame.number}. {frame.says}", LETTERS)[:6] for frame in shown.frames]
    tops = [HEAD]
    for frame, lines in zip(shown.frames, rows, strict=True):
        tops.append(tops[-1] + max(ROW, 14 + LINE * (len(lines) + (frame.number in shown.moments))))
    width, height = max(SAYS + LANE * lanes + NOTE, LEGEND), tops[-1] + 56 + LINE * len(shown.still_held)
    root = Element("svg", {"class": "spacetime", "role": "img", "viewBox": f"0 0 {width} {height}", "width": str(width)})
    root.set("aria-label", f"space-time diagram: {shown.verdict_line}")
    _tips(root)
    _text(root, _x(0), 24, shown.last.scene.authority, "name", "middle")
    for number, name in enumerate(shown.names, start=1):
        _text(root, _x(number), 24, f"broker {name}", "name", "middle")
    for number, frame in enumerate(shown.frames):
        label = labels[number - 1] if number and labels else ""
        _row(root, shown, frame, label, (tops[number], tops[number + 1]), rows[number])
    _text(root, SAYS, tops[-1] + 18, shown.verdict_line, "bad", "start")
    for number, line in enumerate(shown.still_held, start=1):
        _text(root, SAYS, tops[-1] + 18 + LINE * number, line, "", "start")
    _legend(root, height - 14)
    return root


def _x(lane: int) -> int:
    return SAYS + LANE * lane + LANE // 2


def _row(root: Element, shown: Timeline, frame: Frame, label: str, where: tuple[int, int], says: list[str]) -> None:
    top, bottom = where
    middle, width = top + 18, str(SAYS + LANE * (len(shown.names) + 1))
    area = {"x": "0", "y": str(top), "width": width, "height": str(bottom - top)}
    SubElement(root, "rect", {"class": "step", "data-row": str(frame.number), **area})
    SubElement(root, "line", {"class": "row", "x1": "0", "x2": width, "y1": str(top), "y2": str(top)})
    moment = shown.moments.get(frame.number)
    if moment is not None:
        kind = "good" if moment == ACKNOWLEDGED else "bad"
        bar = {"x": "2", "y": str(top + 3), "width": "5", "height": str(bottom - top - 6)}
        SubElement(root, "rect", {"class": f"moment {kind}", **bar})
        _text(root, MARGIN, bottom - 6, moment.upper(), kind, "start")
    for line, text in enumerate(says):
        _text(root, MARGIN, top + 16 + LINE * line, text, "fault" if frame.is_fault else "", "start")
    _line(root, _x(0), top, bottom, "life")
    for lane in frame.scene.lanes:
        _line(root, _x(lane.broker + 1), top, bottom, _life(lane, shown, frame))
    message = message_of(label)
    if message is not None:
        _arrow(root, message, middle)
    elif label:
        broker = broker_of(label)
        place = {"cx": str(_x(0 if broker is None else broker + 1)), "cy": str(middle), "r": "5"}
        SubElement(root, "circle", {"class": "dot fault" if frame.is_fault else "dot", **place})
    before = shown.frames[max(frame.number - 1, 0)].scene
    if frame.number == 0 or (before.leader, before.isr) != (frame.scene.leader, frame.scene.isr):
        _note(root, 0, middle, [shown.leader(frame), *isr_of(frame.scene, shown.names)])
    for lane in frame.scene.lanes:
        lost = shown.lost_at(lane, frame)
        if frame.changed[lane.broker] & {"log", "HW"} or lost or frame.number == 0:
            log = "[" + " ".join(f"m{record}" for record, _ in lane.log) + "]"
            watermark = "" if lane.high_watermark is None else f"HW={lane.high_watermark}"
            _note(root, lane.broker + 1, middle, [log, watermark], lost)


def _life(lane: BrokerView, shown: Timeline, frame: Frame) -> str:
    """Return the style classes of a lane in a frame: for a broker that is down, one whose beliefs are stale, or any other."""
    if lane.role == DOWN:
        return "life down"
    is_old = lane.role == STALE_LEADER or any(is_stale(each) for each in shown.beliefs(lane, frame))
    return "life old" if is_old else "life"


def _note(root: Element, lane: int, y: int, parts: Sequence[str], lost: Sequence[int] = ()) -> None:
    """Add to `root` a box beside a lane with `parts`, such as the log, and in red the records that are `lost`."""
    text = " ".join(filter(None, parts))
    gone = " ".join(f"m{each}" for each in lost) + " lost" if lost else ""
    width = LETTER * (len(text) + len(gone) + bool(gone)) + 20
    x = _x(lane) + 8
    box = {
        "class": "box gone" if gone else "box",
        "x": str(x),
        "y": str(y + 6),
        "width": f"{width:.0f}",
        "height": "20",
        "rx": "4",
    }
    SubElement(root, "rect", box)
    _text(root, x + 6, y + 20, text, "", "start")
    _text(root, int(x + 6 + LETTER * (len(text) + 1)), y + 20, gone, "bad", "start")


def _arrow(root: Element, message: Message, y: int) -> None:
    start, end = (_end(each) for each in (message.sender, message.receiver))
    attributes = {"class": message.kind, "x1": str(start), "y1": str(y - 8), "x2": str(end), "y2": str(y)}
    SubElement(root, "line", {**attributes, "marker-end": f"url(#tip-{message.kind})"})


def _end(place: int | str) -> int:
    if place == CLIENT:
        return SAYS - 6
    return _x(0) if place == CONTROLLER else _x(int(place) + 1)


def _tips(root: Element) -> None:
    defined = SubElement(root, "defs")
    for kind, _ in KINDS:
        size = {"viewBox": "0 0 10 10", "refX": "9", "refY": "5", "markerWidth": "7", "markerHeight": "7", "orient": "auto"}
        marker = SubElement(defined, "marker", {"id": f"tip-{kind}", **size})
        SubElement(marker, "path", {"d": "M0 0 L10 5 L0 10 z", "class": f"tip-{kind}"})


def _legend(root: Element, y: int) -> None:
    x = MARGIN
    for kind, says in (*KINDS, *OTHERS):
        line = {"class": kind, "x1": str(x), "x2": str(x + 26), "y1": str(y - 4), "y2": str(y - 4)}
        tip = {"marker-end": f"url(#tip-{kind})"} if (kind, says) in KINDS else {}
        SubElement(root, "line", {**line, **tip})
        _text(root, x + 32, y, says, "dim", "start")
        x += 52 + 7 * len(says)
    _text(root, x, y, LOG, "dim", "start")


def _line(root: Element, x: int, top: int, bottom: int, kind: str) -> None:
    SubElement(root, "line", {"class": kind, "x1": str(x), "x2": str(x), "y1": str(top), "y2": str(bottom)})


def _text(root: Element, x: int, y: int, content: str, kind: str, anchor: str) -> None:
    if content:
        attributes = {"x": str(x), "y": str(y), "text-anchor": anchor} | ({"class": kind} if kind else {})
        SubElement(root, "text", attributes).text = content
