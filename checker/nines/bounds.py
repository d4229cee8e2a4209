"""The bounds of one configuration: the probability of leaving its region in a year, and the time without writes, as ranges."""

from __future__ import annotations

from dataclasses import dataclass, replace

from neverlost.checker.nines import exact
from neverlost.checker.nines.chain import LOST, OUT, Strike, chain, counted
from neverlost.checker.nines.regions import Decided
from neverlost.specs.rates.rates import CONTROLLER, KILLED, UNFLUSHED, Range, Rates
from neverlost.specs.rates.rates import OUT as ONLY_OUT
from neverlost.specs.region import Region

ENDS = ("low", "high")
"""Every rate and duration at its better end, and every one at its worse end: the bound grows with each of them."""

PLANNED = ("planned_restart", "slow_follower")
"""Episodes that no detection has to notice before writes go on."""


@dataclass(frozen=True)
class Subject:
    """What rates are applied to: a decided region, the region in which writes go on, how many replicas each rack has, and
    whether every record is flushed before it is acknowledged."""

    decided: Decided
    writable: Region | None
    racks: tuple[int, ...]
    is_flushed: bool = False


@dataclass(frozen=True)
class Influence:
    """How a bound grows with one rate or duration: by how many percent for one percent more."""

    episode: str
    what: str
    factor: float


@dataclass(frozen=True)
class Bound:
    """What is known of one configuration.  Units: a probability in a year, a part of the time."""

    subject: Subject
    loss: Range
    refused: Range
    exits: tuple[exact.Exit, ...]
    influences: tuple[Influence, ...]


def strikes(rates: Rates, end: str, kills_count_as: str, is_flushed: bool = False) -> list[Strike]:
    """The episodes that strike replicas, with their rates and durations at one end.

    Where every record is flushed before it is acknowledged, a loss of power is no more than a kill.
    """
    counts = {KILLED: kills_count_as, ONLY_OUT: OUT, UNFLUSHED: kills_count_as if is_flushed else LOST}
    return [
        Strike(each.name, each.strikes, counts.get(each.effect, LOST), each.rate.at(end), each.duration.at(end))
        for each in rates.episodes
        if each.strikes != CONTROLLER
    ]


def bound(subject: Subject, rates: Rates) -> Bound:
    """What follows from a decided region."""
    region = subject.decided.region
    chains = {end: chain(subject.racks, _strikes(subject, rates, end), region) for end in ENDS}
    loss = {end: exact.probability(chains[end]) for end in ENDS}
    refused = {end: _refused(subject, rates, end) for end in ENDS}
    return Bound(
        subject,
        Range(loss["low"], loss["high"]),
        Range(refused["low"], refused["high"]),
        tuple(exact.exits(chains["high"])),
        tuple(_influences(subject, rates)),
    )


def _strikes(subject: Subject, rates: Rates, end: str) -> list[Strike]:
    return strikes(rates, end, subject.decided.kills_count_as, subject.is_flushed)


def _refused(subject: Subject, rates: Rates, end: str) -> float:
    """The part of the time in which writes are refused: outside what stays writable, until a failure of the one that takes
    them is noticed, and without a controller."""
    everywhere = Region(tuple(range(sum(subject.racks), -1, -1)))
    whole = chain(subject.racks, _strikes(subject, rates, end), everywhere)
    outside = sum(
        float(share)
        for state, share in zip(whole.states, exact.long_run(whole), strict=True)
        if subject.writable is None or not subject.writable.contains(*counted(state))
    )
    noticed = sum(
        each.rate.at(end) * (rates.detection.at(end) if each.strikes != CONTROLLER else each.duration.at(end))
        for each in rates.episodes
        if each.name not in PLANNED
    )
    return min(1.0, outside + noticed)


def _influences(subject: Subject, rates: Rates) -> list[Influence]:
    """What matters most, the largest first: each rate and each duration, one percent more."""
    plain = _strikes(subject, rates, "high")

    def years(changed: list[Strike]) -> float:
        return exact.mean_years(chain(subject.racks, changed, subject.decided.region))

    before, found = years(plain), []
    for number, each in enumerate(plain):
        more = {"rate": replace(each, rate=each.rate * 1.01), "duration": replace(each, duration=each.duration * 1.01)}
        for what, changed in more.items() if each.rate and before < float("inf") else ():
            after = years([*plain[:number], changed, *plain[number + 1 :]])
            found.append(Influence(each.name, what, (before / after - 1) / 0.01))
    return sorted(found, key=lambda each: -each.factor)
