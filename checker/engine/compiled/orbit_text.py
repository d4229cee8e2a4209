"""The text of the canonical form under symmetry, for LLVM: what `neverlost.checker.engine.search.symmetry` says, in registers.

Elements that every permutation moves together are one *part*, a few bits of a state.  A permutation is a row of a table
that names, for each part, the one that comes into its place; another table has, for each state of ranks, the permutations
that put replicas into the order of their descriptions, of which there is mostly one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import permutations, product
from math import factorial

from neverlost.checker.engine.compiled.table_text import Text
from neverlost.checker.engine.search.symmetry import Symmetry, count_described_bits
from neverlost.model.interpreters.compiled_program import carry_total, format_loop
from neverlost.model.interpreters.machine_code import COUNT, POINTER
from neverlost.model.system import Slot

MOST_REPLICAS = 6
"""With more, the tables would take more room than the states."""

WORD = (1 << 64) - 1

ORBIT_SIGNATURES = {"canonical": (POINTER, COUNT)}
"""The types of the arguments of each compiled function."""


@dataclass(frozen=True)
class BitField:
    """Neighbouring bits that a permutation moves together.

    `whose` has the replicas that they belong to; `named` is the slot, if its value is the number of a replica, else None.
    """

    word: int
    shift: int
    bits: int
    label: tuple[str, tuple[int, ...]]
    whose: tuple[int, ...]
    named: Slot | None

    @classmethod
    def of(cls, slot: Slot) -> BitField:
        places = [*zip(slot.field.axes, slot.index, strict=True)]
        label = slot.field.name, tuple(index for axis, index in places if axis != "replica")
        whose = tuple(index for axis, index in places if axis == "replica")
        return cls(slot.word, slot.shift, slot.bits, label, whose, slot if slot.field.kind == "replica" else None)

    def before(self, other: BitField) -> bool:
        """Return True if the other field begins where this one ends, and neither of them names a replica."""
        return (self.word, self.shift + self.bits) == (other.word, other.shift) and not self.named and not other.named


def list_parts(symmetry: Symmetry) -> list[BitField]:
    """Return the bit fields that a permutation moves or renames."""
    slots = [slot for slot in symmetry.system.slots if not slot.is_constant]
    found = [each for each in map(BitField.of, slots) if each.whose or each.named]
    groups: dict[int, dict[tuple[int, ...], list[BitField]]] = {}
    for part in sorted(found, key=lambda each: each.label):
        groups.setdefault(len(part.whose), {}).setdefault(part.whose, []).append(part)
    return [part for group in groups.values() for part in _join_neighbours([*group.values()])]


def _join_neighbours(group: Sequence[Sequence[BitField]]) -> list[BitField]:
    """Return the fields of all rows in one list, a row for each `whose`; fields that are neighbours in every row become one."""
    rows = [[*row] for row in group]
    order = sorted(range(len(rows[0])), key=lambda number: (rows[0][number].word, rows[0][number].shift))
    found: list[list[BitField]] = [[] for _ in rows]
    for number in order:
        column = [row[number] for row in rows]
        if found[0] and all(done[-1].before(other) for done, other in zip(found, column, strict=True)):
            for done, other in zip(found, column, strict=True):
                done[-1] = replace(done[-1], bits=done[-1].bits + other.bits)
        else:
            for done, other in zip(found, column, strict=True):
                done.append(other)
    return [part for done in found for part in done]


def _format_table(name: str, kind: str, values: Sequence[int]) -> str:
    """Return a table of numbers as an LLVM constant."""
    listed = ", ".join(f"{kind} {value}" for value in values)
    return f"@{name} = internal constant [{len(values)} x {kind}] [{listed}]"


class Orbits:
    """Emits the tables and the function that make states of one system canonical under symmetry."""

    def __init__(self, symmetry: Symmetry) -> None:
        self.symmetry, self.system, self.replicas = symmetry, symmetry.system, symmetry.replicas
        self.parts = list_parts(symmetry)
        self._kinds = sorted({(each.named.low, each.named.bits) for each in self.parts if each.named})

    @property
    def text(self) -> str:
        """Return the text of `canonical(rows, count) -> total`: rows become canonical; the total is states in their orbits."""
        return "\n".join([*self._tables(), self._function()])

    def _tables(self) -> list[str]:
        places = {(each.label, each.whose): number for number, each in enumerate(self.parts)}
        sources, renamed = [], []
        for order in self.symmetry.orders:
            back = {to: replica for replica, to in enumerate(order)}
            sources += [places[each.label, tuple(back[replica] for replica in each.whose)] for each in self.parts]
        for low, bits in self._kinds:
            for order in self.symmetry.orders:
                values = range(low, low + (1 << bits))
                renamed += [(order[each] if 0 <= each < self.replicas else each) - low for each in values]
        return [_format_table("sources", "i16", sources), _format_table("renamed", "i32", renamed or [0]), *self._fitting()]

    def _fitting(self) -> list[str]:
        """Return tables of each code's permutations and where they begin.  A code has a digit for each replica: its rank."""
        orders = enumerate(self.symmetry.orders)
        standing = [(number, sorted(range(self.replicas), key=order.__getitem__)) for number, order in orders]
        fitting: list[int] = []
        bounds: list[int] = []
        for reverse in product(range(self.replicas), repeat=self.replicas):
            ranks = reverse[::-1]
            bounds.append(len(fitting))
            if all(ranks.count(rank) and sum(each < rank for each in ranks) == rank for rank in ranks):
                ordered = sorted(ranks)
                fitting += [number for number, places in standing if [ranks[each] for each in places] == ordered]
        return [_format_table("fitting", "i16", fitting), _format_table("bounds", "i32", [*bounds, len(fitting)])]

    def _function(self) -> str:
        text = Text("o")
        words = [text.load("%rows", text.op("add", "%first", word)) for word in range(self.system.words)]
        values = [text.low(self._emit_shift(text, words, part.word, part.shift), part.bits) for part in self.parts]
        for number, value in enumerate(values):
            text.store(value, "%values", number)
        code = self._emit_code(text, words)
        start = self._emit_entry(text, "i32", "bounds", code)
        end = self._emit_entry(text, "i32", "bounds", text.op("add", code, 1))
        kept = [text.op("and", word, WORD & ~self._mask_moved_bits(number)) for number, word in enumerate(words)]
        return self._format_function(text, start, end, kept)

    @staticmethod
    def _emit_shift(text: Text, words: Sequence[str], word: int, shift: int) -> str:
        return text.op("lshr", words[word], shift) if shift else words[word]

    @staticmethod
    def _emit_entry(text: Text, kind: str, table: str, index: str) -> str:
        place = text.let(f"getelementptr {kind}, ptr @{table}, i64 {index}")
        return text.let(f"zext {kind} {text.let(f'load {kind}, ptr {place}')} to i64")

    def _mask_moved_bits(self, word: int) -> int:
        """Return a mask of the bits of a word that permutations move."""
        return sum(((1 << each.bits) - 1) << each.shift for each in self.parts if each.word == word)

    def _emit_code(self, text: Text, words: Sequence[str]) -> str:
        """Emit the code of a state: the ranks of its replicas by `Symmetry.descriptions`, as the digits of one number."""
        said = []
        for replica in range(self.replicas):
            whole = "0"
            for slots in self.symmetry.descriptions:
                value = self._emit_description(text, words, slots[replica], replica)
                whole = text.op("or", text.op("shl", whole, count_described_bits(slots[replica])), value)
            said.append(whole)
        code = "0"
        for one, other in permutations(range(self.replicas), 2):
            less = text.let(f"zext i1 {text.op('icmp ult', said[other], said[one])} to i64")
            code = text.op("add", code, text.op("mul", less, self.replicas**one))
        return code

    def _emit_description(self, text: Text, words: Sequence[str], slot: Slot, replica: int) -> str:
        raw = text.low(self._emit_shift(text, words, slot.word, slot.shift), slot.bits)
        if slot.field.kind != "replica":
            return raw
        is_this = text.op("icmp eq", raw, replica - slot.low)
        is_any = text.op("icmp ult", text.op("add", raw, slot.low), self.replicas)
        both = [text.let(f"zext i1 {each} to i64") for each in (is_this, is_any)]
        return text.op("or", both[0], text.op("shl", both[1], 1))

    def _emit_image(self, text: Text, order: str, kept: Sequence[str]) -> list[str]:
        """Emit the words of a state under the permutation of number `order`; `kept` are its words without what can move."""
        row, found = text.op("mul", order, len(self.parts)), [*kept]
        for number, part in enumerate(self.parts):
            source = self._emit_entry(text, "i16", "sources", text.op("add", row, number))
            value = text.load("%values", source)
            if part.named:
                value = self._emit_entry(text, "i32", "renamed", text.op("add", self._names(text, part.named, order), value))
            found[part.word] = text.op("or", found[part.word], text.op("shl", value, part.shift))
        return found

    def _names(self, text: Text, slot: Slot, order: str) -> str:
        """Emit the index in the table `renamed` at which a permutation's new names for the values of a slot begin."""
        kind = self._kinds.index((slot.low, slot.bits))
        begins = sum(len(self.symmetry.orders) << bits for _, bits in self._kinds[:kind])
        return text.op("add", text.op("mul", order, 1 << slot.bits), begins)

    def _format_function(self, before: Text, start: str, end: str, kept: Sequence[str]) -> str:
        """Return the function that replaces each row, read by `before`, with its smallest image, and sums up orbits' sizes."""
        text = Text("p")
        words = range(self.system.words)
        image = self._emit_image(text, self._emit_entry(text, "i16", "fitting", "%t"), kept)
        less, same = "false", "true"
        for word in words:
            smaller = text.op("icmp ult", image[word], f"%best.{word}")
            less = text.op("or", less, text.op("and", same, smaller, "i1"), "i1")
            same = text.op("and", same, text.op("icmp eq", image[word], f"%best.{word}"), "i1")
        for word in words:
            text.do(f"%better.{word} = select i1 {less}, i64 {image[word]}, i64 %best.{word}")
        more = text.op("add", "%times", text.let(f"zext i1 {same} to i64"))
        text.do(f"%times.next = select i1 {less}, i64 1, i64 {more}")
        stores = Text("q")
        for word in words:
            stores.store(f"%better.{word}", "%rows", stores.op("add", "%first", word))
        body = [
            f"  %first = mul i64 %i, {self.system.words}",
            *before.lines,
            "  br label %try",
            "try:",
            f"  %t = phi i64 [{start}, %loop], [%t.next, %try]",
            *[f"  %best.{word} = phi i64 [-1, %loop], [%better.{word}, %try]" for word in words],
            "  %times = phi i64 [0, %loop], [%times.next, %try]",
            *text.lines,
            "  %t.next = add i64 %t, 1",
            f"  %another = icmp ult i64 %t.next, {end}",
            "  br i1 %another, label %try, label %end",
            "end:",
            *stores.lines,
            f"  %orbit = udiv i64 {factorial(self.replicas)}, %times.next",
            "  %total = add i64 %sum, %orbit",
        ]
        signature, room = "i64 @canonical(ptr noalias %rows, i64 %count)", max(1, len(self.parts))
        total, before_all = carry_total("%total"), [f"  %values = alloca i64, i64 {room}"]
        return format_loop(signature, body, ["  ret i64 %all"], values=[total], before=before_all)
