"""Whole programs of the compiling interpreter: the successors of packed states, and the properties that they break.

A program asks the guards of a step in `LANES` states at once, and then takes the step in those that meet them all.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from neverlost.model.interpreters import emitted_code as native
from neverlost.model.interpreters.emitted_code import LANES, Code, Native, NativeView
from neverlost.model.kernel import ModelError, Value
from neverlost.model.system import WORD_BITS, Predicate, System

GROUP = 96
"""Steps whose guards are asked in one function; what several of them ask is computed once."""

BUFFERS = "ptr noalias %after, ptr noalias %origins, ptr noalias %fired"
"""What an expansion writes to."""

BUFFERS_GIVEN = BUFFERS.replace("noalias ", "")

TAKEN, OUTSIDE = 0, 1
"""What a step's function returns: the successor is stored, or a value left its declared bounds."""


def run_guard(system: System, number: int, view: NativeView) -> Iterator[Value]:
    """Yield the conditions of a step's guard that are not disabled; after the last the view has what the step writes."""
    step = system.steps[number]
    for clause, condition in step.run(Native, view):
        if (step.action.name, clause) not in system.disabled:
            yield condition


def emit_step(system: System, number: int) -> str | None:
    """Return a step as the text of an LLVM function: `step_N(words, place) -> TAKEN | OUTSIDE` stores the successor at `place`.

    The function does not ask the guard.  Return None where the ranges show that a guard clause is false in every state.
    """
    code = Code()
    view = NativeView(system, code)
    if any(condition is False for condition in run_guard(system, number, view)):
        return None
    if system.model.normalise is not None:
        system.model.normalise(Native, view)
    _store(system, code, view.writes)
    body = "\n".join(code.list_needed())
    words = _list_words(system, "i64 ")
    return (
        f"define internal i32 @step_{number}({words}, ptr %place) alwaysinline {{\n{body}\n  ret i32 {TAKEN}\n"
        f"outside:\n  ret i32 {OUTSIDE}\n}}\n"
    )


def _store(system: System, code: Code, writes: dict[int, Value]) -> None:
    """Emit the instructions that check the assigned values' bounds and store the successor: the old words with these values."""
    kept = [(1 << 64) - 1] * system.words
    parts: list[list[str]] = [[] for _ in range(system.words)]
    for slot, value in sorted(writes.items()):
        place = system.slots[slot]
        native.emit_bounds_check(code, place, value)
        if not place.is_constant:
            kept[place.word] &= ~(place.mask << place.shift)
            parts[place.word].append(native.emit_pack(code, place, value))
    for word in range(system.words):
        whole = f"%w{word}"
        if parts[word]:
            whole = code.value(f"and i64 {whole}, {kept[word]}")
        for part in parts[word]:
            whole = code.value(f"or i64 {whole}, {part}")
        code.do(f"store i64 {whole}, ptr {code.value(f'getelementptr i64, ptr %place, i64 {word}')}")


def _list_words(system: System, kind: str) -> str:
    return ", ".join(f"{kind}%w{word}" for word in range(system.words))


def emit_property(system: System, number: int, predicate: Predicate) -> str:
    """Return a property as the text of an LLVM function: `property_N(words) -> i1`, 1 where it holds."""
    code = Code()
    found = predicate(Native, NativeView(system, code))
    body = "\n".join([*code.lines, f"  ret i1 {native.emit_flag(code, found)}"])
    return f"define internal i1 @property_{number}({_list_words(system, 'i64 ')}) {{\n{body}\n}}\n"


