"""Bounded model checking: the transition relation unrolled step by step, one query per depth.

The step taken at each depth is a choice among one-hot selectors; a slot's next value is a chain of choices over the
steps that write it, steps with the same effect sharing one link.  Replicas that nothing has named yet are interchangeable,
so a trace names them in order.  A configuration that is left free is a symbolic initial state; a cell that is found unsafe
is excluded, and the same depth asked again.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import z3

from neverlost.checker.engine.host.processes import INTERRUPTED, TIMEOUT, JobReport, Send, run
from neverlost.checker.engine.host.resources import OUT_OF_MEMORY
from neverlost.checker.engine.outcome import Behaviour, Counts, EngineError, Finding, Outcome, Verdict, replay
from neverlost.checker.engine.proof.obligations import LEAVES, find_inductive
from neverlost.model.interpreters.terms import (
    Symbols,
    Terms,
    bound_slots,
    compute_bit_width,
    lift_condition,
    name_solver,
    read_state,
    transition,
    variables,
)
from neverlost.model.system import State, System
from neverlost.specs.lemma import Lemma
from neverlost.specs.property import Property

SEEDS = (0, 3)
"""Seeds of the solvers that race; the first to finish decides."""

WORTH_FACTS = 1.5
"""Seconds of search from which it pays to find out which lemmas are inductive."""


@dataclass(frozen=True)
class BoundedCounterexample:
    """A counterexample to property number `property` under configuration number `configuration`."""

    property: int
    configuration: int
    trace: Behaviour


@dataclass(frozen=True)
class Depth:
    """It is known of which properties and configurations there is a counterexample of up to `steps` steps."""

    steps: int


@dataclass(frozen=True)
class Left:
    """Within `steps` steps the declared bounds can be left: what is beyond them was not looked at."""

    steps: int


@dataclass(frozen=True)
class BoundedResult:
    """What unrolling found; `depth` is the number of steps up to which the answer is complete (-1: none)."""

    outcome: Outcome
    depth: int
    solver: str
    seed: int


class Unrolling:
    """Symbolic states and selectors up to some depth, inside one incremental solver."""

    def __init__(self, system: System, seed: int) -> None:
        self.system = system
        self.terms = Terms(compute_bit_width(system))
        self.solver = z3.SolverFor("QF_FD")
        self.solver.set("random_seed", seed)
        self.states: list[Symbols] = [self._initial()]
        self.selectors: list[list[Any]] = []
        self.facts: list[Lemma] | None = None
        self.has_left = False
        self._alike = find_interchangeable(system)
        self._named: list[Any] = [False] * len(self._alike)

    def _initial(self) -> Symbols:
        """Return constants where all initial states agree, elsewhere variables; assert that together they form one of them."""
        known = sorted({state for _, state in self.system.initial_states()})
        symbols: Symbols = []
        for slot, variable, values in zip(
            self.system.slots, variables(self.system, self.terms, "0"), zip(*known, strict=True), strict=True
        ):
            value = bool(values[0]) if slot.field.kind == "flag" else values[0]
            symbols.append(value if len(set(values)) == 1 else variable)
        self.solver.add(z3.Or([self._is_state(symbols, state) for state in known]))
        return symbols

    def _is_state(self, symbols: Symbols, state: State) -> Any:
        parts = [_equate(self.terms, symbol, value) for symbol, value in zip(symbols, state, strict=True)]
        return z3.And([each for each in parts if each is not True])

    def extend(self) -> None:
        depth, now = len(self.selectors), self.states[-1]
        selectors = [z3.Bool(f"{step.label}@{depth}") for step in self.system.steps]
        effects: list[Symbols] = []
        for chosen, step in zip(selectors, self.system.steps, strict=True):
            guard, after = transition(self.system, self.terms, step, now)
            self.solver.add(z3.Implies(chosen, self.terms.lift(self.terms.all_of(*[each for _, each in guard]))))
            effects.append(after)
        self._one_of(selectors)
        self.states.append(self._next(selectors, effects, variables(self.system, self.terms, str(depth + 1))))
        self._name_in_order(selectors, depth)
        self.selectors.append(selectors)
        self._state_facts(self.states[-1])

    def strengthen(self, lemmas: Sequence[Lemma]) -> None:
        """Assert, of all states but the first and of those to come, the lemmas that are inductive for this very system."""
        self.facts = find_inductive(self.system, lemmas)
        for state in self.states[1:]:
            self._state_facts(state)

    def _state_facts(self, state: Symbols) -> None:
        self.solver.add(*[lift_condition(self.system, self.terms, state, each.condition) for each in self.facts or ()])

    def _one_of(self, selectors: list[Any]) -> None:
        self.solver.add(z3.Or(selectors))
        for number, one in enumerate(selectors):
            self.solver.add(*[z3.Or(z3.Not(one), z3.Not(other)) for other in selectors[:number]])

    def _next(self, selectors: list[Any], effects: list[Symbols], fresh: Symbols) -> Symbols:
        following: Symbols = []
        values: dict[int, Any] = {}
        for slot, before in enumerate(self.states[-1]):
            groups = _group_by_effect(
                self.terms, before, [(one, after[slot]) for one, after in zip(selectors, effects, strict=True)]
            )
            if not groups:
                following.append(before)
                continue
            value = self.terms.lift(before)
            for effect, choosers in groups:
                value = z3.If(z3.Or(choosers), effect, value)
            values[slot] = value
            following.append(fresh[slot])
        if self.system.disabled and not self.has_left:
            self.has_left = self._can_leave(values)
        self.solver.add(*[fresh[slot] == value for slot, value in values.items()])
        self.solver.add(*bound_slots(self.system, self.terms, following))
        return following

    def _can_leave(self, values: dict[int, Any]) -> bool:
        """Return True if the next step can leave the declared bounds, where the unrolling does not follow it.

        Errors: `InterruptedError` where the solver gives up.
        """
        slots = self.system.slots
        beyond = [
            z3.Or(value < self.terms.lift(slots[slot].low), value > self.terms.lift(slots[slot].high))
            for slot, value in values.items()
            if slots[slot].field.kind != "flag"
        ]
        leaves = z3.FreshBool("leaves")
        self.solver.add(z3.Implies(leaves, z3.Or(beyond)))
        answer = self.solver.check(leaves)
        if answer == z3.unknown:
            raise InterruptedError(f"z3 said unknown: {self.solver.reason_unknown()}")
        return bool(answer == z3.sat)

    def _name_in_order(self, selectors: list[Any], depth: int) -> None:
        """Require that the step at `depth` names a replica only after all lower ones of its kind; traces can be renamed so."""
        naming: list[list[Any]] = [[each] for each in self._named]
        for chosen, step in zip(selectors, self.system.steps, strict=True):
            mentioned = [step.arguments[name] for name, axis in step.action.parameters.items() if axis == "replica"]
            for place, replica in enumerate(mentioned):
                lower = [each for each in self._alike[replica] if each < replica and each not in mentioned[:place]]
                self.solver.add(*[z3.Implies(chosen, self._named[each]) for each in lower])
            for replica in set(mentioned):
                naming[replica].append(chosen)
        self._named = [z3.Bool(f"named[{replica}]@{depth}") for replica in range(len(naming))]
        self.solver.add(*[name == z3.Or(reasons) for name, reasons in zip(self._named, naming, strict=True)])

    def trace(self, assignment: z3.ModelRef) -> Behaviour:
        """Return the behaviour that an assignment of Z3 to the unrolling describes."""
        states = tuple(read_state(self.system, self.terms, assignment, each) for each in self.states)
        steps = [
            next(i for i, each in enumerate(chosen) if z3.is_true(assignment.eval(each, model_completion=True)))
            for chosen in self.selectors
        ]
        return Behaviour(states, tuple(steps))

    def differs(self, state: State) -> Any:
        """Return the condition that the configuration is another one than this state's."""
        frozen = [i for i, slot in enumerate(self.system.slots) if slot.field.frozen and z3.is_expr(self.states[0][i])]
        return z3.Not(z3.And([_equate(self.terms, self.states[0][i], state[i]) for i in frozen]))


