"""Carry the atlas over to models that changed where its questions did not: `python -m tests.tools.publish.carried_over OLD`.

OLD is a checkout at whose models the shipped atlas was decided.  A row stays, under the identifier that its question has now,
where the transition system of its question is the same term by term: its fields, initial states, steps (with their guards, and
the effect that they have once `normalise` has run) and properties.  Steps are compared for all values of the frozen fields at
once, and of the frozen fields that any step or property reads, each question's values.  Every other row is dropped: its
question is searched again when it is asked.

A mechanism that the models did not have is added to a question in both positions, since the old model had no such defect.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import Any

from neverlost.checker.questions.atlas import index
from neverlost.checker.questions.atlas.index import ANSWERED
from neverlost.checker.questions.atlas.lookup import question
from neverlost.checker.questions.question_id import question_id
from neverlost.model.kernel import Configuration, Model, Value
from neverlost.model.plain import plain, restored
from neverlost.model.protocols import models
from neverlost.model.system import System, View, bind
from neverlost.specs.configuration.canonical import layout, list_departures, list_fields_read
from neverlost.specs.configuration.keys import MECHANISM
from neverlost.specs.properties import list_defined, properties
from tests.tools.atlas import table

Known = Mapping[str, str]


class Term:
    """A value that depends on the state, known by a digest of how it is computed."""

    __slots__ = ("digest",)
    __hash__ = None  # type: ignore[assignment]

    def __init__(self, digest: bytes) -> None:
        self.digest = digest

    def __bool__(self) -> bool:
        raise TypeError("a state value was used as a Python condition")

    def __eq__(self, other: object) -> Any:
        return made("=", self, other)

    def __ne__(self, other: object) -> Any:
        return made("!=", self, other)

    def __lt__(self, other: object) -> Any:
        return made("<", self, other)

    def __le__(self, other: object) -> Any:
        return made("<=", self, other)

    def __gt__(self, other: object) -> Any:
        return made("<", other, self)

    def __ge__(self, other: object) -> Any:
        return made("<=", other, self)

    def __add__(self, other: object) -> Any:
        return made("+", self, other)

    def __radd__(self, other: object) -> Any:
        return made("+", other, self)

    def __sub__(self, other: object) -> Any:
        return made("-", self, other)

    def __rsub__(self, other: object) -> Any:
        return made("-", other, self)


def written(value: Value) -> bytes:
    """Return what stands for a value: the digest of a term, or a constant."""
    return value.digest if isinstance(value, Term) else f"{type(value).__name__} {value}".encode()


def made(operation: str, *operands: Any) -> Term:
    """Return the term of an operation."""
    return Term(sha256(b"\0".join([operation.encode(), *map(written, operands)])).digest())


class Structure:
    """Primitives over terms; what is constant folds away."""

    @staticmethod
    def all_of(*conditions: Value) -> Value:
        if any(each is False for each in conditions):
            return False
        kept = [each for each in conditions if each is not True]
        return made("and", *kept) if len(kept) > 1 else (kept[0] if kept else True)

    @staticmethod
    def any_of(*conditions: Value) -> Value:
        if any(each is True for each in conditions):
            return True
        kept = [each for each in conditions if each is not False]
        return made("or", *kept) if len(kept) > 1 else (kept[0] if kept else False)

    @staticmethod
    def not_(condition: Value) -> Value:
        return made("not", condition) if isinstance(condition, Term) else not condition

    @staticmethod
    def ite(condition: Value, then: Value, otherwise: Value) -> Value:
        if not isinstance(condition, Term):
            return then if condition else otherwise
        return made("if", condition, then, otherwise)


class StructureView(View):
    """A view of any state: each slot that can change, or is a setting, is a variable named after its field; assignments are
    kept."""

    __slots__ = ("values",)
    values: dict[int, Value]

    def __init__(self, system: System) -> None:
        super().__init__(system)
        object.__setattr__(self, "values", {})

    def _read(self, slot: int) -> Value:
        place = self._system.slots[slot]
        if slot not in self.values and place.is_constant and not place.field.frozen:
            return bool(place.low) if place.field.kind == "flag" else place.low
        return self.values[slot] if slot in self.values else made("slot", self.name(slot))

    def _write(self, slot: int, value: Value) -> None:
        self.values[slot] = value

    def name(self, slot: int) -> str:
        """Return the name of a slot: the order of the slots says nothing."""
        place = self._system.slots[slot]
        return f"{place.field.name}{list(place.index)}"

    def effect(self) -> list[tuple[str, str]]:
        """Return what was assigned."""
        return sorted((self.name(slot), written(value).hex()) for slot, value in self.values.items())


def step_text(system: System, step: Any) -> Iterator[Any]:
    """Yield the parts of a step: its action, guard and effect; nothing where the guard is false in every state."""
    view, guard = StructureView(system), []
    for clause, condition in step.run(Structure, view):
        if condition is False:
            return
        guard.append((clause, written(condition).hex()))
    if system.model.normalise is not None:
        system.model.normalise(Structure, view)
    yield step.label, step.action.fault, step.action.can_be_left_out, guard, view.effect()


_steps: dict[tuple[Any, ...], tuple[str, frozenset[str]]] = {}


def steps_of(system: System) -> tuple[str, frozenset[str]]:
    """Return a digest of all steps and properties at the sizes of a system, and the frozen fields that they read."""
    key = system.model.name, system.sizes, tuple(each.name for each in system.slots if each.is_constant)
    if key not in _steps:
        asked = [properties()[name] for name in list_defined(system, ANSWERED)]
        parts: list[Any] = sorted(part for each in system.steps for part in step_text(system, each))
        for each in asked:
            held = each.condition(Structure, StructureView(system))
            parts.append((each.name, str(each.kind), written(held).hex()))
        read = list_fields_read(system, asked) & system.model.frozen.keys()
        _steps[key] = sha256(json.dumps(parts).encode()).hexdigest(), read
    return _steps[key]


def system_digest(model: Model, configuration: Configuration) -> str:
    """Return what two questions share whose transition systems and properties are the same."""
    system = bind(model, configuration)
    steps, read = steps_of(system)
    moving = [each for each in layout(model, configuration)[0] if each[1] != each[2]]
    changing = {each[0] for each in moving}
    starts = sorted(
        sorted((view, value) for view, value in named(system, state) if view.partition("[")[0] in changing)
        for _, state in system.initial_states()
    )
    frozen = sorted((name, str(model.frozen[name](configuration))) for name in read)
    return sha256(json.dumps([steps, sorted(moving), starts, frozen], default=str).encode()).hexdigest()


def named(system: System, state: tuple[int, ...]) -> Iterator[tuple[str, int]]:
    """Yield each slot's name and value."""
    view = StructureView(system)
    return ((view.name(slot), value) for slot, value in enumerate(state))


