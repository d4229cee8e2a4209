"""The compiling interpreter: a value is the name of a register in the text of an LLVM program.

One function per step takes the words of a packed state in registers, leaves at the first guard clause that is false, and
stores the words of the successor.  Every number carries the range that its operands allow: a comparison that the ranges
decide is a Python bool, and an assignment is compared with the declared bounds only where its range exceeds them.
The text is the whole meaning of a system: `machine_code` makes it callable, and nothing here needs LLVM.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NoReturn

from neverlost.model.kernel import ModelError, Value
from neverlost.model.system import WORD_BITS, Predicate, Slot, System, View

MOST = 1 << 31
"""Numbers are registers of 32 bits; ranges are compared with that while the text is written."""

GROUP = 24
"""Steps that share a function."""

BUFFERS = "ptr noalias %after, ptr noalias %origins, ptr noalias %fired"
"""What an expansion writes to."""

REFUSED, TAKEN, OUTSIDE = 0, 1, 2
"""What a step's function returns: a clause was false, the successor is stored, a value left its declared bounds."""


class Code:
    """The instructions of one function, written in order; one that was written before is not repeated.

    Blocks follow each other without joining, so whatever was computed earlier may be used later.
    """

    def __init__(self) -> None:
        self.lines: list[str] = []
        self._known: dict[str, str] = {}
        self._blocks = 0

    def value(self, instruction: str) -> str:
        """The register that holds the result of an instruction without side effects."""
        known = self._known.get(instruction)
        if known is None:
            known = self._known[instruction] = f"%v{len(self._known)}"
            self.lines.append(f"  {known} = {instruction}")
        return known

    def do(self, instruction: str) -> None:
        """An instruction for its effect."""
        self.lines.append(f"  {instruction}")

    def require(self, flag: str, otherwise: str) -> None:
        """Go on only where a flag is set; else at the block called `otherwise`."""
        self._blocks += 1
        self.lines += [f"  br i1 {flag}, label %b{self._blocks}, label %{otherwise}", f"b{self._blocks}:"]


class Compiled:
    """A value that is known only when the program runs."""

    __slots__ = ("code", "register")

    def __bool__(self) -> NoReturn:
        raise ModelError("a state value was used as a Python condition: use all_of, any_of, not_ or ite")

    __hash__ = None  # type: ignore[assignment]


class Flag(Compiled):
    """A condition: a register of one bit."""

    __slots__ = ()

    def __init__(self, code: Code, register: str) -> None:
        self.code, self.register = code, register

    def __eq__(self, other: object) -> Value:
        return False if other is None else self._compared("eq", other)

    def __ne__(self, other: object) -> Value:
        return True if other is None else self._compared("ne", other)

    def _compared(self, relation: str, other: object) -> Flag:
        return Flag(self.code, self.code.value(f"icmp {relation} i1 {self.register}, {_flag(other)}"))


class Number(Compiled):
    """A number: a register of 32 bits whose value lies in `low..high`."""

    __slots__ = ("high", "low")

    def __init__(self, code: Code, register: str, low: int, high: int) -> None:
        if low < -MOST or high >= MOST:
            raise ModelError(f"a number may be {low}..{high}; registers hold {-MOST}..{MOST - 1}")
        self.code, self.register, self.low, self.high = code, register, low, high

    def __eq__(self, other: object) -> Value:
        return False if other is None else self._compared("eq", other)

    def __ne__(self, other: object) -> Value:
        return True if other is None else self._compared("ne", other)

    def __lt__(self, other: Value) -> Value:
        return self._compared("slt", other)

    def __le__(self, other: Value) -> Value:
        return self._compared("sle", other)

    def __gt__(self, other: Value) -> Value:
        return self._compared("sgt", other)

    def __ge__(self, other: Value) -> Value:
        return self._compared("sge", other)

    def __add__(self, other: Value) -> Number:
        register, low, high = _number(other)
        return self._computed(f"add i32 {self.register}, {register}", self.low + low, self.high + high)

    __radd__ = __add__

    def __sub__(self, other: Value) -> Number:
        register, low, high = _number(other)
        return self._computed(f"sub i32 {self.register}, {register}", self.low - high, self.high - low)

    def __rsub__(self, other: Value) -> Number:
        register, low, high = _number(other)
        return self._computed(f"sub i32 {register}, {self.register}", low - self.high, high - self.low)

    def _computed(self, instruction: str, low: int, high: int) -> Number:
        return Number(self.code, self.code.value(instruction), low, high)

    def _compared(self, relation: str, other: object) -> Value:
        register, low, high = _number(other)
        decided = DECIDED[relation](self.low, self.high, low, high)
        if decided is not None:
            return decided
        return Flag(self.code, self.code.value(f"icmp {relation} i32 {self.register}, {register}"))


