"""The memory engine against independent counts, with any number of workers, cut short, resumed, spilled and under symmetry."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from neverlost.checker.engine.engines.explore import explore
from neverlost.checker.engine.outcome import Outcome, Verdict
from neverlost.checker.engine.search.options import Options, SearchLimits
from neverlost.checker.engine.search.visited_states import StateSet
from neverlost.model.protocols import models
from neverlost.model.system import bind
from neverlost.specs.configuration.choose import choose
from neverlost.specs.properties import properties
from tests.support.instances import Golden, golden_counts, golden_verdicts

SMALL = 300_000
CONFIGURATION = {"replication.factor": 3, "bounds.log_size": 2, "bounds.records": 2, "bounds.max_leader_epoch": 1}


def run(row: Golden, **options: Any) -> Outcome:
    asked = [properties()[row.expected["property"]]] if "property" in row.expected else []
    return explore(bind(models()[row.model], row.configuration), asked, Options(**options))


def small(model: str = "kip-320", **options: Any) -> Outcome:
    return explore(bind(models()[model], CONFIGURATION), (), Options(**options))


def rows(largest: int) -> list[Any]:
    marks = {row.name: [] if row.expected["distinct"] <= largest else [pytest.mark.slow] for row in golden_counts()}
    return [pytest.param(row, id=row.name, marks=marks[row.name]) for row in golden_counts()]


@pytest.mark.parametrize("row", rows(1_000_000))
def test_counts_equal_the_independent_ones(row: Golden) -> None:
    found = run(row)
    assert found.verdict == Verdict.HOLDS and found.reason is None
    assert found.counts.distinct == row.expected["distinct"]
    assert found.counts.depth == row.expected.get("depth", found.counts.depth)


@pytest.mark.parametrize("symmetry", [False, True], ids=["states", "orbits"])
@pytest.mark.parametrize("row", [pytest.param(row, id=row.name) for row in golden_verdicts()])
def test_verdicts_and_steps_equal_the_independent_ones(row: Golden, symmetry: bool) -> None:
    (finding,) = run(row, symmetry=symmetry).findings
    assert finding.verdict == row.expected["verdict"]
    assert (len(finding.trace.steps) if finding.trace else None) == row.expected.get("steps")


@pytest.mark.parametrize("row", rows(SMALL))
def test_orbits_sum_to_the_unreduced_count(row: Golden) -> None:
    found = run(row, symmetry=True)
    assert found.orbit_states == row.expected["distinct"]
    assert (found.counts.distinct < row.expected["distinct"]) == (row.configuration["replication.factor"] > 1)


@pytest.mark.parametrize(("crashes", "verdict"), [(1, Verdict.HOLDS), (2, Verdict.VIOLATED)])
def test_replicas_that_are_alike_are_searched_as_orbits_with_the_same_answer(
    crashes: int, verdict: Verdict, tmp_path: Path
) -> None:
    """Where `orbits` allows it; not where one replica is preferred, nor where levels are kept."""
    given = {"replication.factor": 2, "bounds.records": 1, "defects": "fixed", "faults.lossy_crash": crashes}
    asked = [properties()["acked-never-lost"]]

    def search(more: dict[str, Any], **options: Any) -> Outcome:
        configuration = choose({key: (value, "") for key, value in (given | more).items()}, "kraft").configuration
        return explore(bind(models()["kraft"], configuration), asked, Options(**options))

    plain, orbits = search({}), search({}, orbits=True)
    assert (plain.verdict, plain.symmetry, orbits.symmetry) == (verdict, False, True)
    steps = [[len(each.trace.steps) if each.trace else None for each in found.findings] for found in (plain, orbits)]
    assert orbits.verdict == verdict and steps[0] == steps[1] and orbits.counts.distinct < plain.counts.distinct
    assert not search({"election.policy": "preferred"}, orbits=True).symmetry
    assert not search({}, orbits=True, state_dir=tmp_path).symmetry


def test_a_cut_search_is_inconclusive_and_resumes_to_the_same_counts(tmp_path: Path) -> None:
    place = tmp_path / "levels"
    cut = small(state_dir=place, limits=SearchLimits(depth=9))
    assert cut.verdict == Verdict.INCONCLUSIVE and "depth limit" in str(cut.reason) and cut.counts.left > 0
    resumed, whole = small(state_dir=place, resume=True), small()
    assert resumed.counts == whole.counts and resumed.fired == whole.fired and resumed.growth == whole.growth
    assert len(whole.growth) == whole.counts.depth and whole.growth[-1][1] == whole.counts.distinct
    again = small(state_dir=place, resume=True)
    assert again.counts == whole.counts


def test_a_resumed_search_finds_the_same_counterexample(tmp_path: Path) -> None:
    system = bind(models()["kip-279"], CONFIGURATION)
    asked = [properties()["strong-isr"]]
    explore(system, asked, Options(state_dir=tmp_path / "levels", limits=SearchLimits(depth=6)))
    resumed = explore(system, asked, Options(state_dir=tmp_path / "levels", resume=True))
    assert resumed.findings == explore(system, asked).findings


def test_time_and_memory_limits_are_inconclusive() -> None:
    for limits in (SearchLimits(seconds=1e-9), SearchLimits(memory_bytes=1)):
        found = small(limits=limits)
        assert found.verdict == Verdict.INCONCLUSIVE and found.reason is not None and "limit" in found.reason


def test_a_moment_at_which_time_is_over_is_a_limit_without_seconds() -> None:
    found = small(limits=SearchLimits(until=0.0))
    assert (found.verdict, found.reason) == (Verdict.INCONCLUSIVE, "the time limit was reached")


def test_an_interrupt_is_inconclusive() -> None:
    def interrupt(progress: Any) -> None:
        if progress.level == 5:
            raise KeyboardInterrupt

    found = explore(bind(models()["kip-320"], CONFIGURATION), (), Options(), interrupt)
    assert found.verdict == Verdict.INCONCLUSIVE and found.reason == "interrupted" and found.counts.distinct > 0


@pytest.mark.parametrize("words", [1, 2, 3])
def test_the_state_set_is_exact(words: int) -> None:
    chance = np.random.default_rng(7)
    states = StateSet(words)
    seen: dict[tuple[int, ...], None] = {}
    for size in (0, 1, 50, 70_000, 3, 40_000):
        batch = (
            chance.integers(0, 40, (words, size), dtype=np.uint64)
            if words > 1
            else chance.integers(0, 60_000, (1, size), dtype=np.uint64)
        )
        before = len(seen)
        seen.update(dict.fromkeys(map(tuple, batch.T.tolist())))
        assert states.add(batch) == len(seen) - before
    assert len(states) == len(seen)
    assert sorted(map(tuple, states.slice(0, len(states)).T.tolist())) == sorted(seen)
    assert states.find(states.slice(0, len(states))).tolist() == [*range(len(seen))]
    assert states.find(np.full((words, 1), 10**9, np.uint64)).tolist() == [-1]