def _equate(terms: Terms, symbol: Any, value: int) -> Any:
    if not z3.is_expr(symbol):
        return int(symbol) == value
    return symbol == (bool(value) if z3.is_bool(symbol) else terms.lift(value))


def _group_by_effect(terms: Terms, before: Any, choices: list[tuple[Any, Any]]) -> list[tuple[Any, list[Any]]]:
    """Return steps that write a slot, grouped by what they write; those that leave it alone are left out."""
    old = terms.lift(before)
    groups: dict[int, tuple[Any, list[Any]]] = {}
    for chosen, after in choices:
        effect = terms.lift(after)
        if not effect.eq(old):
            groups.setdefault(effect.get_id(), (effect, []))[1].append(chosen)
    return list(groups.values())


def find_interchangeable(system: System) -> list[set[int]]:
    """Return for each replica the set of those that can trade places with it, itself too; all sets empty if not symmetric."""
    known = {state for _, state in system.initial_states()}
    replicas = range(system.sizes.get("replica", 0))
    symmetric = all(system.model.symmetric(each) for each in system.configurations)
    return [
        {other for other in replicas if symmetric and {_swap_replicas(system, state, one, other) for state in known} == known}
        for one in replicas
    ]


def _swap_replicas(system: System, state: State, one: int, other: int) -> State:
    """Return the state with two replicas' names exchanged."""
    renamed = {one: other, other: one}
    value_at = {(slot.field.name, slot.index): value for slot, value in zip(system.slots, state, strict=True)}
    found = []
    for slot in system.slots:
        axes = zip(slot.field.axes, slot.index, strict=True)
        value = value_at[slot.field.name, tuple(renamed.get(i, i) if axis == "replica" else i for axis, i in axes)]
        found.append(renamed.get(value, value) if slot.field.kind == "replica" else value)
    return tuple(found)