def _ordered(is_sure: bool, is_impossible: bool) -> bool | None:
    return True if is_sure else False if is_impossible else None


def _equal(low: int, high: int, least: int, most: int) -> bool | None:
    return _ordered(low == high == least == most, high < least or low > most)


def _unequal(low: int, high: int, least: int, most: int) -> bool | None:
    return _ordered(high < least or low > most, low == high == least == most)


DECIDED: dict[str, Callable[[int, int, int, int], bool | None]] = {
    "eq": _equal,
    "ne": _unequal,
    "slt": lambda low, high, least, most: _ordered(high < least, low >= most),
    "sle": lambda low, high, least, most: _ordered(high <= least, low > most),
    "sgt": lambda low, high, least, most: _ordered(low > most, high <= least),
    "sge": lambda low, high, least, most: _ordered(low >= most, high < least),
}
"""What the ranges of two numbers say of a comparison; None where they leave it open."""


def _flag(value: object) -> str:
    """The operand that a flag is."""
    if isinstance(value, Flag):
        return value.register
    if isinstance(value, bool):
        return str(int(value))
    raise ModelError(f"a condition was the number {value!r}")


def _number(value: object) -> tuple[str, int, int]:
    """The operand that a number is, and its range."""
    if isinstance(value, Number):
        return value.register, value.low, value.high
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value), value, value
    raise ModelError("arithmetic on a flag: use count() or ite")


class Native:
    """Primitives over registers; Python values fold away."""

    @staticmethod
    def all_of(*conditions: Value) -> Value:
        return _joined("and", True, conditions)

    @staticmethod
    def any_of(*conditions: Value) -> Value:
        return _joined("or", False, conditions)

    @staticmethod
    def not_(condition: Value) -> Value:
        if isinstance(condition, bool):
            return not condition
        return Flag(condition.code, condition.code.value(f"xor i1 {_flag(condition)}, 1"))

    @staticmethod
    def ite(condition: Value, then: Value, otherwise: Value) -> Value:
        if isinstance(condition, bool):
            return then if condition else otherwise
        if then is otherwise:
            return then
        code, chooser = condition.code, _flag(condition)
        if isinstance(then, bool | Flag):
            return Flag(code, code.value(f"select i1 {chooser}, i1 {_flag(then)}, i1 {_flag(otherwise)}"))
        (one, low, high), (other, least, most) = _number(then), _number(otherwise)
        chosen = one if one == other else code.value(f"select i1 {chooser}, i32 {one}, i32 {other}")
        return Number(code, chosen, min(low, least), max(high, most))


def _joined(operation: str, neutral: bool, conditions: Sequence[Value]) -> Value:
    """All of the conditions, or any: `neutral` changes nothing, its opposite decides."""
    if any(each is (not neutral) for each in conditions):
        return not neutral
    joined: Value = neutral
    for each in conditions:
        if each is neutral:
            continue
        if joined is neutral:
            joined = each
        else:
            code: Code = joined.code
            joined = Flag(code, code.value(f"{operation} i1 {_flag(joined)}, {_flag(each)}"))
    return joined


class NativeView(View):
    """A view of a packed state whose words are the arguments `%w0`, `%w1`, ... of a function."""

    __slots__ = ("code", "seen", "writes")
    code: Code
    seen: dict[int, Value]
    writes: dict[int, Value]

    def __init__(self, system: System, code: Code) -> None:
        super().__init__(system)
        keep = object.__setattr__
        keep(self, "code", code)
        keep(self, "seen", {})
        keep(self, "writes", {})

    def _read(self, slot: int) -> Value:
        if slot in self.writes:
            return self.writes[slot]
        if slot not in self.seen:
            self.seen[slot] = unpacked(self.code, self._system.slots[slot])
        return self.seen[slot]

    def _write(self, slot: int, value: Value) -> None:
        self.writes[slot] = value


def unpacked(code: Code, slot: Slot) -> Value:
    """The value of a slot, from its word."""
    is_flag = slot.field.kind == "flag"
    if slot.is_constant:
        return bool(slot.low) if is_flag else slot.low
    shifted = code.value(f"lshr i64 %w{slot.word}, {slot.shift}") if slot.shift else f"%w{slot.word}"
    if is_flag:
        return Flag(code, code.value(f"trunc i64 {shifted} to i1"))
    number = code.value(f"trunc i64 {code.value(f'and i64 {shifted}, {slot.mask}')} to i32")
    return Number(code, code.value(f"add i32 {number}, {slot.low}") if slot.low else number, slot.low, slot.high)


def packed(code: Code, slot: Slot, value: Value) -> str:
    """The bits of a slot that holds a value, at their place in its word."""
    if isinstance(value, int):
        return str((int(value) - slot.low) << slot.shift)
    if isinstance(value, Flag):
        wide = code.value(f"zext i1 {value.register} to i64")
    else:
        offset = code.value(f"sub i32 {value.register}, {slot.low}") if slot.low else value.register
        wide = code.value(f"zext i32 {offset} to i64")
    return code.value(f"shl i64 {wide}, {slot.shift}") if slot.shift else wide


