"""Bounds of loss for a configuration: the region of faults in which nothing is lost (from the atlas or a search), and the
bounds that follow from rates."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import inf
from typing import Any

from neverlost.checker.engine.host.resources import ResourceExhausted
from neverlost.checker.engine.outcome import Behaviour, Verdict
from neverlost.checker.engine.search.options import Options, Reporter
from neverlost.checker.questions.atlas import lookup
from neverlost.checker.questions.atlas.index import Atlas
from neverlost.checker.questions.nines import bounds, regions
from neverlost.checker.questions.nines.bounds import Bound, NoBound, RatedConfiguration, Why
from neverlost.checker.questions.nines.chain import OUT, most_states
from neverlost.checker.questions.nines.configuration_nines import ConfigurationNines, Shipped
from neverlost.checker.questions.nines.rates import Rates
from neverlost.checker.questions.nines.regions import Decided
from neverlost.checker.questions.tolerance.cell_words import LOST, OK, UNDECIDED, cell_answer
from neverlost.checker.questions.tolerance.fault_budget import FaultBudget
from neverlost.checker.questions.tolerance.region import all_but_one, kills_count_as, usual
from neverlost.checker.questions.tolerance.tolerance import Tolerance
from neverlost.model.system import System, bind
from neverlost.reports.questions.tolerance import document as tolerance_document
from neverlost.reports.questions.tolerance.api import MOST_REPLICAS, Tables, counterexample
from neverlost.reports.request.run_options import RunOptions
from neverlost.specs.configuration.choose import Chosen, change_settings
from neverlost.specs.properties import properties
from neverlost.specs.property import Property

ACKED = "acked-never-lost"


REGION_SECONDS, STATES_OF_LARGE = 20.0, 300_000
"""How long all searches for regions of more than `MOST_REPLICAS` may take, and how many states the search for a table of so
many may have, unless --time-limit says how long."""


@dataclass
class NinesBounds:
    """Finds the region of a configuration and bounds its loss; answers that the atlas has are not searched for."""

    rates: Mapping[str, Rates]
    request: RunOptions
    progress: Reporter | None
    atlas: Atlas | None

    def __post_init__(self) -> None:
        self._until: float | None = None
        requests = self.request, replace(self.request, states_each=self.request.states_each or STATES_OF_LARGE)
        self._small, self._large = (Tables(None, each, self.progress, self.atlas) for each in requests)

    def of(self, chosen: Chosen) -> ConfigurationNines:
        """Return the bounds of loss of a configuration as designed, and what known defects add.  Each is `NoBound` where no
        region holds, and for a configuration that begins as a described partition stands, or leaves a part of it out."""
        ideal = chosen if chosen.configuration["defects"] == "fixed" else change_settings(chosen, {"defects": "fixed"})
        is_large = self.request.time_limit is None and ideal.configuration["replication.factor"] > MOST_REPLICAS
        survived = (self._large if is_large else self._small).of(ideal, {})
        assert survived is not None
        try:
            subject = self._subject(ideal, survived)
            if not isinstance(subject, NoBound):
                found = {name: bounds.bound(subject, each) for name, each in self.rates.items()}
                return ConfigurationNines(ideal, survived, found, self._shipped(chosen, survived, found))
        except ResourceExhausted:
            subject = NoBound(Why.ENDED)
        return ConfigurationNines(ideal, survived, dict.fromkeys(self.rates, subject))

    def _subject(self, chosen: Chosen, survived: Tolerance) -> RatedConfiguration | NoBound:
        """Return the region of faults without a loss to which rates are applied: the one with the lowest bound at the first
        rates; `NoBound` if none is decided.  A region is decided by itself, so an undecided cell of the table may be in it."""
        if chosen.left_out is not None or chosen.is_standing:
            return NoBound(Why.STANDS)
        if most_states(racks_of(chosen)) > MOST_STATES_OF_A_CHAIN:
            return NoBound(Why.TOO_MANY)
        says = {(spot.losing, spot.out): cell_answer(survived, spot)[0] for spot in survived.entries}
        safe = [spot for spot, word in says.items() if word != LOST]
        goes_on = [{OK, UNDECIDED}, {OK}]
        writable = tuple(regions.region_of(spot for spot, word in says.items() if word in each) for each in goes_on)
        tried: list[Decided | Verdict] = [*self._proved(chosen, safe)]
        for kills in () if tried else _ways_to_count_kills(chosen):
            tried.append(regions.largest(safe, kills, lambda limits: self._verdict(chosen, limits)[0]))
        decided = [each for each in tried if isinstance(each, Decided)]
        if not decided:
            return NoBound(Why.TOO_LITTLE if Verdict.INCONCLUSIVE in tried else None)
        racks, is_flushed = racks_of(chosen), chosen.configuration["flush.messages"] == "1"
        until = self.request.options().limits.until or inf
        subjects = [RatedConfiguration(each, writable, racks, is_flushed, until=until) for each in decided]
        rates = next(iter(self.rates.values()))
        return min(subjects, key=lambda each: bounds.probability(each, rates, "high"))

    def _proved(self, chosen: Chosen, safe: Sequence[regions.Corner]) -> list[Decided]:
        """Return which of two regions hold by the atlas or by induction: the one that the atlas asks about, and the one with a
        replica that is always unimpaired.  [] up to `MOST_REPLICAS` replicas."""
        replicas, kills = chosen.configuration["replication.factor"], kills_count_as(chosen.configuration)
        if replicas <= MOST_REPLICAS:
            return []
        whole, (left, limits) = usual(chosen.configuration), all_but_one(replicas)
        return [
            Decided(region, kind, question, all(region.contains(*each) for each in safe))
            for region, kind, question in ((whole, kills, whole.limits(kills)), (left, OUT, limits))
            if self._verdict(chosen, question, by_lemmas=True)[0] is Verdict.HOLDS
        ]

    def _shipped(self, chosen: Chosen, survived: Tolerance, found: Mapping[str, Bound]) -> Shipped:
        defects = tolerance_document.defects_that_matter(replace(survived, configuration=chosen.configuration), chosen)
        names = tuple(each.name for each in defects)
        if not names:
            return Shipped()
        subject = next(iter(found.values())).subject
        verdict, steps = Verdict.INCONCLUSIVE, None
        if chosen.configuration["replication.factor"] <= MOST_REPLICAS:
            verdict, steps = self._verdict(chosen, subject.decided.question)
        else:
            inside = (each.limits for each in survived.entries if subject.decided.region.contains(each.losing, each.out))
            known = filter(None, (self._look_up(chosen, each) for each in inside))
            verdict = Verdict.VIOLATED if any(each[0] is Verdict.VIOLATED for each in known) else verdict
        if verdict is Verdict.HOLDS:
            return Shipped(names, verdict, steps)
        priced = {name: each for name, each in self.rates.items() if all(map(each.prices, names))}
        with_bugs = {name: bounds.with_races(found[name], names, each) for name, each in priced.items()}
        free = tuple(name for name in names if not all(each.prices(name) for each in self.rates.values()))
        return Shipped(names, verdict, steps, with_bugs, free)

    def _verdict(self, chosen: Chosen, limits: Mapping[str, Any], by_lemmas: bool = False) -> tuple[Verdict, int | None]:
        """Return the verdict on `acked-never-lost` under these limits, and the steps of the shortest loss or None.  What is not
        in the atlas is searched for, or `by_lemmas` proved by induction."""
        known = self._look_up(chosen, limits)
        if known is not None:
            return known
        configuration, asked = {**chosen.configuration, **limits}, [properties()[ACKED]]
        if by_lemmas:
            from neverlost.checker.questions.by_lemmas import by_induction

            proved = by_induction(chosen.model, [configuration], asked)
            return proved[0].verdict if proved else Verdict.INCONCLUSIVE, None
        from neverlost.checker.engine.engines.explore import explore

        system = bind(chosen.model, configuration)
        (found,) = explore(system, asked, self._options(chosen), self.progress, self.request.engine).findings
        return found.verdict, len(found.trace.steps) if found.trace is not None else None

    def _look_up(self, chosen: Chosen, limits: Mapping[str, Any]) -> tuple[Verdict, int | None] | None:
        asked = {**chosen.configuration, **limits}, [properties()[ACKED]]
        known = None if self.atlas is None else lookup.answers(self.atlas, chosen.model, *asked)
        return None if known is None else known[0]

    def _options(self, chosen: Chosen) -> Options:
        """Return the options of the next search; regions of many replicas have a short time together unless it is given."""
        options = replace(self.request, orbits=True).options()
        if self.request.time_limit is not None or chosen.configuration["replication.factor"] <= MOST_REPLICAS:
            return options
        self._until = self._until or time.monotonic() + REGION_SECONDS
        return replace(options, limits=replace(options.limits, seconds=REGION_SECONDS, until=self._until))


MOST_STATES_OF_A_CHAIN = 4_000
"""A Markov chain of replicas that can have more states is not computed: one of 7,150 would take many minutes and gigabytes."""


def _ways_to_count_kills(chosen: Chosen) -> list[str]:
    """Return what a kill may count as in a region: each gives a bound, and the lower is taken; of many replicas only the usual.

    With ELR a killed broker leaves the ELR, as one that lost data does, and so may count as that; but where the region in which
    killed brokers count only as out holds too, kills are not counted against the setting.
    """
    usual = kills_count_as(chosen.configuration)
    return [usual, OUT] if usual != OUT and chosen.configuration["replication.factor"] <= MOST_REPLICAS else [usual]


def racks_of(chosen: Chosen) -> tuple[int, ...]:
    """Return how many replicas each rack has; without racks all are counted in one, since they may share a power supply."""
    many: Counter[str] = Counter(chosen.configuration["broker.rack"])
    return tuple(many[each] for each in sorted(many)) or (int(chosen.configuration["replication.factor"]),)


def dominant_loss(judged: ConfigurationNines) -> tuple[System, Property, Behaviour] | None:
    """Return the counterexample at the most frequent exit from the region after which a record can be lost; or None."""
    for each in judged.first.exits if isinstance(judged.first, Bound) else ():
        spot = FaultBudget(*each.to)
        if cell_answer(judged.survived, spot)[0] == LOST:
            return counterexample(judged.survived, spot)
    return None
