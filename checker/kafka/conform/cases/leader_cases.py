"""Cases for a leader: its possible states, the events that can reach it, and the model's answers.  A leader's state is what
kafka.cluster.Partition holds of one partition, in the model's terms; the leader is broker 0.  States are those that the model
reaches, and random legal ones.  An event is given to the model as a step of the ints interpreter from a state that differs
only in what the event needs."""

from __future__ import annotations

import random
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from neverlost.checker.kafka.conform.cases.cases import Projection, ReachableStates
from neverlost.model.interpreters.ints import take
from neverlost.model.kernel import NO_REPLICA, members
from neverlost.model.kraft.state import BEHIND, ELECTED, UP_TO_DATE
from neverlost.model.system import State, Step, System

LEADER = 0
STALE_ERRORS = ("INVALID_UPDATE_VERSION", "FENCED_LEADER_EPOCH", "INVALID_REQUEST", "UNKNOWN_TOPIC_OR_PARTITION")
"""Refusals after which the leader does not know what the controller holds."""

RETRIED_ERRORS = ("REQUEST_TIMED_OUT",)
"""After these the leader sends the same request again."""


@dataclass(frozen=True, order=True)
class LeaderState:
    """What a leader holds.  Units: offsets, exclusive ends; `isr` and `pending` are brokers, counted from 0.

    `fetched[f]` is how far the leader knows follower `f` to be: at least the high watermark for one that it waits for, 0 for
    others.  `epoch_start` is 0 once the high watermark covers it, and where the broker leads no more (`isr` is empty).
    """

    min_isr: int
    log_end: int
    high_watermark: int
    isr: frozenset[int]
    pending: int
    fetched: tuple[int, ...]
    epoch_start: int

    @property
    def maximal_isr(self) -> frozenset[int]:
        """The ISR, together with the broker whose adding or dropping is pending."""
        return self.isr | ({self.pending} - {NO_REPLICA})

    @property
    def normal(self) -> LeaderState:
        """Return the state as states are compared: `fetched` is at least the high watermark for followers that are waited for
        and 0 for others, `epoch_start` is 0 where the high watermark has reached it, or without an ISR."""
        waited = self.maximal_isr - {LEADER}
        fetched = tuple(
            max(offset, self.high_watermark) if follower in waited else 0 for follower, offset in enumerate(self.fetched)
        )
        start = self.epoch_start if self.isr and self.high_watermark < self.epoch_start else 0
        return replace(self, fetched=fetched, epoch_start=start)

    def __str__(self) -> str:
        """Return the leader's state in Kafka's words, brokers counted from 1."""
        pending = f" pending {self.pending + 1}" if self.pending != NO_REPLICA else ""
        isr = ",".join(str(each + 1) for each in sorted(self.isr))
        fetched = " ".join(f"{each + 1}:{offset}" for each, offset in enumerate(self.fetched) if each != LEADER)
        start = f" leaderEpochStartOffset={self.epoch_start}" if self.epoch_start else ""
        return (
            f"LEO={self.log_end} HW={self.high_watermark} ISR=[{isr}]{pending} fetched {fetched}{start} minISR={self.min_isr}"
        )


@dataclass(frozen=True, order=True)
class LeaderEvent:
    """An event that reaches a leader.  `follower`, `offset`, `is_fenced` are of a fetch; `isr` is of a metadata record; `error`
    that of a refusal; `slow` are the followers that have not caught up for too long."""

    name: str
    follower: int = NO_REPLICA
    offset: int = 0
    is_fenced: bool = False
    isr: frozenset[int] = frozenset()
    error: str = ""
    slow: frozenset[int] = frozenset()

    def __str__(self) -> str:
        """Return the event with brokers counted from 1."""
        parts = []
        if self.follower != NO_REPLICA:
            parts.append(f"of {self.follower + 1} at {self.offset}{', fenced' if self.is_fenced else ''}")
        if self.isr:
            parts.append(f"ISR=[{','.join(str(each + 1) for each in sorted(self.isr))}]")
        if self.slow:
            parts.append(f"slow {','.join(str(each + 1) for each in sorted(self.slow))}")
        return " ".join([self.name, *parts, self.error]).strip()


