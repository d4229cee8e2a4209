"""Chains, and what follows from them: held against fractions, scipy, Storm, chance, and a published formula."""

from __future__ import annotations

import math
import random
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from scipy.linalg import expm

from neverlost.checker.engine.outcome import Verdict
from neverlost.checker.questions.nines import bounds, exact, rates, regions
from neverlost.checker.questions.nines.chain import EXIT, LOST, OUT, Chain, Strike, chain, counted
from neverlost.checker.questions.tolerance.region import Region
from neverlost.model.any_number import AnyNumber
from neverlost.specs.properties import properties
from tests.support import nines_simulation as simulation
from tests.support import nines_storm as storm
from tests.support.modern import system

REGIONS = (Region((2, 1)), Region((3, 1, 0)), Region((1,)), Region((3, 2)), Region((0, 0)))


def drawn(seed: int, rare: float = 0.1) -> Chain:
    """A chain of two to four replicas in one to three racks; losses are rarer by a factor."""
    chance = random.Random(seed)
    racks = chance.choice([(1, 1), (2, 1), (1, 1, 1), (3,), (2, 2)])
    strikes = [
        Strike("power", "broker", LOST, rare * chance.uniform(1, 5), chance.uniform(0.01, 0.05)),
        Strike("slow", "broker", OUT, rare * chance.uniform(2, 20), chance.uniform(0.002, 0.02)),
        Strike("zone", "rack", chance.choice([LOST, OUT]), rare * chance.uniform(0.1, 1), chance.uniform(0.01, 0.05)),
    ]
    return chain(racks, strikes, chance.choice(REGIONS))


def solved(found: Chain) -> Fraction:
    """The mean time to the exit by Gauss's elimination on fractions."""
    size = len(found.states)
    rows = [[Fraction(0)] * size + [Fraction(1)] for _ in range(size)]
    for source, row in enumerate(found.rates):
        rows[source][source] += sum(map(Fraction, row.values()))
        for target, rate in row.items():
            if target != EXIT:
                rows[source][target] -= Fraction(rate)
    for pivot in range(size):
        inverse = 1 / rows[pivot][pivot]
        rows[pivot] = [each * inverse for each in rows[pivot]]
        for other in range(size):
            if other != pivot and rows[other][pivot]:
                factor = rows[other][pivot]
                rows[other] = [one - factor * two for one, two in zip(rows[other], rows[pivot], strict=True)]
    return rows[0][size]


def small(seed: int, rare: float) -> Chain:
    """One kind of loss beside one kind of outage, so that fractions stay short."""
    chance = random.Random(seed)
    strikes = [
        Strike("power", "broker", LOST, rare * chance.randint(1, 9), 1 / chance.randint(50, 5000)),
        Strike("slow", "broker", OUT, chance.randint(1, 9), 1 / chance.randint(1000, 90000)),
    ]
    return chain((1, 1, 1), strikes, chance.choice(REGIONS))


