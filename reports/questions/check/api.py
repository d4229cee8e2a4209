"""`check` decides whether properties hold in every reachable state of a configuration; `explore` only enumerates the states."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from os import PathLike
from typing import Any, Unpack

from neverlost.checker.engine.engines.explore import explore as explored
from neverlost.checker.engine.host import interrupts
from neverlost.checker.engine.host.whole_files import writable_directory
from neverlost.checker.engine.outcome import Outcome, Verdict, worst
from neverlost.checker.engine.search.options import Reporter
from neverlost.checker.questions.atlas import lookup
from neverlost.checker.questions.atlas.index import shipped
from neverlost.checker.questions.tolerance import tolerance
from neverlost.checker.questions.tolerance.tolerance import CellVerdict, Tolerance
from neverlost.model.system import System
from neverlost.reports.bundle import question, seal, stored_levels
from neverlost.reports.bundle.question import BundleQuestion
from neverlost.reports.counterexample.saved import SUFFIX, Counterexample
from neverlost.reports.documents import result as describe_outcome
from neverlost.reports.questions.check.advice import MOST_STATES, Advisor, Remedy
from neverlost.reports.questions.tolerance.api import RECORDS, Tables
from neverlost.reports.request.inputs import describe_subject, make_labels, read_configurations, select_topics
from neverlost.reports.request.keywords import Checking, Resumable, Settings
from neverlost.reports.request.run_options import RunOptions, list_names
from neverlost.reports.results.results import Result, States, verdicts
from neverlost.specs.configuration.choose import Chosen, change_settings, choose, read_given, read_settings
from neverlost.specs.errors import InputError
from neverlost.specs.properties import choose_properties, require_fields
from neverlost.specs.property import Property
from neverlost.specs.setting import assumed, sources

LARGE = 4
"""From so many replicas on, each of several configurations is searched by orbits, where its replicas are alike."""

Path = str | PathLike[str]
Decided = Callable[[Chosen, Outcome], None]


def check(
    settings: Settings = None,
    *,
    config: Path | None = None,
    describe: Path | Sequence[Path] | None = None,
    configs: Path | Sequence[Path] | None = None,
    server_properties: Path | Sequence[Path] | None = None,
    controller_properties: Path | Sequence[Path] | None = None,
    producer_properties: Path | Sequence[Path] | None = None,
    consumer_properties: Path | Sequence[Path] | None = None,
    applications: Path | Sequence[Path] | None = None,
    kafka_version: str | None = None,
    properties: Iterable[str] | None = None,
    out: Path | None = None,
    redact: bool = False,
    topics: Sequence[str] | None = None,
    advise: bool | None = None,
    agree: bool = False,
    progress: Reporter | None = None,
    decided: Decided | None = None,
    **search: Unpack[Checking],
) -> Result:
    """Explore a configuration, or each distinct one of Kafka's own files, and decide its properties.

    `settings` are configuration keys with values, such as `{"acks": "1", "faults.crash": 1}`; they win over `config`, a TOML
    file, and over what Kafka's tools print: `describe` and `configs` (one file or several, in any format that describes a
    cluster) and the properties files.  With `out` an evidence bundle is written into that directory, with the files as they
    were read; `redact` replaces names in them first.  `topics` are those of the
    described topics to ask about (default: all).  `advise` looks for the smallest change with which a violated configuration
    holds (default: where topics are described).  `progress` is called while the search runs, `decided` with each of
    several configurations as soon as it is decided.  `reports/request/keywords.py` says how to search.  `agree` also asks other
    engines and solvers, and the result says whether they agree with the search.

    Errors: `InputError` for bad input.
    """
    request = RunOptions(**search)
    if redact and applications:
        raise InputError("--redact does not replace the names in --applications; give --producer-properties instead")
    properties = list_names(properties)
    arguments = {
        "settings": settings,
        "config": config,
        "describe": describe,
        "configs": configs,
        "server_properties": server_properties,
        "controller_properties": controller_properties,
        "producer_properties": producer_properties,
        "consumer_properties": consumer_properties,
        "applications": applications,
        "kafka_version": kafka_version,
        "topics": topics,
    }
    asked, every = question.read_question("check", arguments, _read, _topics, redact)
    asked = asked.with_arguments(
        properties=properties, advise=advise, agree=agree or None, keep_going=request.keep_going or None
    ).with_effort(request)
    every = select_topics(every, asked.arguments["topics"]) if topics else every
    if len(every) > 1:
        labels = zip(every, make_labels(every), strict=True)
        every = [replace(each, differs=label.removeprefix(describe_subject(each))) for each, label in labels]
    request.require_apart(out)
    if out is not None:
        writable_directory(out)
    found = _decide_all(every, properties, request, progress, decided if len(every) > 1 else None, agree)
    advised = any(each.subjects for each in every) if advise is None else advise
    advice = _find_remedies(every, found, properties, request, progress) if advised else {}
    agreements = [_agreement(each) for each in found] if agree else None
    result = _result(every, found, asked if out is not None else None, advice, agreements)
    if out is not None:
        about = [(each.model, each.configuration) for each in every]
        seal.write_bundle(out, asked, result.document, about, counterexamples(result))
    return result


def _agreement(outcome: Outcome) -> dict[str, Any]:
    """Return as `agreement` what each way to a verdict says: that it agrees, or not, or was not asked; {} if the search was cut
    short."""
    from neverlost.checker.questions.check.agreement import ways

    return {} if outcome.reason is not None else {"agreement": [each.document() for each in ways(outcome)]}


def _read(
    settings: Settings = None, config: Path | None = None, topics: Sequence[str] | None = None, **files: Any
) -> list[Chosen]:
    """Read the configurations of all described topics; `topics` is ignored: the caller selects them."""
    return read_configurations(read_given(config, settings), **files)


def _topics(every: Sequence[Chosen]) -> set[str]:
    return {name.rpartition("-")[0] for each in every for name in each.brokers} | {
        name.partition(" (")[0] for each in every for name in each.subjects
    }


def _decide_all(
    every: Sequence[Chosen],
    properties: Iterable[str] | None,
    request: RunOptions,
    progress: Reporter | None,
    decided: Decided | None,
    agree: bool,
) -> list[Outcome]:
    """Decide all, those that hold by the atlas first, then by number of replicas; return the outcomes in the given order.
    With `agree` the atlas is not asked, and all are searched without orbits."""
    asked = [choose_properties(each.model, properties) for each in every]
    known = {} if agree else _look_up_holding(every, asked, request)
    found: dict[int, Outcome] = {}
    for number in sorted(range(len(every)), key=lambda number: (number not in known, _size(every[number]))):
        chosen = every[number]
        how = replace(request, orbits=len(every) > 1 and _size(chosen) >= LARGE and not agree)
        outcome = known[number] if number in known else search_states(chosen.system, asked[number], how, progress)
        found[number] = outcome.undecided(chosen.left_out)
        if decided is not None:
            decided(chosen, found[number])
    return [found[number] for number in range(len(every))]


def _look_up_holding(every: Sequence[Chosen], asked: Sequence[Sequence[Property]], request: RunOptions) -> dict[int, Outcome]:
    """Return the outcomes, by number, of the configurations that hold by the atlas; not of violated ones, which are searched to
    show how it happens.  {} for a single configuration, and with another engine, `symmetry` or a `state_dir`."""
    if len(every) == 1 or request.engine != "memory" or request.symmetry or request.state_dir is not None:
        return {}
    found = {number: lookup.outcome(chosen.system, asked[number]) for number, chosen in enumerate(every)}
    return {number: known for number, known in found.items() if known is not None and known.verdict is Verdict.HOLDS}


def _size(chosen: Chosen) -> int:
    return int(chosen.configuration.get("replication.factor", 1))


def _find_remedies(
    every: Sequence[Chosen],
    outcomes: Sequence[Outcome],
    properties: Iterable[str] | None,
    request: RunOptions,
    progress: Reporter | None,
) -> dict[int, Remedy]:
    """Return by number the remedies of the violated configurations, but for those with something `left_out` of the question;
    after an interrupt those found until then."""
    short = replace(request, states_each=MOST_STATES, state_dir=None, resume=False, orbits=True)

    def decide(chosen: Chosen, asked: Sequence[Property]) -> Outcome:
        known = lookup.outcome(chosen.system, asked)
        return known if known is not None else explored(chosen.system, asked, short.options(), progress, request.engine)

    def decide_cell(chosen: Chosen, asked: Sequence[Property]) -> Sequence[CellVerdict]:
        cells = [(chosen.model, chosen.configuration)]
        return tolerance.decided(cells, asked, short.options(), request.engine, progress, lookup.find_known(shipped()))[0]

    def find_table(chosen: Chosen) -> Tolerance | None:
        calm = {name: "0" for name, value in chosen.configuration.items() if name.startswith("faults.") and value}
        tables = Tables(None, short, progress, shipped())
        try:
            return tables.of(change_settings(chosen, calm | {RECORDS: "1"}), {}, known_only=True)
        except InputError:
            return None

    advisor = Advisor(decide, decide_cell, find_table)
    is_one = len({topic for each in every for topic in each.subjects}) <= 1
    found: dict[int, Remedy] = {}
    for number, (chosen, outcome) in enumerate(zip(every, outcomes, strict=True)):
        if chosen.left_out is not None or all(each.verdict is not Verdict.VIOLATED for each in outcome.findings):
            continue
        remedy = advisor.remedy(chosen, choose_properties(chosen.model, properties), outcome, is_one)
        if interrupts.have_come():  # nothing was tried to its end
            break
        found[number] = remedy
    return found


def explore(
    model: str,
    settings: Settings = None,
    *,
    out: Path | None = None,
    export: Path | None = None,
    progress: Reporter | None = None,
    **search: Unpack[Resumable],
) -> Result:
    """Enumerate the reachable states of a model and check nothing.

    `out` is a directory for the result document; `export` one for the states themselves, as Parquet.

    Errors: `InputError` for bad input, before anything is searched.
    """
    request = RunOptions(**search)
    request.require_apart(out)
    if out is not None:
        writable_directory(out)
    chosen = choose(read_settings(settings), model)
    with stored_levels.export_levels(request, export) as (keeping, write):
        found = search_states(chosen.system, (), keeping, progress)
        write(found)
    result = _result([chosen], [found])
    if out is not None:
        seal.write_document(out, result.document)
    return result


def search_states(system: System, asked: Sequence[Property], request: RunOptions, progress: Reporter | None = None) -> Outcome:
    """Run the engine on one configuration. Errors: `InputError` where the model has not the fields of a property, or symmetry
    is asked for where replicas differ."""
    require_fields(system, asked)
    if request.symmetry and system.model.symmetric(system.configurations[0]) is False:
        raise InputError(f"--symmetry cannot be used with {system.model.name} in this configuration: its replicas differ")
    return explored(system, asked, request.options(), progress, request.engine)


def counterexamples(result: Result) -> dict[str, Counterexample]:
    return {
        each.file: one.counterexamples[each.name]
        for one in result.configurations
        for each in one.properties
        if each.file is not None and each.name in one.counterexamples
    }


def _result(
    every: Sequence[Chosen],
    found: Sequence[Outcome],
    asked: BundleQuestion | None = None,
    advice: Mapping[int, Remedy] | None = None,
    agreements: Sequence[Mapping[str, Any]] | None = None,
) -> Result:
    """Build the result; of several configurations, and of described topics, each is a cell with the topics that it stands for.
    In a bundle the document names the question that it answers, and the files of its counterexamples."""
    answered = {} if asked is None else asked.answered
    cells = [
        _cell(
            chosen,
            outcome,
            (f"{number + 1:02}-" if len(every) > 1 else "") if asked is not None else None,
            (advice or {}).get(number),
            agreements[number] if agreements else {},
        )
        for number, (chosen, outcome) in enumerate(zip(every, found, strict=True))
    ]
    if len(every) == 1 and not every[0].subjects:
        return replace(cells[0], document={**cells[0].document, **answered})
    verdict = str(worst(each.verdict for each in found))
    document: dict[str, Any] = {
        "schema": describe_outcome.SCHEMA,
        "verdict": verdict,
        "cells": [each.document for each in cells],
    }
    document |= {"assumed": assumed(each.settings for each in every)} | answered
    return Result(document=document, verdict=verdict, cells=tuple(cells))


def _cell(chosen: Chosen, outcome: Outcome, prefix: str | None, remedy: Remedy | None, agreement: Mapping[str, Any]) -> Result:
    """Build the result of one configuration; `prefix` begins the names of its trace files; with None no files are named."""
    known = {
        each.property.name: Counterexample(outcome.system, each.property, each.trace, each.configuration, chosen.brokers)
        for each in outcome.findings
        if each.trace is not None
    }
    document = describe_outcome.document(outcome) | dict(agreement)
    if prefix is not None:
        document = describe_outcome.with_traces(document, {name: f"{prefix}{name}{SUFFIX}" for name in known})
    document |= {"kafka.version": chosen.release} if chosen.release else {}
    document |= {"topics": list(chosen.subjects)} if chosen.subjects else {}
    document |= {"differs": chosen.differs} if chosen.differs else {}
    document |= {"brokers": {name: list(each) for name, each in chosen.brokers.items()}} if chosen.brokers else {}
    document["settings"] = sources(chosen.settings)
    document["notices"] = [each.document() for each in chosen.notices]
    document["assumed"] = assumed([chosen.settings])
    document |= {"places": {name: each.where for name, each in chosen.places.items()}} if chosen.places else {}
    document |= {"remedy": remedy.document()} if remedy is not None else {}
    return Result.of(
        document,
        properties=verdicts(document["properties"], known),
        states=States(**document["states"]),
        topics=chosen.subjects,
        kafka_version=chosen.release,
        outcome=outcome,
        chosen=chosen,
        counterexamples=known,
    )
