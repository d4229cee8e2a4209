"""Spots of the tolerance table are proved where a search finds that nothing is lost, and nowhere else."""

from __future__ import annotations

from typing import Any

import pytest

from neverlost.checker.engine.engines.explore import explore
from neverlost.checker.engine.outcome import Finding, Verdict
from neverlost.checker.engine.search.options import Options
from neverlost.checker.questions.atlas.index import TABLE
from neverlost.checker.questions.by_lemmas import by_induction
from neverlost.checker.questions.necessity.necessity import clauses_of, without
from neverlost.checker.questions.tolerance.fault_budget import FaultBudget, fault_budgets
from neverlost.checker.questions.tolerance.region import Region, kills_count_as
from neverlost.model.system import System
from neverlost.specs.lemma import Lemma, Theory
from neverlost.specs.lemmas import by_kind, find_lemmas, whole_logs, whole_regions
from neverlost.specs.properties import properties
from neverlost.specs.property import Property
from tests.checker.prove.test_unimpaired_proof import ACKED, is_open, is_proved, proof, verdict
from tests.support.modern import system
from tests.tools.atlas.common_settings import SAFE
from tests.tools.atlas.decision_procedures import by_search, without_recovery_actions

ASKED = [properties()[each] for each in TABLE]


def at(model: str, rf: int, spot: FaultBudget, min_isr: int, **given: Any) -> System:
    """The question of a spot, as designed."""
    return system(model, **{"rf": rf, "min_isr": min_isr, "defects": "fixed", **spot.limits, **given})


def said(found: list[Finding] | None) -> dict[str, Verdict]:
    assert found is not None
    return {each.property.name: each.verdict for each in found}


def compared(model: str, rf: int, min_isr: int, records: int) -> int:
    """How many safety questions of a table are proved; what is proved, a search finds to hold too."""
    proved = 0
    for spot in fault_budgets(rf):
        bound = at(model, rf, spot, min_isr, records=records)
        asked = (bound.model, bound.configurations, ASKED)
        searched = said(by_search(*asked, 0))
        assert set(searched.values()) <= {Verdict.HOLDS, Verdict.VIOLATED}
        is_covered = bool(find_lemmas(bound))
        assert is_covered or spot == FaultBudget(0, 0) or Verdict.VIOLATED in {searched[each] for each in SAFE}
        for name, answer in (said(by_induction(*asked)) if is_covered else {}).items():
            assert answer in (searched[name], Verdict.INCONCLUSIVE), (spot, name)
            assert answer is searched[name] or searched[name] is Verdict.VIOLATED or name not in SAFE, (spot, name)
            proved += answer is Verdict.HOLDS and name in SAFE
    return proved


@pytest.mark.parametrize(
    ("model", "rf", "min_isr", "records", "proved"),
    [
        *[
            pytest.param(*each, marks=pytest.mark.slow)
            for each in [
                ("kraft-elr", 2, 2, 1, 10),
                ("kraft-elr", 2, 1, 2, 8),
                ("kraft", 2, 2, 2, 6),
                ("kraft", 3, 2, 1, 12),
                ("kraft-elr", 3, 1, 1, 14),
                ("kraft-elr", 3, 2, 1, 16),
                ("kraft-elr", 3, 3, 1, 18),
            ]
        ],
    ],
)
def test_what_is_proved_is_what_a_search_finds_to_hold(model: str, rf: int, min_isr: int, records: int, proved: int) -> None:
    """Every spot at which nothing is lost is proved, but without ELR the first, at which nothing happens.

    The numbers follow from the argument: nothing is lost where a replica stays unimpaired, nor where all are impaired and fewer
    have lost data than are remembered.
    """
    assert compared(model, rf, min_isr, records) == proved


WHOLE = at("kraft-elr", 2, FaultBudget(1, 1), 2)
"""All replicas may be impaired at once, and one of them may have lost data."""


