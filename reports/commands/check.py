"""`neverlost check`: explore one configuration (or those of a cluster's files) and decide its properties."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from neverlost.reports import options

if TYPE_CHECKING:
    from neverlost.checker.outcome import Outcome
    from neverlost.reports.request import Request
    from neverlost.specs.configuration.choose import Chosen

KafkaFile = Annotated[str | None, typer.Option(metavar="FILE", help="as Kafka's own tools write it")]


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("check", help="Explore one configuration and decide its properties.")(check)


def check(
    config: options.ConfigFile = None,
    settings: options.Settings = None,
    properties: options.Properties = None,
    engine: options.Engine = "memory",
    symmetry: options.SymmetryFlag = False,
    workers: options.Workers = None,
    out: options.OutDirectory = None,
    json: options.JsonTarget = None,
    time_limit: options.TimeLimit = None,
    memory_limit: options.MemoryLimit = None,
    state_dir: options.StateDirectory = None,
    resume: options.Resume = False,
    keep_going: options.KeepGoing = False,
    master: options.Master = None,
    spark_conf: options.SparkConf = None,
    describe: KafkaFile = None,
    configs: KafkaFile = None,
    server_properties: KafkaFile = None,
    producer_properties: KafkaFile = None,
    consumer_properties: KafkaFile = None,
    kafka_version: Annotated[
        str | None, typer.Option(metavar="X.Y", help="the Kafka version, for mechanisms and defaults")
    ] = None,
    forecast: options.Forecasting = None,
    certificate: Annotated[
        bool, typer.Option("--certificate", help="with --out: add the reachable states, for verify to walk through")
    ] = False,
) -> int:
    """Run the command; returns the exit status."""
    from neverlost.reports import exit_status
    from neverlost.reports import request as run
    from neverlost.reports.bundle import seal as bundle
    from neverlost.reports.documents import forecast as forecasting
    from neverlost.reports.terminal import results as terminal

    request = run.Request.of(locals())
    run.prepare(request)
    files = {
        "describe": describe,
        "configs": configs,
        "server_properties": server_properties,
        "producer_properties": producer_properties,
        "consumer_properties": consumer_properties,
    }
    every = _chosen(config, settings or [], files, kafka_version)
    if forecast:
        return forecasting.only(every, request)
    with bundle.certified(request, certificate, len(every)) as (keeping, certify):
        decided = [_decided(chosen, properties, keeping) for chosen in every]
        outcomes = [outcome for outcome, _ in decided]
        certify(outcomes[0])
    documents = [_saved(outcome, request, number, len(every)) | cost for number, (outcome, cost) in enumerate(decided)]
    document = _document(every, outcomes, documents)
    run.deliver(document, request)
    if out is not None:
        bundle.seal(out, document, [(each.model, each.configuration) for each in every])
    if json != "-":
        _show(every, outcomes, [cost for _, cost in decided])
        if out is not None:
            terminal.show_bundle(terminal.console(), out)
    return exit_status.of_outcomes(outcomes)


def _chosen(config: str | None, settings: list[str], files: dict[str, str | None], version: str | None) -> list[Chosen]:
    """One configuration, or one for each distinct one in Kafka's files; --set wins over files."""
    from neverlost.specs.configuration import choose as reading

    given = reading.read_given(config, settings)
    if version is not None:
        given.setdefault("kafka.version", (version, "--kafka-version"))
    if not any(files.values()):
        return [reading.choose(given)]
    from neverlost.specs.kafka_files.cluster import read_cluster

    found: list[Chosen] = []
    warnings: list[Any] = []
    for each in read_cluster(**files, kafka_version=given.get("kafka.version", (None,))[0], given=given.keys()):
        chosen = reading.choose(given, subjects=each.topics, offered=each.keys)
        found.append(chosen)
        warnings += each.warnings
        for key in each.keys.keys() - each.defaulted - given.keys() - set(chosen.model.keys):
            warnings.append(f"{key}={each.keys[key][0]} ({each.keys[key][1]}) is not read by model {chosen.model.name}")
    for warning in dict.fromkeys(warnings):
        typer.echo(f"neverlost: warning: {warning}", err=True)
    return found


def _decided(chosen: Chosen, names: list[str] | None, request: Request) -> tuple[Outcome, dict[str, Any]]:
    from neverlost.model.system import bind
    from neverlost.reports import request as run
    from neverlost.reports.documents import forecast as forecasting

    system = bind(chosen.model, chosen.configuration)
    return forecasting.search(system, run.chosen_properties(chosen.model, names), request)


def _saved(outcome: Outcome, request: Request, number: int, total: int) -> dict[str, Any]:
    from neverlost.reports import request as run
    from neverlost.reports.documents import result

    document = result.document(outcome)
    if request.out is None:
        return document
    prefix = f"{number + 1:02}-" if total > 1 else ""
    return run.with_traces(document, run.save_counterexamples(outcome, request.out, prefix))


def _document(every: list[Chosen], outcomes: list[Outcome], documents: list[dict[str, Any]]) -> dict[str, Any]:
    """One document; several configurations stand under `cells`, each with the topics it speaks for."""
    from neverlost.checker.outcome import worst
    from neverlost.reports.documents import result

    pairs = list(zip(documents, every, strict=True))
    documents = [each | ({"kafka.version": chosen.release} if chosen.release else {}) for each, chosen in pairs]
    if len(every) == 1 and not every[0].subjects:
        return documents[0]
    cells = [document | {"topics": list(chosen.subjects)} for document, chosen in zip(documents, every, strict=True)]
    return {"schema": result.SCHEMA, "verdict": str(worst(outcome.verdict for outcome in outcomes)), "cells": cells}


def _show(every: list[Chosen], outcomes: list[Outcome], costs: list[dict[str, Any]]) -> None:
    from neverlost.reports.counterexample.timeline import timeline
    from neverlost.reports.documents import forecast as forecasting
    from neverlost.reports.terminal import results as terminal

    out = terminal.console()
    for chosen, outcome, cost in zip(every, outcomes, costs, strict=True):
        terminal.show_outcome(out, outcome, chosen=chosen)
        shortest = min((each for each in outcome.findings if each.trace), key=lambda each: len(each.trace.steps), default=None)
        if shortest is not None and shortest.trace is not None and outcome.system.model.portrait is not None:
            terminal.show_timeline(out, timeline(outcome.system, shortest.property, shortest.trace))
        terminal.show_counts(out, outcome)
        forecasting.show_afterwards(out, cost, outcome.counts.distinct, bool(outcome.counts.left or outcome.reason))
