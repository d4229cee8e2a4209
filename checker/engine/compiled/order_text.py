"""The text of ascending order, for LLVM: sorting rows by their words, striking out known ones, and what differs of neighbours.

Sorting is by one digit at a time: rows are counted by it, and then moved to where their digit begins in another array.
"""

from __future__ import annotations

from collections.abc import Sequence

from neverlost.checker.engine.compiled.table_text import Text
from neverlost.model.interpreters.compiled_program import format_loop
from neverlost.model.interpreters.machine_code import COUNT, POINTER

DIGIT = 8
"""Bits that rows are sorted by at once."""

ORDER_SIGNATURES = {
    "tally": (POINTER, COUNT, POINTER, COUNT, COUNT),
    "arrange": (POINTER, COUNT, POINTER, POINTER, COUNT, COUNT),
    "sort": (POINTER, COUNT, POINTER, POINTER, POINTER, COUNT),
    "differ": (POINTER, COUNT, POINTER),
    "unique": (POINTER, COUNT),
    "strike": (POINTER, COUNT, COUNT, POINTER, POINTER, COUNT),
    "split": (POINTER, COUNT, POINTER, POINTER),
    "join": (POINTER, COUNT, POINTER, POINTER, POINTER),
}
"""The types of the arguments of each compiled function."""


def emit_order_functions(words: int) -> str:
    """Return the text of all functions that sort rows, or work on ascending ones."""
    texts = [emit_tally, emit_arrange, emit_sort, emit_differ, emit_unique, emit_strike, emit_split, emit_join]
    return "\n".join(each(words) for each in texts)


def _emit_digit(text: Text, words: int) -> str:
    """Emit the digit at `%word`, `%shift` of the row `%i`."""
    place = text.op("add", text.op("mul", "%i", words), "%word")
    return text.low(text.op("lshr", text.load("%rows", place), "%shift"), DIGIT)


def _format_loop(
    signature: str,
    text: Text,
    result: Sequence[str],
    values: Sequence[tuple[str, str, str, str]] = (),
    before: Sequence[str] = (),
) -> str:
    """Return a function that runs a body for every `%i` from 0 below `%count`; `%NAME.end` is a value after the last turn."""
    carried = [(*each, f"{each[0]}.end") for each in values]
    return format_loop(signature, text.lines, result, values=carried, back="loop", before=before)


def emit_tally(words: int) -> str:
    """Emit `tally(rows, count, places, word, shift)`: it adds to each digit's number in `places` how many rows have it."""
    text = Text("c")
    digit = _emit_digit(text, words)
    text.count_up("%places", digit, text.load("%places", digit))
    return _format_loop(
        "i64 @tally(ptr noalias %rows, i64 %count, ptr noalias %places, i64 %word, i64 %shift)", text, ["  ret i64 0"]
    )


def emit_arrange(words: int) -> str:
    """Emit `arrange(rows, count, others, places, word, shift)`: it copies each row to `others`, where its digit's number in
    `places` says, and adds 1 to that number."""
    text = Text("m")
    digit = _emit_digit(text, words)
    place = text.load("%places", digit)
    text.count_up("%places", digit, place)
    source, goal = text.op("mul", "%i", words), text.op("mul", place, words)
    for word in range(words):
        text.store(text.load("%rows", text.op("add", source, word)), "%others", text.op("add", goal, word))
    places = "ptr noalias %others, ptr noalias %places, i64 %word, i64 %shift"
    return _format_loop(f"i64 @arrange(ptr noalias %rows, i64 %count, {places})", text, ["  ret i64 0"])


def emit_sort(words: int) -> str:
    """Emit `sort(rows, count, others, places, digits, many) -> 1 if they end in others`: sorts, least significant digit first.

    `digits` are pairs of a word and a shift; `places` is room for as many numbers as a digit has values.
    """
    del words
    each, sums, swap = Text("e"), Text("p"), Text("w")
    first = each.op("mul", "%d", 2)
    word, shift = each.load("%digits", first), each.load("%digits", each.op("add", first, 1))
    each.do(f"call void @llvm.memset.p0.i64(ptr %places, i8 0, i64 {8 << DIGIT}, i1 false)")
    each.do(f"call i64 @tally(ptr %from, i64 %count, ptr %places, i64 {word}, i64 {shift})")
    held = sums.load("%places", "%v")
    sums.store("%sum", "%places", "%v")
    swap.do(f"call i64 @arrange(ptr %from, i64 %count, ptr %to, ptr %places, i64 {word}, i64 {shift})")
    return "\n".join(
        [
            "declare void @llvm.memset.p0.i64(ptr, i8, i64, i1)",
            "define i64 @sort(ptr %rows, i64 %count, ptr %others, ptr %places, ptr %digits, i64 %many) {",
            "entry:",
            "  br label %digit",
            "digit:",
            "  %d = phi i64 [0, %entry], [%d.next, %placed]",
            "  %from = phi ptr [%rows, %entry], [%to, %placed]",
            "  %to = phi ptr [%others, %entry], [%from, %placed]",
            "  %left = icmp slt i64 %d, %many",
            "  br i1 %left, label %counting, label %done",
            "counting:",
            *each.lines,
            "  br label %value",
            "value:",
            "  %v = phi i64 [0, %counting], [%v.next, %value]",
            "  %sum = phi i64 [0, %counting], [%sum.next, %value]",
            *sums.lines,
            f"  %sum.next = add i64 %sum, {held}",
            "  %v.next = add i64 %v, 1",
            f"  %v.more = icmp slt i64 %v.next, {1 << DIGIT}",
            "  br i1 %v.more, label %value, label %placed",
            "placed:",
            *swap.lines,
            "  %d.next = add i64 %d, 1",
            "  br label %digit",
            "done:",
            "  %odd = and i64 %many, 1",
            "  ret i64 %odd",
            "}\n",
        ]
    )


