"""The time limit of a command is that of all its searches together."""

from __future__ import annotations

import gc
import importlib
import time
import weakref
from typing import Any

import pytest

from neverlost.checker.engine.engines.memory import MemorySearch
from neverlost.checker.engine.outcome import Outcome, Verdict
from neverlost.checker.questions.tolerance.tolerance import tolerance
from neverlost.reports.request.run_options import RunOptions, memory_size
from neverlost.specs.configuration.choose import choose, read_settings
from neverlost.specs.errors import InputError
from neverlost.specs.properties import properties

explore_module = importlib.import_module("neverlost.checker.engine.engines.explore")
ASKED = [properties()["acked-never-lost"]]
SETTINGS = {"model": "kraft", "replication.factor": 2, "min.insync.replicas": 2, "bounds.records": 1}


def test_a_search_that_begins_after_the_time_of_the_command_is_given_up() -> None:
    chosen = choose(read_settings(SETTINGS))
    late = RunOptions(time_limit=5, started=time.monotonic() - 6)
    early = RunOptions(time_limit=500)
    found = [tolerance(chosen.model, chosen.configuration, ASKED, each.options()) for each in (late, early)]
    verdicts = [{one.verdict for row in each.entries.values() for one in row} for each in found]
    assert verdicts[0] == {Verdict.INCONCLUSIVE} and Verdict.INCONCLUSIVE not in verdicts[1]


@pytest.mark.parametrize("size", [0, "0", 0.5, "0.0001k", "-1", "1T"])
def test_a_memory_limit_below_a_byte_is_refused(size: Any) -> None:
    with pytest.raises(InputError, match=f"bad value {size!r} for --memory-limit: write a size such as 512M or 2G"):
        memory_size(size)
    assert [memory_size(each) for each in (None, 1, "0.001k", "1.5k", "2GiB")] == [None, 1, 1, 1500, 2**31]


def test_a_search_has_its_own_limit_within_that_of_the_command() -> None:
    now = time.monotonic()
    limits = RunOptions(time_limit=60, states_each=10, started=now).options().limits
    assert (limits.seconds, limits.states, limits.until) == (60, 10, now + 60)
    assert limits.too_many_states == "there are more than 10 states"
    assert RunOptions(states_each=10, started=now - 100).options().limits.until is None


def test_what_a_search_held_is_free_for_the_next_one(monkeypatch: pytest.MonkeyPatch) -> None:
    """The tables of a search are held in circles, which are collected before the next search measures its memory."""
    alive: list[weakref.ref[MemorySearch]] = []
    run = MemorySearch.run

    def noted(search: MemorySearch) -> Outcome:
        alive.append(weakref.ref(search))
        return run(search)

    monkeypatch.setattr(MemorySearch, "run", noted)
    monkeypatch.setattr(explore_module, "WORTH_FREEING", 0)
    system = choose(read_settings(SETTINGS)).system
    gc.disable()
    try:
        found = explore_module.explore(system, ASKED, RunOptions().options())
    finally:
        gc.enable()
    assert found.counts.distinct > 1 and [each() for each in alive] == [None]
