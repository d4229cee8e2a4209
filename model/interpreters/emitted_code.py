"""The compiling interpreter: a value is the name of a register in the text of an LLVM program.

A register holds a value of one state, or of `LANES` states side by side.  Every number carries the range that its operands
allow: a comparison that the ranges decide is a Python bool, and an assignment is compared with the declared bounds only
where its range exceeds them.  `compiled_program` makes whole programs of it; nothing here needs LLVM.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from neverlost.model.kernel import ModelError, StateValue, Value
from neverlost.model.system import Slot, System, View

MOST = 1 << 31
"""Numbers are registers of 32 bits at most; ranges are compared with that while the text is written."""

LANES = 64
"""States whose guards are asked at once: a flag of each is one bit of a word."""

REGISTER = re.compile(r"%v\d+")
"""The name of a result."""

WIDTHS = (8, 16, 32)
"""Bits of a number, where many states share a register."""


class Code:
    """The instructions of one function, written in order; what `value` has written before it does not write again.

    Blocks follow each other without joining, so whatever was computed earlier may be used later.  `lanes`: a register holds
    the values of so many states.
    """

    def __init__(self, lanes: int = 1) -> None:
        self.lanes = lanes
        self.lines: list[str] = []
        self._known: dict[str, str] = {}
        self._blocks = 0

    def value(self, instruction: str) -> str:
        """Return the register with the result of an instruction without side effects, which is written unless it was before."""
        known = self._known.get(instruction)
        if known is None:
            known = self._known[instruction] = f"%v{len(self._known)}"
            self.lines.append(f"  {known} = {instruction}")
        return known

    def kind(self, bits: int) -> str:
        """Return LLVM's type for one value of `bits` bits, or for a vector of them if several states share a register."""
        return f"i{bits}" if self.lanes == 1 else f"<{self.lanes} x i{bits}>"

    def bits(self, low: int, high: int) -> int:
        """Return the width of a number in this range: 32, or the least of `WIDTHS` that holds it where many share a register.

        Errors: `ModelError` where no register holds it.
        """
        if low < -MOST or high >= MOST:
            raise ModelError(f"a number may be {low}..{high}; registers hold {-MOST}..{MOST - 1}")
        return (
            WIDTHS[-1] if self.lanes == 1 else next(bits for bits in WIDTHS if -1 << bits - 1 <= low and high < 1 << bits - 1)
        )

    def constant(self, value: int, bits: int) -> str:
        """Return a number or flag that is the same in every state, as an operand of `bits` bits."""
        return str(value) if self.lanes == 1 else f"splat (i{bits} {value})"

    def list_needed(self) -> list[str]:
        """Return the instructions in order, without those whose result is not used: of a step, what its guard alone needs."""
        asked, found = set[str](), []
        for line in reversed(self.lines):
            result, is_value, rest = line.partition(" = ")
            if not is_value or result.strip() in asked:
                asked.update(REGISTER.findall(rest if is_value else line))
                found.append(line)
        return found[::-1]

    def do(self, instruction: str) -> None:
        """Write an instruction that has no result and is there for its effect, each time anew."""
        self.lines.append(f"  {instruction}")

    def require(self, flag: str) -> None:
        """Write a branch: the function goes on only where a flag is set, else at the block called `outside`."""
        self._blocks += 1
        self.lines += [f"  br i1 {flag}, label %b{self._blocks}, label %outside", f"b{self._blocks}:"]


class Compiled(StateValue):
    """A value that is known only when the program runs."""

    __slots__ = ("code", "register")


class Flag(Compiled):
    """A condition: a register of one bit a state."""

    __slots__ = ()

    def __init__(self, code: Code, register: str) -> None:
        self.code, self.register = code, register

    def __eq__(self, other: object) -> Value:
        return False if other is None else self._compare("eq", other)

    def __ne__(self, other: object) -> Value:
        return True if other is None else self._compare("ne", other)

    def _compare(self, relation: str, other: object) -> Flag:
        code = self.code
        return Flag(code, code.value(f"icmp {relation} {code.kind(1)} {self.register}, {emit_flag(code, other)}"))


