"""Counterexamples for the page: frames as plain data, each kept once and referred to by its number."""

from __future__ import annotations

import json
from typing import Any

from neverlost.checker.outcome import Trace
from neverlost.model.system import System
from neverlost.reports.counterexample.siblings import follow
from neverlost.reports.counterexample.timeline import Frame, Timeline, isr_text, missing, timeline
from neverlost.specs.property import Property


class Stories:
    """A pool of frames, of the counterexamples made of them, and of the same steps under a safe configuration."""

    def __init__(self) -> None:
        self.frames: list[dict[str, Any]] = []
        self.stories: list[dict[str, Any]] = []
        self.runs: list[dict[str, Any]] = []
        self._known: dict[str, int] = {}

    def add(self, system: System, broken: Property, trace: Trace) -> int | None:
        """The number of a counterexample; equal ones are kept once."""
        if system.model.portrait is None:
            return None
        shown = timeline(system, broken, trace)
        return self._once(self.stories, {"title": shown.verdict_line, "frames": self._frames(shown)})

    def beside(self, system: System, broken: Property, trace: Trace, safe: System) -> int | None:
        """The number of the run under a safe configuration, drawn as far as it goes."""
        if safe.model.portrait is None:
            return None
        run = follow(system, trace, safe)
        shown = timeline(safe, broken, run.trace, breaks=False)
        return self._once(self.runs, {**run.document(system, trace), "frames": self._frames(shown)})

    def _frames(self, shown: Timeline) -> list[int]:
        return [self._once(self.frames, _frame(each, shown)) for each in shown.frames]

    def _once(self, pool: list[dict[str, Any]], found: dict[str, Any]) -> int:
        text = f"{id(pool)} {json.dumps(found, sort_keys=True)}"
        if text not in self._known:
            self._known[text] = len(pool)
            pool.append(found)
        return self._known[text]


def _frame(frame: Frame, shown: Timeline) -> dict[str, Any]:
    scene = frame.scene
    is_last = frame is shown.frames[-1]
    controller = ["no leader" if scene.leader is None else f"leader {scene.leader + 1}", f"ISR {isr_text(scene.isr)}"]
    controller += [] if scene.epoch is None else [f"epoch {scene.epoch}"]
    lanes = []
    for lane, changed in zip(scene.lanes, frame.changed, strict=True):
        notes = [*([] if lane.isr is None else [f"ISR {isr_text(lane.isr)}"]), *lane.notes]
        lanes.append(
            {
                "role": lane.role,
                "log": [record for record, _ in lane.log],
                "hw": lane.high_watermark,
                "notes": notes,
                "changed": bool(changed),
                "lost": missing(lane, frame, shown.lost) if is_last else [],
            }
        )
    return {
        "says": frame.says,
        "fault": frame.is_fault,
        "controller": [*controller, *scene.notes],
        "moved": frame.controller_changed,
        "lanes": lanes,
    }
