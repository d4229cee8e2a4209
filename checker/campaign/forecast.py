"""What a long search will cost, from short ones: the same system at smaller sizes, explored for some seconds.

A point is a tuple of sizes (bounds, limits of faults), each counted from its least value, and the target is the point that was
asked for.  The number of states is predicted in two ways, both in the logarithm for each replica, and averaged: by inclusion
and exclusion (what two sizes add together is what each adds alone, with the interaction that smaller points show), and by a
quadratic fitted to all samples.  Where they disagree, or fail to predict the largest samples from the smaller ones, the
interval is wide.
"""

from __future__ import annotations

import math
import os
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations, pairwise, product, repeat
from operator import ge

import numpy as np
from numpy.typing import NDArray

from neverlost.checker.engines.explore import explore
from neverlost.checker.engines.memory import WORTH_COMPILING, WORTH_SHARING
from neverlost.checker.machine.processes import Send, run
from neverlost.checker.machine.resources import used_memory
from neverlost.checker.search.options import Limits, Options
from neverlost.model.system import System

Point = tuple[int, ...]
Floats = NDArray[np.float64]
Make = Callable[[Point], System]
"""The system of a point; it goes to another process."""

Known = Mapping[Point, float]
"""The logarithm of the number of states of some points."""

Law = Callable[[Point], float]
"""The logarithm of the number of states of any point."""

UNKNOWN = 10
UNKNOWN_GROWTH = math.log(UNKNOWN)
"""What one more of something costs where nothing is known: about ten times (README, Figures)."""

DAMPING = 0.8
"""How much of the last growth the next step along one size shows, where only one growth is known: growth slows down."""

PATIENCE = 3.0
"""How much longer than its processor time the sampling may take on the clock, on a machine that is busy."""

MARGIN, FARTHER = 0.2, 0.1
"""What is added to half of an interval, in the logarithm, and for each e-fold that the target is larger than any sample."""

MACHINE_CODE = 5e6
"""States that machine code generates in a second with one worker, at least (decision 008)."""

SMALL = 0.4
"""The part of the time that small samples of two sizes may take; where models are large, beginning is most of it."""

BEYOND = 3
"""A sample that turns out so many times larger than the time allows is given up."""

SAMPLED, COMPILED = 4e5, 1.0
"""States that a sample finds in a second of machine code, at least, and the seconds that its compilation takes."""

MOST_POINTS = 4_000
LEAST = 1e-3


@dataclass(frozen=True)
class Replicas:
    """Which size is the number of replicas (None where that is not lowered), what it counts from, and how many the target has.

    A state is, roughly, what each replica is.  So whatever more one replica can be, by one more kind of fault say, multiplies
    the states once for each replica, and the logarithm of their number, divided by the replicas, hardly changes with these.
    Points are compared in such logarithms, as if all had as many replicas as the target.  With `symmetry` there are orbits:
    each stands for as many states as replicas have orders.
    """

    number: int | None = None
    least: int = 1
    most: int = 1
    symmetry: bool = False

    def scaled(self, known: Known) -> dict[Point, float]:
        """The logarithms of numbers of states, as if there were as many replicas as the target has."""
        return {point: (value + self._orders(point)) * self.most / self._of(point) for point, value in known.items()}

    def back(self, point: Point, scaled: float) -> float:
        """The logarithm itself."""
        return scaled * self._of(point) / self.most - self._orders(point)

    def _of(self, point: Point) -> int:
        return self.most if self.number is None else self.least + point[self.number]

    def _orders(self, point: Point) -> float:
        return math.lgamma(self._of(point) + 1) if self.symmetry else 0.0


NOT_LOWERED = Replicas()


@dataclass(frozen=True)
class Sample:
    """A search of a smaller point.  `seconds` passed on the clock, `processor` seconds were spent.

    Where it was cut because there were more states than expected, there are at least so many, and it is not `whole`.
    """

    point: Point
    distinct: int
    generated: int
    depth: int
    widest: int
    seconds: float
    processor: float
    whole: bool = True


@dataclass(frozen=True)
class Estimate:
    """A likely value with an interval."""

    low: float
    likely: float
    high: float

    def times(self, factor: float, wider: float = 1.0, more: float = 0.0) -> Estimate:
        """A quantity that is proportional to this one, plus a constant."""
        return Estimate(self.low * factor / wider + more, self.likely * factor + more, self.high * factor * wider + more)

    def at_least(self, least: float) -> Estimate:
        """The same, where it is known to be no less than that."""
        return Estimate(max(least, self.low), max(least, self.likely), max(UNKNOWN * least, self.high))

    def plus(self, other: Estimate) -> Estimate:
        """Two quantities together."""
        return Estimate(self.low + other.low, self.likely + other.likely, self.high + other.high)


