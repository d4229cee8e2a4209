"""What the shipped answers cover."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from neverlost.checker.questions.atlas import index
from neverlost.reports.results.results import Answer

SCHEMA = "neverlost.atlas-coverage/1"


@dataclass(frozen=True, repr=False)
class CoverageResult(Answer):
    """How many of the common questions the shipped atlas decides, by chapter; a question counts in the first chapter that asks
    it."""

    chapters: Sequence[Mapping[str, Any]] = field(repr=False)
    all: Mapping[str, Any]


def atlas_coverage() -> CoverageResult:
    """Return the coverage of the shipped atlas as last counted; without chapters where its index was not counted since."""
    place, atlas = index.in_package(index.COVERAGE), index.shipped()
    counted = json.loads(place.read_text()) if place.is_file() else {}
    if counted.get("index") != digest_of_index():
        every = {"questions": None, "decided": len(atlas) if atlas else 0, "undecided": None}
        counted = {"schema": SCHEMA, "index": digest_of_index(), "chapters": [], "all": every}
    return CoverageResult.of({**counted, "is_of_these_models": atlas is not None and atlas.is_of_these_models})


def digest_of_index() -> str:
    place = index.in_package(index.FILE)
    return hashlib.sha256(place.read_bytes() if place.is_file() else b"").hexdigest()