def guarded(code: Code, condition: Value) -> None:
    """Leave for `refused` where a guard clause is false."""
    if condition is not True:
        code.require(_flag(condition), "refused")


def bounded(code: Code, slot: Slot, value: Value) -> None:
    """Leave for `outside` where a value exceeds the declared bounds; nothing is written where its range does not.

    Errors: `ModelError` for a flag in the place of a number, or a number in that of a flag.
    """
    if slot.field.kind == "flag":
        _flag(value)
        return
    register, low, high = _number(value)
    if low < slot.low:
        code.require(code.value(f"icmp sge i32 {register}, {slot.low}"), "outside")
    if high > slot.high:
        code.require(code.value(f"icmp sle i32 {register}, {slot.high}"), "outside")


def step_text(system: System, number: int) -> str | None:
    """The function of one step: `step_N(words, place) -> REFUSED | TAKEN | OUTSIDE`, which stores the successor at `place`.

    None where a guard clause is false in every state, as far as ranges show.
    """
    step, code = system.steps[number], Code()
    view = NativeView(system, code)
    for clause, condition in step.run(Native, view):
        if (step.action.name, clause) in system.disabled:
            continue
        if condition is False:
            return None
        guarded(code, condition)
    if system.model.normalise is not None:
        system.model.normalise(Native, view)
    _store(system, code, view.writes)
    body = "\n".join(code.lines)
    return (
        f"define internal i32 @step_{number}({_words(system, 'i64 ')}, ptr %place) alwaysinline {{\n{body}\n  ret i32 {TAKEN}\n"
        f"refused:\n  ret i32 {REFUSED}\noutside:\n  ret i32 {OUTSIDE}\n}}\n"
    )


def _store(system: System, code: Code, writes: dict[int, Value]) -> None:
    """Write the words of the successor: the old ones without the slots that were assigned, and these."""
    kept = [(1 << 64) - 1] * system.words
    parts: list[list[str]] = [[] for _ in range(system.words)]
    for slot, value in sorted(writes.items()):
        place = system.slots[slot]
        bounded(code, place, value)
        if not place.is_constant:
            kept[place.word] &= ~(place.mask << place.shift)
            parts[place.word].append(packed(code, place, value))
    for word in range(system.words):
        whole = f"%w{word}"
        if parts[word]:
            whole = code.value(f"and i64 {whole}, {kept[word]}")
        for part in parts[word]:
            whole = code.value(f"or i64 {whole}, {part}")
        code.do(f"store i64 {whole}, ptr {code.value(f'getelementptr i64, ptr %place, i64 {word}')}")


def _words(system: System, kind: str) -> str:
    """The words of a state as arguments."""
    return ", ".join(f"{kind}%w{word}" for word in range(system.words))


def property_text(system: System, number: int, predicate: Predicate) -> str:
    """The function of one property: `property_N(words) -> i1`."""
    code = Code()
    found = predicate(Native, NativeView(system, code))
    body = "\n".join([*code.lines, f"  ret i1 {_flag(found)}"])
    return f"define internal i1 @property_{number}({_words(system, 'i64 ')}) {{\n{body}\n}}\n"


def program(system: System, predicates: Sequence[Predicate] = ()) -> str:
    """A system and some properties (64 at most) as a program.

    It offers two functions on `count` rows, one packed state each:

    - `expand(rows, count, after, origins, fired) -> how many`: the successors of every row in order of the steps; in
      `origins` the row's number and, in the upper half, the step's; `fired[step]` is increased.  A step that leaves the
      declared bounds ends it with `-1 - (row | step << 32)`.
    - `judge(rows, count, broken) -> how many`: for each row the properties that it breaks, one bit each, and how many do.
    """
    if len(predicates) > WORD_BITS:
        raise ModelError(f"{len(predicates)} properties in one program; {WORD_BITS} is the most")
    found = {number: step_text(system, number) for number in range(len(system.steps))}
    steps = {number: text for number, text in found.items() if text is not None}
    judges = [property_text(system, number, each) for number, each in enumerate(predicates)]
    return "\n".join([*steps.values(), *judges, expand_text(system, list(steps)), judge_text(system, len(predicates))])