@dataclass(frozen=True)
class Forecast:
    """What the target will cost.  Units: states, seconds, bytes.

    `widest` is the largest level, `stored` what its states take on disk.  `smaller` are the states of the target with
    one of its sizes lowered by one, by the number of that size.  `exact` says that the target itself was explored.
    """

    states: Estimate
    generated: Estimate
    seconds: Estimate
    memory: Estimate
    widest: Estimate
    stored: Estimate
    smaller: Mapping[int, float]
    samples: int
    sampled_seconds: float
    exact: bool


def forecast(make: Make, target: Point, replicas: Replicas, options: Options, seconds: float) -> Forecast | None:
    """Explore smaller points for some seconds of processor time; None where that was not enough for even one."""
    started = time.monotonic()
    samples = sampled(make, target, replicas, seconds)
    if not samples:
        return None
    workers = options.workers or os.cpu_count() or 1
    return predicted(samples, target, replicas, make(target).words, workers, time.monotonic() - started)


def sampled(make: Make, target: Point, replicas: Replicas, seconds: float, largest: float = math.inf) -> dict[Point, Sample]:
    """Searches of points up to the target, of so many states at most, in a process of its own."""
    messages = run(_sample, [(make, target, replicas, seconds, largest)], 1, PATIENCE * seconds)
    return {message.value.point: message.value for message in messages if message.kind == "progress"}


def predicted(
    samples: Mapping[Point, Sample], target: Point, replicas: Replicas, words: int, workers: int, spent: float
) -> Forecast:
    """What the samples say about the target."""
    smaller_ones = {point: each for point, each in samples.items() if each.whole or point != target}
    estimate = estimating(_known(smaller_ones, replicas), replicas)
    states = estimate(target)
    if target in samples and not samples[target].whole:
        states = states.at_least(samples[target].distinct)
    samples = {point: each for point, each in samples.items() if each.whole}
    largest = max(samples.values(), key=lambda each: each.generated)
    exact = target in samples
    cost = _Cost(list(samples.values()), states.likely > WORTH_COMPILING)
    generated = states.times(largest.generated / largest.distinct)
    widest = states.times(largest.widest / largest.distinct, 1.0 if exact else 1.3)
    shared = widest.likely > WORTH_SHARING and workers > 1
    faster = 1 + 0.35 * (workers - 1) if shared else 1.0
    held = 8 * words + 9
    fixed = used_memory() + (workers * 110e6 if shared else 40e6)
    memory = states.times(held, more=fixed + widest.likely * 4 * words)
    seconds = generated.times(1 / (cost.rate * faster), 1.1 if exact else 1.6, cost.level * largest.depth + 0.3 * shared)
    less = {number: lowered(target, (number,)) for number, size in enumerate(target) if size}
    smaller = {number: estimate(point).likely for number, point in less.items()}
    return Forecast(states, generated, seconds, memory, widest, states.times(8 * words), smaller, len(samples), spent, exact)


def _known(samples: Mapping[Point, Sample], replicas: Replicas) -> dict[Point, float]:
    """The logarithm of the states of each sample; of one that was cut only where more were found than the others predict."""
    known = {point: math.log(each.distinct) for point, each in samples.items() if each.whole}
    for point, each in samples.items():
        if not each.whole:
            likely = _both(replicas.scaled(known), replicas.number)(point)
            if replicas.back(point, likely) < math.log(each.distinct):
                known[point] = math.log(each.distinct)
    return known


class _Cost:
    """Seconds of a level, however small, and how many states are generated in a second beyond that, at the best.

    Small samples are over before there is machine code; what is large enough for it goes at its rate, as slowly as this
    machine, which may be busy, does anything.
    """

    def __init__(self, samples: Sequence[Sample], has_machine_code: bool) -> None:
        self.level = min(each.seconds / each.depth for each in samples)
        busy = {each: max(each.seconds - self.level * each.depth, each.seconds / 2, LEAST) for each in samples}
        self.rate = max(each.generated / seconds for each, seconds in busy.items())
        if has_machine_code:
            largest = max(samples, key=lambda each: each.processor)
            self.rate = max(self.rate, MACHINE_CODE / max(1.0, largest.seconds / max(largest.processor, LEAST)))