@dataclass(frozen=True)
class LeaderOutcome:
    """The result of an event: the leader's state, and the offsets that are then acknowledged to acks=all producers.  `acked`
    is None if the event does not look at the high watermark."""

    state: LeaderState
    acked: frozenset[int] | None = None

    def __str__(self) -> str:
        acked = "" if self.acked is None else f" acked offsets [{','.join(map(str, sorted(self.acked)))}]"
        return f"{self.state}{acked}"


RAISING = (
    "leader_append",
    "leader_note_fetch",
    "leader_learn_isr",
    "leader_replay_own_change",
    "controller_refuse_isr",
    "broker_apply_leadership",
)
"""Steps in which the leader looks at its high watermark."""


def subsets(brokers: range) -> list[frozenset[int]]:
    """Return every set of these brokers that contains broker 0, the leader."""
    others = [each for each in brokers if each != LEADER]
    return [frozenset({LEADER, *(others[each] for each in members(mask))}) for mask in range(2 ** len(others))]


def events(state: LeaderState, records: int) -> Iterator[LeaderEvent]:
    """Yield the events that are tried on a leader in a state, late and outdated ones too: an append if its log has less than
    `records`, a shrink with each follower of the ISR slow alone and with all of them."""
    brokers = range(len(state.fetched))
    followers = [each for each in brokers if each != LEADER]
    if state.log_end < records:
        yield LeaderEvent("append")
    for each in followers:
        for offset in range(state.log_end + 1):
            yield LeaderEvent("fetch", each, offset)
            if each not in state.isr:
                yield LeaderEvent("fetch", each, offset, is_fenced=True)
        yield LeaderEvent("fetch beyond the log end", each, state.log_end + 1)
        if state.log_end:
            yield LeaderEvent("diverging fetch", each, state.log_end)
    members = [each for each in followers if each in state.isr]
    for each in members:
        yield LeaderEvent("shrink", slow=frozenset({each}))
    if len(members) > 1:
        yield LeaderEvent("shrink", slow=frozenset(members))
    if state.pending != NO_REPLICA:
        yield LeaderEvent("answer")
        yield from (LeaderEvent("refusal", error=each) for each in ("INELIGIBLE_REPLICA", *STALE_ERRORS, *RETRIED_ERRORS))
        for isr in subsets(brokers):
            yield LeaderEvent("newer record, then the late answer", isr=isr)
            yield LeaderEvent("newer record, then the late refusal", isr=isr, error="INELIGIBLE_REPLICA")
    for isr in subsets(brokers):
        yield LeaderEvent("newer record", isr=isr)
        yield LeaderEvent("record of a new leader epoch", isr=isr)
    yield LeaderEvent("record of the same partition epoch", isr=state.isr)
    yield LeaderEvent("older record", isr=frozenset(brokers))
    yield LeaderEvent("record of another leader", isr=frozenset(brokers))


def reached_states(found: ReachableStates, min_isr: int) -> set[LeaderState]:
    """Return every distinct state, as `normal` makes it, that broker 0 reaches while it believes that it is leader."""
    system = found.system
    scalars = ("leader", "leader_knows", "leader_epoch_start", "leader_epoch_start_offset")
    frozen = {each.name for each in system.fields if each.frozen}
    named = tuple(each for each in scalars if each in system.places and each not in frozen)
    rows = (("leader_isr", LEADER), ("fetch_offset", LEADER), ("log_record", LEADER))
    seen = Projection(system, (*named, "follows", "high_watermark", "pending"), rows)
    keys: set[int] = set()
    for batch in found.batches():
        keys |= set(map(int, np.unique(seen.of(batch))))
    return {state for state in (_leader_state(system, seen.values(key), min_isr) for key in keys) if state is not None}


