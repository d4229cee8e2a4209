"""Print which files a reader of one call of `check` opens, in order: `python -m tests.tools.walk_check`.

A stay is the first call of a function of a file: a reader who is back in a file knows where he was.  The engine and the model
are a stay each.  A *climb* is a call of a file in a room above the caller's: model < specs < checker < reports.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType
from typing import Any

from neverlost.reports.questions.check.api import check

ROOT = Path(__file__).resolve().parents[2]
ROOMS = ("model", "specs", "checker", "reports")
BOXES = ("model/", "checker/engine/")
SETTINGS = ["kafka.version=3.9", "replication.factor=2", "min.insync.replicas=2", "faults.lossy_crash=1", "bounds.records=1"]


@dataclass
class Walk:
    """A profile function that notes the files of calls: `stays` in order, every change of file, returns
    included, and the climbs; nothing of what the engine and the model call."""

    stays: dict[str, None] = field(default_factory=dict)
    changes: int = 0
    climbs: list[tuple[str, str]] = field(default_factory=list)
    _files: list[str] = field(default_factory=list)
    _box: int = 0

    def __call__(self, frame: FrameType, event: str, _: Any) -> None:
        if event == "call":
            before = self._files[-1] if self._files else ""
            self._files.append(_file_of(frame) or before)
            if not self._box:
                self._note(before, self._files[-1])
        elif event == "return" and self._files:
            if self._box == len(self._files):
                self._box = 0
            left = self._files.pop()
            self.changes += not self._box and bool(self._files) and self._files[-1] != left

    def _note(self, before: str, here: str) -> None:
        depth = len(self._files)
        if here != before:
            self.changes += 1
            self.stays.setdefault(_box_of(here))
            if before and _room_of(here) > _room_of(before):
                self.climbs.append((before, here))
        if here.startswith(BOXES):
            self._box = depth

    def lines(self) -> Iterator[str]:
        """Yield a line for each stay, and one with the numbers."""
        yield from self.stays
        yield f"{len(self.stays)} stays, {len(self.climbs)} climbs ({self.changes:,} changes of file, with each return)"


def _file_of(frame: FrameType) -> str:
    path = Path(frame.f_code.co_filename)
    place = path.resolve().relative_to(ROOT).as_posix() if path.is_relative_to(ROOT) else ""
    place = place.removeprefix(".package/neverlost/")
    return place if place.startswith(ROOMS) else ""


def _box_of(file: str) -> str:
    return next((box for box in BOXES if file.startswith(box)), file)


def _room_of(file: str) -> int:
    return ROOMS.index(file.partition("/")[0])


def walk() -> Walk:
    """Return the walk of one call of `check`, after a first one has imported everything."""
    check(SETTINGS, workers=1)
    notes = Walk()
    sys.setprofile(notes)
    try:
        check(SETTINGS, workers=1)
    finally:
        sys.setprofile(None)
    return notes


if __name__ == "__main__":
    print("\n".join(walk().lines()))
