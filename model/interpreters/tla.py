"""The exporting interpreter: a value is a TLA+ expression (or a Python value where it is constant).

`render_module` writes a system as a TLA+ module: an operator for each step, and one for each action that is the disjunction of
its steps.  An array field is a function whose domain begins at 0, so an index and a replica's number are the model's.  Numbers
of the configuration are definitions; its flags are constants and fold away.
"""

from __future__ import annotations

import inspect
import re
import textwrap
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from itertools import groupby
from math import prod
from typing import Any

from neverlost.model.kernel import Action, Value
from neverlost.model.system import Predicate, Slot, State, Step, System, View

WIDTH, SHORT = 128, 30
"""Characters of a line, and of an expression that is written again where it is used again."""
GUARD, BROAD = 5, 1_000_000
"""The column at which a guard begins; and a line on which everything fits."""
VARIABLE = "variable"
LOOSE = ("/\\", "\\/", "IF")
"""Operators that bind less than every other one."""


class Expression:
    """An operator applied to operands, expressions or texts.  `apply` makes equal ones once; `==` is True of one and itself,
    and makes an expression of any other two."""

    __slots__ = ("operands", "operator")
    __hash__ = object.__hash__

    def __init__(self, operator: str, operands: tuple[Expression | str, ...]) -> None:
        self.operator, self.operands = operator, operands

    def __bool__(self) -> bool:
        raise TypeError("a state value was used as a Python condition")

    def __eq__(self, other: object) -> Any:
        if self is other:
            return True
        return (self if other else Tla.not_(self)) if isinstance(other, bool) else apply("=", self, other)

    def __ne__(self, other: object) -> Any:
        return Tla.not_(self == other)

    def __lt__(self, other: object) -> Any:
        return apply("<", self, other)

    def __le__(self, other: object) -> Any:
        return apply("<=", self, other)

    def __gt__(self, other: object) -> Any:
        return apply(">", self, other)

    def __ge__(self, other: object) -> Any:
        return apply(">=", self, other)

    def __add__(self, other: object) -> Any:
        return self if isinstance(other, int) and other == 0 else apply("+", self, other)

    def __radd__(self, other: object) -> Any:
        return self if isinstance(other, int) and other == 0 else apply("+", other, self)

    def __sub__(self, other: object) -> Any:
        return apply("-", self, other)

    def __rsub__(self, other: object) -> Any:
        return apply("-", other, self)


def constant(value: bool | int) -> str:
    """Return a Python number or truth value as TLA+ writes it."""
    return str(value).upper() if isinstance(value, bool) else str(value)


def apply(operator: str, *operands: Any) -> Expression:
    """Return the expression of an operator applied to operands; an equal one is the same object."""
    return _interned(operator, *(each if isinstance(each, Expression | str) else constant(each) for each in operands))


@cache
def _interned(operator: str, *operands: Expression | str) -> Expression:
    return Expression(operator, operands)


class Tla:
    """A model's primitives (all_of, any_of, not_, ite) over TLA+ expressions; Python constants are folded."""

    @staticmethod
    def all_of(*conditions: Value) -> Value:
        if any(each is False for each in conditions):
            return False
        left = list(dict.fromkeys(each for each in conditions if each is not True))
        return apply("/\\", *left) if len(left) > 1 else (left[0] if left else True)

    @staticmethod
    def any_of(*conditions: Value) -> Value:
        if any(each is True for each in conditions):
            return True
        left = list(dict.fromkeys(each for each in conditions if each is not False))
        return apply("\\/", *left) if len(left) > 1 else (left[0] if left else False)

    @staticmethod
    def not_(condition: Value) -> Value:
        if not isinstance(condition, Expression):
            return not condition
        if condition.operator == "~":
            return condition.operands[0]
        return apply("#", *condition.operands) if condition.operator == "=" else apply("~", condition)

    @staticmethod
    def ite(condition: Value, then: Value, otherwise: Value) -> Value:
        if not isinstance(condition, Expression):
            return then if condition else otherwise
        are_constants = not isinstance(then, Expression) and not isinstance(otherwise, Expression)
        if then is otherwise or (are_constants and constant(then) == constant(otherwise)):
            return then
        if isinstance(then, bool) or isinstance(otherwise, bool):
            return Tla.any_of(Tla.all_of(condition, then), Tla.all_of(Tla.not_(condition), otherwise))
        return apply("IF", condition, then, otherwise)


