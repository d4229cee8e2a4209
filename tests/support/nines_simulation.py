"""The chain by chance: how often simulated years leave the region, with importance splitting for what is rare.

A year is cut into stages: the first time that 1, 2, 3, ... marks are there (a lost replica counts twice), up to an exit.
The same number of histories begins each stage, drawn from those that ended the one before, and the estimate is the product of
the parts that got further.
"""

from __future__ import annotations

import math
import random
from collections.abc import Sequence
from dataclasses import dataclass

from neverlost.checker.questions.nines.chain import EXIT, Chain, State, counted

Point = tuple[int, float]
"""A state and the time that is left."""


@dataclass(frozen=True)
class Estimate:
    """A probability, and three standard errors to each side, as independent repetitions are spread."""

    mean: float
    low: float
    high: float


def estimate(chain: Chain, years: float, histories: int, repetitions: int, seed: int) -> Estimate:
    """The probability that the region is left within so many years; `histories` begin each stage of each repetition."""
    chance = random.Random(seed)
    found = [_split(chain, years, histories, chance) for _ in range(repetitions)]
    mean = sum(found) / len(found)
    spread = math.sqrt(sum((each - mean) ** 2 for each in found) / (len(found) - 1) / len(found))
    return Estimate(mean, max(0.0, mean - 3 * spread), mean + 3 * spread)


def _split(chain: Chain, years: float, histories: int, chance: random.Random) -> float:
    product = 1.0
    starts: Sequence[Point] = [(0, years)]
    for level in range(1, 1 + max(_marks(each) for each in chain.states) + 1):
        ended = [_until(chain, *chance.choice(starts), level, chance) for _ in range(histories)]
        reached = [each for each in ended if each is not None]
        product *= len(reached) / histories
        inside = [each for each in reached if each[0] != EXIT]
        if not inside:
            return product
        starts = reached
    return product


def _until(chain: Chain, state: int, left: float, level: int, chance: random.Random) -> Point | None:
    """A history until so many marks are there at once, or the region is left; None where time is over before."""
    while state != EXIT and _marks(chain.states[state]) < level:
        row = chain.rates[state]
        left -= chance.expovariate(sum(row.values()))
        if left < 0:
            return None
        (state,) = chance.choices([*row], [*row.values()])
    return state, left


def _marks(state: State) -> int:
    """How far a state is from sync."""
    lost, out = counted(state)
    return 2 * lost + out
