"""The exit statuses of the command line contract, and how a verdict becomes one."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from neverlost.checker.engine.outcome import Finding, Outcome
    from neverlost.checker.questions.tolerance.tolerance import CellVerdict

HOLDS = 0
VIOLATED = 12
UNAVAILABLE = 13
INCONCLUSIVE = 20
UNEXPECTED = 21
ENGINES_DISAGREE = 22
USAGE = 64
INTERNAL = 70


def of_outcomes(outcomes: Iterable[Outcome]) -> int:
    """Return the status of outcomes: 12 if a safety property is violated, else 13 if any is, else 20 if undecided, else 0."""
    from neverlost.checker.engine.outcome import Verdict

    outcomes = list(outcomes)
    found = of_verdicts(each for outcome in outcomes for each in outcome.findings)
    is_open = found == HOLDS and any(each.verdict is Verdict.INCONCLUSIVE for each in outcomes)
    return INCONCLUSIVE if is_open else found


def of_verdicts(found: Iterable[CellVerdict | Finding]) -> int:
    """Return the status of verdicts: 12 if a safety property is violated, else 13 if any is, else 20 if undecided, else 0."""
    from neverlost.checker.engine.outcome import Verdict
    from neverlost.specs.property import SAFETY

    found = list(found)
    broken = {each.property.kind for each in found if each.verdict is Verdict.VIOLATED}
    if broken:
        return VIOLATED if SAFETY in broken else UNAVAILABLE
    return INCONCLUSIVE if any(each.verdict is Verdict.INCONCLUSIVE for each in found) else HOLDS


def of_words(says: Iterable[str]) -> int:
    """Return the status for words of table cells or stops: 12 if one is a loss, else 13 if one is neither "ok" nor "not
    decided", else 20 if one is "not decided", else 0."""
    from neverlost.checker.questions.tolerance.cell_words import LOST, OK, UNDECIDED

    found = set(says)
    if any(each.startswith(LOST) for each in found):
        return VIOLATED
    if found <= {OK, UNDECIDED}:
        return INCONCLUSIVE if UNDECIDED in found else HOLDS
    return UNAVAILABLE


def of_expectations(are_met: bool, are_decided: bool) -> int:
    """Return the status of a comparison with expected verdicts: 21 for a difference, else 20 if one is undecided, else 0."""
    if not are_met:
        return UNEXPECTED
    return HOLDS if are_decided else INCONCLUSIVE