def emit_differ(words: int) -> str:
    """Emit `differ(rows, count, bits)`: it writes for each word a mask of the bits in which any row differs from the first."""
    text, done = Text("d"), Text("e")
    first = text.op("mul", "%i", words)
    values = []
    for word in range(words):
        found = text.op("xor", text.load("%rows", text.op("add", first, word)), text.load("%rows", word))
        values.append((f"bits{word}", "i64", "0", text.op("or", f"%bits{word}", found)))
        done.store(f"%bits{word}.end", "%bits", word)
    done.do("ret i64 0")
    return _format_loop("i64 @differ(ptr noalias %rows, i64 %count, ptr noalias %bits)", text, done.lines, values)


def emit_unique(words: int) -> str:
    """Emit `unique(rows, count) -> how many`: it moves each distinct one of the ascending rows, once, to the front."""
    text = Text("u")
    mine, last = text.op("mul", "%i", words), text.op("mul", text.op("sub", "%kept", 1), words)
    same, values = text.op("icmp sgt", "%i", 0), []
    last = text.let(f"select i1 {same}, i64 {last}, i64 0")
    for word in range(words):
        values.append(text.load("%rows", text.op("add", mine, word)))
        before = text.load("%rows", text.op("add", last, word))
        same = text.op("and", same, text.op("icmp eq", values[-1], before), "i1")
    goal = text.op("mul", "%kept", words)
    for word, value in enumerate(values):  # over itself, or over a row that is behind
        text.store(value, "%rows", text.op("add", goal, word))
    is_new = text.let(f"zext i1 {text.op('xor', same, 1, 'i1')} to i64")
    kept = ("kept", "i64", "0", text.op("add", "%kept", is_new))
    return _format_loop("i64 @unique(ptr %rows, i64 %count)", text, ["  ret i64 %kept.end"], [kept])


def emit_strike(words: int) -> str:
    """Emit `strike(rows, start, count, kept, known, many) -> where it stopped`: it drops rows that are known.  Both ascend.

    It goes from row `start` to the first row beyond all of `known`, or to `count`; rows that stay are moved to the front, after
    the `kept[0]` that are there, which it counts up.
    """
    looking, keeping = Text("l"), Text("k")
    less, same = "false", "true"
    mine, theirs = looking.op("mul", "%i", words), looking.op("mul", "%k", words)
    values = []
    for word in range(words):
        one = looking.load("%rows", looking.op("add", mine, word))
        other = looking.load("%known", looking.op("add", theirs, word))
        smaller = looking.op("and", same, looking.op("icmp ult", one, other), "i1")
        less = looking.op("or", less, smaller, "i1")
        same = looking.op("and", same, looking.op("icmp eq", one, other), "i1")
        values.append(one)
    number = keeping.load("%kept", 0)
    place = keeping.op("mul", number, words)
    for word, value in enumerate(values):
        keeping.store(value, "%rows", keeping.op("add", place, word))
    keeping.count_up("%kept", 0, number)
    return "\n".join(
        [
            "define i64 @strike(ptr %rows, i64 %start, i64 %count, ptr %kept, ptr noalias %known, i64 %many) {",
            "entry:",
            "  br label %row",
            "row:",
            "  %i = phi i64 [%start, %entry], [%i.next, %onward]",
            "  %from = phi i64 [0, %entry], [%k, %onward]",
            "  %some = icmp slt i64 %i, %count",
            "  br i1 %some, label %look, label %done",
            "look:",
            "  %k = phi i64 [%from, %row], [%k.next, %further]",
            "  %left = icmp slt i64 %k, %many",
            "  br i1 %left, label %compare, label %done",
            "compare:",
            *looking.lines,
            f"  br i1 {less}, label %keep, label %known.to",
            "known.to:",
            f"  br i1 {same}, label %onward, label %further",
            "further:",
            "  %k.next = add i64 %k, 1",
            "  br label %look",
            "keep:",
            *keeping.lines,
            "  br label %onward",
            "onward:",
            "  %i.next = add i64 %i, 1",
            "  br label %row",
            "done:",
            "  ret i64 %i",
            "}\n",
        ]
    )


