"""What is published as proved, a search of the same configuration finds to hold, wherever that search closes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from neverlost.checker.engine.engines.explore import explore
from neverlost.checker.engine.outcome import Verdict
from neverlost.checker.engine.search.options import Options, SearchLimits
from neverlost.model.system import System
from neverlost.specs.configuration.choose import choose, read_given
from neverlost.specs.properties import properties
from tests.tools.publish.proofs import Row, known, rows

MOST = 400_000
"""States, up to symmetry, at which a search ends without an answer: it says nothing then."""


def instances(row: Row) -> Iterator[dict[str, Any]]:
    """Configurations of which a row speaks: its own, and smaller ones where it has no bound."""
    if not (row.every_rf or row.unbounded):
        yield row.settings
        return
    if row.model == "kraft":
        for replicas, records in ((2, 1), (2, 2), (2, 3), (3, 1), (3, 2)):
            keys = {"replication.factor": replicas, "faults.at_once": replicas - 1, "bounds.records": records}
            yield row.settings | keys
        return
    if row.model == "kraft-elr":
        for replicas, minimum in ((2, 2), (3, 2), (3, 3), (4, 2)):
            limits = {"min.insync.replicas": minimum, "faults.data_loss": f"any:{minimum - 1}", "bounds.records": 1}
            yield row.settings | limits | {"replication.factor": replicas}
        return
    for replicas in (2, 3, 4) if row.every_rf else (row.replicas,):
        for log_size, epoch in ((1, 2), (2, 1)) if replicas < 4 else ((1, 1),):
            keys = {"replication.factor": replicas, "bounds.log_size": log_size, "bounds.max_leader_epoch": epoch}
            yield row.settings | keys | {"bounds.records": log_size}


PUBLISHED = [(row, settings) for row in rows() for settings in instances(row)]
QUICK = {("kip-320", "strong-isr", 2), ("kraft", "acked-never-lost", 2)}
"""Rows that the suite asks each time; the others are slow."""


def cases() -> Iterator[Any]:
    for row, settings in PUBLISHED:
        key = (row.model, row.goal, settings["replication.factor"])
        is_quick = key in QUICK and not row.unbounded and not (row.every_rf and row.model == "kraft")
        yield pytest.param(row, settings, marks=() if is_quick else pytest.mark.slow, id=f"{row.text} {settings}"[:150])


def bound(settings: dict[str, Any]) -> System:
    return choose(read_given(None, settings)).system


def test_every_proved_row_is_asked() -> None:
    proved = {text for text, found in known().items() if found["verdict"] == "holds"}
    assert proved <= {row.text for row, _ in PUBLISHED}


@pytest.mark.parametrize(("row", "settings"), list(cases()))
def test_the_search_agrees_with_the_proof_where_it_closes(row: Row, settings: dict[str, Any]) -> None:
    limits = SearchLimits(states=MOST, seconds=240.0, memory_bytes=3 << 30)
    outcome = explore(bound(settings), [properties()[row.goal]], Options(limits=limits, workers=1, symmetry=True))
    print(f"{outcome.counts.distinct:,} states up to symmetry; {outcome.reason or 'the search closes'}")
    (finding,) = outcome.findings
    if known()[row.text]["verdict"] == "holds":
        assert finding.verdict is not Verdict.VIOLATED
    is_small = settings["replication.factor"] == 2 or (row.every_rf and row.model == "kip-320") or row.unbounded
    if is_small or (row.model, row.replicas) == ("majority", 3):
        assert outcome.reason is None and finding.verdict is Verdict.HOLDS
