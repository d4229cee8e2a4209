"""A counterexample as a Mermaid sequence diagram, for Markdown pages that render it."""

from __future__ import annotations

from neverlost.model.scene import Lane
from neverlost.reports.counterexample.timeline import Frame, Timeline, isr_text, missing


def render(shown: Timeline) -> str:
    """The diagram's text."""
    first = shown.frames[0].scene
    lines = ["sequenceDiagram", "    participant C as controller"]
    lines += [f"    participant B{lane.broker + 1} as broker {lane.broker + 1}" for lane in first.lanes]
    for frame in shown.frames[1:]:
        lines += _frame(frame)
    last = shown.frames[-1]
    for lane in last.scene.lanes:
        for record in missing(lane, last, shown.lost):
            lines.append(f"    Note over B{lane.broker + 1}: lost: m{record}")
    return "\n".join(lines) + "\n"


def _frame(frame: Frame) -> list[str]:
    touched = [lane for lane, changed in zip(frame.scene.lanes, frame.changed, strict=True) if changed]
    over = [*(["C"] if frame.controller_changed else []), *(f"B{lane.broker + 1}" for lane in touched)] or ["C"]
    ends = over[0] if len(over) == 1 else f"{over[0]},{over[-1]}"
    lines = [f"    Note over {ends}: {frame.number}. {_plain(frame.says)}"]
    return lines + [f"    Note right of B{lane.broker + 1}: {_plain(_lane(lane))}" for lane in touched]


def _lane(lane: Lane) -> str:
    log = " ".join(f"m{record}" for record, _ in lane.log)
    parts = [lane.role, f"[{log}]", f"LEO={lane.log_end_offset}"]
    parts += [] if lane.high_watermark is None else [f"HW={lane.high_watermark}"]
    parts += [] if lane.isr is None else [f"ISR={isr_text(lane.isr)}"]
    return " ".join([*parts, *lane.notes])


def _plain(text: str) -> str:
    """Text without the characters that end a Mermaid statement."""
    return text.replace(";", ",").replace("#", "no.").replace("\n", " ")
