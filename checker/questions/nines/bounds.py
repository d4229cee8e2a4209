"""The bounds of one configuration: the probability of leaving its region in a year, and the time without writes, as ranges."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import lru_cache
from math import inf

from neverlost.checker.engine.outcome import Verdict
from neverlost.checker.questions.nines import exact
from neverlost.checker.questions.nines.chain import LOST, OUT, Chain, Strike, alike, chain, counted, over
from neverlost.checker.questions.nines.rates import CONTROLLER, KILLED, UNFLUSHED, Episode, Range, Rates
from neverlost.checker.questions.nines.rates import OUT as ONLY_OUT
from neverlost.checker.questions.nines.regions import Decided
from neverlost.checker.questions.tolerance.region import Region

ENDS = ("low", "high")
"""Every rate and duration at its better end, and every one at its worse end: the bound grows with each of them."""


@dataclass(frozen=True)
class RatedConfiguration:
    """What rates are applied to: a decided region; the region in which writes may go on, and the one in which they do; how many
    replicas each rack has; whether every record is flushed before it is acknowledged; and the defects whose races count."""

    decided: Decided
    writable: tuple[Region | None, ...]
    racks: tuple[int, ...]
    is_flushed: bool = False
    defects: tuple[str, ...] = ()
    until: float = inf  # when there is no more time to compute with its chains


class Why(StrEnum):
    """Why nothing is bounded where no record is known to be lost."""

    TOO_LITTLE = "too little is known of what this configuration survives (--time-limit SECONDS searches longer)"
    TOO_MANY = "its racks make too many states (five replicas in two to four racks)"
    STANDS = "the rates assume that every replica is in the ISR when the year begins, and one is not"
    ENDED = "time or memory ended while it was computed (--time-limit SECONDS, --memory-limit SIZE)"


@dataclass(frozen=True)
class NoBound:
    """A record is lost while no broker is impaired (`why` is None), or nothing is bounded, and why."""

    why: Why | None = None

    @property
    def verdict(self) -> Verdict:
        return Verdict.INCONCLUSIVE if self.why else Verdict.VIOLATED


@dataclass(frozen=True)
class Influence:
    """How a bound grows with one rate or duration: by how many percent for one percent more."""

    episode: str
    what: str
    factor: float


@dataclass(frozen=True)
class Bound:
    """Bounds of the probability of `loss` in a year, and of the part of the time in which writes are `refused`."""

    subject: RatedConfiguration
    loss: Range
    refused: Range
    exits: tuple[exact.Exit, ...]
    influences: tuple[Influence, ...]


def strikes(rates: Rates, end: str, kills_count_as: str, is_flushed: bool = False) -> list[Strike]:
    """Return the episodes that strike replicas (not controllers), with their rates and durations at one end.  `kills_count_as`,
    `LOST` or `OUT`, is what a killed replica counts as; where every record is flushed before it is acknowledged, a loss of
    power is no more than a kill."""
    counts = {KILLED: kills_count_as, ONLY_OUT: OUT, UNFLUSHED: kills_count_as if is_flushed else LOST}
    return [
        Strike(
            each.name,
            each.kind.strikes,
            counts.get(each.kind.effect, LOST),
            each.rate.at(end),
            each.duration.at(end),
            each.common.at(end),
            each.waits,
        )
        for each in rates.episodes
        if each.kind.strikes != CONTROLLER
    ]


def bound(subject: RatedConfiguration, rates: Rates) -> Bound:
    """Return the bounds of loss and of refused writes at these rates, with the ways out of the region and what matters most."""
    high = _chain(subject, rates, "high")
    return Bound(
        subject,
        Range(probability(subject, rates, "low"), exact.probability(high)),
        Range(_refused(subject, rates, "low"), _refused(subject, rates, "high")),
        tuple(exact.exits(high)),
        tuple(_influences(high, rates)),
    )


def with_races(found: Bound, defects: tuple[str, ...], rates: Rates) -> Bound:
    """Return a bound with the races of these defects counted as losses; only its `loss` and its subject's `defects` change."""
    subject = replace(found.subject, defects=defects)
    return replace(found, subject=subject, loss=Range(*(probability(subject, rates, end) for end in ENDS)))