def emit_system(system: System, predicates: Sequence[Predicate] = ()) -> str:
    """Return a system and some properties as the text of an LLVM program.  Errors: `ModelError` for more than 64 properties.

    It offers two functions on `count` rows, one packed state each:

    - `expand(rows, count, after, origins, fired) -> how many`: the successors of all rows, in `after`; for each of them,
      `row | step << 32` in `origins`, and 1 added to `fired[step]`.  A step that leaves the declared bounds ends it with
      `-1 - (row | step << 32)`.
    - `judge(rows, count, broken) -> how many rows break any`: in `broken` a word for each row, bit N set if it breaks N.
    """
    if len(predicates) > WORD_BITS:
        raise ModelError(f"{len(predicates)} properties in one program; {WORD_BITS} is the most")
    found = {number: emit_step(system, number) for number in range(len(system.steps))}
    steps = {number: text for number, text in found.items() if text is not None}
    judges = [emit_property(system, number, each) for number, each in enumerate(predicates)]
    return "\n".join([*steps.values(), *judges, emit_expand(system, list(steps)), emit_judge(system, len(predicates))])


def _emit_loads(words: int) -> list[str]:
    """Return the instructions that load the words of a state, so many, from the pointer `%row` into `%w0`, `%w1`, ..."""
    return [
        line
        for word in range(words)
        for line in (f"  %p{word} = getelementptr i64, ptr %row, i64 {word}", f"  %w{word} = load i64, ptr %p{word}")
    ]


def format_loop(
    signature: str,
    body: Sequence[str],
    result: Sequence[str],
    *,
    any_: str = "sgt i64 %count, 0",
    span: tuple[str, str] = ("0", "%count"),
    values: Sequence[tuple[str, str, str, str, str]] = (),
    back: str = "end",
    before: Sequence[str] = (),
) -> str:
    """Return the text of an LLVM function: `before`, then `body` for every `%i` of `span` (without its end), then `result`.

    The body is not run at all where the comparison `any_` is false.  `values` are carried from turn to turn: name, kind, first
    value, next value, and the name after the last turn.  A turn goes back from the block `back`, in which the body ends.
    """
    phis = [f"phi {kind} [{first}, %entry], [{then}, %{back}]" for _, kind, first, then, _ in values]
    lines = [
        f"define {signature} {{",
        "entry:",
        *before,
        f"  %any = icmp {any_}",
        "  br i1 %any, label %loop, label %done",
        "loop:",
        f"  %i = phi i64 [{span[0]}, %entry], [%following, %{back}]",
        *[f"  %{name} = {phi}" for (name, *_), phi in zip(values, phis, strict=True)],
        *body,
        "  %following = add i64 %i, 1",
        f"  %more = icmp slt i64 %following, {span[1]}",
        "  br i1 %more, label %loop, label %done",
        "done:",
        *[f"  %{last} = {phi}" for (*_, last), phi in zip(values, phis, strict=True)],
        *result,
        "}",
    ]
    return "\n".join(lines) + "\n"


END = ("  br label %end", "end:")
"""How a body ends that goes on to the block `end`."""


def carry_total(total: str) -> tuple[str, str, str, str, str]:
    """Return a sum for `values` of `format_loop`: 0 at first, `%sum` in a turn, `total` after it, `%all` after the last."""
    return "sum", "i64", "0", total, "all"


def emit_judge(system: System, properties: int) -> str:
    """Return the text of the LLVM function `judge` that `emit_system` describes, for so many properties."""
    arguments = _list_words(system, "i64 ")
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
    row = [
        f"  %first = mul i64 %i, {system.words}",
        "  %row = getelementptr i64, ptr %rows, i64 %first",
        *_emit_loads(system.words),
    ]
    signature = "i64 @judge(ptr noalias %rows, i64 %count, ptr noalias %broken)"
    return format_loop(signature, [*row, *body, *END], ["  ret i64 %all"], values=[carry_total("%total")])


