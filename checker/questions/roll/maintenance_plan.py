"""An operator's plan: what changes, step after step, while the faults that it allows go on.

A TOML file as for `check`, with a `[[step]]` table for each change: the keys that have other values from then on, `says`, and
`waits = true` where it waits until every replica is in the ISR.
While a step is under way its settings may be read as before or as after, so nodes of two versions, and brokers and controllers
whose files differ, are among what may happen.  min.insync.replicas is changed by the model's own step, which each broker learns
of in its own time.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from os import PathLike
from typing import Any, cast

from neverlost.checker.questions.roll.controller_steps import CHANGES, KRAFT_VERSION, VOTERS, ControllerStep, PlannedQuorum
from neverlost.model.faults import FAULTS, MIN_ISR_CHANGE
from neverlost.model.interpreters.mixed_versions import Settings, mix_versions
from neverlost.model.kernel import Configuration, Model, Value
from neverlost.model.kraft.controller.planned import is_known_everywhere, is_set, operated
from neverlost.model.kraft.mechanisms import MECHANISMS
from neverlost.model.system import System, bind
from neverlost.specs.configuration.choose import Chosen, Given, choose, choose_one, read_settings, read_toml
from neverlost.specs.configuration.input import flatten
from neverlost.specs.errors import InputError

LEAST, FACTOR, ELR, RECORDS = "min.insync.replicas", "replication.factor", "eligible.leader.replicas", "bounds.records"
LIMITS = frozenset({"at_once", "first_outside_isr", *(each.limit for each in FAULTS)})
"""Frozen fields that are no settings of a cluster: what is true of them from a step on is true at once."""

LATE = ("mechanism.removed-partition-not-truncated", "mechanism.response-of-older-epoch-ignored")
"""Mechanisms that forbid a step and change no other: a model without them has all that one with them has."""

FREE = frozenset({"limits", "stops_cleanly", "replica", "first_replicas", "racks", "elr", "effective_min_isr"})
"""Parts of the sizes that may be others after a step."""

EITHER = {"stopped_cleanly": "is_running"}
"""Flags per replica that may have any value when they come to be, where the other flag is false."""


Condition = Callable[[Any, Any], Value]


@dataclass(frozen=True)
class PlanStep:
    """One change of a plan: the system while it is under way (`amid`), and the one that it leads to (`done`).

    It begins in the states in which `may_begin` is true: the step before was taken and, if this one waits, every replica is in
    the ISR.  `reads` are the fields that each node may read as before or as after meanwhile.  `is_done` is true in states where
    it was taken and every broker knows it; None where the state does not show that.
    """

    number: int
    says: str
    changes: Mapping[str, str]
    may_begin: Condition
    amid: System
    reads: Settings
    done: System
    is_done: Condition | None
    assumed: tuple[str, ...]


@dataclass(frozen=True)
class MaintenancePlan:
    """Where the cluster begins, and the steps from there; those `of_controllers`, kept apart, change nothing of a partition."""

    says: str
    first: Chosen
    before: System
    steps: tuple[PlanStep, ...]
    of_controllers: tuple[ControllerStep, ...] = ()


def read_plan(path: PathLike[str] | str, settings: Any = None) -> MaintenancePlan:
    """Return the plan of a file; `settings` replace the file's for the beginning, not in its steps.  Errors: `InputError` for
    what is no configuration, for a plan without steps, and for a step that cannot be decided."""
    given = read_toml(path)
    steps, _ = given.pop("step", ([], ""))
    says, _ = given.pop("says", ("", ""))
    if not isinstance(steps, list) or not steps or not all(isinstance(each, dict) and each for each in steps):
        raise InputError(f"{str(path)!r} has no steps: add a [[step]] table for each change, with the keys that change")
    given = {RECORDS: (1, "a plan's default")} | given | read_settings(settings)
    quorum = PlannedQuorum(given.pop(VOTERS, ([], ""))[0], given.pop(KRAFT_VERSION, (0, ""))[0], str(path))
    return _plan(str(says), given, steps, str(path), quorum)


def _plan(says: str, given: Given, steps: Sequence[Mapping[str, Any]], path: str, quorum: PlannedQuorum) -> MaintenancePlan:
    if MIN_ISR_CHANGE.key in given:
        raise InputError(f"{MIN_ISR_CHANGE.key} in {given[MIN_ISR_CHANGE.key][1]}: a plan changes {LEAST} in its steps")
    wanted = [dict(flatten(each)) for each in steps]
    changes = sum(LEAST in each for each in wanted)
    first = choose_one(given)
    if MIN_ISR_CHANGE.key not in first.model.keys:
        raise InputError(f"model {first.model.name!r} has no plans; use a modern model, or kafka.version=X.Y")
    given |= {ELR: (first.configuration[ELR], path), MIN_ISR_CHANGE.key: (changes, path)}
    first = choose(given)
    _require_no_totals(first.configuration, path)
    before, found, taken, of_controllers = first, [], None, []
    for number, each in enumerate(wanted, 1):
        where = f"step {number} of {path}"
        text, waits = str(each.pop("says", "")), each.pop("waits", False)
        if not isinstance(waits, bool):
            raise InputError(
                f"bad value {waits!r} for waits in {where}: true where the step waits until every replica is in the ISR"
            )
        if each.keys() & set(CHANGES):
            if waits:
                raise InputError(f"waits in {where}: a change of controllers does not wait for an ISR; leave it out")
            of_controllers.append(quorum.take(number, text, each, where))
            continue
        given |= {key: (value, where) for key, value in each.items() if key != LEAST}
        after = choose(given)
        _require_no_totals(after.configuration, where)
        found.append(_step(number, text, each, before, after, may_begin(taken, waits), where))
        before = after
        taken = is_set(least, after.configuration[LEAST]) if (least := _least(each, after, where)) else None
    begins = bind(operated(first.model, None), first.configuration)
    return MaintenancePlan(says, first, begins, tuple(found), tuple(of_controllers))


def _require_no_totals(configuration: Configuration, where: str) -> None:
    for each in FAULTS:
        if isinstance(configuration[each.key], int) and configuration[each.key] and each is not MIN_ISR_CHANGE:
            raise InputError(
                f"{each.key}={configuration[each.key]} in {where}: a plan's faults have no number; use any or any:N"
            )


def may_begin(taken: Condition | None, waits: bool) -> Condition:
    """Return the condition that `taken`, if there is one, is true and, if a step `waits`, that every replica is in the ISR."""

    def is_reached(k: Any, s: Any) -> Value:
        return k.all_of(True if taken is None else taken(k, s), *(s.isr if waits else ()))

    return is_reached


def _step(
    number: int, says: str, wanted: Mapping[str, Any], before: Chosen, after: Chosen, begins: Condition, where: str
) -> PlanStep:
    model = after.model
    least = _least(wanted, after, where)
    _require_decidable(before, after, where)
    one, other = before.configuration, after.configuration
    is_growing = bool(other[FACTOR] > one[FACTOR])
    meanwhile = {**other, **{key: other[key] and one[key] for key in LATE if key in other}}
    reads = {
        name: (value(one), value(other))
        for name, value in model.frozen.items()
        if name not in LIMITS and value(one) != value(other)
    }
    moved = operated(model, least, is_growing)
    amid = bind(moved, meanwhile)
    return PlanStep(
        number=number,
        says=says or ", ".join(f"{key}={value}" for key, value in wanted.items()),
        changes={key: str(value) for key, value in wanted.items()},
        may_begin=begins,
        amid=bind(mix_versions(amid, reads), meanwhile) if reads else amid,
        reads=reads,
        done=bind(operated(model, None, is_growing), other),
        is_done=None if least is None else is_known_everywhere(least, other[LEAST]),
        assumed=tuple(_assumed(wanted, reads, is_growing)),
    )


def _least(wanted: Mapping[str, Any], after: Chosen, where: str) -> int | None:
    if LEAST not in wanted:
        return None
    text, most = str(wanted[LEAST]), after.configuration[FACTOR]
    if not (text.isascii() and text.isdigit() and 1 <= int(text) <= most):
        raise InputError(f"bad value {text!r} for {LEAST} in {where}: use a number from 1 to {most}")
    return int(text)


def _require_decidable(before: Chosen, after: Chosen, where: str) -> None:
    """Raise `InputError` for a change from `before` to `after` whose states cannot be carried over, such as a lower factor."""
    one, other = before.configuration, after.configuration
    if other[FACTOR] < one[FACTOR]:
        raise InputError(f"{where} lowers {FACTOR}: only raising it can be decided")
    if one[ELR] and not other[ELR]:
        raise InputError(f"{where} switches {ELR} off: only switching it on can be decided")
    differing = [each for each in MECHANISMS if one[each.key] != other[each.key]]
    if one[ELR] != other[ELR] and differing:
        raise InputError(f"{where} upgrades and switches {ELR} on: raise the feature level in a step of its own, afterwards")
    first, then = (_sizes(each) for each in (before, after))
    if any(first[part] != then[part] for part in first if part not in FREE) or _is_uncapped(one, other):
        names = ", ".join(each.name for each in differing if each.is_structural and each.key not in LATE)
        raise InputError(
            f"{where} cannot be decided: nodes with and without {names or 'what it changes'} have different states"
        )


def _sizes(chosen: Chosen) -> dict[str, Any]:
    found = asdict(cast(Any, chosen.model.sizes(chosen.configuration)))
    return {part: value for part, value in found.items() if not part.startswith("truncates_")}


def _is_uncapped(one: Configuration, other: Configuration) -> bool:
    key = "mechanism.effective-min-isr"
    return bool(one[key] != other[key] and one[LEAST] > one[FACTOR])


def _assumed(wanted: Mapping[str, Any], reads: Settings, is_growing: bool) -> list[str]:
    found = []
    if reads:
        names = ", ".join(each.replace("_", " ") for each in reads)
        found.append(f"until it is done each step of a broker or controller reads {names} as before or as after, independently")
    if LEAST in wanted:
        found.append(f"the controller has the new {LEAST} first, and each broker learns it in its own time")
    if str(wanted.get(ELR, "")).lower() in ("true", "on"):
        found.append("no ELR is kept before; of a broker that is down then, either it stopped cleanly or it did not")
    if is_growing:
        found.append("the new replica has no log; nothing is removed, and the reassignment is not cancelled")
    return found


__all__ = ["EITHER", "MaintenancePlan", "Model", "PlanStep", "read_plan"]
