"""Tries a saved counterexample on clusters, and gives the exit status."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from neverlost.checker.kafka.cluster.clients import import_client
from neverlost.checker.kafka.cluster.cluster import Cluster, cluster
from neverlost.checker.kafka.cluster.jars import KafkaHome, find_kafka, require_one
from neverlost.checker.kafka.cluster.process import ClusterError
from neverlost.checker.kafka.reproduce.attempt import Notify
from neverlost.checker.kafka.reproduce.death_order import order_by_session_expiry
from neverlost.checker.kafka.reproduce.follow import follow
from neverlost.checker.kafka.reproduce.reproduction_plan import ReproductionPlan, plan_stages
from neverlost.reports.counterexample.itf import read_itf
from neverlost.reports.counterexample.timeline import Timeline, timeline
from neverlost.reports.output import exit_status
from neverlost.reports.output.output import Output, verdict_line
from neverlost.reports.questions.reproduce.evidence import ReproductionReport, save_evidence, trimmed_logs
from neverlost.specs.configuration import keys
from neverlost.specs.configuration.choose import read_settings
from neverlost.specs.configuration.input import read_text
from neverlost.specs.errors import InputError

TOPIC = "neverlost"
ELR = "eligible.leader.replicas"
OTHER = ("acks", "min.insync.replicas", "unclean.leader.election.enable", ELR, "flush.messages")
"""What may be set otherwise than in the trace, to try a sibling of its configuration."""


@dataclass(frozen=True)
class ReproductionRequest:
    """A replayed counterexample, its timeline, and the plan that brings it about."""

    plan: ReproductionPlan
    expected: Timeline
    text: str
    changed: dict[str, Any]


@dataclass(frozen=True)
class KafkaTarget:
    """Which Kafka to try a counterexample on: a folder or a version (with `trust` also jars without a known checksum)."""

    home: str | None
    version: str | None
    controllers: int = 1
    trust: bool = False


def plan_reproduction(trace: str, settings: Sequence[str]) -> ReproductionRequest:
    """Replay a saved counterexample and plan its reproduction.  Errors: `InputError` for a trace that is none, a step that
    cannot be brought about, a key that cannot be changed."""
    system, broken, found, _ = read_itf(trace)
    found = order_by_session_expiry(system, found)
    planned = plan_stages(system, broken, found)
    given = read_settings(settings)
    for name in given:
        if name not in OTHER:
            raise InputError(f"--set {name} cannot differ from the trace: only {', '.join(OTHER)} can")
    whole = {name: (keys.shown(value), trace) for name, value in planned.configuration.items() if keys.shown(value) != ""}
    configuration = keys.configuration(system.model, whole | given)
    changed = {name: configuration[name] for name in given}
    return ReproductionRequest(
        replace(planned, configuration=configuration), timeline(system, broken, found), read_text(trace), changed
    )


def try_on_cluster(question: ReproductionRequest, where: KafkaTarget, times: int, output: Output, say: Notify) -> int:
    """Try a counterexample `times` times on one cluster, each time with a new topic; save the evidence, and deliver and say the
    verdicts.  Return 0 if all tries reproduce it, 21 if one does not, 20 if the cluster cannot be run.  Errors: `InputError`
    where there is no Kafka to be had."""
    require_one(where.home, where.version)
    import_client()
    home, planned = find_kafka(where.home, where.version, trust=where.trust), question.plan
    print_step(f"starting Kafka {home.shown}: {planned.brokers} brokers, {where.controllers} controller(s)")
    documents: list[dict[str, Any]] = []
    try:
        settings, formatted = planned.server_settings, features(planned, home)
        started = cluster(home, planned.brokers, where.controllers, settings, formatted, directories=planned.directories)
        with started as kafka:
            for number in range(1, times + 1):
                report = _try_once(question, kafka, number, _folder(output.out, number, times))
                documents.append(report.document())
                if output.is_read:
                    for line in report.verdict():
                        say(line)
    except ClusterError as problem:
        print(f"neverlost: the cluster could not be run: {' '.join(str(problem).split())}", file=sys.stderr)
        return exit_status.INCONCLUSIVE
    whole = documents[0] if len(documents) == 1 else {"schema": documents[0]["schema"], "tries": documents}
    output.deliver(whole, is_saved=True, lines=verdict_lines)
    return exit_status.HOLDS if all(each["reproduced"] for each in documents) else exit_status.UNEXPECTED


def verdict_lines(document: Mapping[str, Any]) -> list[str]:
    """Return the lines that `--quiet` prints, one for each try."""
    tries = document.get("tries", [document])
    return [verdict_line("reproduced" if each["reproduced"] else "not seen", each["property"]) for each in tries]


def print_step(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


def _folder(out: str | None, number: int, times: int) -> Path | None:
    """Return the folder for a try's evidence: `out` itself, or a numbered folder in it for several tries; None without it."""
    if out is None:
        return None
    return Path(out) if times == 1 else Path(out, str(number))


def _try_once(question: ReproductionRequest, kafka: Cluster, number: int, folder: Path | None) -> ReproductionReport:
    """Make one try, save its evidence and return the report.  The last try's topic is deleted first: a broker that leads a
    partition does not shut down until all others have read that it no longer leads
    (BrokerHeartbeatManager.calculateNextBrokerState), and a try may keep them from reading."""
    if number > 1:
        kafka.admin.delete_topic(_topic(number - 1))
    topic = _topic(number)
    outcome = follow(kafka, question.plan, topic, print_step)
    report = ReproductionReport(question.plan, question.expected, outcome, kafka.home.shown, question.changed)
    if folder is not None:
        save_evidence(report, question.text, trimmed_logs(kafka, topic), folder)
    return report


def _topic(number: int) -> str:
    return TOPIC if number == 1 else f"{TOPIC}-{number}"


def features(planned: ReproductionPlan, home: KafkaHome) -> dict[str, int]:
    """Return the features to format a cluster with: from Kafka 4.0 on whether there are eligible leader replicas (1 or 0; from
    4.1 on they are the default), before that none.  Errors: `InputError` for a Kafka that has none, if the plan needs them."""
    if home.minor >= (4, 0):
        return {f"{ELR}.version": int(planned.has_elr)}
    if planned.has_elr:
        raise InputError(f"Kafka {home.shown} has no eligible leader replicas: use 4.0 or newer, or --set {ELR}=false")
    return {}