def key_of(row: table.AnswerRow) -> str:
    """Return what names a row's question in both checkouts."""
    return f"{row.model} {row.question}"


def questions(place: Path) -> dict[str, table.AnswerRow]:
    """Return a row of each question of a table."""
    return {key_of(each): each for each in table.read(place)}


def describe(place: Path) -> dict[str, Any]:
    """Return, for the models of this process, the mechanisms that each has and the digest of each question of a table."""
    asked = questions(place)
    return {
        "mechanisms": {each.model: sorted(models()[each.model].defaults) for each in asked.values()},
        "digests": {key: system_digest(models()[each.model], each.asked) for key, each in asked.items()},
    }


def described(old: Path, place: Path) -> dict[str, Any]:
    """Return what another checkout says of its own models."""
    command = [sys.executable, __file__, "--describe", str(place)]
    done = subprocess.run(
        command, env={"PYTHONPATH": f"{old / '.package'}:{Path(__file__).parents[3]}"}, stdout=subprocess.PIPE, check=True
    )
    return dict(json.loads(done.stdout))


def variants(row: table.AnswerRow, known: Known) -> Iterator[Configuration]:
    """Yield the question with every mechanism that is new: each mended, and each as Kafka is."""
    new = [key for key in models()[row.model].defaults if key.startswith(MECHANISM) and key not in known[row.model]]
    for position in (True, False) if new else (True,):
        yield {**row.asked, **dict.fromkeys(new, position)}


@cache
def canonical_of(model: str, text: str) -> tuple[str, Any]:
    """Return the canonical form of a configuration given as JSON, as a row has it."""
    asked = question(models()[model], restored(json.loads(text)))
    return json.dumps(plain(list_departures(models()[model], asked)), sort_keys=True, separators=(",", ":")), asked


def row_of(row: table.AnswerRow, configuration: Configuration) -> table.AnswerRow:
    """Return a row under the identifier that its question has now."""
    text, asked = canonical_of(row.model, json.dumps(plain(configuration), sort_keys=True))
    return replace(row, question=text, id=question_id(models()[row.model], asked, [row.property]))


def carry_over(old: Path, place: Path) -> tuple[list[table.AnswerRow], list[table.AnswerRow]]:
    """Return the rows that stay, and those of questions whose system is another now, both as they are asked now."""
    before = described(old, place)
    stay: list[table.AnswerRow] = []
    other: list[table.AnswerRow] = []
    alike: dict[tuple[str, bool], bool] = {}
    for row in table.read(place):
        for number, configuration in enumerate(variants(row, before["mechanisms"])):
            key = key_of(row), bool(number)
            if key not in alike:
                alike[key] = system_digest(models()[row.model], configuration) == before["digests"][key_of(row)]
            (stay if alike[key] else other).append(row_of(row, configuration))
    return table.best(stay), sorted(set(other) - set(stay))


def main() -> None:
    """Write the atlas of these models, and say how much of the old one is in it."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("old", nargs="?", type=Path, metavar="OLD", help="a checkout at whose models the atlas was decided")
    parser.add_argument("--describe", type=Path, metavar="TABLE", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.describe:
        print(json.dumps(describe(given.describe)))
        return
    place = Path(given.old, *Path(index.__file__).parts[-4:-1], table.FILE)
    stay, other = carry_over(given.old, place)
    table.write(stay, Path(index.__file__).with_name(table.FILE))
    print(f"{len(table.read(place))} rows before, {len(stay)} stay, {len(other)} are of other systems now")


if __name__ == "__main__":
    main()
