"""Which region of the tolerance table holds as one question: several of its rectangles together, or the best that do.

Each spot of the table speaks about histories that stay inside one rectangle.  A history that leaves one and enters another is
in neither, so what holds spot by spot may not hold together: the union is decided again, as a search of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from neverlost.checker.engine.outcome import Verdict
from neverlost.checker.questions.tolerance.region import Region

Corner = tuple[int, int]
"""How many replicas lost data, and how many others are out."""

MOST_QUESTIONS = 6
"""How many regions are decided before the largest that holds is taken to be unknown."""


@dataclass(frozen=True)
class Decided:
    """A region in which nothing is lost, what a kill counts as in it, and the fault limits by which it was decided.  It
    `is_largest` if each larger one, of spots that hold one by one, is known to lose a record."""

    region: Region
    kills_count_as: str
    question: dict[str, Any]
    is_largest: bool = True


def region_of(corners: Iterable[Corner]) -> Region | None:
    """Return the smallest region that contains these spots (a region has all with fewer faults, too); None without any."""
    known = list(corners)
    if not known:
        return None
    most = max(lost for lost, _ in known)
    return Region(tuple(max(out for lost, out in known if lost >= number) for number in range(most + 1)))


def corners(region: Region) -> list[Corner]:
    """Return the corners of a region: its spots that have no neighbour in it with one more lost, and none with one more out."""
    caps = (*region.out_beside, -1)
    return [(lost, caps[lost]) for lost in range(len(caps) - 1) if caps[lost] > caps[lost + 1]]


def candidates(safe: Iterable[Corner]) -> Iterator[Region]:
    """Yield the region of all `safe` spots, then each that lacks one of its corners, then each that lacks two spots, ..."""
    whole = region_of(safe)
    waiting = [whole] if whole else []
    seen = set(waiting)
    for region in waiting:
        yield region
        for corner in corners(region):
            smaller = region_of(_without(region, corner))
            if smaller is not None and smaller not in seen:
                seen.add(smaller)
                waiting.append(smaller)


def _without(region: Region, corner: Corner) -> list[Corner]:
    """Return all spots of a region, not its corners alone, except this one corner."""
    every = [(lost, out) for lost, most in enumerate(region.out_beside) for out in range(most + 1)]
    return [each for each in every if each != corner]


def largest(
    safe: Iterable[Corner], kills_count_as: str, decide: Callable[[dict[str, Any]], Verdict], most: int = MOST_QUESTIONS
) -> Decided | Verdict:
    """Return the first region that holds of those inside the `safe` spots, the largest first; without one a verdict.

    That is `violated` if every region is, `inconclusive` if one is undecided, or `most` are asked about.  `decide` returns
    the verdict under fault limits.
    """
    found = []
    for number, region in enumerate(candidates(safe)):
        if number == most:
            return Verdict.INCONCLUSIVE
        asked = region.limits(kills_count_as)
        found.append(decide(asked))
        if found[-1] is Verdict.HOLDS:
            return Decided(region, kills_count_as, asked, Verdict.INCONCLUSIVE not in found)
    return Verdict.INCONCLUSIVE if Verdict.INCONCLUSIVE in found else Verdict.VIOLATED