class TlaView(View):
    """A view of any state: each slot is a variable, and assignments are kept as expressions."""

    __slots__ = ("values",)
    values: dict[int, Value]

    def __init__(self, system: System) -> None:
        super().__init__(system)
        object.__setattr__(self, "values", {})

    def _read(self, slot: int) -> Value:
        return self.values[slot] if slot in self.values else read(self._system.slots[slot])

    def _write(self, slot: int, value: Value) -> None:
        is_flag = self._system.slots[slot].field.kind == "flag"
        self.values[slot] = value if isinstance(value, Expression) else bool(value) if is_flag else int(value)


def read(slot: Slot) -> Value:
    """Return what stands for a slot: a definition's name for a frozen number, else a constant or (an element of) a variable."""
    if slot.is_constant and (slot.field.kind == "flag" or not slot.field.frozen):
        return bool(slot.low) if slot.field.kind == "flag" else slot.low
    return apply(VARIABLE, slot.name)


def operator_name(step: Step) -> str:
    """Return the name of a step's operator, which TLC prints: the action and its arguments, joined by `_`, with `m1` for -1."""
    return "_".join([step.action.name, *(str(each).replace("-", "m") for each in step.arguments.values())])


def identifier(name: str) -> str:
    """Return a name with `_` in place of `-` and `.`, as an identifier of TLA+."""
    return name.replace("-", "_").replace(".", "_")


def render_module(system: System, properties: Mapping[str, Predicate], head: Sequence[str], name: str) -> str:
    """Return a system, with properties by name, as the text of module `name`; `head` are the first lines of its comment."""
    variables = variable_fields(system)
    names = ", ".join(variables)
    parts = [
        f"{f' MODULE {name} ':-^{WIDTH}}",
        _comment([*head, *_layout(system)]),
        "EXTENDS Integers",
        _wrapped("VARIABLES ", names),
        _wrapped("vars == <<", names + ">>"),
        "\n".join(_definitions(system)),
        _init(system),
        *_actions(system),
    ]
    for each, predicate in properties.items():
        condition = predicate(Tla, TlaView(system))
        body = _Writer([condition])
        parts.append(f"{identifier(each)} ==\n{body.lets()}  {body.text(condition, 2)}")
    return "\n\n".join(each for each in parts if each) + "\n" + "=" * WIDTH + "\n"


def variable_fields(system: System) -> list[str]:
    """Return the names of the fields that are not frozen and can have more than one value, in order: the module's variables."""
    moving = {slot.field.name for slot in system.slots if not slot.is_constant and not slot.field.frozen}
    return [each.name for each in system.fields if each.name in moving]


def _comment(lines: Iterable[str]) -> str:
    wrapped = (part for each in lines for part in textwrap.wrap(each, WIDTH - 3, subsequent_indent="  ") or [""])
    return "\n".join(f"\\* {each}".rstrip() for each in wrapped)


def _wrapped(begin: str, text: str) -> str:
    return textwrap.fill(begin + text, WIDTH, subsequent_indent="    ", break_long_words=False)


def _layout(system: System) -> Iterator[str]:
    constants = [each for each in system.slots if each.is_constant and each.field.kind == "flag" and each.field.frozen]
    for value, what in ((1, "on"), (0, "off")):
        names = ", ".join(each.name for each in constants if each.low == value)
        if names:
            yield f"Switched {what}, and folded away: {names}."


def _definitions(system: System) -> Iterator[str]:
    for each in system.slots:
        if each.field.frozen and each.field.kind != "flag" and not each.index:
            yield f"{each.name} == {each.low}"