def probability(subject: RatedConfiguration, rates: Rates, end: str) -> float:
    """Return the bound of the probability of loss in a year, at one end of every range."""
    return exact.probability(_chain(subject, rates, end))


def ratio(subject: RatedConfiguration, other: RatedConfiguration, rates: Rates) -> Range | None:
    """Return how many times the bound of `subject` that of `other` is at equal rates; None where one of them is 0.  The range
    is of what was tried: every rate and duration at its low or high end, and each episode by itself at the other."""
    found = []
    for end, given in _variants(rates):
        before, after = (probability(each, given, end) for each in (subject, other))
        if not before or not after:
            return None
        found.append(after / before)
    return Range(min(found), max(found))


def _variants(rates: Rates) -> Iterator[tuple[str, Rates]]:
    """Yield, for each end, its name with the rates with every episode at that end, and then with one at the other end."""
    for end, far in (ENDS, ENDS[::-1]):
        ends = [(_fixed(each, end), _fixed(each, far)) for each in rates.episodes]
        for moved in (None, *range(len(ends))):
            yield end, replace(rates, episodes=tuple(each[number == moved] for number, each in enumerate(ends)))


def _fixed(episode: Episode, end: str) -> Episode:
    rate, lasts, common = (Range(each.at(end), each.at(end)) for each in (episode.rate, episode.duration, episode.common))
    return replace(episode, rate=rate, duration=lasts, common=common)


def _chain(subject: RatedConfiguration, rates: Rates, end: str) -> Chain:
    races = {name: rates.race(name, end, sum(subject.racks)) for name in subject.defects}
    return replace(chain(subject.racks, _strikes(subject, rates, end), subject.decided.region, races), until=subject.until)


def _strikes(subject: RatedConfiguration, rates: Rates, end: str) -> list[Strike]:
    found = strikes(rates, end, subject.decided.kills_count_as, subject.is_flushed)
    return found if sum(subject.racks) < 4 else alike(found)


@lru_cache(maxsize=8)
def _all_states(racks: tuple[int, ...], struck: tuple[Strike, ...]) -> list[tuple[tuple[int, int], float]]:
    """Return ((replicas that lost data, replicas out), part of the time) of each state of a chain that nothing leaves."""
    whole = chain(racks, struck, Region(tuple(range(sum(racks), -1, -1))))
    return [(counted(state), float(share)) for state, share in zip(whole.states, exact.long_run(whole), strict=True)]


def _refused(subject: RatedConfiguration, rates: Rates, end: str) -> float:
    """Return the part of the time in which writes are refused, at one end: outside what stays writable (at the lower end, what
    may), until an unannounced failure of the broker that takes them is noticed, and without a controller."""
    writable = subject.writable[ENDS.index(end)]
    outside = sum(
        share
        for spot, share in _all_states(subject.racks, tuple(_strikes(subject, rates, end)))
        if writable is None or not writable.contains(*spot)
    )
    noticed = sum(
        each.rate.at(end) * (rates.detection.at(end) if each.kind.strikes != CONTROLLER else each.duration.at(end))
        for each in rates.episodes
        if not each.kind.is_announced
    )
    return min(1.0, outside + noticed)


def _influences(found: Chain, rates: Rates) -> list[Influence]:
    """Return what one percent more of each rate and duration does to the bound, the most first; nothing if there is no exit."""
    before = exact.mean_years(found)
    if before == float("inf"):
        return []
    causes = {move.cause for moves in found.moves for move in moves}
    marks = dict.fromkeys(mark[2] for state in found.states for rack in state for mark in rack if mark is not None)
    more = [(each.name, "rate", each.name, 1.01) for each in rates.episodes]
    more += [(each, "duration", over(each), 1 / 1.01) for each in marks]
    return sorted(
        (
            Influence(name, what, (before / exact.mean_years(found, {cause: factor}) - 1) / 0.01)
            for name, what, cause, factor in more
            if cause in causes
        ),
        key=lambda each: -each.factor,
    )