@pytest.mark.parametrize("rare", [1.0, 2.0**-20, 2.0**-40])
@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("block", [2, exact.BLOCK])
def test_mean_time_is_exact_however_rare_the_exit(block: int, seed: int, rare: float, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(exact, "BLOCK", block)
    found = small(seed, rare)
    assert exact.mean_years(found) == pytest.approx(float(solved(found)), rel=1e-12)


@pytest.mark.parametrize("seed", range(4))
def test_what_is_rare_has_the_probability_that_its_mean_time_says(seed: int) -> None:
    """To 1 % where it happens once in 10^9 years or less: the time to a rare exit is exponential."""
    found = small(seed, 2.0**-40)
    assert exact.probability(found) == pytest.approx(-math.expm1(-1 / exact.mean_years(found)), rel=1e-2)


@pytest.mark.parametrize("seed", [*range(6), *(pytest.param(each, marks=pytest.mark.slow) for each in range(6, 20))])
def test_the_chain_agrees_with_scipy_and_storm_and_chance(seed: int) -> None:
    found = drawn(seed)
    says = exact.probability(found)
    size = len(found.states)
    matrix = np.zeros((size + 1, size + 1))
    for source, row in enumerate(found.rates):
        for target, rate in row.items():
            matrix[source, target if target != EXIT else size] = rate
        matrix[source, source] -= sum(row.values())
    assert says == pytest.approx(float(expm(matrix)[0, size]), rel=1e-6)
    assert says == pytest.approx(storm.probability(found), rel=1e-5)
    guessed = simulation.estimate(found, 1.0, 2000, 12, seed)
    assert guessed.low <= says <= guessed.high


def test_two_independent_copies_have_the_published_mean_time_to_data_loss() -> None:
    """Patterson, Gibson and Katz 1988, for mirrored disks: (3 * failures + repairs) / (2 * failures ^ 2)."""
    failures, repairs = 0.02, 400.0
    found = chain((1, 1), [Strike("disk", "broker", LOST, failures, 1 / repairs)], Region((0, 0)))
    assert exact.mean_years(found) == pytest.approx((3 * failures + repairs) / (2 * failures**2), rel=1e-12)


@pytest.mark.parametrize("block", [2, exact.BLOCK])
def test_long_run_shares_are_a_fixed_point(block: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(exact, "BLOCK", block)
    found = drawn(3)
    shares = exact.long_run(found)
    flow = np.zeros_like(shares)
    for source, row in enumerate(found.rates):
        for target, rate in row.items():
            if target != EXIT:
                flow[source] -= shares[source] * rate
                flow[target] += shares[source] * rate
    assert shares.sum() == pytest.approx(1) and np.abs(flow).max() < 1e-9


def test_a_replica_that_is_struck_again_keeps_the_worse_of_both_marks() -> None:
    strikes = [Strike("power", "broker", LOST, 1.0, 0.001), Strike("slow", "broker", OUT, 1.0, 0.5)]
    found = chain((1,), strikes, Region((1, 0)))
    marks = {mark for state in found.states for rack in state for mark in rack}
    assert marks == {None, (True, 0.001, "power"), (False, 0.5, "slow"), (True, 0.5, "slow")}


def test_exits_are_all_ways_out() -> None:
    strikes = [Strike("disk", "broker", LOST, 0.1, 0.01), Strike("zone", "rack", LOST, 0.001, 0.01)]
    found = exact.exits(chain((2, 1), strikes, Region((0, 0))))
    assert sum(each.share for each in found) == pytest.approx(1)
    assert {(each.during, each.cause) for each in found} == {
        (("disk",), "disk"),
        ((), "zone"),
        (("disk",), "zone"),
        (("zone",), "disk"),
        (("zone",), "zone"),
    }


def test_what_waits_strikes_only_while_all_are_in_sync() -> None:
    strikes = [Strike("slow", "broker", OUT, 2.0, 0.01), Strike("restart", "broker", OUT, 3.0, 0.02, waits=True)]
    found = chain((1, 1, 1), strikes, Region((3,)))
    marks = [sorted(mark[2] for rack in state for mark in rack if mark) for state in found.states]
    assert ["restart", "slow"] in marks and not any(each.count("restart") > 1 for each in marks)
    begun = {move.rate for state, moves in zip(marks, found.moves, strict=True) for move in moves if move.cause == "restart"}
    assert begun == {3.0} and exact.mean_years(chain((1, 1, 1), strikes, Region((2,)))) > exact.mean_years(
        chain((1, 1, 1), [strikes[0], Strike("restart", "broker", OUT, 3.0, 0.02)], Region((2,)))
    )


def test_a_common_cause_strikes_every_rack() -> None:
    """The mean time of what is left in one step is one over its rate: three racks, each the first with the same probability."""
    strike = Strike("zone", "rack", LOST, 0.3, 0.01, common=0.25)
    found = chain((1, 1, 1), [strike], Region((0, 0, 0)))
    rates = {move.to: move.rate for move in found.moves[0]}
    assert rates == {(1, 0): pytest.approx(0.3 * 0.75), (3, 0): pytest.approx(0.3 * 3 * 0.25)}
    assert sum(move.rate for move in found.moves[0]) == pytest.approx(3 * 0.3 * 0.75 + 3 * 0.3 * 0.25)


def test_a_race_counts_as_a_loss_in_every_state() -> None:
    found = chain((1, 1), [Strike("slow", "broker", OUT, 2.0, 0.01)], Region((2,)), {"race": 0.125})
    assert exact.mean_years(found) == pytest.approx(8) and exact.probability(found) == pytest.approx(-math.expm1(-0.125))
    assert {each.cause for each in exact.exits(found)} == {"race"}


def test_influences_are_those_of_a_chain_made_again() -> None:
    """One percent more of each rate and each duration, against chains that are built with it."""
    found = bounds.bound(
        bounds.RatedConfiguration(regions.Decided(Region((2, 0)), "out", {}), (Region((1,)), Region((1,))), (1, 1)),
        rates.rates(),
    )
    for each in found.influences:
        strikes = bounds.strikes(rates.rates(), "high", "out")
        more = [
            replace(one, **{each.what: getattr(one, each.what) * 1.01}) if one.name == each.episode else one for one in strikes
        ]
        before, after = (exact.mean_years(chain((1, 1), one, Region((2, 0)))) for one in (strikes, more))
        assert each.factor == pytest.approx((before / after - 1) / 0.01, rel=1e-2, abs=1e-4), each


def test_regions_are_the_largest_that_hold_together() -> None:
    spots = [(0, 0), (0, 1), (0, 2), (0, 3), (1, 0), (1, 1), (2, 0)]
    asked = []

    def decide(limits: dict[str, object]) -> Verdict:
        asked.append(str(limits["faults.out"]))
        return Verdict.HOLDS if len(asked) == 3 else Verdict.VIOLATED

    found = regions.largest(spots, OUT, decide)
    assert asked == ["any:3,1,0", "any:2,1,0", "any:3,0,0"]
    assert isinstance(found, regions.Decided) and found.region == Region((3, 0, 0))
    assert regions.largest(spots, OUT, lambda _: Verdict.INCONCLUSIVE) is Verdict.INCONCLUSIVE
    assert regions.largest([(0, 0)], OUT, lambda _: Verdict.VIOLATED) is Verdict.VIOLATED
    assert regions.largest([], OUT, lambda _: Verdict.HOLDS) is Verdict.VIOLATED
    assert Region((0,)).limits(LOST)["faults.kill"] == 0
    assert Region((2, 1)).limits(LOST)["faults.kill"] == AnyNumber(counts_as="data_loss")


def test_a_region_asks_the_model_about_every_fault_that_the_chain_has() -> None:
    """Two replicas, one lost or out at a time: the limit `any:1,0`, with kills in the same column."""
    bound = system(
        "kraft",
        rf=2,
        min_isr=1,
        defects="fixed",
        **{key.removeprefix("faults."): str(value) for key, value in Region((1, 0)).limits(OUT).items() if value},
    )
    assert {each.action.fault for each in bound.steps} >= {"lossy_crash", "disk_loss", "isr_shrink", "kill"}
    assert properties()["acked-never-lost"].kind == "safety"
    assert counted((((True, 1.0, "a"), None),)) == (1, 0)