def test_every_lemma_is_true_of_each_reachable_state() -> None:
    for bound in (WHOLE, at("kraft", 2, FaultBudget(0, 2), 1, records=2), at("kraft", 2, FaultBudget(1, 0), 1)):
        asked = [Property(each.name, each.says, each.condition, (), "") for each in find_lemmas(bound)]
        outcome = explore(bound, asked, Options(workers=1, keep_going=True))
        assert outcome.reason is None, "the reachable set is complete"
        assert [each.property.name for each in outcome.findings if each.verdict is not Verdict.HOLDS] == []


def test_the_theory_is_the_one_that_a_spot_needs() -> None:
    """An unimpaired replica is the simpler argument; where too many lose data there is none."""
    cases = {
        ("kraft", FaultBudget(1, 1), 2): by_kind.THEORY.lemmas,
        ("kraft", FaultBudget(0, 3), 2): whole_logs.THEORY.lemmas,
        ("kraft", FaultBudget(1, 2), 2): (),
        ("kraft-elr", FaultBudget(1, 2), 2): whole_logs.THEORY.lemmas,
        ("kraft-elr", FaultBudget(2, 1), 2): (),
        ("kraft-elr", FaultBudget(2, 1), 3): whole_logs.THEORY.lemmas,
        ("kraft-elr", FaultBudget(3, 0), 3): (),
    }
    for (model, spot, min_isr), expected in cases.items():
        assert find_lemmas(at(model, 3, spot, min_isr)) == expected, (model, spot, min_isr)
    for given in ({"defects": "shipped"}, {"unclean": "true"}, {"kill": "any"}, {"reassign": 1}, {"min_isr_change": "any"}):
        assert find_lemmas(at("kraft-elr", 3, FaultBudget(1, 2), 2, **given)) == ()


@pytest.mark.slow
@pytest.mark.parametrize("part", range(9))
def test_a_guard_clause_less_is_never_proved_where_the_search_finds_a_loss(part: int) -> None:
    """Every clause of every action, one at a time: the proof of a weakened system is worth something only if it can fail."""
    found = {}
    for clause in clauses_of(WHOLE)[part::9]:
        weakened = without(WHOLE, *clause)
        found[clause] = (verdict(weakened), is_proved(weakened, clause[0]))
    assert [clause for clause, (said, is_proved) in found.items() if is_proved and said != "holds"] == []
    assert any(said == "violated" for said, _ in found.values()), "the search finds losses"
    assert any(is_proved for _, is_proved in found.values()), "and some clauses are not needed for this"


NEEDED = [
    *[(whole_logs.THEORY, FaultBudget(1, 2), 2, each) for each in whole_logs.THEORY.lemmas],
    *[(by_kind.THEORY, FaultBudget(1, 1), 1, each) for each in by_kind.THEORY.lemmas if each.name != "one-member-stays"],
]
"""Each lemma of both theories, and a spot of three replicas that it is needed at; but one that follows from others there."""


@pytest.mark.slow
@pytest.mark.parametrize(("theory", "spot", "min_isr", "lemma"), NEEDED, ids=lambda each: getattr(each, "name", ""))
def test_the_proof_fails_without_any_one_lemma(theory: Theory, spot: FaultBudget, min_isr: int, lemma: Lemma) -> None:
    bound, goal = at("kraft-elr", 3, spot, min_isr, records=2), lemma.only_for or ACKED
    assert find_lemmas(bound) == theory.lemmas
    found = proof(bound, goal, tuple(each for each in find_lemmas(bound, goal) if each is not lemma), until_refuted=True)
    assert any(each.answer == "refuted" for each in found.open)


@pytest.mark.slow
def test_one_lemma_that_the_file_says_to_follow_is_not_needed() -> None:
    bound = at("kraft-elr", 3, FaultBudget(1, 1), 1)
    rest = tuple(each for each in find_lemmas(bound, ACKED) if each.name != "one-member-stays")
    assert len(rest) + 1 == len(find_lemmas(bound, ACKED)) and is_open(proof(bound, ACKED, rest)) == []


