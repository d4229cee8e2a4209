"""The bound is never below what timed random walks of the protocol itself lose."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import Any

import pytest

from neverlost.checker.questions.nines import exact
from neverlost.checker.questions.nines.chain import LOST, OUT, Strike, chain
from neverlost.checker.questions.tolerance.region import Region
from neverlost.specs.properties import properties
from tests.support.modern import system
from tests.support.timed_walks import walk

RATES = {
    "lossy_crash": Strike("lossy_crash", "broker", LOST, 3.0, 0.02),
    "disk_loss": Strike("disk_loss", "broker", LOST, 1.0, 0.03),
    "isr_shrink": Strike("isr_shrink", "broker", OUT, 6.0, 0.02),
    "clean_stop": Strike("clean_stop", "broker", OUT, 6.0, 0.01),
}
"""Inflated: losses at rates of parts per million cannot be waited for."""

ON_RACKS = {"rack_loss": Strike("rack_loss", "rack", LOST, 2.0, 0.02)}
"""Where racks are given, every broker of one loses power at once."""

CASES: list[tuple[str, dict[str, Any], Region]] = [
    ("kraft", {"rf": 2, "min_isr": 1}, Region((2, 0))),
    ("kraft", {"rf": 2, "min_isr": 2}, Region((2, 0))),
    ("kraft-elr", {"rf": 2, "min_isr": 2}, Region((2, 1))),
    ("kraft", {"rf": 3, "min_isr": 2}, Region((3, 1, 0))),
    ("kraft", {"rf": 3, "min_isr": 2, "racks": "a,a,b"}, Region((3, 1, 0))),
    ("kraft-elr", {"rf": 3, "min_isr": 2}, Region((3, 2, 0))),
]
"""Settings as designed, with the region of each that a search decides (`neverlost nines`)."""


def compare(model: str, given: dict[str, Any], region: Region, walks: int, years: float = 0.5) -> tuple[float, float, int]:
    """The bound, what the walks lost less three standard errors, and how many lost."""
    rates = RATES | (ON_RACKS if "racks" in given else {})
    kinds = dict.fromkeys((*rates, "leader_move"), "any")
    bound = system(model, **given, **kinds, records=1, defects="fixed")
    found = walk(bound, properties()["acked-never-lost"], rates, walks, years, speed=4e3, seed=11)
    longer = max(1.0, found.impaired_years / min(each.duration for each in rates.values()))
    strikes = [replace(each, duration=each.duration * longer) for each in rates.values()]
    racks = Counter(given["racks"].split(",")).values() if "racks" in given else [1] * given["rf"]
    most = exact.probability(chain([*racks], strikes, region), years)
    share = found.lost / walks
    return most, share - 3 * (share * (1 - share) / walks) ** 0.5, found.lost


def test_a_rack_loses_no_more_than_the_bound() -> None:
    """Two brokers on one rack are one loss of power: the walks lose, and the bound is above them."""
    most, least, lost = compare("kraft", {"rf": 2, "min_isr": 2, "racks": "a,a"}, Region((2, 0)), walks=60)
    assert lost and least <= most


def test_a_pair_loses_no_more_than_the_bound() -> None:
    most, least, lost = compare(*CASES[0], walks=60)
    assert lost and least <= most


@pytest.mark.slow
@pytest.mark.parametrize(("model", "given", "region"), CASES)
def test_the_protocol_loses_no_more_than_the_bound(model: str, given: dict[str, Any], region: Region) -> None:
    most, least, lost = compare(model, given, region, walks=400)
    assert lost and least <= most < 1, (most, least, lost)
