"""Independent ways to a verdict, asked one after the other: whether they agree with the search that found it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from neverlost.checker.engine.evidence.reachable_states import count_reachable
from neverlost.checker.engine.host import interrupts
from neverlost.checker.engine.outcome import Finding, Outcome, Verdict
from neverlost.specs.lemmas import find_lemmas
from neverlost.specs.property import RECOVERY, Property

SMALL = 20_000
"""The most states that are walked one by one."""

DEEPEST = 14
"""The most steps that are unrolled for the solver."""

NOT_ASKED = ("Kafka's own classes (neverlost conform)", "a real cluster (neverlost reproduce)")
"""Ways that need what is not always at hand."""


@dataclass(frozen=True)
class Way:
    """An independent engine or solver and what it says; `agrees` is None if it was not asked, or did not finish."""

    name: str
    agrees: bool | None
    says: str

    def document(self) -> dict[str, object]:
        return {"way": self.name, "agrees": self.agrees, "says": self.says}


def ways(outcome: Outcome) -> list[Way]:
    """Return the Ways: the search that gave this outcome, others asked the same question, and those not asked here."""
    found = [Way("explicit search", True, f"{outcome.engine} engine, {outcome.counts.distinct:,} states")]
    found += [_asked(name, way, outcome) for name, way in WAYS.items()]
    return found + [Way(each.partition(" (")[0], None, f"not asked: {each}") for each in NOT_ASKED]


def _asked(name: str, way: Callable[[Outcome], Way], outcome: Outcome) -> Way:
    """Return the Way of another engine or solver; one that was not asked, if the command is interrupted before it ends."""
    try:
        with interrupts.interrupt_at_once():
            found = way(outcome)
        if not interrupts.have_come():
            return found
    except KeyboardInterrupt:
        if not interrupts.have_come():
            raise
    return Way(name, None, "not asked: interrupted")


def _verdicts(findings: Sequence[Finding]) -> dict[str, tuple[Verdict, int | None]]:
    return {each.property.name: (each.verdict, None if each.trace is None else len(each.trace.steps)) for each in findings}


def _other_reading(outcome: Outcome) -> Way:
    """Search again with the `columns` engine; return a Way: whether verdicts, trace lengths and the count of states agree."""
    from neverlost.checker.engine.engines.explore import explore
    from neverlost.checker.engine.search.options import Options

    asked = [each.property for each in outcome.findings]
    is_whole = outcome.counts.left == 0
    options = Options(machine_code=False, symmetry=outcome.symmetry, workers=1, keep_going=is_whole)
    again = explore(outcome.system, asked, options, engine="columns")
    is_same = _verdicts(again.findings) == _verdicts(outcome.findings) and again.counts.distinct == outcome.counts.distinct
    return Way("a second engine", is_same, f"columns interpreter, {again.counts.distinct:,} states")


def _solver(outcome: Outcome) -> Way:
    """Return a Way: whether Z3 finds shortest counterexamples as long, or none up to the search's depth if there are none.
    `agrees` is None where Z3 gives up, nothing is about safety, or more than `DEEPEST` steps would be unrolled."""
    from neverlost.checker.engine.proof import bounded_search

    safety = [each for each in outcome.findings if each.property.kind != RECOVERY]
    broken = [each for each in safety if each.trace is not None]
    depth = max((len(each.trace.steps) for each in broken if each.trace), default=outcome.counts.depth)
    asked: list[Property] = [each.property for each in (broken or safety)]
    if depth > DEEPEST or not asked:
        return Way("bounded search", None, f"not asked: {depth} steps to unroll, or nothing about safety")
    found = bounded_search.check(outcome.system, asked, depth, lemmas=find_lemmas(outcome.system))
    known = _verdicts(found.outcome.findings)
    if found.depth < depth and any(verdict is Verdict.INCONCLUSIVE for verdict, _ in known.values()):
        return Way("bounded search", None, f"not decided: Z3 gave up at step {found.depth + 1} of {depth}")
    if broken:
        is_same = all(known[each.property.name] == _verdicts([each])[each.property.name] for each in broken)
        return Way("bounded search", is_same, f"Z3, the same shortest counterexamples of up to {depth} steps")
    is_found = any(verdict is Verdict.VIOLATED for verdict, _ in known.values())
    return Way("bounded search", not is_found, f"Z3, no counterexample of up to {found.depth} steps; no state is farther away")


def _walker(outcome: Outcome) -> Way:
    """Return a Way: whether the `ints` interpreter reaches as many states.  `agrees` is True unasked if a property is violated,
    as counterexamples are re-executed anyway; None for orbits, an inconclusive search, or more than `SMALL` states."""
    if outcome.verdict is not Verdict.HOLDS or outcome.symmetry:
        is_broken = outcome.verdict is Verdict.VIOLATED
        return Way("the definition", is_broken or None, "counterexamples re-executed" if is_broken else "not asked: orbits")
    if outcome.counts.distinct > SMALL:
        return Way("the definition", None, f"not asked: more than {SMALL:,} states")
    count = count_reachable(outcome.system, [each.property for each in outcome.findings])
    return Way("the definition", count == outcome.counts.distinct, f"{count or 0:,} states walked one by one")


WAYS = {"a second engine": _other_reading, "bounded search": _solver, "the definition": _walker}
"""What is asked beside the search, by name."""
