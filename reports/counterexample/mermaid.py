"""A counterexample as a Mermaid sequence diagram, for Markdown pages that render it."""

from __future__ import annotations

from neverlost.model.sentences import INITIAL, records_named
from neverlost.model.snapshot import BrokerView
from neverlost.reports.counterexample.timeline import Frame, Timeline


def render(shown: Timeline) -> str:
    """Return the diagram as text."""
    lines = ["sequenceDiagram", f"    participant C as {shown.authority}"]
    lines += [f"    participant B{lane.broker} as broker {shown.name(lane)}" for lane in shown.frames[0].scene.lanes]
    if (first := shown.frames[0].says) != INITIAL and first.endswith(INITIAL):
        lines.append(f"    Note over C: {_plain(first)}")
    for frame in shown.frames[1:]:
        lines += _frame(shown, frame)
    return "\n".join(lines) + "\n"


def _frame(shown: Timeline, frame: Frame) -> list[str]:
    lanes = frame.scene.lanes
    touched = [lane for lane in lanes if frame.changed[lane.broker] or shown.lost_at(lane, frame)]
    over = [*(["C"] if frame.controller_changed else []), *(f"B{lane.broker}" for lane in touched)] or ["C"]
    ends = over[0] if len(over) == 1 else f"{over[0]},{over[-1]}"
    lines = [f"    Note over {ends}: {frame.number}. {_plain(frame.says)}"]
    lines += [f"    Note right of B{lane.broker}: {_plain(_lane(shown, lane, frame))}" for lane in touched]
    gone = {lane.broker: shown.lost_at(lane, frame) for lane in touched}
    return lines + [f"    Note over B{broker}: lost: {records_named(lost)}" for broker, lost in gone.items() if lost]


def _lane(shown: Timeline, lane: BrokerView, frame: Frame) -> str:
    log = " ".join(f"m{record}" for record, _ in lane.log)
    parts = [shown.role(lane), f"[{log}]", f"LEO={lane.log_end_offset}"]
    parts += [] if lane.high_watermark is None else [f"HW={lane.high_watermark}"]
    return " ".join([*parts, *shown.beliefs(lane, frame)])


def _plain(text: str) -> str:
    """Return text without the characters that end a Mermaid statement."""
    return text.replace(";", ",").replace("#", "no.").replace("\n", " ")
