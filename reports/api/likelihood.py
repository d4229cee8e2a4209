"""`nines`: how likely it is in a year that an acknowledged record is lost, from what was decided and from rates."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from os import PathLike
from typing import Any, Unpack

import neverlost
from neverlost.checker.atlas import lookup
from neverlost.checker.atlas.index import Atlas, shipped
from neverlost.checker.machine.whole_files import as_json, writable_directory, write_text
from neverlost.checker.nines import bounds, regions
from neverlost.checker.outcome import Verdict
from neverlost.checker.search.explore import explore
from neverlost.checker.search.options import Reporter
from neverlost.keywords import Searching, Settings
from neverlost.model.system import bind
from neverlost.reports.documents import nines as describe
from neverlost.reports.documents import tolerance as table
from neverlost.reports.request import Request
from neverlost.results import Answer
from neverlost.specs.configuration.choose import Chosen, read_given
from neverlost.specs.errors import InputError
from neverlost.specs.kafka_files import remedies
from neverlost.specs.property import properties
from neverlost.specs.rates.rates import Rates, rates
from neverlost.specs.region import kills_count_as
from neverlost.tolerances import Tables, asked_about, named

Path = str | PathLike[str]


@dataclass(frozen=True)
class NinesResult(Answer):
    """For each configuration a bound of the probability of loss in a year, and how long writes are refused."""

    verdict: str
    nines: Mapping[str, Mapping[str, Any]] = field(repr=False)
    bounds: tuple[bounds.Bound, ...] = field(repr=False)
    chosen: tuple[Chosen, ...] = field(repr=False)

    def rows(self) -> Sequence[Mapping[str, Any]]:
        """A row per configuration."""
        return [describe.row(subject, each) for subject, each in self.nines.items()]


def nines(
    settings: Settings = None,
    *,
    config: Path | None = None,
    kafka_version: str | None = None,
    rates_file: Path | None = None,
    improve: bool = False,
    again: bool = False,
    out: Path | None = None,
    progress: Reporter | None = None,
    files: Mapping[str, Any] | None = None,
    **search: Unpack[Searching],
) -> NinesResult:
    """The bound of a configuration, or of each distinct one of a described cluster.

    `settings`, `config`, `kafka_version`, `files` and `again` are those of `tolerance`; `rates_file` is a TOML file with rates
    in place of the shipped ones; with `improve` each setting is changed by one, and the bound after it is said.  The answer
    is about Kafka as designed: known defects are named and not priced.

    Errors: `InputError` for bad input, before anything is searched, and for a configuration of which too little is decided.
    """
    given = rates(rates_file)
    stated = read_given(config, settings)
    if stated.get("defects", ("fixed", ""))[0] != "fixed":
        raise InputError("defects=shipped: how often a defect's race happens is not known, so only defects=fixed has a bound")
    if out is not None:
        writable_directory(out)
    decider = _Decider(given, Request(**search), progress, None if again else shipped())
    asked = [each for each in asked_about(settings, config, kafka_version, files or {}) if is_designed(each)]
    found = [decider.bound(each) for each in asked]
    answers = {
        named(chosen): describe.answer(chosen, each) | ({"changes": decider.changes(chosen)} if improve else {})
        for chosen, each in zip(asked, found, strict=True)
    }
    document = {
        "schema": describe.SCHEMA,
        "version": neverlost.__version__,
        "verdict": str(Verdict.HOLDS),
        "nines": answers,
        "rates": describe.rates(given),
        "assumptions": list(describe.ASSUMPTIONS),
    }
    if out is not None:
        write_text(f"{out}/result.json", as_json(document))
    return NinesResult.of(document, bounds=tuple(found), chosen=tuple(asked))


@dataclass
class _Decider:
    """Decides regions, each once, and says what follows from them."""

    rates: Rates
    request: Request
    progress: Reporter | None
    atlas: Atlas | None

    def __post_init__(self) -> None:
        self._tables = Tables(None, self.request, self.progress, self.atlas)

    def bound(self, chosen: Chosen) -> bounds.Bound:
        """The bound of one configuration.

        Errors: `InputError` where too little is decided.
        """
        found = self._tables.of(chosen, {})
        assert found is not None
        says = {spot: table.answer(found, spot)[0] for spot in found.entries}
        if table.UNDECIDED in says.values():
            raise InputError(f"the table of {named(chosen)} is not decided, so nothing is bounded; give it more time")
        safe = [(spot.losing, spot.out) for spot, one in says.items() if one in (table.OK, table.STOPS)]
        decided = regions.largest(safe, kills_count_as(chosen.configuration), partial(self._verdict, chosen))
        if decided is None:
            raise InputError(f"no region of {named(chosen)} holds together, so nothing is bounded; see neverlost tolerance")
        writable = regions.region_of((spot.losing, spot.out) for spot, one in says.items() if one == table.OK)
        is_flushed = chosen.configuration["flush.messages"] == "1"
        return bounds.bound(bounds.Subject(decided, writable, racks_of(chosen), is_flushed), self.rates)

    def _verdict(self, chosen: Chosen, limits: Mapping[str, Any]) -> Verdict:
        """What the atlas or a search says about acknowledged records under these fault limits."""
        configuration, asked = {**chosen.configuration, **limits}, [properties()[describe.ACKED]]
        known = None if self.atlas is None else lookup.answers(self.atlas, chosen.model, configuration, asked)
        if known is not None:
            return known[0][0]
        return explore(bind(chosen.model, configuration), asked, self.request.options(), self.progress).findings[0].verdict

    def changes(self, chosen: Chosen) -> list[dict[str, Any]]:
        """What each setting changed by one does to the bound, the best first; and rates that an operator can change."""
        possible = [each for each in neighbours(chosen) if remedies.is_possible(chosen, each)]
        found = [describe.change(each, self._bound_or_none(remedies.changed(chosen, each))) for each in possible]
        return sorted(found, key=lambda each: each["loss_in_a_year"]["high"] if each["loss_in_a_year"] else 2.0)

    def _bound_or_none(self, chosen: Chosen) -> bounds.Bound | None:
        try:
            return self.bound(chosen)
        except InputError:
            return None


MOST_REPLICAS = 3
"""Replicas up to which a changed setting is decided while one waits."""


def neighbours(chosen: Chosen) -> list[remedies.Changes]:
    """Each setting changed by one, in both directions."""
    now = chosen.configuration
    replicas, least, racks = now["replication.factor"], now["min.insync.replicas"], list(now["broker.rack"])
    found: list[remedies.Changes] = [
        {"min.insync.replicas": str(each)} for each in (least - 1, least + 1) if 1 <= each <= replicas
    ]
    for each in (replicas - 1, replicas + 1):
        if least <= each <= MOST_REPLICAS:
            placed = [*racks, "one more"][:each] if racks else []
            found.append({"replication.factor": str(each)} | ({"broker.rack": ",".join(placed)} if placed else {}))
    for key in ("unclean.leader.election.enable", "eligible.leader.replicas"):
        found.append({key: "false" if now[key] else "true"})
    found += [{"acks": each} for each in ("1", "all") if each != now["acks"]]
    found.append({"flush.messages": "default" if now["flush.messages"] == "1" else "1"})
    return found


def is_designed(chosen: Chosen) -> bool:
    """Whether it is about Kafka without its known defects; a model that has none is."""
    return bool(chosen.configuration.get("defects", "fixed") == "fixed")


def racks_of(chosen: Chosen) -> tuple[int, ...]:
    """How many replicas each rack has; without racks, one for all: nothing says that they do not share a supply."""
    many: Counter[str] = Counter(chosen.configuration["broker.rack"])
    return tuple(many[each] for each in sorted(many)) or (int(chosen.configuration["replication.factor"]),)


__all__ = ["NinesResult", "nines"]
