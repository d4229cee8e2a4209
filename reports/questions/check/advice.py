"""Advice for a violated configuration: the smallest change of its settings with which everything that was asked holds.  Every
change is decided as the configuration itself was or, where bugs of the release lose whatever is set, as Kafka is designed; a
change that could not be decided is not advised, and for several topics none that flushes every record.  Nor is one that
leaves a loss beside the asked faults: any number of them, of as many brokers, and one broker out (as Kafka is designed).
A counterexample that is at hand is run again first: where it breaks the changed configuration too, nothing is searched."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from neverlost.checker.engine.outcome import Behaviour, Outcome, Verdict, worst
from neverlost.checker.questions.atlas import lookup
from neverlost.checker.questions.coverage import cover
from neverlost.checker.questions.question_id import question_id
from neverlost.checker.questions.sweep.sweep import again
from neverlost.checker.questions.tolerance.cell_words import RECORDS
from neverlost.checker.questions.tolerance.fault_budget import AXES, FaultBudget
from neverlost.checker.questions.tolerance.tolerance import CellVerdict, Tolerance
from neverlost.model.faults import BROKER, FAULTS, Fault
from neverlost.model.kernel import Configuration
from neverlost.model.system import System, bind
from neverlost.reports.documents.topic_groups import EXPLAINED
from neverlost.reports.questions.tolerance import document as describe_tables
from neverlost.specs.configuration.choose import Chosen, change_settings
from neverlost.specs.defects import DEFECTS, Defect
from neverlost.specs.errors import InputError
from neverlost.specs.inputs import remedies
from neverlost.specs.inputs.remedies import Changes, Command
from neverlost.specs.properties import list_defined, properties
from neverlost.specs.property import Property

MOST_TRIED = 24
"""The most candidate changes that are tried to mend one configuration."""

MOST_STATES = 3_000_000
"""States (or orbits) after which the search of one change is given up; such a change is not advised, on any machine."""

Key = tuple[str, tuple[tuple[str, Any], ...]]
FindTable = Callable[[Chosen], Tolerance | None]
Decide = Callable[[Chosen, Sequence[Property]], Outcome]
DecideCell = Callable[[Chosen, Sequence[Property]], Sequence[CellVerdict]]


@dataclass(frozen=True)
class Remedy:
    """A change that mends a violated configuration: `changes` by key, the changed configuration, its outcome, and the
    `commands` that make the change. `only_as_designed` says that it mends Kafka as designed, not as released. `tried` is how
    many changes were tried, `undecided` how many of these were not searched to the end; if `changes` is empty, none helps.
    If `holds_as_designed`, known defects of the version lose records; `defects` are those that the counterexample takes."""

    tried: int
    changes: Changes = field(default_factory=dict)
    drawbacks: tuple[str, ...] = ()
    chosen: Chosen | None = None
    outcome: Outcome | None = None
    commands: tuple[Command, ...] = ()
    holds_as_designed: bool = False
    defects: tuple[Defect, ...] = ()
    undecided: int = 0
    only_as_designed: bool = False
    request: str = ""
    gains: str = ""

    def document(self) -> dict[str, Any]:
        """Return the remedy for a result document; of a changed configuration also the id, and how many states its search had
        or, where the atlas had its verdict, that `source`."""
        found: dict[str, Any] = {
            "says": self.says,
            "changes": dict(self.changes),
            "gains": self.gains,
            "drawbacks": list(self.drawbacks),
            "commands": [each.document() for each in self.commands],
            "tried": self.tried,
            "undecided": self.undecided,
            "request": self.request,
            "only_as_designed": self.only_as_designed,
            "holds_as_designed": self.holds_as_designed,
            "defects": [{"name": each.name, "report": each.report, "says": each.says} for each in self.defects],
        }
        if self.chosen is not None and self.outcome is not None:
            found["as_released"] = self.chosen.configuration.get(remedies.FIXED) == "shipped"
            names = [each.property.name for each in self.outcome.findings]
            found["id"] = question_id(self.chosen.model, self.chosen.configuration, names)
            if self.outcome.engine == lookup.ENGINE:
                found["source"] = lookup.ENGINE
            else:
                found["distinct"] = self.outcome.orbit_states or self.outcome.counts.distinct
        return found

    @property
    def says(self) -> str:
        """The change in words, or why there is none."""
        if self.changes:
            return ", ".join(remedies.in_words(self.changes))
        if self.holds_as_designed:
            names = " with ".join(f"{each.name} ({each.report})" for each in self.defects) or "several bugs together"
            return f"your settings are right; this Kafka loses it by {names}{EXPLAINED}"
        return f"no change that was tried helps ({self.tried} tried)"


class Advisor:
    """Finds remedies: `decide` decides what was asked of a configuration, once for each; `decide_cell` decides one as a cell
    of a tolerance table; `table` returns the whole tolerance table of one, or None where it is not known."""

    def __init__(self, decide: Decide, decide_cell: DecideCell, table: FindTable) -> None:
        self._decide, self._decide_cell, self._table = decide, decide_cell, table
        self._known: dict[Key, Outcome | None] = {}
        self._tried: dict[Key, bool] = {}  # whether a change was left undecided, by what was changed
        self._broken: list[tuple[System, Property, Behaviour]] = []

    def remedy(self, chosen: Chosen, asked: Sequence[Property], found: Outcome, is_one: bool = True) -> Remedy:
        """Return the smallest change that mends a configuration whose outcome is `found` (`changes` is empty if none does), and
        whether known defects break it.  If all settings at their safest together do not help, only upgrades or ELR are tried;
        if those fail, what helps as designed.  Changes that flush every record are tried only for one topic (`is_one`)."""
        self._tried.clear()
        self._note_broken(found)
        names = [each.name for each in asked]
        possible = [each for each in remedies.candidates(chosen, names) if remedies.is_possible(chosen, each)]
        todo = [each for each in possible if is_one or remedies.FLUSH not in each][:MOST_TRIED]
        plain = [each for each in todo if not remedies.is_upgrade(each)]
        if len(plain) > 1 and self._holds(chosen, remedies.strongest(plain), asked) is None:
            todo = [each for each in todo if remedies.is_upgrade(each)]
        mended = next(((changes, *held) for changes in todo if (held := self._mends(chosen, changes, asked))), None)
        designed, defects = self._as_designed(chosen, asked, found)
        only_as_designed = mended is None and not designed and bool(remedies.defects_in(chosen))
        if only_as_designed and chosen.configuration.get(remedies.FIXED) == "shipped":
            fixed = ((each, {**each, remedies.FIXED: "fixed"}) for each in plain)
            mended = next(((each, *held) for each, both in fixed if (held := self._mends(chosen, both, asked))), None)
        tried, undecided = len(self._tried), sum(self._tried.values())
        if mended is None:
            return Remedy(tried, holds_as_designed=designed, defects=defects, undecided=undecided)
        changes, new, outcome = mended
        gains, drawbacks = self._weigh(chosen, changes)
        commands = tuple(remedies.commands(chosen, changes))
        request = remedies.request(changes, chosen.configuration)
        rest = (commands, designed, defects, undecided, only_as_designed, request)
        return Remedy(tried, changes, drawbacks, new, outcome, *rest, gains)

    def _mends(self, chosen: Chosen, changes: Changes, asked: Sequence[Property]) -> tuple[Chosen, Outcome] | None:
        """Return the changed configuration with its outcome if everything asked holds in it, every fault that it allows struck
        in the search, and it `_is_safe_beside` the asked faults; else None."""
        held = self._holds(chosen, changes, asked)
        if held is None or cover(held[1]).faults or not self._is_safe_beside(held[0]):
            return None
        return held

    def _is_safe_beside(self, chosen: Chosen) -> bool:
        """Return True if Kafka as designed loses no record, neither with any number of faults on as many brokers at once as the
        asked faults may strike, nor with one out; False if that is undecided, True for a model without such limits."""
        now, keys = chosen.configuration, chosen.model.keys
        if not set(AXES) <= set(keys):
            return True
        losing = [each for each in FAULTS if each.loses_data and each.impairs == BROKER and now.get(each.key)]
        out = [each for each in FAULTS if not each.loses_data and each.impairs == BROKER and now.get(each.key)]
        most, lost = int(now[remedies.FACTOR]), _count_struck(losing, now)
        spots = {FaultBudget(min(lost, most), min(_count_struck(out, now), most - min(lost, most))), FaultBudget(0, 1)}
        calm = {each.key: 0 for each in FAULTS if each.key in now}
        designed = {each.mechanism.key: True for each in DEFECTS if each.mechanism.key in now}
        base = {**now, **calm, **designed, "defects": "fixed", "bounds.records": 1} if "defects" in now else {**now, **calm}
        cells = [{**base, **each.limits} for each in sorted(spots)]
        kind = losing[0].key if len(losing) == 1 else AXES[0]
        for cell in cells:
            tries = [cell] if kind == AXES[0] or not cell[AXES[0]] else [cell, {**cell, AXES[0]: 0, kind: cell[AXES[0]]}]
            if not any(self._keeps_records(replace(chosen, configuration=each)) for each in tries):
                return False
        return True

    def _keeps_records(self, chosen: Chosen) -> bool:
        try:
            if chosen.model.contradiction(chosen.configuration) is not None:
                return False
            asked = [properties()[name] for name in list_defined(bind(chosen.model, chosen.configuration), RECORDS)]
            return all(each.verdict is Verdict.HOLDS for each in self._decide_cell(chosen, asked))
        except InputError:
            return False

    def _weigh(self, chosen: Chosen, changes: Changes) -> tuple[str, tuple[str, ...]]:
        """Return what a change gains and costs, by the tables of before and after; if one is unknown, "" and usual costs."""
        factor = int(chosen.configuration[remedies.FACTOR])
        usual = tuple(remedies.drawbacks(changes, factor))
        tables = [self._table(each) for each in (chosen, change_settings(chosen, changes))]
        if tables[0] is None or tables[1] is None:
            return "", usual
        said = describe_tables.advice(changes, tables[0], tables[1])
        return said.gains, said.costs

    def _as_designed(self, chosen: Chosen, asked: Sequence[Property], found: Outcome) -> tuple[bool, tuple[Defect, ...]]:
        """Return True if all that is asked holds with the version's known defects mended, and those that the shortest
        counterexample takes: with one of these mended it cannot be run again.  (False, ()) if not, or if there is no
        counterexample, or no defect."""
        known = [(each.trace, each.property) for each in found.findings if each.trace is not None]
        if not known or not remedies.defects_in(chosen) or self._holds(chosen, {remedies.FIXED: "fixed"}, asked) is None:
            return False, ()
        trace, broken = min(known, key=lambda each: len(each[0].steps))
        others = ((each, change_settings(chosen, {each.mechanism.key: "on"})) for each in remedies.defects_in(chosen))
        return True, tuple(each for each, other in others if again(found.system, trace, other.system, broken) is None)

    def _holds(self, chosen: Chosen, changes: Changes, asked: Sequence[Property]) -> tuple[Chosen, Outcome] | None:
        """Return the changed configuration with its outcome if everything asked holds in it; None if not, or if invalid."""
        try:
            new = change_settings(chosen, changes)
        except InputError:
            return None
        outcome = self._outcome(new, asked)
        self._tried[_key(new)] = _verdict(outcome) is Verdict.INCONCLUSIVE
        return (new, outcome) if outcome is not None and _verdict(outcome) is Verdict.HOLDS else None

    def _outcome(self, chosen: Chosen, asked: Sequence[Property]) -> Outcome | None:
        """Return a configuration's outcome, decided once; None, with no search, if a known counterexample breaks it as well."""
        if (key := _key(chosen)) not in self._known:
            known = ((system, trace, broken) for system, broken, trace in self._broken if broken in asked)
            is_broken = any(again(system, trace, chosen.system, broken) is not None for system, trace, broken in known)
            self._known[key] = None if is_broken else self._decide(chosen, asked)
            self._note_broken(self._known[key])
        return self._known[key]

    def _note_broken(self, outcome: Outcome | None) -> None:
        found = () if outcome is None else outcome.findings
        self._broken += [(outcome.system, each.property, each.trace) for each in found if outcome and each.trace is not None]


def _key(chosen: Chosen) -> Key:
    return chosen.model.name, tuple(chosen.configuration.items())


def _verdict(outcome: Outcome | None) -> Verdict:
    return Verdict.VIOLATED if outcome is None else worst((each.verdict for each in outcome.findings), outcome.reason)


def _count_struck(kinds: Sequence[Fault], configuration: Configuration) -> int:
    """Return how many brokers the asked faults may strike at once; more than there are where there is no limit."""
    limits = [configuration[each.key] for each in kinds]
    return sum(each if isinstance(each, int) else MANY if each.at_once is None else each.at_once for each in limits)


MANY = 99
