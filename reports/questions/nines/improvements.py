"""Finds improvements: the bound of loss after each setting is changed by one, and after each change of operation that affects
rates."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

from neverlost.checker.engine.outcome import Verdict
from neverlost.checker.questions.nines import bounds
from neverlost.checker.questions.nines.bounds import Bound, NoBound
from neverlost.checker.questions.nines.configuration_nines import ConfigurationNines
from neverlost.checker.questions.nines.rates import Episode, Range, Rates
from neverlost.reports.questions.check.advice import MOST_STATES
from neverlost.reports.questions.nines import document
from neverlost.reports.questions.nines.bounds import MOST_REPLICAS, NinesBounds
from neverlost.specs.configuration.choose import Chosen, change_settings
from neverlost.specs.errors import InputError
from neverlost.specs.inputs import remedies


def changes(judged: ConfigurationNines, known: NinesBounds) -> list[dict[str, Any]]:
    """Return every change with the bound after it and its cost, the best bound first."""
    name, rates = next(iter(known.rates.items()))
    quick = NinesBounds({name: rates}, replace(known.request, states_each=MOST_STATES), known.progress, known.atlas)
    found = []
    for each in neighbours(judged.chosen):
        if remedies.is_possible(judged.chosen, each):
            chosen, after = _after(judged.chosen, each, quick)
            found.append(document.describe_change(dict(each), judged.chosen, chosen, judged.first, after))
    if isinstance(judged.first, Bound):
        for says, other in operational_changes(rates):
            after = bounds.bound(judged.first.subject, other)
            found.append(document.describe_change(says, judged.chosen, judged.chosen, judged.first, after))
    return sorted(found, key=lambda each: each["loss_in_a_year"]["high"] if each["loss_in_a_year"] else 2.0)


def compare(judged: ConfigurationNines, known: NinesBounds, options: Sequence[remedies.Changes]) -> list[dict[str, Any]]:
    """Return the bound after each change that is named, and how many times as high it is at equal rates."""
    found = []
    for each in options:
        other = known.of(change_settings(judged.chosen, each))
        told = document.describe_change(dict(each), judged.chosen, other.chosen, judged.first, other.first)
        found.append(told | {"ratio": _ratio(judged.first, other.first, next(iter(known.rates.values())))})
    return found


def _ratio(before: Bound | NoBound, after: Bound | NoBound, rates: Rates) -> dict[str, float] | None:
    if isinstance(before, NoBound) or isinstance(after, NoBound):
        return None
    found = bounds.ratio(before.subject, after.subject, rates)
    return None if found is None else {"low": found.low, "high": found.high}


def _after(chosen: Chosen, change: remedies.Changes, quick: NinesBounds) -> tuple[Chosen, Bound | NoBound]:
    """Return the changed configuration and its bound; None if its region may be far from the largest, which would mislead."""
    try:
        judged = quick.of(change_settings(chosen, change))
    except InputError:
        return chosen, NoBound(Verdict.INCONCLUSIVE)
    found = judged.first
    is_weak = isinstance(found, Bound) and not found.subject.decided.is_largest
    return judged.chosen, NoBound(Verdict.INCONCLUSIVE) if is_weak else found


def neighbours(chosen: Chosen) -> list[remedies.Changes]:
    """Return the changes of one setting by one step, in either direction."""
    now = chosen.configuration
    replicas, least, racks = now["replication.factor"], now["min.insync.replicas"], list(now["broker.rack"])
    found: list[remedies.Changes] = [
        {"min.insync.replicas": str(each)} for each in (least - 1, least + 1) if 1 <= each <= replicas
    ]
    for each in (replicas - 1, replicas + 1):
        if least <= each <= MOST_REPLICAS:
            placed = [*racks, "one more"][:each] if racks else []
            found.append({"replication.factor": str(each)} | ({"broker.rack": ",".join(placed)} if placed else {}))
    apart = [f"rack {number}" for number in range(1, replicas + 1)]
    if len(set(racks)) < replicas > 1:
        found.append({"broker.rack": ",".join(apart)})
    for key in ("unclean.leader.election.enable", "eligible.leader.replicas"):
        found.append({key: "false" if now[key] else "true"})
    found += [{"acks": each} for each in ("1", "all") if each != now["acks"]]
    if now["flush.messages"] == "1" or now["acks"] == "all":
        found.append({"flush.messages": "default" if now["flush.messages"] == "1" else "1"})
    return found


def operational_changes(rates: Rates) -> Iterator[tuple[str, Rates]]:
    """Yield the changes of operation that affect rates, with the changed rates."""
    yield "every replica back in sync in half the time", _each(rates, lambda one: replace(one, duration=_half(one.duration)))
    if any(each.name == RESTART and each.rate.high for each in rates.episodes):
        yield "half as many planned restarts", _each(rates, lambda one: replace(one, rate=_half(one.rate)), RESTART)
        if not rates.episode(RESTART).waits:
            waiting = _each(rates, lambda one: replace(one, waits=True), RESTART)
            yield "planned restarts that wait until every replica is in sync", waiting


RESTART = "planned_restart"


def _each(rates: Rates, change: Any, name: str | None = None) -> Rates:
    episodes = (change(each) if name in (None, each.name) else each for each in rates.episodes)
    return replace(rates, episodes=tuple[Episode, ...](episodes))


def _half(found: Range) -> Range:
    return Range(found.low / 2, found.high / 2)
