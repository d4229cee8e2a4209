"""A search by an engine that is chosen by name."""

from __future__ import annotations

import importlib
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from neverlost.checker.engine.engines.by_name import ENGINES
from neverlost.checker.engine.host import interrupts, locks, scratch
from neverlost.checker.engine.host.resources import free_memory, measure_memory
from neverlost.checker.engine.outcome import Counts, EngineError, Finding, Outcome, Verdict
from neverlost.checker.engine.search.options import Engine, Options, Reporter
from neverlost.model.system import System
from neverlost.specs.property import RECOVERY, Property

if TYPE_CHECKING:
    from neverlost.checker.engine.search.graph.state_graph import StateGraph

WORTH_FREEING = 1 << 29
"""Bytes in use after a search from which its tables are freed at once: the next search has the same limit of memory."""


def explore(
    system: System,
    properties: Sequence[Property] = (),
    options: Options | None = None,
    reporter: Reporter | None = None,
    engine: str = "memory",
) -> Outcome:
    """Explore reachable states, as far as the options say; return a verdict on each property of each configuration, and counts.

    Errors: `InputError` for an unusable state directory; `EngineError` where an engine and ints disagree; `ModelError` where a
    step leaves the declared bounds.  An interrupt ends the search: what is not decided by then is inconclusive.
    """
    asked = options or Options()
    if asked.orbits and asked.state_dir is None and all(system.model.symmetric(each) for each in system.configurations):
        asked = replace(asked, symmetry=True)
    try:
        if not interrupts.have_come():
            with interrupts.interrupt_at_once():
                found = _explore(system, properties, asked, reporter, engine)
                if measure_memory() > WORTH_FREEING:
                    free_memory()
                return found
    except KeyboardInterrupt:
        if not interrupts.have_come():
            raise
    cells = range(len(system.configurations))
    nothing = tuple(Finding(each, cell, Verdict.INCONCLUSIVE) for cell in cells for each in properties)
    return Outcome(system, nothing, Counts(), 0.0, interrupts.INTERRUPTED, symmetry=asked.symmetry, engine=engine)


def _explore(system: System, properties: Sequence[Property], asked: Options, reporter: Reporter | None, engine: str) -> Outcome:
    search: Engine = importlib.import_module(ENGINES[engine]).explore
    scratch.clear_once()
    with locks.hold_lock(asked.state_dir):
        if any(each.kind == RECOVERY for each in properties):
            from neverlost.checker.engine.search.graph import recovery

            return recovery.explore(system, properties, asked, reporter, search)
        return search(system, properties, asked, reporter)


def explore_graph(system: System, options: Options | None = None) -> StateGraph:
    """Explore a system completely and return its graph.

    Errors: `EngineError` when the search was cut short: a part of the graph would answer nothing.
    """
    from neverlost.checker.engine.search.graph.state_graph import build_from_store
    from neverlost.checker.engine.storage.levels import Store

    with scratch.hold_folder("graph") as place:
        outcome = explore(system, (), replace(options or Options(workers=1), state_dir=place))
        if outcome.reason:
            raise EngineError(f"no state graph of an unfinished search: {outcome.reason}")
        return build_from_store(system, Store.attach(place))