def _leader_state(system: System, values: Mapping[tuple[str, int], int], min_isr: int) -> LeaderState | None:
    brokers = range(system.sizes["replica"])
    if values["follows", LEADER] != LEADER:
        return None
    is_current = values["leader", 0] == LEADER and values["leader_knows", 0] != ELECTED
    start = values.get(("leader_epoch_start_offset", 0), values.get(("leader_epoch_start", 0), 0)) if is_current else 0
    return LeaderState(
        min_isr=min_isr,
        log_end=sum(values["log_record", offset] != 0 for offset in range(system.sizes["offset"])),
        high_watermark=values["high_watermark", LEADER],
        isr=frozenset(each for each in brokers if values["leader_isr", each]),
        pending=values["pending", LEADER],
        fetched=tuple(values["fetch_offset", each] for each in brokers),
        epoch_start=start,
    ).normal


def random_states(count: int, seed: int, brokers: int, records: int, min_isr: int, is_strict: bool) -> Iterator[LeaderState]:
    """Yield random legal states with the leader in its ISR.  The high watermark is the least log end that it waits for, or with
    `is_strict` (KAFKA-15583) any up to that while the ISR is smaller than min.insync.replicas."""
    draw = random.Random(seed)
    for _ in range(count):
        log_end = draw.randint(0, records)
        isr = frozenset({LEADER, *(each for each in range(1, brokers) if draw.random() < 0.6)})
        pending = draw.choice([NO_REPLICA, *range(1, brokers)])
        fetched = tuple(draw.randint(0, log_end) for _ in range(brokers))
        waited = (isr | {pending}) - {NO_REPLICA, LEADER}
        high_watermark = min([log_end, *(fetched[each] for each in waited)])
        if is_strict and len(isr) < min_isr:
            high_watermark = draw.randint(0, high_watermark)
        start = draw.choice([0, draw.randint(0, log_end)])
        yield LeaderState(min_isr, log_end, high_watermark, isr, pending, fetched, start).normal


