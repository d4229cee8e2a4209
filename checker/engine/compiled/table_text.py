"""The text of an exact set of packed states, for LLVM: tables of buckets that keep what a place does not say.

A state's words are mixed by a bijection, so that a place in a table stands for some of their bits and an entry holds
only the others (a quotient: Cleary 1984), with how far the entry lies from its own bucket and the level that
brought it.  Nothing is lost: two states are equal exactly if place and entry are, and every state can be read back.

The first mixed word is cut from below into the number of the table (`TABLE_BITS`) and `x`.  The upper `UPPER_BITS` of
`x` are `quotient * parts + remainder`, the next ones are `hint`, and a bucket is the number `lowest * parts + remainder`,
where `lowest` are the `k` lowest bits of `x`.  A table has `parts << k` buckets with `parts` from 8 to 15, so that it can grow
by an eighth.  States that lie close together lie close together in a larger table, too.

An entry is a tag and a body.  The tag, from its lowest bit: which bucket the entry lies in, its own one being 1, and
number `n + 1` lying `n` beyond number `n`; the quotient; the hint.  A tag of zero is a free place.  The body: level; the
other words; the rest of `x`.  It takes as many bytes as that needs, which are fewer in larger tables.  A bucket is
two lines of the cache: first the tags of all its places, which are compared at once, then their bodies.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property

from neverlost.checker.engine.outcome import EngineError
from neverlost.model.interpreters.compiled_program import END, format_loop
from neverlost.model.interpreters.machine_code import COUNT, POINTER
from neverlost.model.system import System

TABLE_BITS = 5
TABLES = 1 << TABLE_BITS
UPPER_BITS = 10
QUOTIENT_BITS = UPPER_BITS - 3
DISTANCE_BITS = 6
HINT_BITS = 3
TAG_BITS = DISTANCE_BITS + QUOTIENT_BITS + HINT_BITS
TAG_BYTES = TAG_BITS // 8
FARTHEST = (1 << DISTANCE_BITS) - 1
LEAST_PARTS = 8
LEAST_K = 2 * DISTANCE_BITS - 4
"""A table has more buckets than an entry can lie from its own one."""

MOST_PLACES = 16

RECIPROCAL_BITS = 16
INVERSE_BITS = 36
MOST_BUCKETS = 1 << 30
"""The most buckets of a table: up to this number `INVERSE` divides the number of a bucket exactly."""

LINE = 64
"""Bytes of a line of the cache."""

BUCKET = 2 * LINE
"""Bytes of a bucket."""

NARROWEST = 40
"""Bits of the first mixed word at least, so that there is always a place to cut it."""

ROUNDS = 2
MULTIPLIERS = (0x9E3779B97F4A7C15, 0xD6E8FEB86659FD93, 0xC2B2AE3D27D4EB4F)
AHEAD = 24
"""How many states ahead of reading it a state's bucket is fetched into the cache."""

SOON = 4
"""How many buckets ahead each is fetched into the cache, where all are read in turn."""

LATEST_BITS = 12
LATEST = 1 << LATEST_BITS
"""States that a worker remembers it has passed on; a third of all successors are among them."""

ADDRESS, K, PARTS, RECIPROCAL, INVERSE, BYTES, PLACES, USED, LIMIT, BUCKETS, LANES = range(11)
"""Numbers of 64 bits that describe a table; `LANES` has a bit for each place of a bucket, `RECIPROCAL` and `INVERSE` divide by
`PARTS` what has `UPPER_BITS` bits, and the number of a bucket.

Two masks follow at `WHOLE` and `COMPARED`, of a body's width.
"""
WHOLE, COMPARED = 16, 24
DESCRIPTION = 32
"""Length of a description in numbers of 64 bits."""

TABLE_SIGNATURES = {
    "scatter": (POINTER, COUNT, POINTER, POINTER, POINTER, POINTER),
    "sift": (POINTER, COUNT, POINTER, POINTER),
    "absorb": (POINTER, COUNT, COUNT, POINTER, COUNT, POINTER, POINTER),
    "move": (POINTER, POINTER, COUNT),
    "collect": (POINTER, COUNT, COUNT, POINTER, POINTER),
}
"""The types of the arguments of each compiled function."""


