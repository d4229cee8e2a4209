"""The bounds of one configuration: the probability of leaving its region in a year, and the time without writes, as ranges."""

from __future__ import annotations

from dataclasses import dataclass, replace

from neverlost.checker.nines import exact
from neverlost.checker.nines.chain import LOST, OUT, Strike, chain, counted
from neverlost.checker.nines.regions import Decided
from neverlost.specs.rates.rates import CONTROLLER, KILLED, Range, Rates
from neverlost.specs.rates.rates import OUT as ONLY_OUT
from neverlost.specs.region import Region

ENDS = ("low", "high")
"""Every rate and duration at its better end, and every one at its worse end: the bound grows with each of them."""

PLANNED = ("planned_restart", "slow_follower")
"""Episodes that no detection has to notice before writes go on."""


@dataclass(frozen=True)
class Influence:
    """How a bound grows with one rate or duration: by how many percent for one percent more."""

    episode: str
    what: str
    factor: float


@dataclass(frozen=True)
class Bound:
    """What is known of one configuration.  Units: probabilities in a year, years, parts of the time."""

    decided: Decided
    racks: tuple[int, ...]
    loss: Range
    mean_years: Range
    refused: Range
    exits: tuple[exact.Exit, ...]
    influences: tuple[Influence, ...]


def strikes(rates: Rates, end: str, kills_count_as: str) -> list[Strike]:
    """The episodes that strike replicas, with their rates and durations at one end."""
    counts = {KILLED: kills_count_as, ONLY_OUT: OUT}
    return [
        Strike(each.name, each.strikes, counts.get(each.effect, LOST), each.rate.at(end), each.duration.at(end))
        for each in rates.episodes
        if each.strikes != CONTROLLER
    ]


def bound(decided: Decided, writable: Region | None, rates: Rates, racks: tuple[int, ...]) -> Bound:
    """The bound that a decided region gives; `writable` is the region in which the table says that writes go on."""
    chains = {end: chain(racks, strikes(rates, end, decided.kills_count_as), decided.region) for end in ENDS}
    loss = {end: exact.probability(chains[end]) for end in ENDS}
    years = {end: exact.mean_years(chains[end]) for end in ENDS}
    refused = {end: _refused(writable, rates, racks, end, decided.kills_count_as) for end in ENDS}
    return Bound(
        decided,
        racks,
        Range(loss["low"], loss["high"]),
        Range(years["high"], years["low"]),
        Range(refused["low"], refused["high"]),
        tuple(exact.exits(chains["high"])),
        tuple(_influences(decided, rates, racks)),
    )


def _refused(writable: Region | None, rates: Rates, racks: tuple[int, ...], end: str, kills_count_as: str) -> float:
    """The part of the time in which writes are refused: outside what stays writable, until a failure of the one that takes
    them is noticed, and without a controller."""
    everywhere = Region(tuple(range(sum(racks), -1, -1)))
    whole = chain(racks, strikes(rates, end, kills_count_as), everywhere)
    shares = exact.long_run(whole)
    outside = sum(
        float(share)
        for state, share in zip(whole.states, shares, strict=True)
        if writable is None or not writable.contains(*counted(state))
    )
    noticed = sum(
        each.rate.at(end) * (rates.detection.at(end) if each.strikes != CONTROLLER else each.duration.at(end))
        for each in rates.episodes
        if each.name not in PLANNED
    )
    return min(1.0, outside + noticed)


def _influences(decided: Decided, rates: Rates, racks: tuple[int, ...]) -> list[Influence]:
    """What matters most, the largest first: each rate and each duration, one percent more."""
    plain = strikes(rates, "high", decided.kills_count_as)

    def years(changed: list[Strike]) -> float:
        return exact.mean_years(chain(racks, changed, decided.region))

    before = years(plain)
    if before == float("inf"):
        return []
    found = []
    for number, each in enumerate(plain):
        if each.rate:
            for what, more in (
                ("rate", replace(each, rate=each.rate * 1.01)),
                ("duration", replace(each, duration=each.duration * 1.01)),
            ):
                after = years([*plain[:number], more, *plain[number + 1 :]])
                found.append(Influence(each.name, what, (before / after - 1) / 0.01))
    return sorted(found, key=lambda each: -each.factor)