def _group_configurations(system: System) -> dict[tuple[int, ...], list[int]]:
    """Return, by cell (the values of the frozen slots), the numbers of the configurations that share it."""
    frozen = [i for i, slot in enumerate(system.slots) if slot.field.frozen]
    found: dict[tuple[int, ...], list[int]] = {}
    for number, state in system.initial_states():
        numbers = found.setdefault(tuple(state[i] for i in frozen), [])
        if number not in numbers:
            numbers.append(number)
    return found


def unroll(send: Send, system: System, properties: Sequence[Property], lemmas: Sequence[Lemma], depth: int, seed: int) -> int:
    """Ask depth after depth; send a `BoundedCounterexample` for each unsafe configuration, and a `Depth` or `Left` for each
    depth that is finished.  Return the seed.  Errors: `InterruptedError` where the solver gives up.
    """
    started = time.monotonic()
    unrolling = Unrolling(system, seed)
    cells = _group_configurations(system)
    frozen = [i for i, slot in enumerate(system.slots) if slot.field.frozen]
    remaining = {number: set(cells) for number in range(len(properties))}
    for steps in range(depth + 1):
        for number in [each for each, left in remaining.items() if left]:
            for trace in _find_violations(unrolling, properties[number], number, steps, remaining[number], frozen):
                for configuration in cells[tuple(trace.states[0][i] for i in frozen)]:
                    send(BoundedCounterexample(number, configuration, trace))
        send(Left(steps) if unrolling.has_left else Depth(steps))
        if not any(remaining.values()):
            break
        if unrolling.facts is None and time.monotonic() - started > WORTH_FACTS:
            unrolling.strengthen(lemmas)
        if steps < depth:
            unrolling.extend()
    return seed


