"""Work that is killed and gone on with gives the same answer; many more: `python -m tests.support.kills --count 200`."""

from __future__ import annotations

import random
from pathlib import Path

from tests.support import kills


def test_a_stored_search_that_is_killed_goes_on_to_the_same_counts(tmp_path: Path) -> None:
    work = next(each for each in kills.works(tmp_path) if each.name == "stored")
    assert kills.killed(work, tmp_path, random.Random(3), longest=6.0) == []
    assert kills.answer(tmp_path)["states"]["distinct"] == kills.STATES