def _init(system: System) -> str:
    states = sorted({state for _, state in system.initial_states()})
    shared = [name for name in variable_fields(system) if len({_value(system, name, each) for each in states}) == 1]
    lines = ["Init ==", *(f"  /\\ {name} = {_value(system, name, states[0])}" for name in shared)]
    other = [name for name in variable_fields(system) if name not in shared]
    for number, state in enumerate(states if other else ()):
        begin = "     \\/ " if number else "  /\\ \\/ "
        lines.append(f"{begin}/\\ {other[0]} = {_value(system, other[0], state)}")
        lines += [f"        /\\ {name} = {_value(system, name, state)}" for name in other[1:]]
    return "\n".join(lines)


def _value(system: System, name: str, state: State) -> str:
    """Return a field's value in a state as TLA+: a function for each axis; all elements are written out if any two differ."""
    base, shape = system.places[name]
    is_flag = system.slots[base].field.kind == "flag"
    values = [constant(bool(each) if is_flag else each) for each in state[base : base + prod(shape)]]
    letters = "ijklmn"[: len(shape)]
    text = values[0]
    if len(set(values)) > 1:
        text = _tuple(shape, iter(values)) + "".join(f"[{letter} + 1]" for letter in letters)
    for length, letter in reversed([*zip(shape, letters, strict=True)]):
        text = f"[{letter} \\in 0..{length - 1} |-> {text}]"
    return text


def _tuple(shape: Sequence[int], values: Iterator[str]) -> str:
    return f"<<{', '.join(_tuple(shape[1:], values) for _ in range(shape[0]))}>>" if shape else next(values)


def _actions(system: System) -> Iterator[str]:
    """Yield texts: for each action that is possible a comment, its steps' operators, their disjunction; then `Next`, `Spec`."""
    possible: list[str] = []
    for action, steps in groupby(system.steps, lambda step: step.action):
        operators = {operator_name(step): text for step in steps if (text := _operator(system, step)) is not None}
        if operators:
            yield _comment(_about(action))
            yield from operators.values()
            if [*operators] != [action.name]:
                yield _wrapped(f"{action.name} == ", " \\/ ".join(operators))
            possible.append(action.name)
    yield "\n".join(["Next ==", *(f"  \\/ {name}" for name in possible)])
    yield "Spec == Init /\\ [][Next]_vars"


def _about(action: Action) -> Iterator[str]:
    """Yield the lines of a comment about an action: its name, its parameters in order and its sentence, then its docstring."""
    yield f"{action.name}({', '.join(action.parameters)}): {action.says}" if action.says else action.name
    yield from (f"  {line}" for line in (inspect.getdoc(action.body) or "").splitlines())


def _operator(system: System, step: Step) -> str | None:
    """Return the definition of a step's operator as text; None where a guard clause is found to be false in every state."""
    view = TlaView(system)
    clauses = []
    for clause, condition in step.run(Tla, view):
        if (step.action.name, clause) in system.disabled:
            continue
        if condition is False:
            return None
        clauses.append((clause, condition))
    if system.model.normalise is not None:
        system.model.normalise(Tla, view)
    effect = {slot: value for slot, value in view.values.items() if value is not read(system.slots[slot])}
    body = _Writer([*(each for _, each in clauses), *effect.values()])
    lines = [f"  /\\ {body.text(condition, GUARD)}  \\* {clause}" for clause, condition in clauses]
    lines += [f"  /\\ {each}" for each in _assignments(system, effect, body)]
    return f"{operator_name(step)} ==\n{body.lets()}" + "\n".join(lines)


