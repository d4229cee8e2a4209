"""`verify`: an evidence bundle, checked again offline."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from os import PathLike, fspath
from typing import Any

from neverlost.reports.bundle.verify import verify as checked_again
from neverlost.results import Answer

SCHEMA = "neverlost.verify/1"


@dataclass(frozen=True)
class Verification(Answer):
    """What was confirmed and what was not checked, a sentence each; `as_sealed` are files that nothing derives again."""

    bundle: str
    verdict: str
    verified: bool
    confirmed: tuple[str, ...]
    unchecked: tuple[str, ...]
    as_sealed: tuple[str, ...]

    def rows(self) -> list[Mapping[str, Any]]:
        """A row per sentence."""
        checked = [{"checked": True, "says": each} for each in self.confirmed]
        return [*checked, *({"checked": False, "says": each} for each in self.unchecked)]


def verify(bundle: str | PathLike[str], *, full: bool = False) -> Verification:
    """Check an evidence bundle: digests, ids, traces, verdicts, counts, reports; `full` explores everything again.

    Errors: `InputError` naming every file that was altered, removed or added, and whatever the result says wrongly.
    """
    found = checked_again(fspath(bundle), full)
    document = {
        "schema": SCHEMA,
        "bundle": fspath(bundle),
        "verdict": found.verdict,
        "verified": found.is_complete,
        "confirmed": found.confirmed,
        "unchecked": found.unchecked,
        "as_sealed": found.stated,
    }
    confirmed, unchecked, stated = tuple(found.confirmed), tuple(found.unchecked), tuple(found.stated)
    return Verification.of(document, confirmed=confirmed, unchecked=unchecked, as_sealed=stated)
