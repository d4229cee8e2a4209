"""`build_atlas` decides the common questions and writes the table of answers that the package ships; coverage counts how many
it has."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from os import PathLike
from pathlib import Path
from typing import Any

from neverlost.checker.engine.host.whole_files import writable_directory, write_text
from neverlost.checker.engine.outcome import Verdict
from neverlost.checker.questions.atlas import build, index, table
from neverlost.checker.questions.atlas.build_task import is_asked, units
from neverlost.checker.questions.atlas.common_settings import CHAPTERS
from neverlost.checker.questions.atlas.lookup import question
from neverlost.checker.questions.question_id import question_id
from neverlost.reports.request.run_options import RunOptions
from neverlost.reports.results.results import Answer
from neverlost.specs.errors import InputError

SCHEMA = "neverlost.atlas-coverage/1"


@dataclass(frozen=True, repr=False)
class AtlasResult(Answer):
    """The result of a build: how many questions were decided, and in `failures` the units of work that failed."""

    answers: int
    failures: Sequence[str] = field(repr=False)


@dataclass(frozen=True, repr=False)
class CoverageResult(Answer):
    """How many of the common questions the shipped atlas decides, by chapter; a question counts in the first chapter that asks
    it."""

    chapters: Sequence[Mapping[str, Any]] = field(repr=False)
    all: Mapping[str, Any]


def atlas_coverage() -> CoverageResult:
    """Return the coverage of the shipped atlas as last counted; without chapters where it was never counted."""
    place, atlas = index.in_package(index.COVERAGE), index.shipped()
    counted = json.loads(place.read_text()) if place.is_file() else {}
    if counted.get("index") != _digest_of_index():
        every = {"questions": None, "decided": len(atlas) if atlas else 0, "undecided": None}
        counted = {"schema": SCHEMA, "index": _digest_of_index(), "chapters": [], "all": every}
    return CoverageResult.of({**counted, "is_of_these_models": atlas is not None and atlas.is_of_these_models})


def count_atlas(out: str | PathLike[str]) -> CoverageResult:
    """Count the coverage again, question by question, and write it to `out`."""
    atlas, seen = index.shipped(), set[str]()
    chapters: list[dict[str, Any]] = []
    for chapter in CHAPTERS:
        asked = ((one.model, question(one.model, {**one.configuration, **limits})) for one, limits in chapter.questions())
        every = {question_id(*one, [name]) for one in asked if is_asked(chapter, *one) for name in chapter.asked}
        ids = every - seen
        seen |= ids
        decided = sum(_is_decided(atlas, each) for each in ids) if atlas is not None else 0
        chapters.append({"name": chapter.name, "questions": len(ids), "decided": decided, "undecided": len(ids) - decided})
    both = {key: sum(each[key] for each in chapters) for key in ("questions", "decided", "undecided")}
    document = {"schema": SCHEMA, "index": _digest_of_index(), "chapters": chapters, "all": both}
    write_text(Path(out), json.dumps(document, indent=1, sort_keys=True) + "\n")
    return CoverageResult.of({**document, "is_of_these_models": atlas is not None and atlas.is_of_these_models})


def _is_decided(atlas: index.Atlas, question_id: str) -> bool:
    found = atlas.find(question_id)
    return found is not None and found[0] is not Verdict.INCONCLUSIVE


def _digest_of_index() -> str:
    place = index.in_package(index.FILE)
    return hashlib.sha256(place.read_bytes() if place.is_file() else b"").hexdigest()


def build_atlas(
    out: str | PathLike[str],
    state_dir: str | PathLike[str],
    *,
    chapters: Sequence[int] | None = None,
    share: str = "1/1",
    workers: int | None = None,
    report: Callable[[int, int], None] | None = None,
) -> AtlasResult:
    """Decide the questions of the atlas and write its table to `out`.

    Finished units are kept in `state_dir`, and a build goes on from them.  `chapters` are numbers from 1 in the order of
    `checker/questions/atlas/common_settings.py`; `share=2/10` is the second of every ten units.

    Errors: `InputError` for numbers that make no sense, and directories that cannot be written.
    """
    request = RunOptions(workers=workers)
    wanted = [CHAPTERS[each - 1] for each in _numbers(chapters)]
    first, step = _share(share)
    writable_directory(state_dir)
    chosen = list(units(wanted))[first - 1 :: step]
    found = build.build(chosen, Path(state_dir), request.workers or os.cpu_count() or 1, report)
    table.write(found.rows, Path(out))
    document: dict[str, Any] = {
        "schema": "neverlost.atlas/1",
        "units": len(chosen),
        "answers": len(found.rows),
        "failures": list(found.failures),
    }
    return AtlasResult.of(document)


def _numbers(chapters: Sequence[int] | None) -> list[int]:
    every = range(1, len(CHAPTERS) + 1)
    for each in chapters or ():
        if each not in every:
            raise InputError(f"bad value '{each}' for --chapter: use a number from 1 to {len(CHAPTERS)}")
    return list(chapters or every)


def _share(text: str) -> tuple[int, int]:
    first, slash, step = text.partition("/")
    if not slash or not all(each.isascii() and each.isdigit() and len(each) < 5 for each in (first, step)):
        raise InputError(f"bad value {text!r} for --share: write which of how many, such as 1/10")
    if not 1 <= int(first) <= int(step):
        raise InputError(f"bad value {text!r} for --share: use 1/{step} to {step}/{step}")
    return int(first), int(step)
