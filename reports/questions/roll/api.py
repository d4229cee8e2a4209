"""`roll` decides which brokers may be stopped now, in which order, and what one more fault would do meanwhile."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from os import PathLike
from typing import Any, TypedDict, Unpack

import neverlost
from neverlost.checker.engine.outcome import Verdict
from neverlost.checker.engine.search.options import Reporter, SearchProgress
from neverlost.checker.questions.atlas.index import shipped
from neverlost.checker.questions.atlas.lookup import find_known
from neverlost.checker.questions.roll.broker_stop import FURTHER, Stop, stops
from neverlost.checker.questions.tolerance.tolerance import decided
from neverlost.model.protocols.kraft_standing import is_moved
from neverlost.reports.bundle.keep import writes_bundle
from neverlost.reports.questions.roll.step import (
    ALLOW,
    FirstAct,
    LookedUpVerdicts,
    Margin,
    StepDocument,
    StepReason,
    close_open,
    make_step,
    read_controllers,
    read_node,
    verdict_text,
)
from neverlost.reports.questions.tolerance import document as tolerance_document
from neverlost.reports.request.inputs import make_labels, read_configurations, select_topics
from neverlost.reports.request.keywords import Searching, Settings
from neverlost.reports.request.run_options import RunOptions
from neverlost.reports.results.results import Answer
from neverlost.reports.wording.merged_rows import name_some
from neverlost.reports.wording.table_words import ACCEPTED, LOST, OK, STOPS, UNDECIDED
from neverlost.specs.configuration.choose import OURS, OUTSIDE, Chosen, read_settings, say_what_is_left_out, with_all_in_sync
from neverlost.specs.errors import InputError
from neverlost.specs.inputs.remedies import topic_of
from neverlost.specs.properties import properties
from neverlost.specs.setting import NoticeDocument, Sources, assumed, shared_sources

OFFLINE = "offline already"
"""What is said of a partition without a leader: no stop makes that worse, and none should be tried."""

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
    said = _StopVerdicts(every, at_a_time, RunOptions(**search), progress)
    return RollResult.of(_document(_Cluster(_group_partitions(every, accept or ()), said), at_a_time) | {**_input(every)})


def _about_one(every: Sequence[Chosen], node: str, files: Mapping[str, Any], accept: Collection[str]) -> dict[str, Any]:
    """Return the document about the restart of one broker."""
    controllers, groups = read_controllers(files), _group_partitions(every, accept)
    known = {broker for each in groups for broker in each.brokers}
    if node not in known and not controllers.has_vote(node):
        ids = sorted(known, key=lambda each: (len(each), each))
        raise InputError(f"broker {node} has no replica in what is described; the brokers there are {', '.join(ids)}")
    said = LookedUpVerdicts()
    cluster = _Cluster(tuple(each for each in groups if node in each.brokers), said, node)
    worst: dict[str, tuple[str, FirstAct]] = {}
    margins = []
    for each, says in cluster.of([node]):
        margins.append(said.margin(each.chosen, int(node in each.inside)) if each.inside else Margin(0, 0))
        for name in each.names if says not in (OK, ACCEPTED) else ():
            if name not in worst or _badness(says) > _badness(worst[name][0]):
                worst[name] = says, cluster.remedy(each)
    reasons: dict[tuple[str, FirstAct], list[str]] = {}
    for name, (says, remedy) in worst.items():
        reasons.setdefault((says.partition(",")[0], remedy), []).append(name)
    listed = [StepReason(says, tuple(names), remedy) for (says, remedy), names in reasons.items()]
    step = make_step(node, listed, margins, controllers, known)
    document = _document(cluster, 1) | {"step": step}
    if step["says"] != ALLOW:
        document["brokers"][node]["may_be_stopped"], document["verdict"], document["order"] = False, str(Verdict.VIOLATED), []
    return document


def _require_partitions(chosen: Chosen) -> None:
    """Refuse a description that does not say which brokers have the replicas of a topic.  Errors: `InputError` where it is not
    known which brokers have the replicas of a topic."""
    described = {name.rpartition("-")[0] for name in chosen.brokers}
    missing = [each for each in chosen.subjects if topic_of(each) not in described]
    if missing or not described:
        says = f"topic {missing[0]!r} is described without its partitions" if missing else "no partition is described"
        raise InputError(
            f"{says}, which roll is about; give what kafka-topics.sh --bootstrap-server HOST:PORT --describe prints"
        )


class _StopVerdicts:
    """The verdicts of all configurations after all kinds of stops; each is named as soon as it is decided."""

    def __init__(self, every: Sequence[Chosen], at_a_time: int, request: RunOptions, progress: Reporter | None) -> None:
        asked = [properties()[name] for name in tolerance_document.ASKED]
        options, self._words = replace(request, orbits=True).options(), dict[tuple[int, bool, Stop], str]()
        for chosen in every:
            questions = {
                (id(chosen), is_whole, stop): (begins.model, {**begins.configuration, **stop.limits})
                for is_whole, begins in ((False, chosen), (True, with_all_in_sync(chosen)))
                for stop in stops(min(at_a_time, chosen.configuration["replication.factor"]))
            }
            found = decided(list(questions.values()), asked, options, request.engine, progress, find_known(shipped()))
            self._words |= {key: verdict_text(entries) for key, entries in zip(questions, found, strict=True)}
            if progress is not None:
                progress(SearchProgress(0, 0, 0, 0, 0.0, 0, f"decided: {name_some(chosen.subjects)}"))

    def of(self, chosen: Chosen, stop: Stop, is_whole: bool = False) -> str:
        """Return the verdict after a stop, as text; with `is_whole` all replicas are in the ISR before the stop."""
        return close_open(self._words[id(chosen), is_whole, stop], chosen, is_whole)


@dataclass(frozen=True, eq=False)
class _EqualPartitions:
    """Partitions with the same configuration, brokers and ISR; `names` maps each partition to its number in the input.  A
    partition whose configuration is not certain stands in one for each possible configuration."""

    chosen: Chosen
    inside: frozenset[str]
    brokers: frozenset[str]
    is_accepted: bool
    names: dict[str, int] = field(default_factory=dict)


def _group_partitions(every: Iterable[Chosen], accept: Collection[str]) -> tuple[_EqualPartitions, ...]:
    found: dict[Any, _EqualPartitions] = {}
    numbers: dict[str, int] = {}
    for each in every:
        for name, brokers in each.brokers.items():
            inside = frozenset(brokers).difference(each.out[name])
            key = id(each), inside, frozenset(brokers), name.rpartition("-")[0] in accept
            found.setdefault(key, _EqualPartitions(each, *key[1:])).names[name] = numbers.setdefault(name, len(numbers))
    return tuple(found.values())


@dataclass(frozen=True)
class _Cluster:
    alike: tuple[_EqualPartitions, ...]
    said: _StopVerdicts | LookedUpVerdicts
    only: str | None = None

    @property
    def brokers(self) -> list[str]:
        """All brokers that are asked about, sorted by number."""
        every = {each for one in self.alike for each in one.brokers} if self.only is None else {self.only}
        return sorted(every, key=lambda each: (len(each), each))

    def of(self, stopped: Iterable[str], further: str = "") -> Iterator[tuple[_EqualPartitions, str]]:
        """Yield the partitions that have replicas on the stopped brokers, with what happens to them."""
        chosen = frozenset(stopped)
        for each in self.alike:
            if chosen & each.brokers:
                yield each, self._says(each, Stop(len(chosen & each.inside), further))

    def says(self, stopped: Iterable[str], further: str = "") -> dict[str, list[str]]:
        """Return the partitions by what happens to them when these brokers are stopped; a partition counts by its worst
        verdict."""
        worst: dict[str, str] = {}
        numbers: dict[str, int] = {}
        for each, says in self.of(stopped, further):
            numbers |= each.names
            for name in each.names:
                if name not in worst or _badness(says) > _badness(worst[name]):
                    worst[name] = says
        found: dict[str, list[str]] = {says: [] for says in sorted(set(worst.values()), key=_badness)}
        for name in sorted(numbers, key=numbers.__getitem__):
            found[worst[name]].append(name)
        return found

    def _says(self, one: _EqualPartitions, stop: Stop) -> str:
        says = self.said.of(one.chosen, stop) if one.inside else OFFLINE
        return ACCEPTED if one.is_accepted and says in (STOPS, OFFLINE) else says

    def may_stop(self, stopped: Iterable[str], then: bool = False) -> bool:
        """Whether these brokers can be stopped without a loss, and without writes that stop unless that is accepted; `then` is
        once every replica is in sync, and accepted is what the stop of any one broker does."""
        if not then:
            return all(says in (OK, ACCEPTED) for _, says in self.of(stopped))
        chosen = frozenset(stopped)
        many = ((each.chosen, {1, len(chosen & each.brokers)}) for each, _ in self.of(chosen))
        return all({self.said.of(one, Stop(each), is_whole=True) for each in two} in ({OK}, {STOPS}) for one, two in many)

    def first(self) -> list[dict[str, Any]]:
        """Return what to do first, for which partitions, so that the brokers that cannot be stopped now can be stopped."""
        found: dict[str, dict[str, int]] = {}
        for each in self.alike:
            says = {self._says(each, Stop(many)) for many in ((0, 1) if each.inside else (0,))}
            if says <= {OK, ACCEPTED} or (each.chosen.left_out is None and UNDECIDED in says):
                continue
            found.setdefault(self.remedy(each).says, {}).update(each.names)
        return [{"do": remedy, "partitions": sorted(names, key=names.__getitem__)} for remedy, names in found.items()]

    def remedy(self, one: _EqualPartitions) -> FirstAct:
        """Return what to wait for, or to change, before a stop."""
        if not one.inside:
            return FirstAct("it is offline; bring back a replica of its last ISR or ELR", "leader")
        out = tuple(sorted(one.brokers - one.inside, key=lambda each: (len(each), each)))
        then = self.said.of(one.chosen, Stop(1), is_whole=True)
        if one.chosen.is_standing and is_moved(one.chosen.configuration):
            return FirstAct("wait until its reassignment is complete", "reassignment")
        if out and then in (OK, UNDECIDED):
            return FirstAct(f"wait until {', '.join(out)} {'are' if len(out) > 1 else 'is'} in the ISR again", "isr", out)
        settings = one.chosen.configuration
        factor, least = settings["replication.factor"], settings.get("min.insync.replicas", 1)
        if then.startswith(LOST):
            if settings["acks"] in ("0", "1"):
                return FirstAct(
                    f"a stop can lose a record with acks={settings['acks']}, even when all are in sync: use acks=all"
                )
            says = f"a stop can lose a record even when all are in sync (RF {factor}, min ISR {least}): see neverlost tolerance"
            return FirstAct(says)
        if then == UNDECIDED:
            return FirstAct("the shipped answers do not decide it: ask without --broker, which searches")
        lower = ", or lower min ISR" if least > 1 else ""
        needed = f"stopping any broker takes a replica that is needed (RF {factor}, min ISR {least}): add one{lower}"
        return FirstAct(f"{needed}, or accept that writes stop meanwhile (--accept TOPIC)")

    def order(self, at_a_time: int, then: bool = False) -> list[list[str]]:
        """Return groups of brokers that may be stopped together, one group after the other."""
        left, groups = [each for each in self.brokers if self.may_stop([each], then)], []
        while left:
            group: list[str] = []
            for each in left:
                if len(group) < at_a_time and self.may_stop([*group, each], then):
                    group.append(each)
            left = [each for each in left if each not in group]
            groups.append(group)
        return groups


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


@cache
def _badness(says: str) -> tuple[int, int]:
    """Return a sort key from good to bad; of two losses the one in fewer steps is worse."""
    kind, _, steps = says.partition(", ")
    order = [OK, ACCEPTED, STOPS, OFFLINE, UNDECIDED, LOST]
    return order.index(kind), -int(steps.split()[0]) if steps else 0


def _document(cluster: _Cluster, at_a_time: int) -> dict[str, Any]:
    """Return the result document: for each broker what its stop does, those that may be stopped first."""
    brokers = {
        each: {
            "may_be_stopped": cluster.may_stop([each]),
            "now": cluster.says([each]),
            "then": {fault.name: cluster.says([each], fault.name) for fault in FURTHER},
        }
        for each in cluster.brokers
    }
    may = {each: one["may_be_stopped"] for each, one in brokers.items()}
    return {
        "schema": "neverlost.roll/1",
        "version": neverlost.__version__,
        "verdict": str(Verdict.HOLDS if all(may.values()) else Verdict.VIOLATED),
        "brokers": dict(sorted(brokers.items(), key=lambda each: not may[each[0]])),
        "at_a_time": at_a_time,
        "order": cluster.order(at_a_time),
        "first": cluster.first(),
        **({} if all(may.values()) or cluster.only else {"order_then": cluster.order(at_a_time, then=True)}),
    }
