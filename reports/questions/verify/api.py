"""`verify` checks an evidence bundle again, offline."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from os import PathLike, fspath
from typing import Any

from neverlost.reports.questions.verify.verify import OpenPlace, verify_bundle
from neverlost.reports.results.results import Answer

SCHEMA = "neverlost.verify/1"


@dataclass(frozen=True, repr=False)
class Verification(Answer):
    """What was confirmed and what was not checked, a sentence each."""

    bundle: str
    verdict: str
    verified: bool
    confirmed: tuple[str, ...]
    unchecked: tuple[str, ...]
    open: tuple[OpenPlace, ...]

    def rows(self) -> list[Mapping[str, Any]]:
        checked = [{"checked": True, "says": each} for each in self.confirmed]
        return [*checked, *({"checked": False, "status": str(each.status), "says": each.says} for each in self.open)]


def verify(bundle: str | PathLike[str], *, full: bool = False, seed: int | None = None) -> Verification:
    """Check an evidence bundle: derive everything from its question again and compare.  What would take too long is left out
    and named; of a sweep, cells are drawn by `seed`. `full` leaves nothing out. Errors: `InputError` naming every file that
    was altered, removed or added, or the first thing that the bundle says wrongly."""
    found = verify_bundle(fspath(bundle), full, seed)
    document = {
        "schema": SCHEMA,
        "bundle": fspath(bundle),
        "verdict": found.verdict,
        "verified": found.is_complete,
        "confirmed": found.confirmed,
        "unchecked": found.unchecked,
        "open": [{"status": str(each.status), "says": each.says} for each in found.open_places],
    }
    places = tuple(found.open_places)
    return Verification.of(document, confirmed=tuple(found.confirmed), unchecked=tuple(found.unchecked), open=places)