def _assignments(system: System, effect: Mapping[int, Value], body: _Writer) -> Iterator[str]:
    unchanged = []
    for name in variable_fields(system):
        base, shape = system.places[name]
        slots = [slot for slot in range(base, base + prod(shape)) if slot in effect]
        begin = f"{name}' = "
        if not slots:
            unchanged.append(name)
        elif not shape:
            yield begin + body.operand(effect[base], GUARD + len(begin))
        else:
            begin += f"[{name} EXCEPT "
            places = [re.sub(r"^\w+", "!", system.slots[slot].name) + " = " for slot in slots]
            texts = [body.text(effect[slot], GUARD + len(begin + each)) for slot, each in zip(slots, places, strict=True)]
            between = ",\n" + " " * (GUARD + len(begin))
            yield begin + between.join(map("".join, zip(places, texts, strict=True))) + "]"
    if unchanged:
        yield textwrap.fill(f"UNCHANGED <<{', '.join(unchanged)}>>", WIDTH - GUARD, subsequent_indent=" " * (GUARD + 2))


class _Writer:
    """Writes the expressions of one operator; what is used again, and is not short, has a name in a LET."""

    def __init__(self, values: Iterable[Value]) -> None:
        self._names: dict[int, str] = {}
        self._definitions: list[str] = []
        self._uses: dict[int, int] = {}
        expressions = [each for each in values if isinstance(each, Expression)]
        for each in expressions:
            self._count(each)
        seen: set[int] = set()
        for each in expressions:
            self._define(each, seen)

    def _count(self, value: Expression) -> None:
        self._uses[id(value)] = self._uses.get(id(value), 0) + 1
        if self._uses[id(value)] == 1:
            for each in value.operands:
                if isinstance(each, Expression):
                    self._count(each)

    def _define(self, value: Expression, seen: set[int]) -> None:
        if id(value) in seen:
            return
        seen.add(id(value))
        for each in value.operands:
            if isinstance(each, Expression):
                self._define(each, seen)
        name = f"t{len(self._names) + 1}"
        if self._uses[id(value)] > 1 and len(text := self._written(value, GUARD + len(name) + 5)) > SHORT:
            self._names[id(value)] = name
            self._definitions.append(f"{name} == {text}")

    def lets(self) -> str:
        """Return the definitions, as the beginning of an operator's body; empty without any."""
        if not self._definitions:
            return ""
        return "  LET " + "\n      ".join(self._definitions) + "\n  IN\n"

    def text(self, value: Value, column: int) -> str:
        """Return an expression (or its name, if it has one) as text that begins at a column; several lines if it is long."""
        if not isinstance(value, Expression):
            return constant(value)
        return self._names.get(id(value)) or self._written(value, column)

    def operand(self, value: Expression | Value, column: int, parent: str = "=") -> str:
        """Return an expression as text, in parentheses where it needs them as an operand of `parent`."""
        if isinstance(value, str):
            return value
        is_named = not isinstance(value, Expression) or id(value) in self._names or value.operator == VARIABLE
        if is_named or (value.operator not in LOOSE and parent in LOOSE) or parent == "IF" != value.operator:
            return self.text(value, column)
        return f"({self.text(value, column + 1)})"

    def _written(self, value: Expression, column: int) -> str:
        operator, operands = value.operator, value.operands
        if operator == VARIABLE:
            return str(operands[0])
        flat = self._joined(value, [self.operand(each, -BROAD, operator) for each in operands])
        if column + len(flat) <= WIDTH or operator not in LOOSE:
            return flat
        if operator == "IF":
            condition, then, otherwise = (self.operand(each, column + 5, "IF") for each in operands)
            pad = "\n" + " " * column
            return f"IF   {condition}{pad}THEN {then}{pad}ELSE {otherwise}"
        bullets = [f"{operator} {each if isinstance(each, str) else self.text(each, column + 3)}" for each in operands]
        return ("\n" + " " * column).join(bullets)

    @staticmethod
    def _joined(value: Expression, texts: Sequence[str]) -> str:
        if value.operator == "~":
            return f"~{texts[0]}"
        if value.operator == "IF":
            return f"IF {texts[0]} THEN {texts[1]} ELSE {texts[2]}"
        return f" {value.operator} ".join(texts)
