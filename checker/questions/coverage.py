"""Action coverage, as TLC has it: which faults that a configuration allows never struck, and which actions never happened.

A verdict `holds` says nothing about a fault that never struck.  An action that has no instance in the configuration (without
racks that of a rack) is not counted.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from neverlost.checker.engine.outcome import Outcome, Verdict
from neverlost.model.faults import BY_NAME, HARMLESS
from neverlost.model.interpreters import ints
from neverlost.model.kernel import Configuration
from neverlost.model.limits import AT_ONCE
from neverlost.model.system import System
from neverlost.specs.property import Property

if TYPE_CHECKING:
    from neverlost.checker.engine.proof.induction import Proof

MOST_STATES = 300
"""How many states are looked at for a state in which a fault may strike, before the whole search is asked."""

FAULTS = "faults."


@dataclass(frozen=True)
class Coverage:
    """The allowed `faults` that never struck, and the `actions` that never happened; `open` are allowed faults that were not
    seen among the states that were looked at, `actions` is None where nothing was searched."""

    faults: tuple[str, ...] = ()
    actions: tuple[str, ...] | None = None
    open: tuple[str, ...] = ()

    def document(self) -> dict[str, Any]:
        """Return the coverage as result documents have it, with `open` under the name `not_seen`."""
        return {
            "faults": list(self.faults),
            "actions": None if self.actions is None else list(self.actions),
            "not_seen": list(self.open),
        }


def list_allowed_faults(configuration: Configuration) -> dict[str, frozenset[str]]:
    """Return the faults that a configuration allows, by name, each with the kinds of steps that it stands for."""
    names = [name.removeprefix(FAULTS) for name, limit in configuration.items() if name.startswith(FAULTS) and limit]
    kinds = {name: BY_NAME[name].of if name in BY_NAME else () for name in names if FAULTS + name != AT_ONCE}
    return {name: frozenset((name, *of)) for name, of in kinds.items()}


def cover(outcome: Outcome, number: int = 0) -> Coverage:
    """Return a search's coverage.  If it had several configurations or was looked up, return only the faults of configuration
    `number`, from a look at its first states."""
    alone = replace(outcome.system, configurations=(outcome.system.configurations[number],))
    if not outcome.fired or len(outcome.system.configurations) > 1:
        return look_for_strikes(alone)
    actions = list_unused_actions(outcome)
    missing = list_never_struck(alone, outcome.fired)
    is_whole = outcome.reason is None and outcome.verdict is not Verdict.VIOLATED
    return Coverage(missing, actions) if is_whole else Coverage((), actions, missing)


def cover_proof(proof: Proof) -> Coverage:
    """Return the coverage of a proof: the allowed faults and the actions that no state with all lemmas allows, so that what it
    says of them is vacuous.  What is not known is `open`; of a proof that was not complete nothing is asked."""
    if not proof.takes:
        return Coverage()
    names = [name for name in list_possible_actions(proof.system) if name in proof.takes]
    never = tuple(name for name in names if proof.takes[name] == "unsat")
    faults = list_unstruck(proof.system, [name for name in names if name not in never])
    seen = list_unstruck(proof.system, [name for name in names if proof.takes[name] == "sat"])
    return Coverage(faults, never, tuple(name for name in seen if name not in faults))


def list_unused_actions(outcome: Outcome) -> tuple[str, ...]:
    """Return those of `list_possible_actions` that never happened in a search."""
    return tuple(name for name in list_possible_actions(outcome.system) if not outcome.fired.get(name))


def list_possible_actions(system: System) -> list[str]:
    """Return the names of actions that have an instance in a system, without faults that no configuration allows."""
    allowed = {kind for each in system.configurations for kinds in list_allowed_faults(each).values() for kind in kinds}
    return list(dict.fromkeys(s.action.name for s in system.steps if s.action.fault is None or s.action.fault in allowed))


def list_single(system: System, asked: Property) -> tuple[str, ...]:
    """Return a name, such as `second_record`, for each kind of thing of which a property compares two and a system has but one:
    the property then holds for want of a second, provided that a log has what is below its high watermark."""
    highest = {each.name: each.high for each in system.fields}
    many = {"record": highest.get("log_record"), "coordinator": highest.get("ghost_coordinators", 0) + 1}
    return tuple(f"second_{each}" for each in asked.compares if (many.get(each) or getattr(system.sizes, each)) < 2)


def look_for_strikes(system: System, number: int = 0, harmless_too: System | None = None, most: int = MOST_STATES) -> Coverage:
    """Look for states in which the faults that one configuration allows may strike, by the fewest steps.  Return those for
    which none was found: as `faults` if all states were looked at, as `open` if only about the first `most`.  Configurations
    that share a system share `harmless_too`, in which faults without an effect are steps."""
    configuration = system.configurations[number]
    wanted = list_allowed_faults(configuration)
    harmless_too = harmless_too or with_harmless_faults(system)
    initial = system.model.initial(configuration) if wanted else ()
    states = dict.fromkeys(harmless_too.configured(configuration, values) for values in initial)
    waiting = deque(states)
    while wanted and waiting and len(states) <= most:
        state = waiting.popleft()
        left: set[str] = set().union(*wanted.values())
        for each in harmless_too.steps:
            if each.action.fault in left and not ints.refusals(harmless_too, state, each):
                left.discard(each.action.fault)
        wanted = {name: kinds for name, kinds in wanted.items() if kinds <= left}
        if wanted:
            new = [after for _, after in ints.successors(system, state) if after not in states]
            states |= dict.fromkeys(new)
            waiting.extend(dict.fromkeys(new))
    missing = tuple(wanted)
    return Coverage(open=missing) if waiting else Coverage(missing)


def with_harmless_faults(system: System) -> System:
    """Return a system in which faults that strike without an effect are steps."""
    return replace(system, disabled=system.disabled | HARMLESS)


def list_never_struck(system: System, fired: Mapping[str, int] | Collection[str]) -> tuple[str, ...]:
    """Return the allowed faults that struck nowhere in a search.  One that strikes without an effect is no step of it: such a
    fault is looked for among the first states, and left out if it may strike there."""
    missing = list_unstruck(system, fired)
    harmless = {each.fault for each in system.model.actions for name, _ in HARMLESS if each.name == name}
    if not harmless & set(missing):
        return missing
    seen = look_for_strikes(system)
    return tuple(name for name in missing if name not in harmless or name in (*seen.faults, *seen.open))


def list_unstruck(system: System, fired: Mapping[str, int] | Collection[str]) -> tuple[str, ...]:
    """Return the faults that the one configuration of a system allows and of which no action is among those that happened."""
    happened = {name for name in fired if not isinstance(fired, Mapping) or fired[name]}
    struck = {each.fault for each in system.model.actions if each.name in happened}
    return tuple(name for name, kinds in list_allowed_faults(system.configurations[0]).items() if not kinds & struck)
