"""A plan decided phase by phase: each begins in every state that the one before can reach.

So nothing is left out between two steps, however long the one before has taken.  A counterexample goes through the phases: its
last part is a shortest one from where that phase begins, and each part before leads there.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from neverlost.checker.engine.engines.explore import explore
from neverlost.checker.engine.host import scratch
from neverlost.checker.engine.outcome import Behaviour, EngineError, Finding, Outcome, Verdict
from neverlost.checker.engine.reached_states_system import Continued
from neverlost.checker.engine.search.options import Options, Reporter
from neverlost.checker.engine.storage.levels import Store
from neverlost.checker.questions.roll.maintenance_plan import EITHER, MaintenancePlan, PlanStep
from neverlost.model.interpreters.columns import Batch, Packed, evaluate_condition, unpack_row
from neverlost.model.interpreters.mixed_versions import require_all_assignments
from neverlost.model.kernel import Value
from neverlost.model.system import Slot, State, System
from neverlost.specs.property import Property


@dataclass(frozen=True)
class PhaseTrace:
    """The part of a counterexample that lies in one phase, by the phase's number (from 0)."""

    phase: int
    system: System
    trace: Behaviour


@dataclass(frozen=True)
class Said:
    """The verdict on a property in a phase: while it lasts, or, if `is_done`, once its step is; `parts` lead to a violation."""

    asked: Property
    verdict: Verdict
    is_done: bool
    parts: tuple[PhaseTrace, ...] = ()

    @property
    def steps(self) -> int | None:
        """How many steps the parts of the counterexample have in all; None without one."""
        return sum(len(each.trace.steps) for each in self.parts) if self.parts else None


@dataclass(frozen=True)
class Phase:
    """A `step` (None before the first), the `states` it can reach, and for each initial one its source in the phase before."""

    step: PlanStep | None
    outcome: Outcome
    states: Packed
    sources: NDArray[np.int64]
    said: tuple[Said, ...]


def decided(
    plan: MaintenancePlan, properties: Sequence[Property], options: Options, reporter: Reporter | None = None
) -> list[Phase]:
    """Return the phases of a plan in order, up to and with the first that could not be decided."""
    chain = _Chain(properties, options, reporter)
    for step in (None, *plan.steps):
        if chain.add(plan.before if step is None else step.amid, step).outcome.reason is not None:
            break
    return chain.phases


class _Chain:
    """The phases of a plan, decided one after another: each begins in the states that the one before can reach."""

    def __init__(self, properties: Sequence[Property], options: Options, reporter: Reporter | None) -> None:
        self.phases: list[Phase] = []
        self._asked, self._options, self._reporter = tuple(properties), options, reporter
        self._ways: dict[tuple[int, State], tuple[PhaseTrace, ...]] = {}

    def add(self, system: System, step: PlanStep | None) -> Phase:
        sources = np.empty(0, np.int64)
        if self.phases:
            before, states = self.phases[-1].outcome.system, self.phases[-1].states
            kept = (
                np.arange(states.shape[1])
                if step is None
                else np.flatnonzero(evaluate_condition(before, states, step.may_begin))
            )
            beginning, sources = carried(before, states[:, kept], system)
            sources = kept[sources]
            system = Continued(system.model, system.configurations, system.disabled, beginning)
        reads = step.reads if step is not None else {}
        asked = [
            replace(each, condition=require_all_assignments(each.condition, reads)) if reads else each for each in self._asked
        ]
        with scratch.hold_folder("plan") as place:
            options = replace(self._options, keep_going=True, state_dir=place, resume=False)
            outcome = explore(system, asked, options, self._reporter)
            states = _stored(system, place)
        self.phases.append(Phase(step, outcome, states, sources, ()))
        said = [self._said(one, each) for one, each in zip(self._asked, outcome.findings, strict=True)]
        if step is not None and outcome.reason is None and (step.reads or step.is_done):
            said += [self._when_done(each, step) for each in self._asked]
        self.phases[-1] = replace(self.phases[-1], said=tuple(said))
        return self.phases[-1]

    def _said(self, asked: Property, found: Finding) -> Said:
        if found.trace is None:
            return Said(asked, found.verdict, False)
        number = len(self.phases) - 1
        last = PhaseTrace(number, self.phases[-1].outcome.system, found.trace)
        return Said(asked, found.verdict, False, (*self._before(number, found.trace.states[0]), last))

    def _when_done(self, asked: Property, step: PlanStep) -> Said:
        """Return the verdict on a property in those states of the last phase, all known by now, in which the step is done."""
        system, states = self.phases[-1].outcome.system, self.phases[-1].states
        if step.is_done is not None:
            states = states[:, evaluate_condition(system, states, step.is_done)]
        after, sources = carried(system, states, step.done)
        broken = (
            np.flatnonzero(~evaluate_condition(step.done, after, asked.condition)) if after.shape[1] else np.empty(0, np.int64)
        )
        if not len(broken):
            return Said(asked, Verdict.HOLDS, True)
        state = unpack_row(system, states, int(sources[broken[0]]))
        return Said(asked, Verdict.VIOLATED, True, self._to(len(self.phases) - 1, state))

    def _before(self, number: int, state: State) -> tuple[PhaseTrace, ...]:
        """Return the traces through all phases before phase `number` that lead to its initial `state`; () for phase 0."""
        if number == 0:
            return ()
        system, before = self.phases[number].outcome.system, self.phases[number - 1]
        assert isinstance(system, Continued)
        row = int(self.phases[number].sources[system.rows_of(state)[0]])
        return self._to(number - 1, unpack_row(before.outcome.system, before.states, row))

    def _to(self, number: int, state: State) -> tuple[PhaseTrace, ...]:
        """Return the traces through phase `number` and those before it, to a `state` that this phase can reach."""
        if (number, state) not in self._ways:
            system = self.phases[number].outcome.system
            (found,) = explore(system, [_anything_but(system, state)], Options(workers=1)).findings
            if found.trace is None:
                raise EngineError("a state that was reached cannot be reached again")
            way = (*self._before(number, found.trace.states[0]), PhaseTrace(number, system, found.trace))
            self._ways[number, state] = way
        return self._ways[number, state]