class Number(Compiled):
    """A number whose value lies in `low..high`: a register of `bits` bits a state."""

    __slots__ = ("bits", "high", "low")

    def __init__(self, code: Code, register: str, low: int, high: int, bits: int = WIDTHS[-1]) -> None:
        self.code, self.register, self.low, self.high, self.bits = code, register, low, high, bits

    def __eq__(self, other: object) -> Value:
        return False if other is None else self._compare("eq", other)

    def __ne__(self, other: object) -> Value:
        return True if other is None else self._compare("ne", other)

    def __lt__(self, other: Value) -> Value:
        return self._compare("slt", other)

    def __le__(self, other: Value) -> Value:
        return self._compare("sle", other)

    def __gt__(self, other: Value) -> Value:
        return self._compare("sgt", other)

    def __ge__(self, other: Value) -> Value:
        return self._compare("sge", other)

    def __add__(self, other: Value) -> Number:
        low, high = _get_range(other)
        return self._compute("add", self, other, self.low + low, self.high + high)

    __radd__ = __add__

    def __sub__(self, other: Value) -> Number:
        low, high = _get_range(other)
        return self._compute("sub", self, other, self.low - high, self.high - low)

    def __rsub__(self, other: Value) -> Number:
        low, high = _get_range(other)
        return self._compute("sub", other, self, low - self.high, high - self.low)

    def _compute(self, operation: str, left: Value, right: Value, low: int, high: int) -> Number:
        bits, one, other = _emit_alike(self.code, left, right, low, high)
        return Number(self.code, self.code.value(f"{operation} {self.code.kind(bits)} {one}, {other}"), low, high, bits)

    def _compare(self, relation: str, other: object) -> Value:
        decided = DECIDED[relation](self.low, self.high, *_get_range(other))
        if decided is not None:
            return decided
        bits, one, another = _emit_alike(self.code, self, other, self.low, self.high)
        return Flag(self.code, self.code.value(f"icmp {relation} {self.code.kind(bits)} {one}, {another}"))


def _decide(is_sure: bool, is_impossible: bool) -> bool | None:
    return True if is_sure else False if is_impossible else None


def _decide_equal(low: int, high: int, least: int, most: int) -> bool | None:
    return _decide(low == high == least == most, high < least or low > most)


def _decide_unequal(low: int, high: int, least: int, most: int) -> bool | None:
    return _decide(high < least or low > most, low == high == least == most)


DECIDED: dict[str, Callable[[int, int, int, int], bool | None]] = {
    "eq": _decide_equal,
    "ne": _decide_unequal,
    "slt": lambda low, high, least, most: _decide(high < least, low >= most),
    "sle": lambda low, high, least, most: _decide(high <= least, low > most),
    "sgt": lambda low, high, least, most: _decide(low > most, high <= least),
    "sge": lambda low, high, least, most: _decide(low >= most, high < least),
}
"""What the ranges of two numbers say of a comparison; None where they leave it open."""


def emit_flag(code: Code, value: object) -> str:
    if isinstance(value, Flag):
        return value.register
    if isinstance(value, bool):
        return code.constant(int(value), 1)
    raise ModelError(f"a condition was the number {value!r}")


def _get_range(value: object) -> tuple[int, int]:
    """Return the least and the greatest value that a number can have.  Errors: `ModelError` for a flag."""
    if isinstance(value, Number):
        return value.low, value.high
    if isinstance(value, int) and not isinstance(value, bool):
        return value, value
    raise ModelError("arithmetic on a flag: use count() or ite")


def _emit_number(code: Code, value: object, bits: int) -> str:
    """Return a number as an operand of `bits` bits: a constant, its register, or its register extended to that width."""
    if not isinstance(value, Number):
        return code.constant(_get_range(value)[0], bits)
    if value.bits == bits:
        return value.register
    return code.value(f"sext {code.kind(value.bits)} {value.register} to {code.kind(bits)}")


def _emit_alike(code: Code, left: object, right: object, low: int, high: int) -> tuple[int, str, str]:
    """Return a width that holds two numbers and all from `low` to `high`, and the two as operands of that width."""
    lows, highs = zip(_get_range(left), _get_range(right), (low, high), strict=True)
    bits = code.bits(min(lows), max(highs))
    return bits, _emit_number(code, left, bits), _emit_number(code, right, bits)


class Native:
    """A model's primitives (all_of, any_of, not_, ite) over registers of an LLVM program; Python constants are folded."""

    @staticmethod
    def all_of(*conditions: Value) -> Value:
        return _emit_join("and", True, conditions)

    @staticmethod
    def any_of(*conditions: Value) -> Value:
        return _emit_join("or", False, conditions)

    @staticmethod
    def not_(condition: Value) -> Value:
        if isinstance(condition, bool):
            return not condition
        code = condition.code
        return Flag(code, code.value(f"xor {code.kind(1)} {emit_flag(code, condition)}, {code.constant(1, 1)}"))

    @staticmethod
    def ite(condition: Value, then: Value, otherwise: Value) -> Value:
        if isinstance(condition, bool):
            return then if condition else otherwise
        if then is otherwise:
            return then
        code = condition.code
        chooser = f"select {code.kind(1)} {emit_flag(code, condition)}"
        if isinstance(then, bool | Flag):
            one, other = emit_flag(code, then), emit_flag(code, otherwise)
            return Flag(code, code.value(f"{chooser}, {code.kind(1)} {one}, {code.kind(1)} {other}"))
        (low, high), (least, most) = _get_range(then), _get_range(otherwise)
        low, high = min(low, least), max(high, most)
        bits, one, other = _emit_alike(code, then, otherwise, low, high)
        chosen = one if one == other else code.value(f"{chooser}, {code.kind(bits)} {one}, {code.kind(bits)} {other}")
        return Number(code, chosen, low, high, bits)


