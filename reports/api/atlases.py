"""`build_atlas`: the answers to common questions, decided once, for the table in the package."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from os import PathLike
from pathlib import Path
from typing import Any

from neverlost.checker.atlas import build as building
from neverlost.checker.atlas import index, table
from neverlost.checker.atlas.lookup import question
from neverlost.checker.atlas.unit import units
from neverlost.checker.digest import question_id
from neverlost.checker.machine.whole_files import writable_directory
from neverlost.checker.outcome import Verdict
from neverlost.reports.request import Request
from neverlost.results import Answer
from neverlost.specs.common_settings import CHAPTERS
from neverlost.specs.errors import InputError


@dataclass(frozen=True)
class AtlasResult(Answer):
    """How much of the atlas is decided."""

    answers: int
    decided: int
    undecided: int
    failures: Sequence[str] = field(repr=False)


@dataclass(frozen=True)
class CoverageResult(Answer):
    """How many of the common questions the shipped atlas decides, by chapter; a question belongs to the first that asks it."""

    chapters: Sequence[Mapping[str, Any]] = field(repr=False)
    all: Mapping[str, Any]


def atlas_coverage() -> CoverageResult:
    """What the shipped atlas decides of every chapter's questions; a question with a search cut short is not decided."""
    atlas, seen = index.shipped(), set[str]()
    chapters: list[dict[str, Any]] = []
    for chapter in CHAPTERS:
        ids = {
            question_id(chosen.model, question(chosen.model, {**chosen.configuration, **limits}), [name])
            for chosen, limits in chapter.questions()
            for name in chapter.asked
        } - seen
        seen |= ids
        found = [atlas.find(each) for each in ids] if atlas is not None else []
        decided = sum(each is not None and each[0] is not Verdict.INCONCLUSIVE for each in found)
        chapters.append({"name": chapter.name, "questions": len(ids), "decided": decided, "undecided": len(ids) - decided})
    every = {key: sum(each[key] for each in chapters) for key in ("questions", "decided", "undecided")}
    is_of_these = atlas is not None and atlas.is_of_these_models
    document = {"schema": "neverlost.atlas-coverage/1", "is_of_these_models": is_of_these, "chapters": chapters, "all": every}
    return CoverageResult.of(document)


def build_atlas(
    out: str | PathLike[str],
    state_dir: str | PathLike[str],
    *,
    chapters: Sequence[int] | None = None,
    share: str = "1/1",
    workers: int | None = None,
    time_limit: float | None = None,
    master: str | None = None,
    spark_conf: list[str] | None = None,
    report: Callable[[int, int], None] | None = None,
) -> AtlasResult:
    """Decide the questions of the atlas and write its table to `out`.

    Finished units are kept in `state_dir`, and a build goes on from them.  `chapters` are numbers from 1 in the order of
    `specs/common_settings.py`; `share=2/10` is the second of every ten units; `time_limit` is for each search, in seconds.

    Errors: `InputError` for numbers that make no sense, and directories that cannot be written.
    """
    request = Request(workers=workers, time_limit=time_limit, master=master, spark_conf=spark_conf)
    wanted = [CHAPTERS[each - 1] for each in _numbers(chapters)]
    first, step = _share(share)
    writable_directory(state_dir)
    chosen = list(units(wanted))[first - 1 :: step]
    conf = request.options().spark_conf
    found = building.build(chosen, Path(state_dir), workers or os.cpu_count() or 1, time_limit, master, conf, report)
    table.write(found.rows, Path(out))
    document: dict[str, Any] = {
        "schema": "neverlost.atlas/1",
        "units": len(chosen),
        "answers": len(found.rows),
        "decided": found.decided,
        "undecided": len(found.rows) - found.decided,
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