def _list_pairs(words: int) -> list[tuple[int, int]]:
    """Return the words of a row in pairs: the first word of each, and how many."""
    return [(word, min(2, words - word)) for word in range(0, words, 2)]


def _emit_pair(text: Text, pointer: str, first: str, word: int, many: int) -> str:
    """Emit two neighbouring words of a row as a vector; the second is zero where only one is left."""
    place = text.at(pointer, text.op("add", first, word))
    if many == 2:
        return text.let(f"load <2 x i64>, ptr {place}, align 8")
    return text.let(f"insertelement <2 x i64> zeroinitializer, i64 {text.let(f'load i64, ptr {place}, align 8')}, i32 0")


def _emit_byte_address(text: Text, pointer: str, words: int, word: int) -> str:
    """Emit the address of the difference bits of a word of the row `%i`."""
    place = text.op("add", text.op("mul", "%i", words), word)
    return text.let(f"getelementptr i8, ptr {pointer}, i64 {place}")


def _emit_advance(text: Text, place: str, bits: str) -> str:
    """Emit an offset moved on by as many bytes as bits are set."""
    some = text.let(f"zext i16 {text.let(f'call i16 @llvm.ctpop.i16(i16 {bits})')} to i64")
    return text.op("add", place, some)


def emit_split(words: int) -> str:
    """Emit `split(rows, count, bits, bytes) -> how many bytes`: it writes in which bytes each row differs from the one before.

    A row stands before the first one.  `bits` has one for each byte of a row, `bytes` the differences (xor) that are not zero.
    """
    text, place = Text("s"), "%place"
    first = text.op("mul", "%i", words)
    last = text.op("sub", first, words)
    for word, many in _list_pairs(words):
        mine, before = (_emit_pair(text, "%rows", row, word, many) for row in (first, last))
        found = text.op("xor", mine, before, "<2 x i64>")
        cells = text.let(f"bitcast <2 x i64> {found} to <16 x i8>")
        some = text.op("icmp ne", cells, "zeroinitializer", "<16 x i8>")
        bits, kind = text.let(f"bitcast <16 x i1> {some} to i16"), f"i{8 * many}"
        stored = bits if many == 2 else text.let(f"trunc i16 {bits} to i8")
        text.do(f"store {kind} {stored}, ptr {_emit_byte_address(text, '%bits', words, word)}, align 1")
        goal = text.let(f"getelementptr i8, ptr %bytes, i64 {place}")
        text.do(f"call void @llvm.masked.compressstore.v16i8(<16 x i8> {cells}, ptr {goal}, <16 x i1> {some})")
        place = _emit_advance(text, place, bits)
    declared = "declare void @llvm.masked.compressstore.v16i8(<16 x i8>, ptr, <16 x i1>)\ndeclare i16 @llvm.ctpop.i16(i16)\n"
    signature = "i64 @split(ptr noalias %rows, i64 %count, ptr noalias %bits, ptr noalias %bytes)"
    return declared + _format_loop(signature, text, ["  ret i64 %place.end"], [("place", "i64", "0", place)])


def emit_join(words: int) -> str:
    """Emit `join(bits, count, bytes, rows, first)`: it writes to `rows` the rows that `split` was given; it only reads
    `first`, the row before them."""
    text, begun, place, values = Text("j"), Text("b"), "%place", []
    goal = text.op("mul", "%i", words)
    for word, many in _list_pairs(words):
        bits = text.let(f"load i{8 * many}, ptr {_emit_byte_address(text, '%bits', words, word)}, align 1")
        bits = bits if many == 2 else text.let(f"zext i8 {bits} to i16")
        some, source = text.let(f"bitcast i16 {bits} to <16 x i1>"), text.let(f"getelementptr i8, ptr %bytes, i64 {place}")
        given = f"ptr {source}, <16 x i1> {some}, <16 x i8> zeroinitializer"
        cells = text.let(f"call <16 x i8> @llvm.masked.expandload.v16i8({given})")
        place = _emit_advance(text, place, bits)
        value = text.op("xor", f"%last{word}", text.let(f"bitcast <16 x i8> {cells} to <2 x i64>"), "<2 x i64>")
        stored, kind = (value, "<2 x i64>") if many == 2 else (text.let(f"extractelement <2 x i64> {value}, i32 0"), "i64")
        text.do(f"store {kind} {stored}, ptr {text.at('%rows', text.op('add', goal, word))}, align 8")
        values.append((f"last{word}", "<2 x i64>", _emit_pair(begun, "%first", "0", word, many), value))
    declared = "declare <16 x i8> @llvm.masked.expandload.v16i8(ptr, <16 x i1>, <16 x i8>)\n"
    signature = "i64 @join(ptr noalias %bits, i64 %count, ptr noalias %bytes, ptr noalias %rows, ptr noalias %first)"
    return declared + _format_loop(signature, text, ["  ret i64 0"], [("place", "i64", "0", place), *values], begun.lines)
