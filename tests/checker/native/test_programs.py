"""Machine code is kept between searches, and none that is damaged or not ours is run."""

from __future__ import annotations

import os
import resource
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import neverlost
from neverlost.checker.engine.compiled import code_cache as kept
from neverlost.checker.engine.compiled import programs
from neverlost.checker.engine.compiled.code_cache import SECRET, folder, read, write
from neverlost.checker.engine.compiled.programs import Programs, emit_program
from neverlost.checker.engine.engines import memory
from neverlost.checker.engine.outcome import EngineError, Verdict
from neverlost.model.interpreters.llvm import OptimizationLevel, compile_program
from neverlost.model.system import System
from neverlost.specs.properties import properties
from neverlost.specs.property import Property
from tests.support.searches import classic


@pytest.fixture
def system(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> System:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return classic("kip-101", 2, 2, 2, 1)


@pytest.fixture
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every search is large enough for machine code, and has run long enough for better code."""
    monkeypatch.setattr(programs, "WORTH_OPTIMISING", -1.0)
    monkeypatch.setattr(memory, "WORTH_COMPILING", 100)


def ended(found: Programs) -> Programs:
    """Programs whose compiler has begun and ended."""
    assert not found.improve()
    assert found._compiler is not None and found._compiler.wait() == 0
    return found


def improved(system: System) -> Programs:
    """Programs whose fast code has been made."""
    found = ended(Programs(system, ()))
    assert found.improve() and not found.improve() and not found.is_compiling
    return found


def list_kept() -> list[str]:
    return sorted(each.name for each in folder().iterdir() if each.name != SECRET)


def first_successors(found: Programs) -> list[list[int]]:
    rows = np.array([found.system.pack(state) for _, state in found.system.initial_states()], np.uint64)
    after, origins = found.successors(rows)
    return [*after.tolist(), origins.tolist()]


@pytest.mark.usefixtures("at_once")
def test_fast_code_is_made_beside_the_search_and_used_by_the_next(system: System, monkeypatch: pytest.MonkeyPatch) -> None:
    plain = Programs(system, ())
    expected = first_successors(plain)
    plain.close()
    assert len(list_kept()) == 1 and not plain.improve() and plain._compiler is None
    assert first_successors(improved(system)) == expected
    assert len(list_kept()) == 1
    monkeypatch.setattr(programs, "compile_program", None)
    again = Programs(system, ())
    assert not again.is_compiling and not again.improve() and first_successors(again) == expected


@pytest.mark.usefixtures("at_once")
def test_two_that_make_a_program_at_a_time_leave_it_once(system: System) -> None:
    first, second = Programs(system, ()), Programs(system, ())
    expected = first_successors(first)
    for each in (first, second):
        assert ended(each).improve()
    assert first_successors(first) == first_successors(second) == expected
    assert len(list_kept()) == 1


def test_a_search_that_is_soon_over_leaves_its_code_to_the_next(system: System, monkeypatch: pytest.MonkeyPatch) -> None:
    """The second one compiles nothing, in this process or another, and finds the same."""
    monkeypatch.setattr(programs, "WORTH_OPTIMISING", float("inf"))
    monkeypatch.setattr(memory, "WORTH_COMPILING", 100)
    expected = memory.explore(system)
    assert len(list_kept()) == 1
    compiled, begun = list[str](), list[Programs]()
    monkeypatch.setattr(programs, "compile_program", lambda text, _: compiled.append(text))
    begin = Programs.__init__
    monkeypatch.setattr(Programs, "__init__", lambda *given: begun.append(given[0]) or begin(*given))
    found = memory.explore(system)
    assert (found.counts, found.findings, found.growth) == (expected.counts, expected.findings, expected.growth)
    assert begun and not compiled and begun[0]._compiler is None and len(list_kept()) == 1


@pytest.mark.usefixtures("at_once")
def test_where_no_other_process_can_begin_the_first_code_goes_on(system: System, monkeypatch: pytest.MonkeyPatch) -> None:
    def begin(*_: object, **__: object) -> None:
        raise BlockingIOError("no more processes")

    monkeypatch.setattr(programs.subprocess, "Popen", begin)
    found = Programs(system, ())
    expected = first_successors(found)
    assert not found.improve() and first_successors(found) == expected
    found.close()


def test_a_full_disk_leaves_nothing_behind(tmp_path: Path) -> None:
    place = tmp_path / "code"
    write(place / "one", b"1" * 100)
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (200, limits[1]))
    try:
        write(place / "two", b"2" * 100_000)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert {each.name for each in place.iterdir()} == {SECRET, "one"}


def test_code_made_without_effort_is_not_taken_for_the_best(system: System) -> None:
    """It is loaded, and made better if the search runs long enough; its effort cannot be written otherwise by somebody else."""
    found = Programs(system, ())
    file = programs.find_cached_file(emit_program(system, (), None))
    content = file.read_bytes()
    assert content[64] == OptimizationLevel.NONE and found.is_compiling and Programs(system, ()).is_compiling
    file.write_bytes(content[:64] + bytes([OptimizationLevel.GOOD]) + content[65:])
    assert read(file) is None
    found.close()


@pytest.mark.usefixtures("at_once")
def test_damaged_code_is_ignored(system: System) -> None:
    expected = first_successors(improved(system))
    for file in folder().iterdir():
        content = bytearray(file.read_bytes())
        content[len(content) // 2] ^= 1
        file.write_bytes(content)
    assert read(programs.find_cached_file(emit_program(system, (), None))) is None
    again = Programs(system, ())
    assert again.is_compiling and first_successors(again) == expected
    again.close()
    for content in (b"", b"x" * 64):
        for file in folder().iterdir():
            file.write_bytes(content)
            assert read(file) is None


def test_code_that_others_may_have_written_is_ignored(tmp_path: Path) -> None:
    write(tmp_path / "code", b"abc")
    assert read(tmp_path / "code") == b"abc"
    (tmp_path / "code").chmod(0o666)
    assert read(tmp_path / "code") is None
    assert read(tmp_path / "none") is None


def test_code_of_another_cache_or_under_another_name_is_ignored(tmp_path: Path) -> None:
    for place in ("ours", "theirs"):
        write(tmp_path / place / "code", place.encode())
    ours, theirs = tmp_path / "ours" / "code", tmp_path / "theirs" / "code"
    assert (read(ours), read(theirs)) == (b"ours", b"theirs")
    ours.with_name("other").write_bytes(ours.read_bytes())
    assert read(ours.with_name("other")) is None
    ours.write_bytes(theirs.read_bytes())
    assert read(ours) is None
    assert (tmp_path / "ours" / SECRET).stat().st_mode & 0o077 == 0


@pytest.mark.parametrize(
    "what", ["the folder is a link", "the file is a link", "others may write into the folder", "others own it"]
)
def test_no_link_is_followed_and_no_folder_of_others_is_read_or_written(
    what: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    place = tmp_path / "folder"
    write(place / "code", b"abc")
    assert read(place / "code") == b"abc"
    if what == "the folder is a link":
        (tmp_path / "link").symlink_to(place)
        place = tmp_path / "link"
    elif what == "the file is a link":
        (place / "code").rename(tmp_path / "code")
        (place / "code").symlink_to(tmp_path / "code")
    elif what == "others may write into the folder":
        place.chmod(0o777)
    else:
        monkeypatch.setattr(os, "getuid", lambda: place.stat().st_uid + 1)
    assert read(place / "code") is None
    if what != "the file is a link":
        write(place / "more", b"abc")
        assert not (place / "more").exists()


def poisoned(system: System, asked: Property) -> None:
    """Leave code that takes every step as it should, and of which no state breaks the property."""
    harmless = replace(asked, condition=lambda k, s: k.any_of(True))
    write(
        programs.find_cached_file(emit_program(system, [asked], None)),
        bytes([OptimizationLevel.GOOD]) + compile_program(emit_program(system, [harmless], None), OptimizationLevel.NONE),
    )


@pytest.mark.usefixtures("system", "at_once")
def test_kept_code_that_finds_no_violation_is_not_believed() -> None:
    system, asked = classic("truncate-to-hw", 2, 2, 2, 2), properties()["strong-isr"]
    assert memory.explore(system, [asked]).verdict == Verdict.VIOLATED
    poisoned(system, asked)
    with pytest.raises(EngineError, match="disagree on strong-isr"):
        memory.explore(system, [asked])


@pytest.mark.usefixtures("system", "at_once")
def test_verify_uses_no_code_that_was_kept(tmp_path: Path) -> None:
    keys, asked = {"model": "truncate-to-hw", "replication.factor": 2}, ["strong-isr"]
    found = neverlost.check(keys, properties=asked, out=tmp_path / "out")
    assert found.verdict == "violated" and found.outcome is not None
    poisoned(found.outcome.system, properties()["strong-isr"])
    with pytest.raises(EngineError):
        neverlost.check(keys, properties=asked)
    assert neverlost.verify(str(tmp_path / "out")).verified


def test_a_folder_that_cannot_be_written_to_is_no_failure(
    system: System, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "file").write_text("not a folder")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    found = Programs(system, ())
    assert first_successors(found)
    found.close()


def test_only_so_many_files_are_kept(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(kept, "KEPT", 3)
    for number in range(6):
        write(tmp_path / str(number), b"abc")
    assert {each.name for each in tmp_path.iterdir()} == {SECRET, "3", "4", "5"}


def test_another_property_or_configuration_is_another_program(system: System) -> None:
    found = [emit_program(system, (), None), emit_program(classic("kip-101", 2, 2, 1, 1), (), None)]
    found.append(emit_program(system, [properties()["strong-isr"]], None))
    assert len(set(found)) == 3
