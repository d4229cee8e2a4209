"""Turns a leader's state and an event into calls of Partition's entry points, in the order in which a test of Kafka's would
make them.  `leader` installs a state field by field; here it is reached by metadata records, appends, fetches and time alone.
The calls are tried on the classes, and dropped if they do not reach the state."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from neverlost.checker.kafka.conform.cases.leader_cases import LeaderEvent, LeaderState
from neverlost.checker.kafka.conform.java.partition import Broker
from neverlost.model.kernel import NO_REPLICA

LEADER_EPOCH, PARTITION_EPOCH = 5, 10
TOPIC_ID = "AAAAAAAAAAUAAAAAAAAAAQ"
"""The topic's id, Uuid(5, 1), as Kafka writes it."""

LEARN = {
    "newer record": (0, 1),
    "record of the same partition epoch": (0, 0),
    "older record": (0, -1),
    "record of a new leader epoch": (1, 1),
    "record of another leader": (1, 1),
}
"""How much the leader epoch and the partition epoch of a record are beyond what the leader has."""


@dataclass(frozen=True)
class Call:
    """One call: a method of `Broker` and its arguments; brokers are numbered as in Kafka, from 1."""

    name: str
    arguments: tuple[Any, ...] = ()


@dataclass(frozen=True)
class Script:
    """Calls that show a difference: after them a Partition shows none of the model's answers, which are `expected`."""

    min_isr: int
    replicas: int
    calls: tuple[Call, ...]
    expected: tuple[str, ...] = ()

    @property
    def document(self) -> dict[str, Any]:
        calls = [[each.name, *each.arguments] for each in self.calls]
        return {"min_isr": self.min_isr, "replicas": self.replicas, "calls": calls, "expected": list(self.expected)}

    @property
    def records(self) -> list[dict[str, Any]]:
        """The metadata records among the calls, as `kafka-dump-log.sh` prints them."""
        brokers = range(1, self.replicas + 1)
        learned = [each.arguments for each in self.calls if each.name == "learn"]
        return [partition_record(brokers, isr, leader, epoch, version) for leader, isr, epoch, version in learned]


@dataclass(frozen=True)
class ControllerScript:
    """Calls of a controller's methods, a run for each order of assignment, which together do not give what is `expected`.
    `follows` says how far the leader of before followed the controller's epochs; `without` is an answer that does not count, if
    there is one; `gives` is what is read after each run: what the controller has `seen`, or the `error` of its answer."""

    brokers: int
    min_isr: int
    elr: bool
    unclean: bool
    runs: tuple[tuple[tuple[Any, ...], ...], ...]
    follows: str
    expected: tuple[str, ...]
    without: str | None = None
    gives: str = "seen"

    @property
    def document(self) -> dict[str, Any]:
        return asdict(self)


def partition_record(
    replicas: Sequence[int], isr: Sequence[int], leader: int, leader_epoch: int, partition_epoch: int, **others: Sequence[int]
) -> dict[str, Any]:
    """Return a PartitionRecord as JSON, as kafka-dump-log.sh prints it; `others` are further lists of brokers, by name."""
    data = {
        "partitionId": 0,
        "topicId": TOPIC_ID,
        "replicas": list(replicas),
        "isr": list(isr),
        "removingReplicas": [],
        "addingReplicas": [],
        "leader": leader,
        "leaderEpoch": leader_epoch,
        "partitionEpoch": partition_epoch,
        **{name: list(brokers) for name, brokers in others.items()},
    }
    return {"type": "PARTITION_RECORD", "version": 2 if "eligibleLeaderReplicas" in data else 1, "data": data}


def make_call(broker: Broker, call: Call) -> None:
    if call.name == "fence":
        broker.fenced = set(call.arguments)
    elif call.name == "answer":
        broker.answer(broker.requests[-1], *call.arguments)
    elif call.name == "refuse":
        broker.refuse(broker.requests[-1], *call.arguments)
    else:
        getattr(broker, call.name)(*call.arguments)


def event_calls(event: LeaderEvent) -> Iterator[Call]:
    """Yield the calls of `Broker` that make an event reach the leader."""
    if event.name in ("append", "shrink"):
        yield Call(event.name)
    elif "fetch" in event.name:
        last = (LEADER_EPOCH - 1,) if event.name.startswith("diverging") else ()
        yield Call("fence", (event.follower + 1,) if event.is_fenced else ())
        yield Call("fetch", (event.follower + 1, event.offset, *last))
    else:
        record, _, late = event.name.partition(", then the late ")
        if record in LEARN:
            leader_epoch, partition_epoch = LEARN[record]
            leader = 2 if record == "record of another leader" else 1
            yield Call("learn", (leader, _ids(event.isr), LEADER_EPOCH + leader_epoch, PARTITION_EPOCH + partition_epoch))
        answer = late or event.name
        if answer == "answer":
            yield Call("answer", (PARTITION_EPOCH + 1,))
        elif answer == "refusal":
            yield Call("refuse", (event.error,))


def calls_to(state: LeaderState, slow: frozenset[int]) -> Iterator[Call]:
    """Yield calls that may bring a new `Broker` to a state, with the `slow` members not caught up for too long."""
    followers = range(1, len(state.fetched))
    slow = slow | ({state.pending} & state.isr)
    if state.epoch_start:
        yield Call("learn", (1, _ids(state.isr), LEADER_EPOCH - 1, PARTITION_EPOCH - 1))
        yield from [Call("append", (1,))] * state.epoch_start
    yield Call("learn", (1, _ids(state.isr), LEADER_EPOCH, PARTITION_EPOCH))
    yield Call("pass_lag")
    for end in range(state.epoch_start, state.log_end + 1):
        if state.pending not in state.isr and state.pending != NO_REPLICA and state.fetched[state.pending] == end:
            yield Call("fetch", (state.pending + 1, end))
        for each in followers:
            if each in state.isr - slow and state.fetched[each] == end:
                yield Call("fetch", (each + 1, end))
        if end < state.log_end:
            yield Call("append", (1,))
    for each in sorted(slow & state.isr):
        if state.fetched[each]:
            yield Call("fetch", (each + 1, state.fetched[each]))
    if state.pending in state.isr:
        yield Call("shrink")


def _ids(brokers: frozenset[int]) -> tuple[int, ...]:
    return tuple(sorted(each + 1 for each in brokers))


def leader_text(state: LeaderState, acked: frozenset[int] | None) -> str:
    """Return a leader's log end, high watermark, ISR, maximal ISR and, unless None, acknowledged offsets as text, brokers
    counted from 1; both ISRs are empty where the broker leads no more."""
    isr, waited = (list(_ids(each)) if state.isr else [] for each in (state.isr, state.maximal_isr))
    acks = "" if acked is None else f" acknowledged {sorted(acked)}"
    return f"LEO {state.log_end} HW {state.high_watermark} ISR {isr} maximal ISR {waited}{acks}"
