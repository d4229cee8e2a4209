"""What follows from a chain, without cancellation: every number is a sum and a product of numbers that are not negative.

Repairs take minutes and losses take millions of years, so a chain's matrix is as close to singular as 1e-18, and a solver that
subtracts has no digit left (decision 090).  Elimination of states, as Grassmann, Taksar and Heyman do it, keeps all of them:
it never subtracts, and the diagonal is the sum of what leaves a state, the exit included.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from neverlost.checker.engine.host.resources import ResourceExhausted
from neverlost.checker.questions.nines.chain import EXIT, Chain

Floats = NDArray[np.float64]

BLOCK = 64
"""States that are eliminated together, so that what they change in the others is one product of matrices."""


def mean_years(chain: Chain, faster: Mapping[str, float] | None = None) -> float:
    """Return how many years pass on average from the first state until the region is left; infinity where it never is.
    `faster` maps causes of moves to the factor by which their rates are multiplied."""
    rates = _rates(chain, faster)
    # one more column: time until the next state that is kept, in units of what leaves the state; 1 before any is eliminated
    matrix = np.column_stack([rates, np.ones(len(rates))])
    _eliminate(matrix)
    left, spent = matrix[0, len(rates) :]
    return float(spent / left) if left else float("inf")


def _eliminate(matrix: Floats) -> Floats:
    """Eliminate all states but the first, in place, the last one first: moves into a state become moves to where it leads.
    Return the rate at which each is left when it is eliminated, for a state before it or for the exit (the column after the
    states); 1 for the first.  The rates out of it stay in its row, and those into it in its column, as they were then."""
    size = len(matrix)
    totals = np.ones(size)
    for end in range(size, 1, -BLOCK):
        first = max(1, end - BLOCK)
        for number in range(end - 1, first - 1, -1):
            totals[number] = matrix[number, :number].sum() + matrix[number, size : size + 1].sum()
            share = matrix[:number, number] / totals[number]
            matrix[:first, first:number] += np.outer(share[:first], matrix[number, first:number])
            for columns in (slice(number), slice(size, None)):
                matrix[first:number, columns] += np.outer(share[first:], matrix[number, columns])
        shares = matrix[:first, first:end] / totals[first:end]
        for columns in (slice(first), slice(size, None)):
            matrix[:first, columns] += shares @ matrix[first:end, columns]
    return totals


def _rates(chain: Chain, faster: Mapping[str, float] | None = None) -> Floats:
    """Return the yearly rates from each state (row) to each other one, times `faster` by cause; the last column is the exit."""
    _require_time(chain)
    size = len(chain.states)
    matrix = np.zeros((size, size + 1))
    for source, moves in enumerate(chain.moves):
        for each in moves:
            matrix[source, size if each.target == EXIT else each.target] += each.rate * (faster or {}).get(each.cause, 1.0)
    np.fill_diagonal(matrix, 0.0)
    return matrix


def _require_time(chain: Chain) -> None:
    if time.monotonic() > chain.until:
        raise ResourceExhausted("the time limit was reached")


def probability(chain: Chain, years: float = 1.0) -> float:
    """Return how probable it is that the region is left within `years`, beginning with every replica in sync.

    The matrix of a moment, at most 1/16 of the time that the fastest state lasts, is squared until the years are over.  No
    entry is negative, so relative errors add: at most 1e-6 for what happens ten million times a year.
    """
    matrix = _rates(chain)
    if not matrix[:, -1].any():
        return 0.0
    fastest = matrix.sum(axis=1).max()
    halvings = max(0, int(np.ceil(np.log2(fastest * years))) + 4)
    moment = _moment(matrix / fastest, fastest * years / 2.0**halvings)
    for _ in range(halvings):
        _require_time(chain)
        moment = moment @ moment
    return min(1.0, float(moment[0, -1]))


def _moment(rates: Floats, span: float) -> Floats:
    """Return the probability of each state (column, the exit last) a short `span` after each (row), as a series of powers.
    Units: the fastest state is left once in a time of 1; of a time of 1/16 the eleventh power is below 1e-20."""
    size = len(rates)
    step = np.vstack([rates, np.zeros(size + 1)])
    np.fill_diagonal(step, np.maximum(0.0, 1.0 - step.sum(axis=1)))
    weight = float(np.exp(-span))
    power, total = np.eye(size + 1), np.zeros_like(step)
    for number in range(1, 12):
        total += weight * power
        power = power @ step
        weight *= span / number
    result: Floats = total / total.sum(axis=1, keepdims=True)
    return result


def long_run(chain: Chain) -> Floats:
    """Return for each state the part of the time (from 0 to 1) that the chain is in it in the long run, if no exit is taken."""
    matrix = _rates(chain)[:, :-1]
    size, totals = len(matrix), _eliminate(matrix)
    weights = np.zeros(size)
    weights[0] = 1.0
    for number in range(1, size):
        weights[number] = weights[:number] @ matrix[:number, number] / totals[number]
    found: Floats = weights / weights.sum()
    return found


@dataclass(frozen=True)
class Exit:
    """A way out of the region: the marks that lasted, what struck, how many have lost data and how many are out after that, and
    (`share`) its part of all exits."""

    during: tuple[str, ...]
    cause: str
    to: tuple[int, int]
    share: float


def exits(chain: Chain) -> list[Exit]:
    """Return every way out, the most frequent first; the shares add up to 1, with states as frequent as in the long run."""
    found: dict[tuple[tuple[str, ...], str, tuple[int, int]], float] = {}
    for state, moves, weight in zip(chain.states, chain.moves, long_run(chain), strict=True):
        during = tuple(sorted(mark[2] for rack in state for mark in rack if mark is not None))
        for each in moves:
            if each.target == EXIT:
                key = during, each.cause, each.to
                found[key] = found.get(key, 0.0) + float(weight) * each.rate
    total = sum(found.values())
    ranked = sorted(found.items(), key=lambda each: (-each[1], each[0]))
    return [Exit(*key, rate / total) for key, rate in ranked]