def emit_guards(system: System, name: str, steps: Sequence[int]) -> str:
    """Return the text of the LLVM function `name(words, masks)`, which asks the guards of some steps in `LANES` states at once.

    `words` has the first words of all the states, then the second ones; `masks[step]` gets a bit for each state, set where
    the step can be taken.
    """
    code, kind = Code(LANES), f"<{LANES} x i64>"
    lines = []
    for word in range(system.words):
        lines += [
            f"  %q{word} = getelementptr {kind}, ptr %words, i64 {word}",
            f"  %w{word} = load {kind}, ptr %q{word}, align 64",
        ]
    for n in steps:
        met = Native.all_of(*run_guard(system, n, NativeView(system, code)))
        mask = code.value(f"bitcast {code.kind(1)} {native.emit_flag(code, met)} to i{LANES}")
        code.do(f"store i{LANES} {mask}, ptr {code.value(f'getelementptr i{LANES}, ptr %masks, i64 {n}')}")
    body = "\n".join([*lines, *code.lines])
    return f"define internal void @{name}(ptr noalias %words, ptr noalias %masks) noinline {{\n{body}\n  ret void\n}}\n"


def emit_take(system: System, number: int) -> str:
    """Return the text of the LLVM function `take_N`, which takes step N in every state of a mask and stores the successors.

    The function returns how many successors are stored by then, earlier steps' too, or the negative number `expand` ends with.
    """
    return (
        "\n".join(
            [
                f"define internal i64 @take_{number}(i64 %mask, ptr noalias %rows, i64 %base, i64 %sum, {BUFFERS}) noinline {{",
                "entry:",
                f"  %counter = getelementptr i64, ptr %fired, i64 {number}",
                "  %before = load i64, ptr %counter",
                f"  %many = call i64 @llvm.ctpop.i{LANES}(i{LANES} %mask)",
                "  %fires = add i64 %before, %many",
                "  store i64 %fires, ptr %counter",
                "  br label %loop",
                "loop:",
                f"  %left = phi i{LANES} [%mask, %entry], [%less, %next]",
                "  %at = phi i64 [%sum, %entry], [%up, %next]",
                f"  %lane = call i64 @llvm.cttz.i{LANES}(i{LANES} %left, i1 true)",
                f"  %one = sub i{LANES} %left, 1",
                f"  %less = and i{LANES} %left, %one",
                "  %i = add i64 %base, %lane",
                f"  %first = mul i64 %i, {system.words}",
                "  %row = getelementptr i64, ptr %rows, i64 %first",
                *_emit_loads(system.words),
                f"  %to = mul i64 %at, {system.words}",
                "  %place = getelementptr i64, ptr %after, i64 %to",
                f"  %origin = or i64 %i, {number << 32}",
                f"  %found = call i32 @step_{number}({_list_words(system, 'i64 ')}, ptr %place)",
                f"  %is.outside = icmp eq i32 %found, {OUTSIDE}",
                "  br i1 %is.outside, label %failed, label %next",
                "next:",
                "  %mark = getelementptr i64, ptr %origins, i64 %at",
                "  store i64 %origin, ptr %mark",
                "  %up = add i64 %at, 1",
                f"  %is.last = icmp eq i{LANES} %less, 0",
                "  br i1 %is.last, label %done, label %loop",
                "done:",
                "  ret i64 %up",
                "failed:",
                "  %code = sub i64 -1, %origin",
                "  ret i64 %code",
                "}",
            ]
        )
        + "\n"
    )


