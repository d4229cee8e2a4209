"""`nines`: how likely it is in a year that an acknowledged record is lost, from what was decided and from rates."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from os import PathLike
from typing import Any, Unpack

import neverlost
from neverlost.checker.campaign.tolerance import Tolerance
from neverlost.checker.machine.whole_files import as_json, writable_directory, write_text
from neverlost.checker.nines import bounds, regions
from neverlost.checker.nines.chain import LOST, OUT
from neverlost.checker.outcome import Verdict
from neverlost.checker.search.explore import explore
from neverlost.checker.search.options import Reporter
from neverlost.checks import configurations
from neverlost.keywords import Searching, Settings
from neverlost.model.system import bind
from neverlost.reports.documents import nines as describe
from neverlost.reports.documents import tolerance as table
from neverlost.reports.request import Request
from neverlost.results import Answer
from neverlost.specs.configuration.choose import Chosen, read_given
from neverlost.specs.errors import InputError
from neverlost.specs.property import properties
from neverlost.specs.rates.rates import Rates, rates
from neverlost.specs.region import Region
from neverlost.specs.spot import AXES
from neverlost.tolerances import tolerance

Path = str | PathLike[str]

ACKED = "acked-never-lost"


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
    describe_file: Path | None = None,
    kafka_version: str | None = None,
    rates_file: Path | None = None,
    out: Path | None = None,
    progress: Reporter | None = None,
    **search: Unpack[Searching],
) -> NinesResult:
    """The bound of a configuration, or of each distinct one of a described cluster.

    `settings`, `config`, `describe_file` and `kafka_version` are those of `tolerance`; `rates_file` is a TOML file with rates
    in place of the shipped ones.  The answer is about Kafka as designed: known defects are named and not priced.

    Errors: `InputError` for bad input, before anything is searched, and for a configuration of which too little is decided.
    """
    given = rates(rates_file)
    if read_given(config, settings).get("defects", ("fixed", ""))[0] != "fixed":
        raise InputError("defects=shipped: how often a defect's race happens is not known, so only defects=fixed has a bound")
    for chosen in configurations(settings, config, kafka_version, describe=describe_file):
        if AXES[0] not in chosen.model.keys:
            raise InputError(f"model {chosen.model.name!r} has no {AXES[0]}; use a modern model, or kafka.version=X.Y")
    if out is not None:
        writable_directory(out)
    plain = [f"{key}={value[0]}" for key, value in read_given(config, settings).items() if key != "defects"]
    designed = tolerance(
        [*plain, "defects=fixed"],
        files={"describe": describe_file},
        kafka_version=kafka_version,
        progress=progress,
        **search,
    )
    request = Request(**search)
    found = [_bound(each.chosen, each.table, given, request, progress) for each in designed.subjects]
    every = tuple(each.chosen for each in designed.subjects)
    document = {
        "schema": describe.SCHEMA,
        "version": neverlost.__version__,
        "verdict": str(Verdict.HOLDS),
        "nines": {
            describe.subject(chosen): describe.answer(chosen, each, given) for chosen, each in zip(every, found, strict=True)
        },
        "rates": describe.rates(given),
        "assumptions": list(describe.ASSUMPTIONS),
    }
    if out is not None:
        write_text(f"{out}/result.json", as_json(document))
    return NinesResult.of(document, bounds=tuple(found), chosen=every)


def _bound(chosen: Chosen, found: Tolerance, given: Rates, request: Request, progress: Reporter | None) -> bounds.Bound:
    """The bound of one configuration.

    A kill counts as a data loss where an unclean shutdown leaves the eligible leader replicas, else as being out.
    """
    says = {spot: table.answer(found, spot)[0] for spot in found.entries}
    if table.UNDECIDED in says.values():
        raise InputError(f"the table of {describe.subject(chosen)} is not decided, so nothing is bounded; give it more time")
    safe = [(spot.losing, spot.out) for spot, one in says.items() if one in (table.OK, table.STOPS)]
    writable = Region(()) if not safe else regions.region_of((s.losing, s.out) for s, one in says.items() if one == table.OK)

    def decide(limits: dict[str, Any]) -> Verdict:
        configuration = {**chosen.configuration, **limits}
        (finding,) = explore(bind(chosen.model, configuration), [properties()[ACKED]], request.options(), progress).findings
        return finding.verdict

    decided = regions.largest(safe, LOST if chosen.configuration["eligible.leader.replicas"] else OUT, decide)
    if decided is None:
        raise InputError(
            f"no region of {describe.subject(chosen)} holds together, so nothing is bounded; see neverlost tolerance"
        )
    return bounds.bound(decided, writable, given, racks_of(chosen))


def racks_of(chosen: Chosen) -> tuple[int, ...]:
    """How many replicas each rack has; without racks, one for all: nothing says that they do not share a supply."""
    names: Iterable[str] = chosen.configuration["broker.rack"]
    listed = list(names)
    return tuple(listed.count(each) for each in sorted(set(listed))) or (chosen.configuration["replication.factor"],)


__all__ = ["NinesResult", "nines"]