def estimating(known: Known, replicas: Replicas = NOT_LOWERED) -> Callable[[Point], Estimate]:
    """The number of states of any point, from the logarithms of those of some points."""
    scaled = replicas.scaled(known)
    one, other = excluding(scaled, replicas.number), fitted(scaled, replicas.number)
    error = _error(scaled, replicas.number)

    def value(point: Point) -> Estimate:
        if point in known:
            return Estimate(*[math.exp(known[point])] * 3)
        below = [each for each in known if _allows(point, each)]
        likely, apart = (one(point) + other(point)) / 2, abs(one(point) - other(point)) / 2
        nearest, least = max(scaled[each] for each in below), max(known[each] for each in below)
        spread = apart + error + _unseen(known, point) + MARGIN + FARTHER * max(0.0, likely - nearest)
        return Estimate(*(math.exp(max(least, replicas.back(point, likely + each))) for each in (-spread, 0.0, spread)))

    return value


def _unseen(known: Mapping[Point, float], target: Point) -> float:
    """How much is not known because samples are missing: each size, and each pair, should have been seen above the least.

    A size of which nothing was seen is a guess, which may be twice too high or too low for each of them.
    """
    above = [number for number, size in enumerate(target) if size]
    guessed = sum(not any(point[number] for point in known) for number in above)
    pairs = [*combinations(above, 2)]
    missing = sum(not any(point[one] and point[other] for point in known) for one, other in pairs)
    return math.log(3) * missing / max(1, len(pairs)) + math.log(2) * guessed


