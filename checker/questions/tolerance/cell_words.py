"""What a cell of a tolerance table says in a word: from several verdicts one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from neverlost.checker.engine.outcome import Verdict
from neverlost.checker.questions.tolerance.fault_budget import FaultBudget
from neverlost.checker.questions.tolerance.tolerance import CellVerdict, Tolerance
from neverlost.specs.property import SAFETY

OK, STOPS, LOST, UNDECIDED, ACCEPTED = "ok", "writes stop", "LOST", "not decided", "interrupted as accepted"
"""What a cell says; the first three are ordered from good to bad.  The last is what `roll` says where writes may stop."""

KEPT, GO_ON, HOLDS, BROKEN = "not lost", "writes go on", "holds", "VIOLATED"
"""What a cell says where only records were asked about, or only writes, and what it says of any other property."""

SAFE = (OK, STOPS, KEPT, GO_ON, HOLDS)
"""What says that nothing is lost or violated."""

ACKED, COMMITTED = "acked-never-lost", "committed-never-lost"
RECORDS = (ACKED, COMMITTED)
"""The properties of records: none is lost."""

WRITES = ("stays-writable", "quorum-stays-writable")
"""The properties of writes: they go on."""

ASKED = (*RECORDS, "stays-writable")
"""What is asked about a partition of Kafka: lost records, and writes that stop."""


def cell_answer(found: Tolerance, spot: FaultBudget) -> tuple[str, int | None]:
    """Return the verdict of a cell of the table as a word, and how many steps its shortest loss or violation has, else None."""
    return answer_in(found.entries, spot)


def answer_in(entries: Mapping[FaultBudget, Sequence[CellVerdict]], spot: FaultBudget) -> tuple[str, int | None]:
    """Return the word and the steps of a cell, given the entries of its table.  A cell that was not decided takes over a loss
    or violation with fewer faults; in how many steps that happens here is unknown (None)."""
    says, steps = combine(entries[spot])
    worse = {combine(each)[0] for other, each in entries.items() if other.is_within(spot)} & {LOST, BROKEN}
    if says == UNDECIDED and worse:
        return LOST if LOST in worse else BROKEN, None
    return says, steps


def combine(entries: Sequence[CellVerdict]) -> tuple[str, int | None]:
    """Combine verdicts into one word of the table; return it with how many steps the shortest violation of a safety property
    has, else None.  It is `ok` only where records and writes were asked about, no record is lost and writes go on."""
    broken = [each for each in entries if each.verdict is Verdict.VIOLATED]
    lost = [each for each in broken if each.property.kind == SAFETY]
    names = {each.property.name for each in entries}
    if lost:
        word = LOST if any(each.property.name in RECORDS for each in lost) else BROKEN
        return word, min((each.steps for each in lost if each.steps is not None), default=None)
    if any(each.property.kind == SAFETY and each.verdict is Verdict.INCONCLUSIVE for each in entries):
        return UNDECIDED, None
    if broken:
        return STOPS if names & {*WRITES} else BROKEN, None
    if any(each.verdict is Verdict.INCONCLUSIVE for each in entries):
        return UNDECIDED, None
    if names & {*WRITES}:
        return OK if names & {*RECORDS} else GO_ON, None
    return KEPT if names <= {*RECORDS} else HOLDS, None


def answer_text(says: str, steps: int | None) -> str:
    """Return a verdict's word with its number of steps, as text; the word alone if `steps` is None."""
    return says if steps is None else f"{says}, {steps} step{'s' * (steps != 1)}"