def emit_expand(system: System, steps: Sequence[int]) -> str:
    """Return the text of the LLVM function `expand` that `emit_system` describes and of what it calls, but not of `step_N`."""
    groups = {f"guards_{start}": steps[start : start + GROUP] for start in range(0, len(steps), GROUP)}
    parts = [emit_guards(system, name, members) for name, members in groups.items()]
    parts += [emit_take(system, n) for n in steps]
    room = f"[{system.words * LANES} x i64]"
    lines = [
        f"declare i64 @llvm.ctpop.i{LANES}(i{LANES})",
        f"declare i64 @llvm.cttz.i{LANES}(i{LANES}, i1)",
        "declare void @llvm.memset.p0.i64(ptr, i8, i64, i1)",
        f"define i64 @expand(ptr noalias %rows, i64 %count, {BUFFERS}) {{",
        "entry:",
        f"  %words = alloca {room}, align 64",
        f"  %masks = alloca [{len(system.steps)} x i{LANES}], align 64",
        f"  call void @llvm.memset.p0.i64(ptr align 64 %words, i8 0, i64 {system.words * LANES * 8}, i1 false)",
        "  %any = icmp sgt i64 %count, 0",
        "  br i1 %any, label %block, label %done",
        "block:",
        "  %base = phi i64 [0, %entry], [%following, %end]",
        "  %sum = phi i64 [0, %entry], [%total, %end]",
        "  %left = sub i64 %count, %base",
        f"  %is.whole = icmp sge i64 %left, {LANES}",
        f"  %lanes = select i1 %is.whole, i64 {LANES}, i64 %left",
        "  %absent = sub i64 0, %lanes",
        f"  %over = and i64 %absent, {LANES - 1}",
        f"  %valid = lshr i{LANES} -1, %over",
        "  br label %copy",
        "copy:",
        "  %lane = phi i64 [0, %block], [%lane.next, %copy]",
        "  %i = add i64 %base, %lane",
        f"  %first = mul i64 %i, {system.words}",
    ]
    for word in range(system.words):
        lines += [
            f"  %n{word} = add i64 %first, {word}",
            f"  %from{word} = getelementptr i64, ptr %rows, i64 %n{word}",
            f"  %value{word} = load i64, ptr %from{word}",
            f"  %m{word} = add i64 %lane, {word * LANES}",
            f"  %to{word} = getelementptr i64, ptr %words, i64 %m{word}",
            f"  store i64 %value{word}, ptr %to{word}",
        ]
    lines += [
        "  %lane.next = add i64 %lane, 1",
        "  %is.more = icmp slt i64 %lane.next, %lanes",
        "  br i1 %is.more, label %copy, label %ask",
        "ask:",
        *[f"  call void @{name}(ptr %words, ptr %masks)" for name in groups],
        "  br label %step.0",
    ]
    sum_, block = "%sum", "ask"
    for place, n in enumerate(steps):
        lines += [
            f"step.{place}:",
            f"  %sum.{place} = phi i64 [{sum_}, %{block}]" + (f", [%up.{place - 1}, %taken.{place - 1}]" if place else ""),
            f"  %mask.at.{n} = getelementptr i{LANES}, ptr %masks, i64 {n}",
            f"  %met.{n} = load i{LANES}, ptr %mask.at.{n}",
            f"  %mask.{n} = and i{LANES} %met.{n}, %valid",
            f"  %none.{n} = icmp eq i{LANES} %mask.{n}, 0",
            f"  br i1 %none.{n}, label %step.{place + 1}, label %take.{place}",
            f"take.{place}:",
            f"  %up.{place} = call i64 @take_{n}(i64 %mask.{n}, ptr %rows, i64 %base, i64 %sum.{place}, {BUFFERS_GIVEN})",
            f"  %bad.{place} = icmp slt i64 %up.{place}, 0",
            f"  br i1 %bad.{place}, label %failed.{place}, label %taken.{place}",
            f"failed.{place}:",
            f"  ret i64 %up.{place}",
            f"taken.{place}:",
            f"  br label %step.{place + 1}",
        ]
        sum_, block = f"%sum.{place}", f"step.{place}"
    last = len(steps)
    lines += [
        f"step.{last}:",
        f"  %total = phi i64 [{sum_}, %{block}]" + (f", [%up.{last - 1}, %taken.{last - 1}]" if steps else ""),
        "  br label %end",
        "end:",
        f"  %following = add i64 %base, {LANES}",
        "  %more = icmp slt i64 %following, %count",
        "  br i1 %more, label %block, label %done",
        "done:",
        "  %all = phi i64 [0, %entry], [%total, %end]",
        "  ret i64 %all",
        "}",
    ]
    return "\n".join([*parts, *lines]) + "\n"