class LeaderModel:
    """The model's answers for one system, whose min.insync.replicas is that of the states."""

    def __init__(self, system: System) -> None:
        self.system = system
        self.configuration = system.configurations[0]
        self.steps: dict[tuple[str, tuple[int, ...]], Step] = {
            (each.action.name, tuple(each.arguments.values())): each for each in system.steps
        }

    def answers(self, state: LeaderState, event: LeaderEvent) -> set[LeaderOutcome]:
        """Return what the model can do when an event comes: several outcomes if it has a choice, none if it cannot come."""
        first = event.name.partition(",")[0]  # what comes late has no effect
        return {replace(each, state=each.state.normal) for each in self._handle(first, state, event)}

    def _full(self, state: LeaderState, **changes: Any) -> State:
        """Return a whole state of the model in which the leader holds `state` and the controller the same, save the fields in
        `changes`, which get these values (`ends`: other brokers' log ends)."""
        size = self.system.sizes
        brokers, slots = range(size["replica"]), size["offset"]

        def log(end: int) -> list[int]:
            return [offset + 1 if offset < end else 0 for offset in range(slots)]

        nothing = [0] * len(brokers)
        ends: Mapping[int, int] = changes.pop("ends", {})
        values: dict[str, Any] = {
            "leader": LEADER,
            "isr": [each in state.isr for each in brokers],
            "leader_knows": UP_TO_DATE,
            "is_replica": True,
            "log_record": [log(state.log_end if each == LEADER else ends.get(each, 0)) for each in brokers],
            "is_running": True,
            "follows": [LEADER] * len(brokers),
            "high_watermark": [state.high_watermark, *nothing[1:]],
            "leader_isr": [[each in state.isr for each in brokers], *[nothing] * (len(brokers) - 1)],
            "pending": [state.pending, *[NO_REPLICA] * (len(brokers) - 1)],
            "fetch_offset": [list(state.fetched), *[nothing] * (len(brokers) - 1)],
            "leader_epoch_start": state.epoch_start,
            "leader_epoch_start_offset": state.epoch_start,
            "next_record": min(state.log_end, size["record"]),
            **{each.name: each.high for each in self.system.fields if each.name.endswith("_left")},
        }
        return self.system.configured(self.configuration, values | changes)

    def _take(self, before: State, name: str, *arguments: int) -> State | None:
        step = self.steps.get((name, arguments))
        return take(self.system, before, step) if step is not None else None

    def _read(self, after: State, state: LeaderState, raises: bool) -> LeaderOutcome:
        places, brokers = self.system.places, range(self.system.sizes["replica"])

        def row(name: str) -> list[int]:
            base = places[name][0]
            return [after[base + each] for each in range(places[name][1][-1])]

        start = "leader_epoch_start_offset" if "leader_epoch_start_offset" in places else "leader_epoch_start"
        members = row("leader_isr")
        acked = frozenset(each for each, is_acked in enumerate(row("ghost_acked")) if is_acked)
        found = LeaderState(
            min_isr=state.min_isr,
            log_end=sum(each != 0 for each in row("log_record")),
            high_watermark=row("high_watermark")[LEADER],
            isr=frozenset(each for each in brokers if members[each]),
            pending=row("pending")[LEADER],
            fetched=tuple(row("fetch_offset")),
            epoch_start=after[places[start][0]],
        )
        return LeaderOutcome(found, acked if raises else None)

    def _after(self, state: LeaderState, before: State, name: str, *arguments: int) -> set[LeaderOutcome]:
        """Return the one outcome of a step, in a set: the same state if the step is not possible."""
        after = self._take(before, name, *arguments)
        return {LeaderOutcome(state) if after is None else self._read(after, state, name in RAISING)}

    def _handle(self, name: str, state: LeaderState, event: LeaderEvent) -> set[LeaderOutcome]:
        """Return what the model can do in this state when an event of this name comes."""
        brokers = range(self.system.sizes["replica"])

        def mark(some: Collection[int]) -> list[bool]:
            return [each in some for each in brokers]

        match name:
            case "append":
                return self._after(state, self._full(state), "leader_append", LEADER)
            case "fetch":
                fenced = mark([event.follower] if event.is_fenced else [])
                before = self._full(state, ends={event.follower: event.offset}, is_fenced=fenced)
                is_waited_for = event.follower in state.maximal_isr
                step = "leader_note_fetch" if is_waited_for else "leader_ask_to_expand_isr"
                return self._after(state, before, step, LEADER, event.follower)
            case "shrink":
                before = self._full(state)
                drops = (self._after(state, before, "leader_ask_to_shrink_isr", LEADER, each) for each in event.slow)
                return set().union(*drops)
            case "answer":
                before = self._full(state, isr=mark(state.isr ^ {state.pending}), leader_knows=BEHIND)
                answered = self._take(before, "leader_apply_answer", LEADER)
                if answered is not None:
                    return {self._read(answered, state, True)}
                return self._after(state, before, "leader_learn_isr", LEADER)
            case "refusal" if event.error == "INELIGIBLE_REPLICA":
                if state.pending in state.isr:
                    return set()  # the controller says so of replicas that are added only
                before = self._full(state, request_outdated=True)
                return self._after(state, before, "controller_refuse_isr", LEADER, state.pending)
            case "newer record":
                before = self._full(state, isr=mark(event.isr), leader_knows=BEHIND)
                return self._after(state, before, "leader_learn_isr", LEADER)
            case "record of a new leader epoch":
                before = self._full(state, isr=mark(event.isr), leader_knows=ELECTED)
                return self._after(state, before, "broker_apply_leadership", LEADER)
            case "record of the same partition epoch":  # of a change whose answer came first
                return self._after(state, self._full(state, record_to_come=True), "leader_replay_own_change", LEADER)
            case "record of another leader":
                other = 1
                follows = [LEADER, *[other] * (len(brokers) - 1)]
                before = self._full(state, leader=other, isr=mark(event.isr), follows=follows)
                return self._after(state, before, "broker_follow", LEADER, other)
            case "refusal" | "fetch beyond the log end" | "diverging fetch" | "older record":
                return {LeaderOutcome(state)}
        raise ValueError(name)