def _loop(signature: str, words: int, body: Sequence[str], total: str) -> str:
    """A function that runs a body for every row `%i` with its words; `%sum` is the total so far, `total` the one after it."""
    loads = [
        line
        for word in range(words)
        for line in (f"  %p{word} = getelementptr i64, ptr %row, i64 {word}", f"  %w{word} = load i64, ptr %p{word}")
    ]
    lines = [
        f"define {signature} {{",
        "entry:",
        "  %any = icmp sgt i64 %count, 0",
        "  br i1 %any, label %loop, label %done",
        "loop:",
        "  %i = phi i64 [0, %entry], [%following, %end]",
        f"  %sum = phi i64 [0, %entry], [{total}, %end]",
        f"  %first = mul i64 %i, {words}",
        "  %row = getelementptr i64, ptr %rows, i64 %first",
        *loads,
        *body,
        "  br label %end",
        "end:",
        "  %following = add i64 %i, 1",
        "  %more = icmp slt i64 %following, %count",
        "  br i1 %more, label %loop, label %done",
        "done:",
        f"  %all = phi i64 [0, %entry], [{total}, %end]",
        "  ret i64 %all",
        "}",
    ]
    return "\n".join(lines) + "\n"


def group_text(system: System, name: str, steps: Sequence[int]) -> str:
    """A function that tries some steps on one row; it returns how many successors there are now, or the code of a failure.

    The steps are inlined: it is a chain of guards, of which a false one jumps to the next step.
    """
    arguments = _words(system, "i64 ")
    lines = [f"define internal i64 @{name}({arguments}, i64 %i, i64 %sum, {BUFFERS}) noinline {{", "entry:"]
    sum_, block = "%sum", "entry"
    for n in steps:
        lines += [
            f"  %at{n} = mul i64 {sum_}, {system.words}",
            f"  %place{n} = getelementptr i64, ptr %after, i64 %at{n}",
            f"  %origin{n} = or i64 %i, {n << 32}",
            f"  %found{n} = call i32 @step_{n}({arguments}, ptr %place{n})",
            f"  switch i32 %found{n}, label %next{n} [i32 {TAKEN}, label %taken{n} i32 {OUTSIDE}, label %outside{n}]",
            f"outside{n}:",
            f"  %code{n} = sub i64 -1, %origin{n}",
            f"  ret i64 %code{n}",
            f"taken{n}:",
            f"  %mark{n} = getelementptr i64, ptr %origins, i64 {sum_}",
            f"  store i64 %origin{n}, ptr %mark{n}",
            f"  %counter{n} = getelementptr i64, ptr %fired, i64 {n}",
            f"  %before{n} = load i64, ptr %counter{n}",
            f"  %one{n} = add i64 %before{n}, 1",
            f"  store i64 %one{n}, ptr %counter{n}",
            f"  %up{n} = add i64 {sum_}, 1",
            f"  br label %next{n}",
            f"next{n}:",
            f"  %sum{n} = phi i64 [{sum_}, %{block}], [%up{n}, %taken{n}]",
        ]
        sum_, block = f"%sum{n}", f"next{n}"
    return "\n".join([*lines, f"  ret i64 {sum_}", "}"]) + "\n"


def expand_text(system: System, steps: Sequence[int]) -> str:
    """The function `expand` of `program`, and the groups of steps that it calls: compiling takes longer than in proportion
    to the length of a function."""
    groups = {f"group_{start}": steps[start : start + GROUP] for start in range(0, len(steps), GROUP)}
    body, total = [], "%sum"
    for name in groups:
        body += [
            f"  %{name} = call i64 @{name}({_words(system, 'i64 ')}, i64 %i, i64 {total}, {BUFFERS})",
            f"  %bad.{name} = icmp slt i64 %{name}, 0",
            f"  br i1 %bad.{name}, label %failed.{name}, label %after.{name}",
            f"failed.{name}:",
            f"  ret i64 %{name}",
            f"after.{name}:",
        ]
        total = f"%{name}"
    parts = [group_text(system, name, members) for name, members in groups.items()]
    return "\n".join([*parts, _loop(f"i64 @expand(ptr noalias %rows, i64 %count, {BUFFERS})", system.words, body, total)])


def judge_text(system: System, properties: int) -> str:
    """The function `judge` of `program`."""
    arguments = _words(system, "i64 ")
    body, mask = [], "0"
    for n in range(properties):
        body += [
            f"  %holds{n} = call i1 @property_{n}({arguments})",
            f"  %broken{n} = xor i1 %holds{n}, 1",
            f"  %wide{n} = zext i1 %broken{n} to i64",
            f"  %bit{n} = shl i64 %wide{n}, {n}",
            f"  %mask{n} = or i64 {mask}, %bit{n}",
        ]
        mask = f"%mask{n}"
    body += [
        "  %mark = getelementptr i64, ptr %broken, i64 %i",
        f"  store i64 {mask}, ptr %mark",
        f"  %is.broken = icmp ne i64 {mask}, 0",
        "  %one = zext i1 %is.broken to i64",
        "  %total = add i64 %sum, %one",
    ]
    return _loop("i64 @judge(ptr noalias %rows, i64 %count, ptr noalias %broken)", system.words, body, "%total")
