"""Print the walk of one call of `check` through the files: `python -m tests.tools.stays`.

One line for each change of file, with how deep the call is; a *climb* is a call of a file that stands above the caller's:
`commands` above `questions`, these above `bundle`, those above `checker`, `specs` and `model`.
"""

from __future__ import annotations

import sys
from pathlib import Path
from types import FrameType
from typing import Any

from neverlost.reports.questions.check.api import check

ROOT = Path(__file__).resolve().parents[2]
LAYERS = ("model", "specs", "checker", "reports")
ASKED = ["kafka.version=3.9", "min.insync.replicas=2", "faults.lossy_crash=1", "bounds.records=1"]


def walked(settings: list[str]) -> list[tuple[int, str]]:
    """The files that a call of `check` stays in, in order, each with its depth; the files of the engine and of the model are one."""
    stays: list[tuple[int, str]] = []
    depth = 0

    def follow(frame: FrameType, event: str, _: Any) -> None:
        nonlocal depth
        depth += {"call": 1, "return": -1}.get(event, 0)
        path = Path(frame.f_code.co_filename).resolve()
        if event != "call" or not any(path.is_relative_to(ROOT / each) for each in LAYERS):
            return
        place = path.relative_to(ROOT).as_posix()
        if place.startswith(("checker/engine", "model")):
            place = "the engine and the model"
        if not stays or stays[-1][1] != place:
            stays.append((depth, place))

    check(settings)  # everything is imported
    sys.setprofile(follow)
    try:
        check(settings)
    finally:
        sys.setprofile(None)
    return stays


def main() -> None:
    """Print the stays, and how many they are."""
    stays = walked(ASKED)
    for depth, place in stays:
        print(f"{'  ' * min(depth, 20)}{place}")
    ranks = [LAYERS.index(place.split("/")[0]) if "/" in place else 0 for _, place in stays]
    climbs = sum(
        after > before and deeper > shallower
        for (shallower, _), (deeper, _), before, after in zip(stays, stays[1:], ranks, ranks[1:], strict=False)
    )
    print(f"{len(stays)} stays in {len({place for _, place in stays})} files, {climbs} climbs")


if __name__ == "__main__":
    main()
