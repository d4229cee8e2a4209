"""`roll` decides which brokers may be stopped now, in which order, and what one more fault would do meanwhile."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from os import PathLike
from typing import Any, TypedDict, Unpack

import neverlost
from neverlost.checker.engine.outcome import Verdict
from neverlost.checker.engine.search.options import Reporter, SearchProgress
from neverlost.checker.questions.roll.broker_stop import FURTHER, FirstAct
from neverlost.checker.questions.roll.rolling_restart import (
    DescribedCluster,
    LookedUpVerdicts,
    Margin,
    StopVerdicts,
    group_partitions,
    is_reassigned,
)
from neverlost.checker.questions.tolerance.cell_words import ACCEPTED, LOST, OK, STOPS
from neverlost.reports.bundle.keep import writes_bundle
from neverlost.reports.questions.roll.step import ALLOW, StepDocument, StepReason, make_step, read_controllers, read_node
from neverlost.reports.request.inputs import make_labels, read_configurations, select_topics
from neverlost.reports.request.keywords import Searching, Settings
from neverlost.reports.request.run_options import RunOptions
from neverlost.reports.results.results import Answer
from neverlost.reports.wording.merged_rows import name_some
from neverlost.specs.configuration.choose import OURS, OUTSIDE, Chosen, read_settings, say_what_is_left_out
from neverlost.specs.errors import InputError
from neverlost.specs.inputs.remedies import topic_of
from neverlost.specs.setting import NoticeDocument, Sources, assumed, shared_sources

MOST_AT_A_TIME = 9


@dataclass(frozen=True, repr=False)
class RollResult(Answer):
    """For each broker what its stop does to each partition that it has a replica of, and in which order to restart them all;
    of one broker also the `step`: whether to restart it now."""

    verdict: str
    brokers: Mapping[str, Mapping[str, Any]] = field(repr=False)
    order: Sequence[Sequence[str]]
    first: Sequence[Mapping[str, Any]]
    step: StepDocument | None = None

    def rows(self) -> Sequence[Mapping[str, Any]]:
        return [{"broker": broker, **each} for broker, each in self.brokers.items()]


@writes_bundle
def roll(
    settings: Settings = None,
    *,
    files: Mapping[str, Any] | None = None,
    kafka_version: str | None = None,
    at_a_time: int = 1,
    broker: int | None = None,
    pod: str | None = None,
    accept: Sequence[str] | None = None,
    out: str | PathLike[str] | None = None,
    progress: Reporter | None = None,
    **search: Unpack[Searching],
) -> RollResult:
    """Decide for each broker of a described cluster whether it may be stopped now (a controlled shutdown), and how to restart
    them all.  Every partition begins where it stands: its replicas that are outside the ISR may stay there. A stop happens
    whatever it does, and then one broker at a time may suffer something further. `at_a_time` is how many may be stopped
    together; `accept` names topics on which writes may stop meanwhile. `files` are the Kafka files of `check` by the names of
    its parameters. With `out` an evidence bundle is written there. With a `broker`, or a `pod` whose name ends in its number,
    it is about the restart of that one alone, looked up and never searched for. Errors: `InputError` for bad input, before
    anything is searched."""
    given = read_settings(settings)
    node = read_node(broker, pod)
    if any(key.startswith("faults.") for key in given):
        raise InputError("roll asks about stops itself: leave limits of faults out")
    if files is None or not files.get("describe"):
        raise InputError("roll needs the partitions of a cluster: give --describe FILE or --bootstrap-server HOST:PORT")
    if not 1 <= at_a_time <= MOST_AT_A_TIME:
        raise InputError(f"bad value '{at_a_time}' for --at-a-time: use a number from 1 to {MOST_AT_A_TIME}")
    if node is not None and (at_a_time > 1 or any(each not in (None, "memory", False) for each in search.values())):
        raise InputError(f"what is said of broker {node} alone is looked up: leave --at-a-time and options of a search out")
    read = read_configurations({"bounds.records": (1, OURS), **given}, kafka_version, **files)
    every = [say_what_is_left_out(each) for each in read]
    for each in every:
        if OUTSIDE not in each.model.keys:
            raise InputError(f"model {each.model.name!r} has no {OUTSIDE}; use a modern model, or kafka.version=X.Y")
        _require_partitions(each)
    select_topics(every, accept or (), "--accept")
    if node is not None:
        return RollResult.of(_about_one(every, node, files, accept or ()) | {**_input(every)})

    def notify(chosen: Chosen) -> None:
        if progress is not None and chosen.left_out is None:
            progress(SearchProgress(0, 0, 0, 0, 0.0, 0, f"decided: {name_some(chosen.subjects)}"))

    controllers, request = read_controllers(files), replace(RunOptions(**search), orbits=True)
    said = StopVerdicts(every, at_a_time, request.options(), request.engine, progress, notify)
    cluster = DescribedCluster(group_partitions(every, accept or ()), said, quorum=controllers.quorum)
    not_known = [each for each in [controllers.not_known()] if each]
    return RollResult.of(_document(cluster, at_a_time) | {"not_known": not_known, **_input(every)})


def _about_one(every: Sequence[Chosen], node: str, files: Mapping[str, Any], accept: Collection[str]) -> dict[str, Any]:
    """Return the document about the restart of one broker.  Errors: `InputError` for one that has no replica and no vote."""
    controllers, groups = read_controllers(files), group_partitions(every, accept)
    known = {broker for each in groups for broker in each.brokers}
    if node not in known and not controllers.has_vote(node):
        ids = sorted(known, key=lambda each: (len(each), each))
        raise InputError(f"broker {node} has no replica in what is described; the brokers there are {', '.join(ids)}")
    said = LookedUpVerdicts()
    cluster = DescribedCluster(tuple(each for each in groups if node in each.brokers), said, node)
    inside = [(each, int(node in each.inside)) for each in cluster.alike]
    margins = [said.margin(each.chosen, stopped) if each.inside else Margin(0, 0) for each, stopped in inside]
    reasons: dict[tuple[str, FirstAct, bool], list[str]] = {}
    for name, (says, each) in cluster.worst([node]).items():
        if says not in (OK, ACCEPTED):
            key = says.partition(",")[0], cluster.remedy(each), name in cluster.by_bugs
            reasons.setdefault(key, []).append(name)
    listed = [StepReason(says, tuple(names), remedy) for (says, remedy, _), names in reasons.items()]
    step = make_step(node, listed, margins, controllers, known)
    document = _document(cluster, 1) | {"step": step}
    if step["says"] != ALLOW:
        document["brokers"][node]["may_be_stopped"], document["verdict"], document["order"] = False, str(Verdict.VIOLATED), []
    return document


def _require_partitions(chosen: Chosen) -> None:
    """Raise `InputError` if the description does not say which brokers have the replicas of a topic."""
    described = {name.rpartition("-")[0] for name in chosen.brokers}
    missing = [each for each in chosen.subjects if topic_of(each) not in described]
    if missing or not described:
        says = f"topic {missing[0]!r} is described without its partitions" if missing else "no partition is described"
        raise InputError(
            f"{says}, which roll is about; give what kafka-topics.sh --bootstrap-server HOST:PORT --describe prints"
        )


class RollInput(TypedDict):
    """The sources of settings that all partitions share, the settings that `differ` between them, notices and assumptions."""

    sources: Sources
    differ: dict[str, Sources]
    notices: list[NoticeDocument]
    assumed: dict[str, str]


def _input(every: Sequence[Chosen]) -> RollInput:
    shared, own = shared_sources(each.settings for each in every)
    notices = dict.fromkeys(notice for each in every for notice in each.notices)
    return {
        "sources": shared,
        "differ": {label: each for label, each in zip(make_labels(every), own, strict=True) if each},
        "notices": [each.document() for each in notices],
        "assumed": assumed(each.settings for each in every),
    }


def _document(cluster: DescribedCluster, at_a_time: int) -> dict[str, Any]:
    """Return the result document: for each broker (those that may be stopped come first) what its stop does, and the order."""
    brokers = {
        each: {
            "may_be_stopped": cluster.may_stop([each]),
            "now": cluster.says([each]),
            "then": {fault.name: cluster.says([each], fault.name) for fault in FURTHER},
        }
        for each in cluster.brokers
    }
    may, first = {each: one["may_be_stopped"] for each, one in brokers.items()}, cluster.first()
    waiting = {name for each in first for name in each["partitions"]}
    moved = dict.fromkeys(name for each in cluster.alike if is_reassigned(each.chosen) for name in each.names)
    return {
        "schema": "neverlost.roll/1",
        "version": neverlost.__version__,
        "verdict": str(Verdict.HOLDS if all(may.values()) else Verdict.VIOLATED),
        "brokers": dict(sorted(brokers.items(), key=lambda each: not may[each[0]])),
        "at_a_time": at_a_time,
        "order": cluster.order(at_a_time),
        "first": first,
        "by_bugs": cluster.by_bugs,
        "controllers": sorted(map(str, cluster.quorum.voters), key=int) if cluster.quorum else [],
        "without_stop": {kind: cluster.find_without_stop(kind) for kind in (STOPS, LOST)},
        "moved": [name for name in moved if name not in waiting],
        **({} if all(may.values()) or cluster.only else {"order_then": cluster.order(at_a_time, then=True)}),
    }
