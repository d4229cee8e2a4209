"""The text of ascending order, for LLVM: sorting rows by their words, and taking away rows that are known.

Sorting is by one byte at a time from the last on (least significant digit first), each pass into the other of two arrays.
"""

from __future__ import annotations

from neverlost.checker.native.table_text import Text
from neverlost.model.interpreters.machine_code import COUNT, POINTER

DIGIT = 8
"""Bits that a pass sorts by."""

ORDER_SIGNATURES = {
    "spread": (POINTER, POINTER, COUNT, POINTER, COUNT, COUNT),
    "strike": (POINTER, COUNT, COUNT, POINTER, POINTER, COUNT),
}
"""Arguments of the functions."""


def order_text(words: int) -> str:
    """Everything that is done in ascending order."""
    return "\n".join([spread_text(words), strike_text(words)])


def _digit(text: Text, words: int, row: str) -> str:
    """The digit `%word`, `%shift` of a row."""
    place = text.op("add", text.op("mul", row, words), "%word")
    return text.low(text.op("lshr", text.load("%rows", place), "%shift"), DIGIT)


def spread_text(words: int) -> str:
    """`spread(rows, others, count, places, word, shift) -> 1, or 0 where all have the same digit and nothing was done`.

    `others` becomes the rows in the order of a digit, equal ones in the order that they had; `places` is room for as many
    numbers as there are digits, and zero.
    """
    counting, first, placing, moving = Text("c"), Text("f"), Text("s"), Text("m")
    digit = _digit(counting, words, "%i")
    counting.count_up("%places", digit, counting.load("%places", digit))
    same = first.load("%places", _digit(first, words, "0"))
    held = placing.load("%places", "%d")
    placing.store("%at", "%places", "%d")
    digit = _digit(moving, words, "%j")
    target = moving.load("%places", digit)
    moving.count_up("%places", digit, target)
    source, goal = moving.op("mul", "%j", words), moving.op("mul", target, words)
    for word in range(words):
        value = moving.load("%rows", moving.op("add", source, word))
        moving.store(value, "%others", moving.op("add", goal, word))
    return "\n".join(
        [
            "define i64 @spread(ptr noalias %rows, ptr noalias %others, i64 %count, ptr %places, i64 %word, i64 %shift) {",
            "entry:",
            "  %any = icmp sgt i64 %count, 0",
            "  br i1 %any, label %counting, label %nothing",
            "counting:",
            "  %i = phi i64 [0, %entry], [%i.next, %counting]",
            *counting.lines,
            "  %i.next = add i64 %i, 1",
            "  %i.more = icmp slt i64 %i.next, %count",
            "  br i1 %i.more, label %counting, label %counted",
            "counted:",
            *first.lines,
            f"  %is.one = icmp eq i64 {same}, %count",
            "  br i1 %is.one, label %nothing, label %placing",
            "placing:",
            "  %d = phi i64 [0, %counted], [%d.next, %placing]",
            "  %at = phi i64 [0, %counted], [%at.next, %placing]",
            *placing.lines,
            f"  %at.next = add i64 %at, {held}",
            "  %d.next = add i64 %d, 1",
            f"  %d.more = icmp slt i64 %d.next, {1 << DIGIT}",
            "  br i1 %d.more, label %placing, label %moving",
            "moving:",
            "  %j = phi i64 [0, %placing], [%j.next, %moving]",
            *moving.lines,
            "  %j.next = add i64 %j, 1",
            "  %j.more = icmp slt i64 %j.next, %count",
            "  br i1 %j.more, label %moving, label %moved",
            "moved:",
            "  ret i64 1",
            "nothing:",
            "  ret i64 0",
            "}\n",
        ]
    )


def strike_text(words: int) -> str:
    """`strike(rows, start, count, kept, known, many) -> where it stopped`: rows without those that are known.

    Both ascend.  It goes on from row `start` to the last row that `known` says something about; those that stay are moved
    to the place that `kept` counts.
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
