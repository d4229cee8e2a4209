"""Counterexamples as plain data for the HTML page: frames are stored once and referred to by number."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from neverlost.model.sentences import is_stale
from neverlost.model.system import System
from neverlost.reports.counterexample import space_time
from neverlost.reports.counterexample.comparison import follow
from neverlost.reports.counterexample.saved import Counterexample
from neverlost.reports.counterexample.timeline import Frame, Timeline, timeline

MOST_DRAWN = 1_000_000
"""How many letters of diagrams a page has; beyond them a counterexample has its steps alone."""


class Timelines:
    """Stores frames, timelines made of them, and comparisons with a safe configuration, equal ones once."""

    def __init__(self) -> None:
        self.frames: list[dict[str, Any]] = []
        self.timelines: list[dict[str, Any]] = []
        self.comparisons: list[dict[str, Any]] = []
        self._known: dict[str, int] = {}
        self._drawn = 0

    def add(self, found: Counterexample) -> int | None:
        """Store a counterexample's timeline, or find an equal one; return its number, None for a model without snapshots."""
        shown = found.timeline
        if shown is None:
            return None
        diagram = space_time.render(shown, found.labels) if self._drawn < MOST_DRAWN else ""
        self._drawn += len(diagram)
        said: dict[str, Any] = {"title": shown.verdict_line, "affected": shown.affected.says}
        said |= {"moments": shown.moments, "still_held": shown.still_held}
        return self._once(self.timelines, {**said, "frames": self._frames(shown), "diagram": diagram})

    def compare(self, found: Counterexample, safe: System) -> int | None:
        """Store how far a counterexample's steps go in a safe system, or find that; return its number, None as for `add`."""
        if safe.model.portrait is None:
            return None
        other = follow(found.system, found.trace, safe)
        shown = timeline(safe, found.broken, other.trace, breaks=False)
        return self._once(self.comparisons, {**other.document(found.system, found.trace), "frames": self._frames(shown)})

    def _frames(self, shown: Timeline) -> list[int]:
        return [self._once(self.frames, _frame(each, shown)) for each in shown.frames]

    def _once(self, pool: list[dict[str, Any]], found: dict[str, Any]) -> int:
        text = f"{id(pool)} {json.dumps(found, sort_keys=True)}"
        if text not in self._known:
            self._known[text] = len(pool)
            pool.append(found)
        return self._known[text]


def _frame(frame: Frame, shown: Timeline) -> dict[str, Any]:
    epoch = frame.scene.epoch
    return {
        "says": frame.says,
        "fault": frame.is_fault,
        "controller": _known([shown.leader(frame), *([] if epoch is None else [f"epoch {epoch}"]), *shown.metadata(frame)]),
        "authority": frame.scene.authority,
        "moved": frame.controller_changed,
        "lanes": [
            {
                "broker": shown.name(lane),
                "role": _known([shown.role(lane)])[0],
                "log": [record for record, _ in lane.log],
                "hw": lane.high_watermark,
                "knows": _known(shown.beliefs(lane, frame)),
                "changed": bool(frame.changed[lane.broker]),
                "lost": shown.lost_at(lane, frame),
            }
            for lane in frame.scene.lanes
        ],
    }


def _known(words: Sequence[str]) -> list[dict[str, Any]]:
    """Return for each text a dictionary: the text, and a flag that is true if what it says is stale."""
    return [{"says": each, "stale": is_stale(each)} for each in words]