def _emit_join(operation: str, neutral: bool, conditions: Sequence[Value]) -> Value:
    """Return the conditions joined by "and" or by "or": a constant that is `neutral` changes nothing, its opposite decides."""
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
            joined = Flag(code, code.value(f"{operation} {code.kind(1)} {emit_flag(code, joined)}, {emit_flag(code, each)}"))
    return joined


class NativeView(View):
    """A view of packed states whose words are the registers `%w0`, `%w1`, ... of a function; assignments go to `writes`."""

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
            self.seen[slot] = emit_unpack(self.code, self._system.slots[slot])
        return self.seen[slot]

    def _write(self, slot: int, value: Value) -> None:
        self.writes[slot] = value


def emit_unpack(code: Code, slot: Slot) -> Value:
    """Write what reads a slot from its word, and return the value; a Python constant if it is the same in every state."""
    is_flag = slot.field.kind == "flag"
    if slot.is_constant:
        return bool(slot.low) if is_flag else slot.low
    if code.lanes > 1:
        return _emit_unpack_lanes(code, slot)
    shifted = code.value(f"lshr i64 %w{slot.word}, {slot.shift}") if slot.shift else f"%w{slot.word}"
    if is_flag:
        return Flag(code, code.value(f"trunc i64 {shifted} to i1"))
    number = code.value(f"trunc i64 {code.value(f'and i64 {shifted}, {slot.mask}')} to i32")
    return Number(code, code.value(f"add i32 {number}, {slot.low}") if slot.low else number, slot.low, slot.high)


def _emit_unpack_lanes(code: Code, slot: Slot) -> Value:
    """Write what reads a slot of many states, from one byte of its word if it lies in one, else from all; return the value."""
    byte, shift = divmod(slot.shift, 8)
    bits = code.bits(min(0, slot.low), max(slot.mask, slot.high, slot.mask + slot.low))
    is_inside = bits == 8 and shift + slot.bits <= 8
    begin, shift = (8 * byte, shift) if is_inside else (slot.shift, 0)
    word, kind = f"%w{slot.word}", code.kind(bits)
    whole = code.value(f"lshr {code.kind(64)} {word}, {code.constant(begin, 64)}") if begin else word
    value = code.value(f"trunc {code.kind(64)} {whole} to {kind}")
    if slot.field.kind == "flag":
        bit = code.value(f"and {kind} {value}, {code.constant(1 << shift, bits)}")
        return Flag(code, code.value(f"icmp ne {kind} {bit}, {code.constant(0, bits)}"))
    if shift:
        value = code.value(f"lshr {kind} {value}, {code.constant(shift, bits)}")
    value = code.value(f"and {kind} {value}, {code.constant(slot.mask, bits)}")
    if slot.low:
        value = code.value(f"add {kind} {value}, {code.constant(slot.low, bits)}")
    return Number(code, value, slot.low, slot.high, bits)


def emit_pack(code: Code, slot: Slot, value: Value) -> str:
    """Return an operand of 64 bits (of one state) with a value at the slot's place in its word, and zeros elsewhere."""
    if isinstance(value, int):
        return str((int(value) - slot.low) << slot.shift)
    if isinstance(value, Flag):
        wide = code.value(f"zext i1 {value.register} to i64")
    else:
        offset = code.value(f"sub i32 {value.register}, {slot.low}") if slot.low else value.register
        wide = code.value(f"zext i32 {offset} to i64")
    return code.value(f"shl i64 {wide}, {slot.shift}") if slot.shift else wide


def emit_bounds_check(code: Code, slot: Slot, value: Value) -> None:
    """Write that the function leaves for `outside` where a value exceeds the slot's bounds; nothing where its range does not.

    Errors: `ModelError` for a flag in the place of a number, or a number in that of a flag.
    """
    if slot.field.kind == "flag":
        emit_flag(code, value)
        return
    (low, high), register = _get_range(value), _emit_number(code, value, WIDTHS[-1])
    if low < slot.low:
        code.require(code.value(f"icmp sge i32 {register}, {slot.low}"))
    if high > slot.high:
        code.require(code.value(f"icmp sle i32 {register}, {slot.high}"))
