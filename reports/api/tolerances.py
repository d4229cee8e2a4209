"""`tolerance`: what a configuration survives, whatever the number of faults."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from os import PathLike
from typing import Any, Unpack

import neverlost
from neverlost.checker.campaign import tolerance as campaign
from neverlost.checker.campaign.tolerance import Spot, Tolerance
from neverlost.checker.machine.whole_files import as_json, writable_directory, write_text
from neverlost.checker.outcome import Verdict, worst
from neverlost.checker.search.options import Reporter
from neverlost.checks import configurations
from neverlost.keywords import Searching, Settings
from neverlost.model.system import bind
from neverlost.reports.documents import result as describe_outcome
from neverlost.reports.documents import tolerance as describe
from neverlost.reports.request import Request
from neverlost.results import Answer
from neverlost.specs.configuration import keys
from neverlost.specs.configuration.asked_properties import chosen_properties, require_fields
from neverlost.specs.configuration.choose import Chosen, read_given, read_settings
from neverlost.specs.errors import InputError

Path = str | PathLike[str]

VARIANTS = ("fixed", "shipped")
"""The values of `defects`: Kafka as designed, and as shipped."""


@dataclass(frozen=True)
class ToleranceResult(Answer):
    """A table for each configuration: a verdict for so many brokers that lose data while so many others are out."""

    verdict: str
    tolerance: Mapping[str, Sequence[Mapping[str, Any]]] = field(repr=False)
    tables: tuple[Tolerance, ...] = field(repr=False)
    chosen: tuple[Chosen, ...] = field(repr=False)

    def rows(self) -> Sequence[Mapping[str, Any]]:
        """A row per decided question."""
        return [{"subject": subject, **row} for subject, rows in self.tolerance.items() for row in rows]


def tolerance(
    settings: Settings = None,
    *,
    config: Path | None = None,
    describe_file: Path | None = None,
    kafka_version: str | None = None,
    properties: Iterable[str] | None = None,
    also: Settings = None,
    out: Path | None = None,
    progress: Reporter | None = None,
    **search: Unpack[Searching],
) -> ToleranceResult:
    """The table of a configuration, or of each distinct one of a described cluster.

    `settings`, `config`, `describe_file` (what kafka-topics.sh --describe prints) and `kafka_version` are those of `check`,
    without limits of faults: the table varies them.  `also` allows other faults everywhere, such as `{"faults.kill": "any"}`.
    Unless `defects` says which, there are two tables for each: Kafka as designed, and as shipped with its known defects.

    Errors: `InputError` for bad input, before anything is searched.
    """
    request = Request(**search)
    every = _asked(settings, config, kafka_version, describe_file)
    if out is not None:
        writable_directory(out)
    found = [_table(each, properties, _also(each, also), request, progress) for each in every]
    document = _document(every, found)
    if out is not None:
        write_text(f"{out}/result.json", as_json(document))
    return ToleranceResult.of(document, tables=tuple(found), chosen=tuple(every))


def _asked(settings: Settings, config: Path | None, kafka_version: str | None, described: Path | None) -> list[Chosen]:
    """Each configuration as designed and as shipped, or as `defects` says."""
    given = read_given(config, settings)
    if "defects" in given:
        return configurations(settings, config, kafka_version, describe=described)
    plain = [f"{key}={value}" for key, (value, _) in read_settings(settings).items()]
    wanted = [configurations([*plain, f"defects={each}"], config, kafka_version, describe=described) for each in VARIANTS]
    return [each for pair in zip(*wanted, strict=True) for each in pair]


def _also(chosen: Chosen, also: Settings) -> dict[str, Any]:
    """Limits of other faults.

    Errors: `InputError` for a key that is no limit of a fault, or that the table varies.
    """
    more: dict[str, Any] = {}
    for name, (raw, where) in read_settings(also).items():
        key = name if name.startswith("faults.") else f"faults.{name}"
        if key in campaign.AXES:
            raise InputError(f"{key} in {where}: the table varies it; name another fault")
        more[key] = keys.key_of(key, where, chosen.model.keys).parse(raw, where)
    return more


def _table(
    chosen: Chosen, names: Iterable[str] | None, more: Mapping[str, Any], request: Request, progress: Reporter | None
) -> Tolerance:
    given = [name for name, value in chosen.configuration.items() if name.startswith("faults.") and value]
    if given:
        raise InputError(f"{given[0]} is set: tolerance varies the faults itself; allow others with --also")
    missing = [key for key in campaign.AXES if key not in chosen.model.keys]
    if missing:
        raise InputError(f"model {chosen.model.name!r} has no {missing[0]}; use a modern model, or kafka.version=X.Y")
    asked = chosen_properties(chosen.model, names or describe.ASKED)
    require_fields(bind(chosen.model, chosen.configuration), asked)
    return campaign.tolerance(chosen.model, chosen.configuration, asked, request.options(), more, request.engine, progress)


def _document(every: Sequence[Chosen], found: Sequence[Tolerance]) -> dict[str, Any]:
    defects = [str(each.configuration.get("defects", "shipped")) for each in every]
    rows: dict[str, list[dict[str, Any]]] = {}
    for each, one, named in zip(every, found, defects, strict=True):
        rows.setdefault(subject(each), []).extend(describe.rows(one, named))
    verdicts = [each.verdict for one in found for decisions in one.decisions.values() for each in decisions]
    complete = all(one.is_complete for one in found)
    return {
        "schema": "neverlost.tolerance/1",
        "version": neverlost.__version__,
        "verdict": str(worst(verdicts) if verdicts else Verdict.HOLDS) if complete else str(Verdict.INCONCLUSIVE),
        "tolerance": rows,
        "settings": {
            subject(each): describe_outcome.question(each.model, each.configuration) | {"kafka.version": each.release}
            for each in every
        },
        "notices": {subject(each): [notice.document() for notice in each.notices] for each in every},
        "says": {
            f"{subject(each)} {describe.variant(each.configuration)}": describe.sentences(one)
            for each, one in zip(every, found, strict=True)
        },
    }


def subject(chosen: Chosen) -> str:
    """For whom a table speaks: the topics, or the configuration that was given."""
    return ", ".join(chosen.subjects) or "configuration"


__all__ = ["Spot", "ToleranceResult", "tolerance"]
