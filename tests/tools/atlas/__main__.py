"""Decide the common questions, or count what the shipped answers cover.

    python -m tests.tools.atlas build --state-dir DIR --out atlas.parquet [--chapter N]... [--share K/N] [--workers N]
    python -m tests.tools.atlas count --out atlas-coverage.json

Finished units are kept in DIR, and a build goes on from them.  Chapters are counted from 1, as in `common_settings.py`.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from neverlost.checker.engine.host.whole_files import write_text
from neverlost.checker.engine.outcome import Verdict
from neverlost.checker.questions.atlas import index
from neverlost.checker.questions.atlas.lookup import question
from neverlost.checker.questions.question_id import question_id
from tests.tools.atlas import build, table
from tests.tools.atlas.build_task import is_asked, units
from tests.tools.atlas.common_settings import CHAPTERS

SCHEMA = "neverlost.atlas-coverage/1"


def build_atlas(out: Path, state_dir: Path, chapters: Sequence[int], share: tuple[int, int], workers: int) -> build.Build:
    """Decide the questions of some chapters, the K-th of every N units, and write their table."""
    wanted = [CHAPTERS[each - 1] for each in chapters]
    first, step = share
    found = build.build(list(units(wanted))[first - 1 :: step], state_dir, workers, _report)
    table.write(found.rows, out)
    return found


def _report(done: int, of: int) -> None:
    print(f"{done} of {of} units", file=sys.stderr, flush=True)


def count_atlas(out: Path) -> dict[str, Any]:
    """Count the coverage question by question, and write it; a question counts in the first chapter that asks it."""
    atlas, seen = index.shipped(), set[str]()
    chapters: list[dict[str, Any]] = []
    for chapter in CHAPTERS:
        asked = ((one.model, question(one.model, {**one.configuration, **limits})) for one, limits in chapter.questions())
        every = {question_id(*one, [name]) for one in asked if is_asked(chapter, *one) for name in chapter.asked}
        ids = every - seen
        seen |= ids
        decided = sum(_is_decided(atlas, each) for each in ids) if atlas is not None else 0
        chapters.append({"name": chapter.name, "questions": len(ids), "decided": decided, "undecided": len(ids) - decided})
    digest = hashlib.sha256(index.in_package(index.FILE).read_bytes()).hexdigest()
    both = {key: sum(each[key] for each in chapters) for key in ("questions", "decided", "undecided")}
    document = {"schema": SCHEMA, "index": digest, "chapters": chapters, "all": both}
    write_text(out, json.dumps(document, indent=1, sort_keys=True) + "\n")
    return document


def _is_decided(atlas: index.Atlas, question_id: str) -> bool:
    found = atlas.find(question_id)
    return found is not None and found[0] is not Verdict.INCONCLUSIVE


def main() -> int:
    """Build or count; return 1 where units failed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("action", choices=("build", "count"))
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--state-dir", type=Path, default=Path("atlas-units"))
    parser.add_argument("--chapter", type=int, action="append", choices=range(1, len(CHAPTERS) + 1), metavar="N")
    parser.add_argument("--share", default="1/1", metavar="K/N")
    parser.add_argument("--workers", type=int, default=os.cpu_count() or 1)
    given = parser.parse_args()
    if given.action == "count":
        out = given.out / "atlas-coverage.json" if given.out.is_dir() else given.out
        print(json.dumps(count_atlas(out)["all"]))
        return 0
    given.state_dir.mkdir(parents=True, exist_ok=True)
    first, step = map(int, given.share.split("/"))
    chapters = given.chapter or range(1, len(CHAPTERS) + 1)
    found = build_atlas(given.out, given.state_dir, list(chapters), (first, step), given.workers)
    for each in found.failures:
        print(f"not decided: unit {each}", file=sys.stderr)
    print(f"{len(found.rows)} questions decided")
    return 1 if found.failures else 0


if __name__ == "__main__":
    sys.exit(main())