@dataclass(frozen=True)
class Layout:
    """Where the parts of an entry are.  `widths` are the bits of each mixed word, `level_bits` what counts the levels."""

    widths: tuple[int, ...]
    level_bits: int

    @classmethod
    def of(cls, system: System, level_bits: int = 8) -> Layout:
        """Return the layout for the states of a system."""
        widths = [max(slot.shift + slot.bits for slot in system.slots if slot.word == word) for word in range(system.words)]
        return cls((max(widths[0], NARROWEST), *widths[1:]), level_bits)

    @property
    def words(self) -> int:
        return len(self.widths)

    @property
    def rest_bits(self) -> int:
        """How many bits of the first mixed word are neither the number of its table nor `UPPER_BITS` nor the hint."""
        return self.widths[0] - TABLE_BITS - UPPER_BITS - HINT_BITS

    def word_at(self, word: int) -> int:
        """Return the bit of a body at which a word begins, one of those after the first."""
        return self.level_bits + sum(self.widths[1:word])

    @property
    def rest_at(self) -> int:
        return self.word_at(self.words)

    @cached_property
    def body_bits(self) -> int:
        """The bits that bodies are computed in: whole bytes, 64 at least.  Errors: `EngineError` if a bucket is too small."""
        bits = max(64, -(-(self.rest_at + self.rest_bits) // 8) * 8)
        if bits > 8 * 8 * (COMPARED - WHOLE) or bits + TAG_BITS > 8 * BUCKET:
            raise EngineError(f"an entry of {bits} bits has no room in a bucket")
        return bits

    @property
    def kind(self) -> str:
        """LLVM's name of a body's type."""
        return f"i{self.body_bits}"

    def bytes(self, k: int) -> int:
        """Return how many bytes a body takes in a table of `parts << k` buckets."""
        return max(1, -(-(self.rest_at + self.rest_bits - k) // 8))

    def places(self, k: int) -> int:
        """Return how many entries a bucket has room for in a table of `parts << k` buckets."""
        return min(MOST_PLACES, BUCKET // (TAG_BYTES + self.bytes(k)))


class Text:
    """Instructions of a function, with fresh names for results."""

    def __init__(self, name: str) -> None:
        self.lines: list[str] = []
        self._name = name
        self._count = 0

    def let(self, instruction: str) -> str:
        """Append an instruction, and return the name of its result."""
        self._count += 1
        result = f"%{self._name}.{self._count}"
        self.lines.append(f"  {result} = {instruction}")
        return result

    def op(self, name: str, left: str, right: str | int, kind: str = "i64") -> str:
        """Append arithmetic or a comparison (`icmp eq` and the like), and return the name of its result."""
        return self.let(f"{name} {kind} {left}, {right}")

    def low(self, value: str, width: int) -> str:
        """Append what takes the lowest bits of a number, and return the name of its result."""
        return value if width >= 64 else self.op("and", value, (1 << width) - 1)

    def do(self, *lines: str) -> None:
        """Append instructions and labels as they are."""
        self.lines += [each if each.endswith(":") else f"  {each}" for each in lines]

    def branch(self, condition: str, then: str, otherwise: str) -> None:
        """Append a branch to one of two blocks."""
        self.do(f"br i1 {condition}, label %{then}, label %{otherwise}")

    def at(self, pointer: str, index: str | int) -> str:
        """Append what computes the address of an element of an array, and return its name."""
        return self.let(f"getelementptr i64, ptr {pointer}, i64 {index}")

    def load(self, pointer: str, index: str | int, kind: str = "i64") -> str:
        """Append what loads an element of an array, and return its name."""
        return self.let(f"load {kind}, ptr {self.at(pointer, index)}, align 8")

    def store(self, value: str, pointer: str, index: str | int) -> None:
        """Append what sets an element of an array."""
        self.do(f"store i64 {value}, ptr {self.at(pointer, index)}, align 8")

    def pointer(self, address: str) -> str:
        return self.let(f"inttoptr i64 {address} to ptr")

    def count_up(self, pointer: str, index: str | int, value: str) -> None:
        """Append what sets a counter to one more than a value."""
        self.store(self.op("add", value, 1), pointer, index)


def emit_mix(text: Text, layout: Layout, words: Sequence[str]) -> list[str]:
    """Emit the mixing of a state's words, and return the mixed ones' names; `layout.widths` says how many bits each has."""
    found = [*words]
    for turn in range(ROUNDS):
        for word, width in enumerate(layout.widths):
            value = found[word]
            for other in [each for each in range(layout.words) if each != word]:
                value = text.op("add", value, _emit_stir(text, found, other))
            value = text.low(text.op("mul", text.low(value, width), MULTIPLIERS[turn]), width)
            found[word] = text.op("xor", value, text.op("lshr", value, mixing_shift(width)))
    return found


def emit_unmix(text: Text, layout: Layout, words: Sequence[str]) -> list[str]:
    found = [*words]
    for turn in reversed(range(ROUNDS)):
        for word, width in reversed(list(enumerate(layout.widths))):
            value = text.op("xor", found[word], text.op("lshr", found[word], mixing_shift(width)))
            value = text.low(text.op("mul", value, pow(MULTIPLIERS[turn], -1, 1 << 64)), width)
            for other in [each for each in range(layout.words) if each != word]:
                value = text.op("sub", value, _emit_stir(text, found, other))
            found[word] = text.low(value, width)
    return found


def mixing_shift(width: int) -> int:
    """Return how far a word is shifted when it is mixed: far enough to be undone by doing it again."""
    return (width + 1) // 2


def _emit_stir(text: Text, words: Sequence[str], other: int) -> str:
    """Emit what the word of number `other` adds to a word that is mixed."""
    return text.op("lshr", text.op("mul", words[other], MULTIPLIERS[2] + 2 * other), 21)


def _emit_row(text: Text, layout: Layout, pointer: str, row: str) -> list[str]:
    first = text.op("mul", row, layout.words)
    return [text.load(pointer, text.op("add", first, word)) for word in range(layout.words)]


def _emit_append(text: Text, words: Sequence[str], pointer: str, counter: str, index: str | int) -> None:
    """Emit the writing of a row after those that a counter counts, and count it."""
    count = text.load(counter, index)
    first = text.op("mul", count, len(words))
    for word, value in enumerate(words):
        text.store(value, pointer, text.op("add", first, word))
    text.count_up(counter, index, count)


def _emit_description(text: Text, tables: str, first: str) -> str:
    """Emit the address of the description of a state's table, by the state's first mixed word."""
    return text.at(tables, text.op("mul", text.low(first, TABLE_BITS), DESCRIPTION))


def _emit_split(text: Text, layout: Layout, table: str, first: str) -> tuple[str, str, str]:
    """Emit the bucket of a first mixed word, and what the bucket does not say: the tag without a distance, the rest."""
    x = text.op("lshr", first, TABLE_BITS)
    middle, low = text.op("lshr", x, layout.rest_bits), text.low(x, layout.rest_bits)
    upper, hint = text.op("lshr", middle, HINT_BITS), text.low(middle, HINT_BITS)
    k = text.load(table, K)
    quotient = text.op("lshr", text.op("mul", upper, text.load(table, RECIPROCAL)), RECIPROCAL_BITS)
    remainder = text.op("sub", upper, text.op("mul", quotient, text.load(table, PARTS)))
    rest = text.op("lshr", low, k)
    inside = text.op("sub", low, text.op("shl", rest, k))
    tag = text.op("shl", text.op("or", text.op("shl", hint, QUOTIENT_BITS), quotient), DISTANCE_BITS)
    return text.op("add", text.op("mul", inside, text.load(table, PARTS)), remainder), tag, rest


def _emit_join(text: Text, layout: Layout, bucket: str, table: str, tag: str, rest: str) -> str:
    """Emit the first mixed word with zeros for the number of its table: the reverse of `_emit_split`."""
    k = text.load(table, K)
    inside = text.op("lshr", text.op("mul", bucket, text.load(table, INVERSE)), INVERSE_BITS)
    remainder = text.op("sub", bucket, text.op("mul", inside, text.load(table, PARTS)))
    quotient = text.low(text.op("lshr", tag, DISTANCE_BITS), QUOTIENT_BITS)
    upper = text.op("add", text.op("mul", quotient, text.load(table, PARTS)), remainder)
    middle = text.op("or", text.op("shl", upper, HINT_BITS), text.op("lshr", tag, DISTANCE_BITS + QUOTIENT_BITS))
    low = text.op("or", text.op("shl", rest, k), inside)
    return text.op("shl", text.op("or", text.op("shl", middle, layout.rest_bits), low), TABLE_BITS)


def _emit_widen(text: Text, layout: Layout, value: str) -> str:
    """Emit a number as wide as a body."""
    return value if layout.body_bits == 64 else text.let(f"zext i64 {value} to {layout.kind}")


def _emit_body(text: Text, layout: Layout, words: Sequence[str], rest: str) -> str:
    """Emit a body without its level."""
    found = "0"
    for value, shift in [*[(each, layout.word_at(n)) for n, each in enumerate(words, start=1)], (rest, layout.rest_at)]:
        found = text.op("or", text.op("shl", _emit_widen(text, layout, value), shift, layout.kind), found, layout.kind)
    return found


def _emit_field(text: Text, layout: Layout, body: str, shift: int, width: int) -> str:
    shifted = text.op("lshr", body, shift, layout.kind)
    return text.low(shifted if layout.body_bits == 64 else text.let(f"trunc {layout.kind} {shifted} to i64"), width)


def _emit_recover(text: Text, layout: Layout, table: str, number: str) -> list[str]:
    """Emit the mixed words of the entry with `%tag` and `%body` in `%bucket` of the table with this number."""
    distance = text.low("%tag", DISTANCE_BITS)
    beyond = text.op("lshr", text.op("mul", distance, text.op("sub", distance, 1)), 1)
    before = text.op("sub", "%bucket", beyond)
    around = text.op("add", before, text.load(table, BUCKETS))
    home = text.let(f"select i1 {text.op('icmp slt', before, 0)}, i64 {around}, i64 {before}")
    rest = _emit_field(text, layout, "%body", layout.rest_at, layout.rest_bits)
    first = text.op("or", _emit_join(text, layout, home, table, "%tag", rest), number)
    return [first, *[_emit_field(text, layout, "%body", layout.word_at(n), layout.widths[n]) for n in range(1, layout.words)]]


def _format_loop(signature: str, text: Text, start: str, end: str) -> str:
    """Return a function that runs a body for every `%i` from `start` on and below `end`; at `%end` the next `%i` comes."""
    return format_loop(signature, [*text.lines, *END], [f"  ret i64 {end}"], any_=f"slt i64 {start}, {end}", span=(start, end))


def emit_scatter(layout: Layout) -> str:
    """Emit `scatter(rows, count, owners, places, filled, latest)`: it mixes states, and appends each at its owner's place.

    `owners` has a worker for each table, `places` an address for each worker, `filled` how many states are there.  `latest` are
    `LATEST` states that were scattered before; a state among them is passed over, and each other one replaces one of them.
    """
    text = Text("s")
    words = _emit_row(text, layout, "%rows", "%i")
    _emit_pass_over(text, layout, words)
    found = emit_mix(text, layout, words)
    owner = text.load("%owners", text.low(found[0], TABLE_BITS))
    _emit_append(text, found, text.pointer(text.load("%places", owner)), "%filled", owner)
    arguments = (
        "ptr noalias %rows, i64 %count, ptr noalias %owners, ptr noalias %places, ptr noalias %filled, ptr noalias %latest"
    )
    return _format_loop(f"i64 @scatter({arguments})", text, "0", "%count")


def emit_sift(layout: Layout) -> str:
    """Emit `sift(rows, count, left, latest)`: it moves rows that are not in `latest` to the front, and puts them there; `left`,
    which begins as 0, counts them."""
    text = Text("o")
    words = _emit_row(text, layout, "%rows", "%i")
    _emit_pass_over(text, layout, words)
    _emit_append(text, words, "%rows", "%left", 0)
    return _format_loop("i64 @sift(ptr %rows, i64 %count, ptr noalias %left, ptr noalias %latest)", text, "0", "%count")


def _emit_pass_over(text: Text, layout: Layout, words: Sequence[str]) -> None:
    """Emit what passes a state over if it is among `%latest`, and else puts it there in the place of another."""
    stirred = "0"
    for word, value in enumerate(words):
        stirred = text.op("add", stirred, text.op("mul", value, MULTIPLIERS[2] + 2 * word))
    first = text.op("mul", text.op("lshr", stirred, 64 - LATEST_BITS), layout.words)
    places = [text.op("add", first, word) for word in range(layout.words)]
    differs = "0"
    for place, value in zip(places, words, strict=True):
        differs = text.op("or", differs, text.op("xor", text.load("%latest", place), value))
    text.branch(text.op("icmp eq", differs, 0), "end", "other")
    text.do("other:")
    for place, value in zip(places, words, strict=True):
        text.store(value, "%latest", place)


def emit_absorb(layout: Layout) -> str:
    """Emit `absorb(mixed, start, count, tables, level, fresh, filled) -> where it stopped`: it inserts mixed states.

    Those that were not there yet are appended to `fresh`, unmixed.  It stops before a state whose table has to grow.
    """
    text = Text("a")
    _emit_prefetch(text, layout)
    words = _emit_row(text, layout, "%mixed", "%i")
    table = _emit_description(text, "%tables", words[0])
    used = text.load(table, USED)
    text.branch(text.op("icmp sge", used, text.load(table, LIMIT)), "full", "wanted")
    text.do("wanted:")
    home, tag, rest = _emit_split(text, layout, table, words[0])
    body = _emit_body(text, layout, words[1:], rest)
    compared = text.load(table, COMPARED, layout.kind)

    def look(equal: str, bodies: str) -> None:
        text.do("br label %look", "look:", f"%same = phi i64 [{equal}, %probe], [%others, %other]")
        text.branch(text.op("icmp eq", "%same", 0), "unseen", "compare")
        text.do("compare:")
        there = text.let(f"load {layout.kind}, ptr {_emit_place(text, table, bodies, _emit_lowest(text, '%same'))}, align 1")
        differs = text.op("and", text.op("xor", there, body, layout.kind), compared, layout.kind)
        text.branch(text.op("icmp eq", differs, 0, layout.kind), "end", "other")
        text.do("other:", "%less = sub i64 %same, 1", "%others = and i64 %same, %less", "br label %look", "unseen:")

    tags, bodies, free, wanted = _emit_probe(text, layout, table, home, tag, "wanted", look)
    text.do("full:", "ret i64 %i", "free:")
    level = _emit_widen(text, layout, "%level")
    _emit_put(text, layout, table, (tags, bodies, free), wanted, text.op("or", body, level, layout.kind))
    text.count_up(table, USED, used)
    _emit_append(text, emit_unmix(text, layout, words), "%fresh", "%filled", 0)
    signature = "i64 @absorb(ptr %mixed, i64 %start, i64 %count, ptr %tables, i64 %level, ptr %fresh, ptr %filled)"
    declared = "declare void @llvm.prefetch.p0(ptr, i32, i32, i32)\ndeclare i64 @llvm.cttz.i64(i64, i1)\n"
    return declared + _format_loop(signature, text, "%start", "%count")


def _emit_prefetch(text: Text, layout: Layout) -> None:
    last, later = text.op("sub", "%count", 1), text.op("add", "%i", AHEAD)
    ahead = text.let(f"select i1 {text.op('icmp slt', later, last)}, i64 {later}, i64 {last}")
    first = text.load("%mixed", text.op("mul", ahead, layout.words))
    table = _emit_description(text, "%tables", first)
    bucket, _, _ = _emit_split(text, layout, table, first)
    address = text.op("add", text.load(table, ADDRESS), text.op("mul", bucket, BUCKET))
    _emit_request(text, address)


def _emit_request(text: Text, address: str, lines: int = 2) -> None:
    """Emit the request to bring a bucket into the cache."""
    for line in range(0, lines * LINE, LINE):
        place = text.pointer(text.op("add", address, line))
        text.do(f"call void @llvm.prefetch.p0(ptr {place}, i32 1, i32 3, i32 1)")


def _emit_lowest(text: Text, bits: str) -> str:
    """Emit the number of the lowest bit that is set."""
    return text.let(f"call i64 @llvm.cttz.i64(i64 {bits}, i1 true)")


def _emit_lanes(text: Text, tags: str, wanted: str, lanes: str) -> str:
    """Emit a number with a bit for each place of a bucket that has the wanted tag."""
    equal = text.let(f"icmp eq <{MOST_PLACES} x i{TAG_BITS}> {tags}, {wanted}")
    bits = text.let(f"bitcast <{MOST_PLACES} x i1> {equal} to i{MOST_PLACES}")
    return text.op("and", text.let(f"zext i{MOST_PLACES} {bits} to i64"), lanes)


def _emit_bodies(text: Text, table: str, bucket: str) -> str:
    """Emit the address of the bodies of a bucket, after its tags."""
    return text.op("add", bucket, text.op("mul", text.load(table, PLACES), TAG_BYTES))


def _emit_place(text: Text, table: str, bodies: str, place: str) -> str:
    return text.pointer(text.op("add", bodies, text.op("mul", place, text.load(table, BYTES))))


def _emit_probe(
    text: Text, layout: Layout, table: str, home: str, tag: str, before: str, look: Callable[[str, str], None] | None = None
) -> tuple[str, str, str, str]:
    """Emit the way through an entry's buckets to one with a free place, then to `%free`; to `%full` if there is none.

    `before` is the block it starts from; `look` deals with a bucket's places of the same tag, by their bits and where bodies
    are.  Returned are the addresses of the bucket's tags and bodies, the number of the free place, and the whole tag.
    """
    buckets, base, lanes = text.load(table, BUCKETS), text.load(table, ADDRESS), text.load(table, LANES)
    vector = f"<{MOST_PLACES} x i{TAG_BITS}>"
    text.do("br label %probe", "probe:")
    text.do(f"%b = phi i64 [{home}, %{before}], [%b.next, %onward]")
    text.do(f"%distance = phi i64 [1, %{before}], [%farther, %onward]")
    wanted = text.let(f"trunc i64 {text.op('or', tag, '%distance')} to i{TAG_BITS}")
    begins = text.op("add", base, text.op("mul", "%b", BUCKET))
    bodies = _emit_bodies(text, table, begins)
    tags = text.let(f"load {vector}, ptr {text.pointer(begins)}, align 32")
    free = _emit_lanes(text, tags, "zeroinitializer", lanes)
    if look is not None:
        one = text.let(f"insertelement {vector} undef, i{TAG_BITS} {wanted}, i32 0")
        every = text.let(f"shufflevector {vector} {one}, {vector} undef, <{MOST_PLACES} x i32> zeroinitializer")
        look(_emit_lanes(text, tags, every, lanes), bodies)
    text.branch(text.op("icmp eq", free, 0), "onward", "open")
    text.do("onward:", "%farther = add i64 %distance, 1", "%beyond = add i64 %b, %distance")
    text.do(f"%is.over = icmp sge i64 %beyond, {buckets}", f"%wrapped = sub i64 %beyond, {buckets}")
    text.do("%b.next = select i1 %is.over, i64 %wrapped, i64 %beyond")
    text.branch(text.op("icmp sgt", "%farther", FARTHEST), "full", "probe")
    text.do("open:")
    lowest = _emit_lowest(text, free)
    text.do("br label %free")
    return begins, bodies, lowest, wanted


def _emit_put(text: Text, layout: Layout, table: str, where: tuple[str, str, str], tag: str, body: str) -> None:
    """Emit the writing of an entry into a free place; what follows its body in memory is left as it is."""
    tags, bodies, place = where
    at = text.pointer(text.op("add", tags, text.op("mul", place, TAG_BYTES)))
    text.do(f"store i{TAG_BITS} {tag}, ptr {at}, align {TAG_BYTES}")
    here = _emit_place(text, table, bodies, place)
    others = text.op("xor", text.load(table, WHOLE, layout.kind), -1, layout.kind)
    there = text.op("and", text.let(f"load {layout.kind}, ptr {here}, align 1"), others, layout.kind)
    text.do(f"store {layout.kind} {text.op('or', there, body, layout.kind)}, ptr {here}, align 1")


def _format_entry_loop(signature: str, layout: Layout, instructions: Text, result: int) -> str:
    """Return a function that runs a body for every entry, `%tag` and `%body`, of every `%bucket` of the table `%old`.

    The instructions may go to `%next`.
    """
    text = Text("t")
    places, buckets = (text.load("%old", each) for each in (PLACES, BUCKETS))
    base, whole = text.load("%old", ADDRESS), text.load("%old", WHOLE, layout.kind)
    text.do("br label %row", "row:", "%bucket = phi i64 [0, %start], [%bucket.next, %row.end]")
    begins = text.op("add", base, text.op("mul", "%bucket", BUCKET))
    _emit_request(text, text.op("add", begins, SOON * BUCKET))
    bodies = _emit_bodies(text, "%old", begins)
    text.do("br label %cell", "cell:", "%c = phi i64 [0, %row], [%c.next, %next]")
    at = text.pointer(text.op("add", begins, text.op("mul", "%c", TAG_BYTES)))
    text.do(f"%narrow = load i{TAG_BITS}, ptr {at}, align {TAG_BYTES}", f"%tag = zext i{TAG_BITS} %narrow to i64")
    text.branch(text.op("icmp eq", "%tag", 0), "row.end", "found")
    text.do("found:")
    there = text.let(f"load {layout.kind}, ptr {_emit_place(text, '%old', bodies, '%c')}, align 1")
    text.do(f"%body = and {layout.kind} {there}, {whole}")
    text.lines += instructions.lines
    text.do("br label %next", "next:", "%c.next = add i64 %c, 1")
    text.branch(text.op("icmp slt", "%c.next", places), "cell", "row.end")
    text.do("row.end:", "%bucket.next = add i64 %bucket, 1")
    text.branch(text.op("icmp slt", "%bucket.next", buckets), "row", "done")
    return "\n".join([f"define {signature} {{", "start:", *text.lines, "done:", f"  ret i64 {result}", "}\n"])


def emit_move(layout: Layout) -> str:
    """Emit `move(old, new, number) -> 1, or 0 if the new table is too full`: it copies a table's entries into a larger one."""
    text = Text("m")
    words = _emit_recover(text, layout, "%old", "%number")
    home, tag, rest = _emit_split(text, layout, "%new", words[0])
    level = text.op("and", "%body", (1 << layout.level_bits) - 1, layout.kind)
    body = text.op("or", _emit_body(text, layout, words[1:], rest), level, layout.kind)
    tags, bodies, free, wanted = _emit_probe(text, layout, "%new", home, tag, "found")
    text.do("full:", "ret i64 0", "free:")
    _emit_put(text, layout, "%new", (tags, bodies, free), wanted, body)
    return _format_entry_loop("i64 @move(ptr %old, ptr %new, i64 %number)", layout, text, 1)


def emit_collect(layout: Layout) -> str:
    """Emit `collect(old, number, level, rows, filled)`: it appends the states of a table that a level brought to `rows`."""
    text = Text("c")
    level = _emit_field(text, layout, "%body", 0, layout.level_bits)
    text.branch(text.op("icmp eq", level, "%level"), "matching", "next")
    text.do("matching:")
    _emit_append(text, emit_unmix(text, layout, _emit_recover(text, layout, "%old", "%number")), "%rows", "%filled", 0)
    signature = "i64 @collect(ptr %old, i64 %number, i64 %level, ptr noalias %rows, ptr noalias %filled)"
    return _format_entry_loop(signature, layout, text, 0)


def emit_table_functions(layout: Layout) -> str:
    """Return the text of all functions on tables of states."""
    return "\n".join([emit_scatter(layout), emit_sift(layout), emit_absorb(layout), emit_move(layout), emit_collect(layout)])
