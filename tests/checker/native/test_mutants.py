"""A mutant of the text of tables, of orbits or of ascending order is caught by their tests.

Each runs in a copy of this process, for it may write anywhere, or never end.
"""

from __future__ import annotations

import faulthandler
import os
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from neverlost.model.interpreters.llvm import OptimizationLevel, compile_program
from tests.checker.native import test_ascending, test_orbits, test_state_tables
from tests.support.forked import end, ended

SECONDS = 300
"""A copy that takes longer does not end."""


def tables(patch: pytest.MonkeyPatch, folder: Path) -> None:
    test_state_tables.test_the_tables_hold_exactly_what_was_inserted((63, 18), patch)
    test_state_tables.test_tables_grow_when_states_lie_too_far_from_their_buckets(patch)


def room(patch: pytest.MonkeyPatch, folder: Path) -> None:
    test_state_tables.test_a_table_is_full_before_it_grows((63, 18))


def orbits(patch: pytest.MonkeyPatch, folder: Path) -> None:
    test_orbits.test_one_canonical_form_for_each_orbit("four")


def order(patch: pytest.MonkeyPatch, folder: Path) -> None:
    test_ascending.test_whole_sets((40, 20), folder, patch)


Caught = Callable[[pytest.MonkeyPatch, Path], None]
MUTANTS: dict[str, tuple[Caught, str, str]] = {
    "tags that differ are taken for equal": (tables, r"icmp eq (<16 x i16> %\S+, %\S+)$", r"icmp ne \1"),
    "an equal tag is enough": (tables, r"br i1 %a\S+, label %end, label %other", "br label %end"),
    "the last word alone decides what was passed on": (tables, r"(= or i64) %s\.\d+, (%s\.\d+)$", r"\1 \2, \2"),
    "an equal tag is passed by": (tables, r"br i1 %\S+, label %unseen, label %compare", "br label %unseen"),
    "the other places of a bucket are not looked at": (tables, r"(%others = and i64) %same, %less", r"\1 %same, 0"),
    "a dropped bucket step": (room, r"(%beyond = add i64 %b), %distance", r"\1, 0"),
    "a bucket step that is not counted": (tables, r"(%farther = add i64 %distance), 1", r"\1, 0"),
    "buckets begin again at the first one": (tables, r"(%b.next = select i1 %is.over), i64 %wrapped", r"\1, i64 0"),
    "a wrong shift of what a bucket says": (tables, r"(shl i64 %[mc]\.\d+), 5$", r"\1, 4"),
    "a level is forgotten when a table grows": (tables, r"(and i\d+ %body), 255", r"\1, 0"),
    "states of every level are collected": (tables, r"icmp eq (i64 %c\.\d+, %level)", r"icmp ule \1"),
    "what is mixed is not unmixed": (tables, r"(= sub i64 %a\.\d+), %a\.\d+$", r"\1, 0"),
    "replicas that are alike are ranked": (orbits, r"icmp ult (i64 %o\.\d+, %o\.\d+)$", r"icmp ule \1"),
    "the largest image": (orbits, r"icmp ult (i64 %\S+, %best\.0)", r"icmp ugt \1"),
    "the first word decides alone": (orbits, r"icmp ult (i64 %\S+, %best\.[1-9])", r"icmp ugt \1"),
    "the last permutation is not tried": (orbits, r"(%another = icmp ult i64) %t\.next", r"\1 %following"),
    "every orbit is as large": (orbits, r"%times\.next = select i1 %\S+, i64 1, i64 %\S+", "%times.next = add i64 %times, 1"),
    "what stays is moved": (orbits, r"(= and i64 %o\.\d+), \d{6,}", r"\1, 0"),
    "a dropped digit": (order, r"(%left = icmp slt i64 %d), %many", r"\1, 1"),
    "rows of one digit overwrite each other": (order, r"(= add i64 %m\.\d+), 1$", r"\1, 0"),
    "sums of digits are not summed": (order, r"(%sum\.next = add i64) %sum", r"\1 0"),
    "a known row is not struck out": (order, r"br i1 %\S+, label %onward, label %further", "br label %keep"),
    "rows are compared by their last word": (order, r"icmp ult (i64 %l\.\d+, %l\.\d+)$", r"icmp ule \1"),
    "rows alike in one word are alike": (order, r"(= and i1) %u\.\d+, (%u\.\d+)$", r"\1 \2, \2"),
    "bytes that are alike are stored too": (
        order,
        r"icmp ne (<16 x i8> %s\.\d+), zeroinitializer",
        r"icmp eq \1, zeroinitializer",
    ),
    "what differs is taken as it is": (order, r"(= xor <2 x i64>) %last\d, (%j\.\d+)", r"\1 zeroinitializer, \2"),
}
NOTICED, BROKEN, NO_MUTANT = 1, 2, 3
"""How a copy ends that noticed the mutant, that failed otherwise, and whose text the mutant does not change."""


def outcome(caught: Caught, pattern: str, instead: str, folder: Path) -> int | None:
    """How a copy of this process ended that tested a mutant: 0 where nothing was noticed, None where it did not end."""

    def compiled_mutant(text: str, effort: OptimizationLevel) -> bytes:
        found, count = re.subn(pattern, instead, text, flags=re.MULTILINE)
        return compile_program(found, effort) if count else os._exit(NO_MUTANT)

    child = os.fork()
    if child:
        status = ended(child, SECONDS)
        if status is None:
            end(child)
        return status
    status = BROKEN
    try:
        faulthandler.disable()
        patch = pytest.MonkeyPatch()
        patch.setattr("_pytest.assertion.util._reprcompare", None)  # what differs is not read, and may take minutes to write
        for module in (test_ascending, test_orbits, test_state_tables):
            patch.setattr(module, "compile_program", compiled_mutant)
        try:
            caught(patch, folder)
            status = 0
        except (AssertionError, IndexError, ValueError):
            status = NOTICED
    finally:
        os._exit(status)


def slow(caught: Caught) -> Any:
    """Large tables take seconds."""
    return () if caught in (orbits, order) else pytest.mark.slow


@pytest.mark.parametrize("caught", [pytest.param(each, marks=slow(each)) for each in (tables, room, orbits, order)])
def test_what_is_no_mutant_passes(caught: Caught, tmp_path: Path) -> None:
    assert outcome(caught, r"\Z", "", tmp_path) == 0


@pytest.mark.parametrize("name", [pytest.param(name, marks=slow(caught)) for name, (caught, *_) in MUTANTS.items()])
def test_a_mutant_of_the_text_is_caught(name: str, tmp_path: Path) -> None:
    assert outcome(*MUTANTS[name], tmp_path) not in (0, BROKEN, NO_MUTANT)