def _error(scaled: Known, replicas: int | None) -> float:
    """How far the larger half of the points is, at most, from what those that are far smaller predict."""
    order = sorted(scaled, key=scaled.__getitem__)
    errors = []
    for point in order[len(order) // 2 :][-6:]:
        smaller = {each: value for each, value in scaled.items() if value < scaled[point] - math.log(8)}
        if len(smaller) >= 4:
            errors.append(abs(_both(smaller, replicas)(point) - scaled[point]))
    return max(errors, default=math.log(2))


def _both(scaled: Known, replicas: int | None) -> Law:
    one, other = excluding(scaled, replicas), fitted(scaled, replicas)
    return lambda point: (one(point) + other(point)) / 2


def lowered(point: Point, numbers: Sequence[int], by: int = 1) -> Point:
    """A point with some of its sizes lowered."""
    return tuple(size - by * (number in numbers) for number, size in enumerate(point))


def excluding(known: Known, replicas: int | None = None) -> Law:
    """Prediction by inclusion and exclusion over all points one lower in some sizes; along one, growth slows down."""
    memory = dict(known)

    def value(point: Point) -> float:
        if point not in memory:
            above = [number for number, size in enumerate(point) if size]
            if not above:
                memory[point] = min(known.values(), default=0.0)
            elif len(above) == 1:
                memory[point] = _along(value, point, above[0], above[0] == replicas)
            else:
                chosen = [each for size in range(1, len(above) + 1) for each in combinations(above, size)]
                memory[point] = sum(-((-1) ** len(each)) * value(lowered(point, each)) for each in chosen)
        return memory[point]

    return value


def _along(value: Law, point: Point, number: int, is_replicas: bool) -> float:
    before = value(lowered(point, (number,)))
    if is_replicas:
        return before
    if point[number] == 1:
        return before + UNKNOWN_GROWTH
    last = before - value(lowered(point, (number,), 2))
    if point[number] == 2:
        return before + DAMPING * last
    earlier = value(lowered(point, (number,), 2)) - value(lowered(point, (number,), 3))
    return before + last * (min(1.0, max(0.5, last / earlier)) if earlier > 0 else DAMPING)


def fitted(known: Known, replicas: int | None = None, stiffness: float = 0.02) -> Law:
    """Prediction by a quadratic in the sizes; large points weigh more, and what no sample shows grows tenfold a step."""
    points = np.array(list(known), float)
    growth = np.array([0.0 if number == replicas else UNKNOWN_GROWTH for number in range(points.shape[1])])
    values = np.array(list(known.values())) - points @ growth
    weights = np.exp(0.25 * (values - values.max()))[:, None]
    columns, price = _terms(points, replicas)
    weighted = columns * weights
    system = weighted.T @ columns + stiffness * np.diag(price)
    coefficients = np.linalg.solve(system, weighted.T @ values)

    def value(point: Point) -> float:
        return float((_terms(np.array([point], float), replicas)[0] @ coefficients)[0]) + float(np.dot(point, growth))

    return value


def _terms(points: Floats, replicas: int | None) -> tuple[Floats, Floats]:
    """Constant, linear, curved and mixed terms of each point, and the price of each; by replicas hardly anything grows."""
    count = points.shape[1]
    linear = [points[:, number] for number in range(count)]
    curved = [each * (each - 1) / 2 for number, each in enumerate(linear) if number != replicas]
    mixed = [linear[one] * linear[other] for one, other in combinations(range(count), 2)]
    columns = np.array([np.ones(len(points)), *linear, *curved, *mixed]).T
    prices = [20.0 if number == replicas else 0.1 for number in range(count)]
    return columns, np.array([1e-6, *prices, *[1.0] * (len(curved) + len(mixed))])


def _sample(send: Send, make: Make, target: Point, replicas: Replicas, seconds: float, largest: float) -> None:
    """Explore points until the time is used: the smallest ones first, then those that say most of what there is time for."""
    deadline = time.process_time() + seconds
    samples: dict[Point, Sample] = {}
    for point in _small_points(target):
        is_wanted = sum(point) <= 1 or deadline - time.process_time() > (1 - SMALL) * seconds
        if is_wanted and (point != target or largest == math.inf):
            _explore(send, make, point, replicas.symmetry, deadline, samples)
    while (left := deadline - time.process_time()) > 0 and target not in samples:
        chosen, most = _next(samples, target, replicas, left, largest)
        if chosen is None:
            return
        _explore(send, make, chosen, replicas.symmetry, deadline, samples, most)


def _explore(
    send: Send,
    make: Make,
    point: Point,
    symmetry: bool,
    deadline: float,
    samples: dict[Point, Sample],
    most: int | None = None,
) -> None:
    """Explore a point, unless the time is up, or until there are more states than that."""
    started = time.process_time()
    if started >= deadline:
        return
    limits = Limits(seconds=PATIENCE * (deadline - started), states=most)
    outcome = explore(make(point), (), Options(limits=limits, workers=1, symmetry=symmetry))
    if outcome.reason is not None and outcome.reason != limits.too_many_states:
        return
    counts = outcome.counts
    levels = [0, *(distinct for _, distinct in outcome.growth)]
    widest = max(after - before for before, after in pairwise(levels))
    spent = time.process_time() - started
    whole = outcome.reason is None
    samples[point] = Sample(point, counts.distinct, counts.generated, counts.depth, widest, outcome.seconds, spent, whole)
    send(samples[point])


def _small_points(target: Point) -> Iterator[Point]:
    """The least point, those that are one step above it, and those that are one step above it in two sizes."""
    least = (0,) * len(target)
    above = [number for number, size in enumerate(target) if size]
    for size in (0, 1, 2):
        yield from (lowered(least, each, -1) for each in combinations(above, size))


def _next(
    samples: Mapping[Point, Sample], target: Point, replicas: Replicas, left: float, largest: float = math.inf
) -> tuple[Point | None, int]:
    """The unknown point that says most and takes a third of the time that is left, and how many states it may have at most.

    It is the largest, as if all had as many replicas: all that was asked for with fewer replicas says more than little of it
    with all of them.  What allows as much as a point that had too many is passed over.
    """
    whole = [each for each in samples.values() if each.whole]
    if not whole:
        return None, 0
    likely = _both(replicas.scaled(_known(samples, replicas)), replicas.number)
    most = min(largest, _affordable(whole, left / 3))
    too_large = [point for point, each in samples.items() if not each.whole]
    guessed = {
        point: likely(point)
        for point in _box(target)
        if point not in samples and not any(map(_allows, repeat(point), too_large)) and (point != target or largest == math.inf)
    }
    found = max(
        (point for point, value in guessed.items() if replicas.back(point, value) < math.log(most)),
        key=lambda each: (guessed[each], each),
        default=None,
    )
    return found, int(min(largest, BEYOND * most))


def _allows(one: Point, other: Point) -> bool:
    """Whether a point is at least as large as another in every size."""
    return all(map(ge, one, other))


def _affordable(samples: Sequence[Sample], seconds: float) -> float:
    """States of a search of so many processor seconds: what it takes to begin, and the rate of the largest sample.

    Where there is time for machine code, at least so many as it finds.
    """
    start = min(each.processor for each in samples)
    largest = max(samples, key=lambda each: each.distinct)
    rate = largest.distinct / max(largest.processor - start, largest.processor / 4, LEAST)
    left = max(seconds - start, LEAST)
    return max(rate * left, SAMPLED * (left - COMPILED))


def _box(target: Point) -> list[Point]:
    """Every point up to the target; of many, those near the target."""
    ranges = [range(size + 1) for size in target]
    while math.prod(map(len, ranges)) > MOST_POINTS:
        longest = max(range(len(ranges)), key=lambda number: len(ranges[number]))
        ranges[longest] = ranges[longest][1:]
    return list(product(*ranges))
