"""Computes what could have been lost at each moment: how many eligible copies records had, and what would have lost them.

An *interval* is the time between two events of the controller or of a process.  For each interval and each group of
acknowledged offsets, the states that explain everything so far are looked at: the fewest and the most eligible copies that
may hold the record, and every single further fault from which some continuation without faults ends in a leader without it.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from neverlost.checker.kafka.history.events import Known
from neverlost.checker.kafka.history.history import HistoryObservation
from neverlost.checker.kafka.observe.controller_events import has_metadata
from neverlost.checker.kafka.observe.history_verdict import HistoryVerdict, describe_observation
from neverlost.checker.kafka.observe.match_history import Explanation, ObservedStep, Observer, Relation, States
from neverlost.checker.kafka.observe.offset_groups import OffsetGroup
from neverlost.model.kernel import count
from neverlost.model.kraft.state import ELECTED, everyone
from neverlost.model.observed.protocol import FAULT_OF, PROCESS, SEEN

SEEN_FAULTS = {name: fault.seen for name, fault in FAULT_OF.items() if fault.seen}
"""The actions that may be the one further fault, and how they are named."""

NOT_RECOVERY = (
    SEEN
    | PROCESS
    | FAULT_OF.keys()
    | {
        "leader_append_named",
        "controller_touch",
        "controller_renew_leader",
        "controller_cancel_reassignment",
        "controller_cancel_reassignment_uncleanly",
    }
)
"""Steps that are a fault, an observation, or a producer's or an operator's."""


@dataclass(frozen=True)
class Exposure:
    """Offsets that were equally safe in an interval.  `fewest`, `most`: eligible copies.  `lost_by`: single faults that would
    lose them, none given if they `may_be_lost` without a further one.  `repeats`: the records may have been sent more than
    once."""

    offsets: tuple[int, ...]
    fewest: int
    most: int
    lost_by: tuple[str, ...]
    may_be_lost: bool
    repeats: bool = False


@dataclass(frozen=True)
class Interval:
    """A time between two events, the metadata in it, and how safe acknowledged offsets were at its end."""

    since: float
    until: float
    event: str
    leader: int
    isr: tuple[int, ...]
    elr: tuple[int, ...]
    exposures: tuple[Exposure, ...]


class Recovery:
    """Decides whether, with no further fault, some later leader may lack an acknowledged record."""

    def __init__(self, observer: Observer) -> None:
        self.observer = observer
        system = observer.system
        registers = {
            number: was_fenced(step.arguments["broker"])
            for number, step in enumerate(system.steps)
            if step.action.name.startswith("broker_register")
        }
        others = [
            number
            for number, each in enumerate(system.steps)
            if each.action.name not in NOT_RECOVERY and number not in registers
        ]
        self.recoverer = Observer(system, others, registers, until=observer.until)
        self.faults = [number for number, each in enumerate(system.steps) if each.action.name in SEEN_FAULTS]
        self._losing: dict[int, States] = {}

    def after(self, states: States, fault: int) -> States:
        return self.recoverer.after(states, ObservedStep(("fault", fault), (fault,)))

    def losing(self, record: int) -> States:
        """Return the states, of those numbered when first asked, from which a leader without the record may follow."""
        if record not in self._losing:
            everything = self.recoverer.close_silently(frozenset(range(len(self.recoverer))))
            lost = self.recoverer.where(everything, lambda k, s: is_missing(k, s, record))
            self._losing[record] = self.recoverer.able_to_reach(lost)
        return self._losing[record]


def was_fenced(broker: int) -> Relation:
    """Return the condition on a step that a broker was fenced before it: only then is its new incarnation admitted."""
    return lambda k, before, after: before.is_fenced[broker]


def is_missing(k: Any, s: Any, record: int) -> Any:
    """Return the condition that the current leader runs, has applied its leadership, and lacks this acknowledged record."""
    lacks = [
        k.all_of(s.leader == each, s.is_running[each], s.follows[each] == each, s.log_record[each][0] != record + 1)
        for each in everyone(s)
    ]
    return k.all_of(s.ghost_acked[record], s.leader_knows != ELECTED, k.any_of(*lacks))


@dataclass(frozen=True)
class _Case:
    """One group of offsets in one interval: its states, and those after each fault."""

    interval: int
    group: OffsetGroup
    recovery: Recovery
    record: int
    fewest: int
    most: int
    states: States
    after: tuple[tuple[int, States], ...]


@dataclass(frozen=True)
class _Span:
    """The time of an interval, and the labels of the events that begin and end it (-1: the history's beginning or end)."""

    number: int
    since: float
    until: float
    begins: int
    ends: int


def find_intervals(judgement: HistoryVerdict) -> list[Interval]:
    """Return every interval with how safe acknowledged offsets were at its end; of a refused history, those that are over
    before the refused observation.  Errors: `TooLarge` when a limit of the observers is reached."""
    spans = _list_spans(judgement)
    refused = min((each.refused.earliest for each in judgement.explanations if each.refused is not None), default=math.inf)
    recoveries: dict[Observer, Recovery] = {}
    cases: list[_Case] = []
    for group, explanation in zip(judgement.groups, judgement.explanations, strict=False):
        observer = judgement.matching.observer(group)
        if observer not in recoveries:
            recoveries[observer] = Recovery(observer)
        cases += _list_cases(judgement, spans, group, explanation, recoveries[observer])
    found = []
    for span in (each for each in spans if each.until <= refused):
        here = [_make_exposure(judgement.setting.replicas, each) for each in cases if each.interval == span.number]
        found.append(_make_interval(judgement, span, _merge_exposures(here)))
    return found


def _list_spans(judgement: HistoryVerdict) -> list[_Span]:
    """Return the spans from each event of the controller or a process to the next, and those at the history's two ends."""
    events = sorted(
        (each.earliest if each.saw == "process" else each.latest, label)
        for label, each in enumerate(judgement.matching.questions)
        if each.saw in ("partition", "broker", "process")
    )
    end = max((each.until for each in judgement.setting.history.seen), default=0.0)
    begun = [(judgement.setting.start_at, -1), *events]
    ended = [*events, (end, -1)]
    return [
        _Span(number, since, until, begins, ends)
        for number, ((since, begins), (until, ends)) in enumerate(zip(begun, ended, strict=True))
    ]


def _list_cases(
    judgement: HistoryVerdict, spans: list[_Span], group: OffsetGroup, explanation: Explanation, recovery: Recovery
) -> Iterator[_Case]:
    """Yield a case for each interval at whose end a group's record was acknowledged."""
    if group.acknowledged is None:
        return
    at, record = group.acknowledged
    ordered = sorted(group.observations, key=lambda each: each.earliest)
    known = [(each.earliest, explanation.known[each.label]) for each in ordered if each.label in explanation.known]
    for span in spans:
        if at < span.until or span is spans[-1]:
            so_far = [states for earliest, states in known if earliest < span.until or span is spans[-1]]
            states = _restrict_to_end(judgement, span, so_far[-1], recovery.observer) if so_far else frozenset()
            copies = _count_copies(recovery.observer, states, record)
            if copies:
                here = frozenset(recovery.recoverer.number_packed(recovery.observer.get_packed(states)))
                after = tuple((fault, recovery.after(here, fault)) for fault in recovery.faults)
                yield _Case(span.number, group, recovery, record, min(copies), max(copies), here, after)


def _restrict_to_end(judgement: HistoryVerdict, span: _Span, states: States, observer: Observer) -> States:
    """Return the states at the end of an interval: of the given ones and all that silent steps lead to, those with the
    interval's metadata (if all changes are known) and, if a process ends then, with it still running.  Observations near the
    end may have come after the next event."""
    setting, ending = judgement.setting, judgement.matching.get_seen(span.ends)
    states = observer.close_silently(states)
    if setting.is_whole:
        known = _find_metadata(judgement, span.since)
        states = observer.where(states, lambda k, s: has_metadata(k, s, setting, known))
    if not ending or ending[-1].saw != "process":
        return states
    broker = setting.replica(ending[-1]["broker"])
    # one that loses its disk while it is down was not running before either
    return observer.where(states, lambda k, s: s.is_running[broker]) or states


def _find_metadata(judgement: HistoryVerdict, since: float) -> Known:
    """Return the controller's metadata at a time."""
    found = judgement.setting.start
    for each in judgement.setting.changes:
        if max(one.until for one in each.seen) <= since:
            found = each.after
    return found


def _count_copies(observer: Observer, states: States, record: int) -> list[int]:
    """Return, for each state in which the record is acknowledged, how many electable replicas hold it in their logs."""

    def holding(k: Any, s: Any) -> Any:
        return count(k, [k.all_of(is_electable(k, s, each), s.log_record[each][0] == record + 1) for each in everyone(s)])

    return observer.values(observer.where(states, lambda k, s: s.ghost_acked[record]), holding)


def is_electable(k: Any, s: Any, replica: int) -> Any:
    """Return the condition that the controller may elect a replica without, as far as it knows, a loss: it is in the ISR; with
    ELR also if it is in the ELR, or is the last known leader while ISR and ELR are empty."""
    if not s.sizes["elr"]:
        return s.isr[replica]
    none = k.all_of(*[k.not_(each) for each in (*s.isr, *s.elr)])
    return k.any_of(s.isr[replica], s.elr[replica], k.all_of(none, s.last_known_leader == replica))


def _make_exposure(replicas: tuple[int, ...], case: _Case) -> Exposure:
    losing = case.recovery.losing(case.record)
    may_be_lost = bool(case.states & losing)
    lost_by = []
    for fault, states in case.after:
        if states & losing and not may_be_lost:
            step = case.recovery.recoverer.system.steps[fault]
            brokers = {key: replicas[value] for key, value in step.arguments.items() if key in ("broker", "elected")}
            lost_by.append(SEEN_FAULTS[step.action.name].format(**brokers))
    group = case.group
    return Exposure(group.offsets, case.fewest, case.most, tuple(dict.fromkeys(lost_by)), may_be_lost, group.repeats)


def _merge_exposures(exposures: list[Exposure]) -> tuple[Exposure, ...]:
    """Return the exposures by offset, with all that differ only in their offsets merged into one."""
    groups: dict[tuple[int, int, tuple[str, ...], bool, bool], list[int]] = {}
    for each in exposures:
        key = (each.fewest, each.most, each.lost_by, each.may_be_lost, each.repeats)
        groups.setdefault(key, []).extend(each.offsets)
    merged = [Exposure(tuple(sorted(offsets)), *key) for key, offsets in groups.items()]
    return tuple(sorted(merged, key=lambda each: each.offsets))


def _make_interval(judgement: HistoryVerdict, span: _Span, exposures: tuple[Exposure, ...]) -> Interval:
    known = _find_metadata(judgement, span.since)
    event = "; ".join(map(_describe_event, judgement.matching.get_seen(span.begins))) or "the history begins"
    leader, isr, elr = known.partition["leader"], known.lists("isr"), known.lists("elr")
    return Interval(span.since, span.until, event, leader, isr, elr, exposures)


def _describe_event(seen: HistoryObservation) -> str:
    """Return an event in words; of a partition's change just its partition epoch: the rest is shown beside it."""
    return f"partition epoch {seen['partition_epoch']}" if seen.saw == "partition" else describe_observation(seen)