def _stored(system: System, place: str) -> Packed:
    """Return, packed, every state that a search has kept in the folder `place`."""
    store = Store.attach(place)
    found = [store.read_packed(file) for level in store.levels() for file in level.files]
    return np.concatenate(found, axis=1) if found else np.empty((system.words, 0), np.uint64)


def _anything_but(system: System, state: State) -> Property:
    """Return the property that is false in this one state, so that a search for a violation finds the state."""
    places = [(place, slot, value) for place, (slot, value) in enumerate(zip(system.slots, state, strict=True))]

    def differs(k: Any, s: Any) -> Value:
        same = []
        for place, slot, value in places:
            if not slot.is_constant:
                found = s._read(place)
                is_flag = slot.field.kind == "flag"
                same.append((found if value else k.not_(found)) if is_flag else found == value)
        return k.not_(k.all_of(*same))

    return Property("not-this-state", "a state that is looked for is not met", differs, (), "")


def carried(before: System, states: Packed, after: System) -> tuple[Packed, NDArray[np.int64]]:
    """Return states of one system as states of another, and for each its source: the number of the state that it comes from.

    A field that the other lacks is dropped.  A new one has its least value; a new flag of `EITHER` has both values where the
    flag that `EITHER` names beside it is false: such a state comes twice.
    Errors: `EngineError` for a value outside the other's bounds.
    """
    given = {slot.name: number for number, slot in enumerate(before.slots) if not slot.field.frozen}
    fresh = after.configured(after.configurations[0], {})
    batch, rows = Batch(before, states), np.arange(states.shape[1])
    found = np.zeros((after.words, len(rows)), np.uint64)
    for slot, least in zip(after.slots, fresh, strict=True):
        _put(found, slot, batch.column(given[slot.name]) if slot.name in given else least)
    for slot in after.slots:
        other = EITHER.get(slot.field.name)
        if other is not None and slot.name not in given and not slot.is_constant:
            names = {each.name: number for number, each in enumerate(after.slots)}
            where = names[other + slot.name.removeprefix(slot.field.name)]
            is_other = np.broadcast_to(np.asarray(Batch(after, found).column(where), np.bool_), rows.shape)
            more = found[:, ~is_other].copy()
            _put(more, slot, 1)
            found, rows = np.concatenate([found, more], axis=1), np.concatenate([rows, rows[~is_other]])
    return np.ascontiguousarray(found), rows


def _put(words: Packed, slot: Slot, value: Any) -> None:
    """Write a value, or one per state, into a slot of packed states that is 0 so far; `EngineError` if out of its bounds."""
    least, most = (int(value.min()), int(value.max())) if isinstance(value, np.ndarray) and len(value) else (slot.low, slot.low)
    least, most = (least, most) if isinstance(value, np.ndarray) else (int(value), int(value))
    if not slot.low <= least <= most <= slot.high:
        raise EngineError(f"{slot.name} of the phase before is outside {slot.low}..{slot.high}")
    if not slot.is_constant:
        offset = np.asarray(value, np.int16) - np.int16(slot.low)
        words[slot.word] |= offset.astype(np.uint64) << np.uint64(slot.shift)
