"""The chain: which replicas are impaired, by what, and how fast that changes, until a decided region is left.

A state says of each replica nothing, or whether it counts as one that lost data and how long its mark lasts on average;
replicas of a rack, and racks, are interchangeable, so a state is a multiset.  Nothing that was decided about the region
speaks about what comes after it, so its first exit ends the chain, and counts as a loss: the probability of an exit is a bound.

Episodes come and end at random, each at its own rate, whatever happened before (exponential times).  A replica that is struck
again keeps the worse of the two marks: it counts as one that lost data if either did, for the longer of the two durations.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from math import comb, inf, prod

from neverlost.checker.questions.nines.rates import KINDS
from neverlost.checker.questions.tolerance.region import Region

LOST, OUT = "lost", "out"
"""What an impaired replica counts as: one that lost data, or one that is only out."""

Mark = tuple[bool, float, str]
"""Of an impaired replica: whether it lost data, how many years that lasts on average, and which episode it is of."""

State = tuple[tuple[Mark | None, ...], ...]
"""The replicas of each rack; None is a replica in sync."""


def over(name: str) -> str:
    """Return the text that stands as `cause` of each move in which a mark of this name ends."""
    return f"{name} is over"


EXIT, OR = -1, " or "
"""The number of what is outside the region; and what stands between the names of episodes whose marks are one."""


@dataclass(frozen=True)
class Strike:
    """An episode as the chain has it: `scope` is `broker`, `rack` or `site`, `rate` how often a year to each, `duration` years.

    With the probability `common` a strike on a rack hits every rack; one that `waits` strikes only while all replicas are in
    sync.  `mark` is the name of the mark that it leaves on a replica; if it is empty, the mark has the name of the episode.
    """

    name: str
    scope: str
    counts_as: str
    rate: float
    duration: float
    common: float = 0.0
    waits: bool = False
    mark: str = ""


def alike(strikes: Sequence[Strike]) -> list[Strike]:
    """Return the same episodes, of which all that last equally long have one name of `mark`: the chain has far fewer states."""
    struck = [each for each in strikes if each.rate]
    return [replace(each, mark=OR.join(one.name for one in struck if one.duration == each.duration)) for each in strikes]


@dataclass(frozen=True)
class Move:
    """A move out of a state: the next one's number (`EXIT`: outside), how often a year, why, and `counted` of the next one."""

    target: int
    rate: float
    cause: str
    to: tuple[int, int]


@dataclass(frozen=True)
class Chain:
    """States, of which number 0 has every replica in sync, and for each state, in the same order, the moves out of it."""

    states: tuple[State, ...]
    moves: tuple[tuple[Move, ...], ...] = field(repr=False)
    until: float = inf  # when there is no more time to compute with it, by `time.monotonic()`

    @cached_property
    def rates(self) -> list[dict[int, float]]:
        """For each state how often a year it is left, by target (another state's number or `EXIT`); equal targets add up."""
        found: list[dict[int, float]] = []
        for number, moves in enumerate(self.moves):
            row: dict[int, float] = {}
            for each in moves:
                if each.target != number:
                    row[each.target] = row.get(each.target, 0.0) + each.rate
            found.append(row)
        return found


def counted(state: State) -> tuple[int, int]:
    """Return how many replicas have lost data, and how many others are out."""
    marks = [each for rack in state for each in rack if each is not None]
    lost = sum(each[0] for each in marks)
    return lost, len(marks) - lost


def most_states(racks: Sequence[int]) -> int:
    """Return how many states a chain can have: each replica has no mark or that of any one kind of episode that strikes it;
    replicas of a rack, and racks of one size, are interchangeable."""
    marks = Counter(comb(len(KINDS) - 1 + many, many) for many in racks)
    return prod(comb(of_one + racks_alike - 1, racks_alike) for of_one, racks_alike in marks.items())


def chain(
    racks: Sequence[int], strikes: Sequence[Strike], region: Region, anywhere: Mapping[str, float] | None = None
) -> Chain:
    """Return the chain inside a region; `racks` says how many replicas each rack has.

    `anywhere` has, by cause, how often a year the region is left whatever the state is.
    Errors: `ValueError` where not even the state with every replica in sync is inside.
    """
    first: State = tuple(tuple([None] * many) for many in sorted(racks))
    if not region.contains(0, 0):
        raise ValueError("nothing was decided about a cluster in sync")
    numbers: dict[State, int] = {first: 0}
    moves: list[tuple[Move, ...]] = []
    states = [first]
    for state in states:
        found = [Move(EXIT, rate, cause, counted(state)) for cause, rate in (anywhere or {}).items() if rate]
        for after, rate, cause in _changes(state, strikes):
            to = counted(after)
            if region.contains(*to):
                if after not in numbers:
                    numbers[after] = len(states)
                    states.append(after)
                found.append(Move(numbers[after], rate, cause, to))
            else:
                found.append(Move(EXIT, rate, cause, to))
        moves.append(tuple(found))
    return Chain(tuple(states), tuple(moves))


def _changes(state: State, strikes: Sequence[Strike]) -> Iterator[tuple[State, float, str]]:
    """Yield the state after, the yearly rate and the cause of each end of a mark, and of each strike that can happen now."""
    for place, rack in enumerate(state):
        for replica, mark in enumerate(rack):
            if mark is not None:
                yield _with(state, place, {replica: None}), 1 / mark[1], over(mark[2])
    is_in_sync = not any(mark is not None for rack in state for mark in rack)
    for each in strikes:
        if each.rate and (is_in_sync or not each.waits):
            for struck, share in _struck(state, each):
                yield _canonical(_marked(state, struck, each)), each.rate * share, each.name


def _struck(state: State, strike: Strike) -> Iterator[tuple[set[tuple[int, int]], float]]:
    """Yield each set of replicas, as pairs of rack and place in it, that a strike may hit, with the factor of its rate."""
    every = {(place, replica) for place, rack in enumerate(state) for replica in range(len(rack))}
    if strike.scope == "broker":
        yield from (({each}, 1.0) for each in sorted(every))
    elif strike.scope == "rack":
        alone = 1.0 - strike.common
        yield from (({each for each in every if each[0] == place}, alone) for place in range(len(state)) if alone)
        if strike.common:
            yield every, strike.common * len(state)
    else:
        yield every, 1.0


def _marked(state: State, struck: set[tuple[int, int]], strike: Strike) -> State:
    def after(place: int, replica: int, mark: Mark | None) -> Mark | None:
        if (place, replica) not in struck:
            return mark
        lost, duration, name = mark or (False, 0.0, "")
        duration, name = max((duration, name), (strike.duration, strike.mark or strike.name))
        return lost or strike.counts_as == LOST, duration, name

    return tuple(tuple(after(place, number, each) for number, each in enumerate(rack)) for place, rack in enumerate(state))


def _with(state: State, place: int, marks: Mapping[int, Mark | None]) -> State:
    rack = tuple(marks.get(number, each) for number, each in enumerate(state[place]))
    return _canonical((*state[:place], rack, *state[place + 1 :]))


def _canonical(state: State) -> State:
    """Return the state in its one sorted form: replicas of a rack, and racks of one size, are interchangeable."""
    return tuple(
        sorted((tuple(sorted(rack, key=_order)) for rack in state), key=lambda rack: (len(rack), [*map(_order, rack)]))
    )


def _order(mark: Mark | None) -> tuple[bool, bool, float, str]:
    return (False, False, 0.0, "") if mark is None else (True, *mark)