@pytest.mark.slow
@pytest.mark.parametrize("spot", [FaultBudget(2, 2), FaultBudget(2, 3), FaultBudget(0, 5)], ids=str)
def test_five_replicas(spot: FaultBudget) -> None:
    for name in SAFE:
        assert is_open(proof(at("kraft-elr", 5, spot, 3), name)) == []


def inside(region: Region, model: str, rf: int, min_isr: int) -> System:
    """The question whether a region holds, as one."""
    limits = region.limits(kills_count_as({"eligible.leader.replicas": model == "kraft-elr"}))
    return system(model, rf=rf, min_isr=min_isr, defects="fixed", **limits)


REGIONS = [
    pytest.param("kraft", 2, 1, Region((2, 0)), "holds", marks=pytest.mark.slow),
    ("kraft", 2, 2, Region((2, 1)), "violated"),
    pytest.param("kraft-elr", 2, 1, Region((2, 0)), "holds", marks=pytest.mark.slow),
    pytest.param("kraft-elr", 2, 1, Region((2, 1)), "violated", marks=pytest.mark.slow),
    ("kraft-elr", 2, 2, Region((2, 1)), "holds"),
    pytest.param("kraft-elr", 2, 2, Region((2, 1, 0)), "violated", marks=pytest.mark.slow),
]


@pytest.mark.parametrize(("model", "rf", "min_isr", "region", "expected"), REGIONS)
def test_a_region_is_proved_where_a_search_finds_that_it_holds(
    model: str, rf: int, min_isr: int, region: Region, expected: str
) -> None:
    """The lemmas are tried where they are not meant for, too: they never prove what a search finds violated."""
    kills = kills_count_as({"eligible.leader.replicas": model == "kraft-elr"})
    bound = system(
        model, rf=rf, min_isr=min_isr, defects="fixed", **{each: str(one) for each, one in region.limits(kills).items()}
    )
    searched = said(by_search(bound.model, bound.configurations, [properties()[ACKED]], 0))
    assert searched[ACKED] == expected
    is_covered = whole_regions.THEORY.covers(bound.configurations[0]) or whole_logs.THEORY.covers(bound.configurations[0])
    assert is_covered is (expected == "holds")
    assert (is_open(proof(bound, ACKED, whole_regions.THEORY.lemmas)) == []) is (expected == "holds")


def test_every_lemma_of_a_region_is_true_of_each_reachable_state() -> None:
    bound = inside(Region((2, 0)), "kraft", 2, 1)
    assert find_lemmas(bound) == whole_regions.THEORY.lemmas
    asked = [Property(each.name, each.says, each.condition, (), "") for each in find_lemmas(bound)]
    outcome = explore(bound, asked, Options(workers=1, keep_going=True))
    assert [each.property.name for each in outcome.findings if each.verdict is not Verdict.HOLDS] == []


@pytest.mark.parametrize("name", ["who-is-out-was-struck", "one-is-left"])
def test_the_proof_of_a_region_fails_without_its_own_lemmas(name: str) -> None:
    bound = inside(Region((2, 0)), "kraft", 2, 1)
    rest = tuple(each for each in whole_regions.THEORY.lemmas if each.name != name)
    assert is_open(proof(bound, ACKED, rest)) != []


@pytest.mark.slow
def test_a_loss_is_found_among_the_behaviours_without_returns() -> None:
    """Wherever a search finds a loss with all replicas impaired; it has no steps, because it need not be a shortest one."""
    safe = [properties()[each] for each in SAFE]
    for model, spot in [
        ("kraft", FaultBudget(1, 1)),
        ("kraft", FaultBudget(2, 0)),
        ("kraft-elr", FaultBudget(2, 0)),
        ("kraft-elr", FaultBudget(1, 1)),
    ]:
        bound = at(model, 2, spot, 2)
        asked = (bound.model, bound.configurations, safe)
        few, every = said(without_recovery_actions(*asked)), said(by_search(*asked, 0))
        assert few == {name: each if each is Verdict.VIOLATED else Verdict.INCONCLUSIVE for name, each in every.items()}
        assert all(each.trace is None for each in without_recovery_actions(*asked) or ())