def _find_violations(
    unrolling: Unrolling, broken: Property, number: int, steps: int, remaining: set[tuple[int, ...]], frozen: list[int]
) -> Iterator[Behaviour]:
    """Yield a trace of this length for each `remaining` cell with one; remove the cell.  `InterruptedError` if z3 gives up."""
    solver, undecided, fails = unrolling.solver, z3.Bool(f"undecided:{number}"), z3.Bool(f"fails:{number}@{steps}")
    solver.add(
        z3.Implies(fails, z3.Not(lift_condition(unrolling.system, unrolling.terms, unrolling.states[-1], broken.condition)))
    )
    while remaining:
        answer = solver.check(undecided, fails)
        if answer == z3.unsat:
            holds = lift_condition(unrolling.system, unrolling.terms, unrolling.states[-1], broken.condition)
            solver.add(z3.Implies(undecided, holds))
            return
        if answer != z3.sat:
            raise InterruptedError(f"z3 said unknown at depth {steps}: {solver.reason_unknown()}")
        trace = unrolling.trace(solver.model())
        remaining.remove(tuple(trace.states[0][i] for i in frozen))
        solver.add(z3.Implies(undecided, unrolling.differs(trace.states[0])))
        yield trace


def check(
    system: System,
    properties: Sequence[Property],
    depth: int,
    seconds: float | None = None,
    workers: int = 2,
    memory_bytes: int | None = None,
    lemmas: Sequence[Lemma] = (),
) -> BoundedResult:
    """Return shortest counterexamples of at most `depth` steps, per property and configuration.

    A property without one is inconclusive: nothing is known beyond the depth.  Those of the lemmas that are inductive help.
    Errors: `EngineError` when a counterexample does not replay, or the solver's process fails with an error of ours.
    """
    started = time.monotonic()
    seeds = SEEDS[: max(1, workers)]
    reports: dict[int, list[Any]] = {number: [] for number in range(len(seeds))}
    reason, winner = None, None
    messages = run(unroll, [(system, properties, lemmas, depth, seed) for seed in seeds], len(seeds), seconds, memory_bytes)
    failures: dict[int, str] = {}
    try:
        for message in messages:
            if message.kind == "progress":
                reports[message.job].append(message.value)
            elif message.kind == "result":
                winner = message.job
                break
            else:
                failures[message.job] = _explain_giving_up(message)
    except KeyboardInterrupt:
        failures = dict.fromkeys(reports, INTERRUPTED)
    finally:
        messages.close()
    if winner is None:
        winner = max(reports, key=lambda job: len(reports[job]))
        reason = failures[winner]
    done = [each for each in reports[winner] if isinstance(each, Depth)]
    found = {
        (each.property, each.configuration): each.trace for each in reports[winner] if isinstance(each, BoundedCounterexample)
    }
    findings = tuple(
        Finding(
            each,
            configuration,
            Verdict.VIOLATED if (number, configuration) in found else Verdict.INCONCLUSIVE,
            replay(system, found[number, configuration], each) if (number, configuration) in found else None,
        )
        for configuration in range(len(system.configurations))
        for number, each in enumerate(properties)
    )
    left = next((each for each in reports[winner] if isinstance(each, Left)), None)
    if left is not None and any(each.trace is None for each in findings):
        reason = "; ".join([f"{LEAVES}, after {left.steps} steps", *([reason] if reason else [])])
    elif reason is None and any(each.trace is None for each in findings):
        reason = f"no counterexample of up to {depth} steps; nothing is known beyond"
    counts = Counts(depth=len(done))
    outcome = Outcome(system, findings, counts, time.monotonic() - started, reason, engine="z3-bmc")
    return BoundedResult(outcome, len(done) - 1, name_solver(), seeds[winner])


def _explain_giving_up(message: JobReport) -> str:
    """Return why a solver gave up.  Errors: `EngineError` when it did not give up but failed."""
    text = str(message.value)
    if text.startswith(("InterruptedError: ", "the process ended")) or text in (TIMEOUT, INTERRUPTED, OUT_OF_MEMORY):
        return text.removeprefix("InterruptedError: ")
    raise EngineError(f"the solver's process failed: {text}")
