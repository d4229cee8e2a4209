"""Work of each kind that needs no Java is killed, and gone on with; 200 kills: `python -m tests.support.kills --count 200`."""

from __future__ import annotations

from tests.support import kills

KINDS = ("stored", "shared", "sweep", "atlas", "observe")
SEED = 3


def test_work_that_is_killed_goes_on_to_the_same_answer() -> None:
    said: list[str] = []
    assert kills.run(KINDS, SEED, range(len(KINDS)), said.append) == 0, said
