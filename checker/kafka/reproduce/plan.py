"""From a counterexample to what has to be done on a cluster, and what has to be seen before the next thing is done.

A step of the model is something that is done to the cluster (produce, kill, cut off, move, ...), or something that
the cluster does by itself.  Each of the former begins a `Stage`, which lasts to the next one.  While a stage lasts, traffic is
held so that the cluster can do no more than the model did: a follower that must not have a record does not fetch, a broker
that must not know a decision does not read the metadata log.  The stage is over when the cluster looks like the model's state
at its end (its `Target`).

Brokers are counted from 1 here, as on the cluster; offsets and records in logs are the model's.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

from neverlost.checker.outcome import Trace
from neverlost.model.kernel import Configuration
from neverlost.model.kraft.state import ELECTED, UP_TO_DATE
from neverlost.model.sentences import sentences
from neverlost.model.system import Step, System
from neverlost.specs.errors import InputError
from neverlost.specs.property import Property

DRIVEN = {
    "leader_append": "produce",
    "leader_ask_to_shrink_isr": "lag",
    "controller_move_leader": "move",
    "controller_reassign": "reassign",
    "controller_cancel_reassignment": "cancel",
    "controller_cancel_reassignment_uncleanly": "cancel",
    "controller_set_min_isr": "set-min-isr",
    "controller_fence_live": "silence",
    "controller_unfence": "reconnect",
    "broker_crash": "crash",
    "broker_crash_lossy": "crash-lossy",
    "broker_lose_disk": "lose-disk",
    "broker_stop_cleanly": "stop",
    "broker_restart": "start",
    "broker_restart_clean": "start",
}
"""What is done to the cluster, by the model's action."""

BY_ITSELF = (
    "leader_note_fetch",
    "follower_take_response",
    "follower_truncate",
    "leader_ask_to_expand_isr",
    "controller_alter_isr",
    "controller_refuse_isr",
    "leader_learn_isr",
    "leader_apply_answer",
    "leader_replay_own_change",
    "broker_apply_leadership",
    "broker_follow",
    "broker_delete_replica",
    "broker_learn_config",
    "controller_fence_dead",
)
"""What the cluster does."""

LEARNING = (
    "leader_apply_answer",
    "leader_replay_own_change",
    "leader_learn_isr",
    "broker_apply_leadership",
    "broker_follow",
    "broker_delete_replica",
    "broker_learn_config",
)
"""A broker reads the metadata log; where clients or followers did something in between, only now."""

REPLICATION = ("leader_append", "leader_note_fetch", "follower_take_response", "follower_truncate")
ASKED = ("move", "reassign", "cancel", "set-min-isr")
"""An operator asks the cluster for these, through some broker."""

ENDING = ("stop", "crash", "crash-lossy", "lose-disk")
"""These end a broker; until it is down it must not get what was held back before."""

RECONNECTING = ("reconnect", "start", *ENDING)
"""After these a broker's heartbeats are no longer lost."""

FETCHES = ("leader_note_fetch", "follower_take_response", "follower_truncate", "leader_ask_to_expand_isr")


@dataclass(frozen=True)
class Target:
    """What the cluster must look like: the controller's metadata, every broker's log, what is acknowledged and readable."""

    leader: int | None
    has_applied_leadership: bool
    is_up_to_date: bool
    isr: tuple[int, ...]
    elr: tuple[int, ...]
    fenced: tuple[int, ...]
    running: tuple[int, ...]
    replicas: tuple[int, ...]
    logs: Mapping[int, tuple[int, ...]]
    acknowledged: tuple[int, ...]
    committed: tuple[int, ...]


@dataclass(frozen=True)
class Holds:
    """Traffic that must not flow in a stage: fetches of followers, the metadata log to brokers, requests to change the ISR
    and the answers to them, heartbeats."""

    fetches: tuple[int, ...] = ()
    metadata: tuple[int, ...] = ()
    isr_requests: tuple[int, ...] = ()
    isr_answers: tuple[int, ...] = ()
    heartbeats: tuple[int, ...] = ()

    def besides(self, other: Holds) -> Holds:
        """These, and another's but for its heartbeats, without which a broker does not shut down."""
        names = ("fetches", "metadata", "isr_requests", "isr_answers")
        return replace(self, **{each: tuple(sorted({*getattr(self, each), *getattr(other, each)})) for each in names})

    def of(self, broker: int) -> Holds:
        """Only what is held of one broker."""
        return Holds(*(tuple(each for each in getattr(self, name.name) if each == broker) for name in fields(self)))


@dataclass(frozen=True)
class Stage:
    """One thing to do, the steps of the model that it stands for (`first` to `last`), and what ends it.

    `during` is held while it is done, `holds` from then on.
    """

    first: int
    last: int
    says: tuple[str, ...]
    operation: str
    broker: int
    argument: tuple[int, ...]
    during: Holds
    holds: Holds
    target: Target


@dataclass(frozen=True)
class Plan:
    """How a cluster is set up for a counterexample, and what is done to it."""

    model: str
    broken: str
    configuration: Configuration
    brokers: int
    replicas: tuple[int, ...]
    begin: Target
    stages: tuple[Stage, ...]
    compares_elr: bool
    """Whether the trace itself has eligible leader replicas; `has_elr` is about the cluster that it is tried on."""

    @property
    def acks(self) -> str:
        """What the producer asks for."""
        return str(self.configuration["acks"])

    @property
    def has_elr(self) -> bool:
        """Whether eligible leader replicas are on."""
        return bool(self.configuration["eligible.leader.replicas"])

    @property
    def is_unclean_allowed(self) -> bool:
        """Whether the topic allows unclean elections."""
        return bool(self.configuration["unclean.leader.election.enable"])

    @property
    def topic_configs(self) -> dict[str, str]:
        """The topic's own settings."""
        found = {
            "min.insync.replicas": str(self.configuration["min.insync.replicas"]),
            "unclean.leader.election.enable": str(self.is_unclean_allowed).lower(),
        }
        return found | ({"flush.messages": "1"} if self.configuration["flush.messages"] == "1" else {})

    @property
    def server_settings(self) -> dict[str, str]:
        """Brokers' settings: a follower is slow soon where the counterexample has slow followers, else hardly ever."""
        is_slow = any(stage.operation == "lag" for stage in self.stages)
        return {"replica.lag.time.max.ms": "3000" if is_slow else "60000"}


def plan(system: System, broken: Property, trace: Trace) -> Plan:
    """The plan of a counterexample of a modern model.

    Errors: `InputError` for a step that cannot be brought about on a cluster, with its number.
    """
    if "leader_knows" not in system.places:
        raise InputError(f"{system.model.name} is an abstraction that no Kafka runs; reproduce traces of kraft and kraft-elr")
    states = [system.nested(state) for state in trace.states]
    steps = [system.steps[number] for number in trace.steps]
    said = sentences(system, trace.states, trace.steps)
    if system.configurations[0]["acks"] not in ("0", "1", "all"):
        raise InputError(f"no Kafka has acks={system.configurations[0]['acks']}: it is a proposal")
    if system.configurations[0]["start.outside_isr"]:
        raise InputError("the trace begins with replicas outside the ISR; a cluster is started with all of them in it")
    for number, step in enumerate(steps, start=1):
        if step.action.name not in (*DRIVEN, *BY_ITSELF):
            raise InputError(f"step {number} ({said[number]}) cannot be brought about on a cluster yet")
    starts = beginnings(steps, states)
    if not starts or starts[0] != 0:
        raise InputError("the trace does not begin with something that a client, an operator or a fault does")
    silent: set[int] = set()
    stages: list[Stage] = []
    for first, following in zip(starts, [*starts[1:], len(steps)], strict=True):
        operation, broker, argument = _operation(steps[first].action.name, steps[first].arguments)
        silent = silent | {broker} if operation == "silence" else silent - ({broker} if operation in RECONNECTING else set())
        taken = steps[first:following]
        holds = _waited(operation, broker, states[first], _holds(states[first], states[following], taken, silent))
        before = stages[-1].holds if stages and operation in ENDING else Holds()
        stages.append(
            Stage(
                first + 1,
                following,
                tuple(said[first + 1 : following + 1]),
                operation,
                broker,
                argument,
                holds.besides(before),
                holds,
                target(states[following]),
            )
        )
    return Plan(
        model=system.model.name,
        broken=broken.name,
        configuration=system.configurations[0],
        brokers=system.sizes["replica"] + _needs_spare(stages),
        replicas=order(states, system.sizes["first_replicas"]),
        begin=target(states[0]),
        stages=tuple(stages),
        compares_elr=bool(system.configurations[0]["eligible.leader.replicas"]),
    )


def _needs_spare(stages: Sequence[Stage]) -> bool:
    """Whether an operator asks for something while every replica's broker is down: another one must answer then."""
    return any(stage.operation in ASKED and not stage.target.running for stage in stages)


def beginnings(steps: Sequence[Step], states: Sequence[Mapping[str, Any]]) -> list[int]:
    """Where stages begin: with what is done to it, with what a broker learns after records have moved, and after a broker
    has learned something where it must not learn of what follows in the same stage."""
    found: list[int] = []
    has_replicated = False
    for number, step in enumerate(steps):
        name = step.action.name
        if name in DRIVEN or (name in LEARNING and has_replicated):
            found.append(number)
            has_replicated = False
        has_replicated = has_replicated or name in REPLICATION
    more = []
    for first, end in zip(found, [*found[1:], len(steps)], strict=True):
        learned = [number for number in range(first, end) if steps[number].action.name in LEARNING]
        more += [
            number + 1 for number in learned if number + 1 < end and _is_stale(states[end], steps[number].arguments["broker"])
        ]
    return sorted({*found, *more})


def _operation(name: str, arguments: Mapping[str, int]) -> tuple[str, int, tuple[int, ...]]:
    """Operation, the broker that it is about, and what else it needs."""
    operation = DRIVEN.get(name, "learn" if name in LEARNING else "go on")
    if operation == "lag":
        return operation, arguments["follower"] + 1, (arguments["leader"] + 1,)
    if operation == "reassign":
        return (
            operation,
            0,
            tuple(each + 1 for each in range(arguments["target"].bit_length()) if arguments["target"] >> each & 1),
        )
    broker = next((arguments[each] for each in ("broker", "leader") if each in arguments), None)
    if operation == "move":
        broker = arguments["elected"]
    value = tuple(arguments[each] for each in ("kept", "least") if each in arguments)
    return operation, 0 if broker is None else broker + 1, value


def numbered(flags: list[Any]) -> tuple[int, ...]:
    """Brokers whose flag is set, counted from 1."""
    return tuple(number for number, is_set in enumerate(flags, start=1) if is_set)


def target(state: Mapping[str, Any]) -> Target:
    """What a state of the model looks like on a cluster."""
    everyone = range(len(state["log_record"]))
    leader = None if state["leader"] < 0 else state["leader"] + 1
    return Target(
        leader=leader,
        has_applied_leadership=leader is not None and state["leader_knows"] != ELECTED,
        is_up_to_date=leader is not None and state["leader_knows"] == UP_TO_DATE,
        isr=numbered(state["isr"]),
        elr=numbered(state.get("elr", [])),
        fenced=numbered(state["is_fenced"]),
        running=numbered(state["is_running"]),
        replicas=numbered(state.get("is_replica", [True for _ in everyone])),
        logs={each + 1: tuple(record for record in state["log_record"][each] if record) for each in everyone},
        acknowledged=numbered(state["ghost_acked"]),
        committed=tuple(sorted({record for record in state["ghost_committed"] if record})),
    )


def _holds(begin: Mapping[str, Any], end: Mapping[str, Any], taken: list[Any], silent: set[int]) -> Holds:
    """What must not flow until the end of a stage."""
    everyone = range(len(end["log_record"]))
    fetching = {step.arguments["follower"] for step in taken if step.action.name in FETCHES}
    fetching |= {each for each in everyone if end["isr"][each] and _has_all(begin, each) and _has_all(end, each)}
    leader = end["leader"]
    stale = {each for each in everyone if end["is_running"][each] and _is_stale(end, each)}
    asks = {each for each in everyone if end["pending"][each] >= 0 and each == leader}
    behind = {leader} if leader >= 0 and end["leader_knows"] != UP_TO_DATE else set()
    return Holds(
        fetches=tuple(each + 1 for each in everyone if each not in fetching and end["is_running"][each]),
        metadata=tuple(each + 1 for each in sorted(stale)),
        isr_requests=tuple(each + 1 for each in sorted(asks - behind)),
        isr_answers=tuple(each + 1 for each in sorted(behind)),
        heartbeats=tuple(sorted(silent)),
    )


def _waited(operation: str, broker: int, begin: Mapping[str, Any], holds: Holds) -> Holds:
    """A leader that shuts down waits until every other live broker has read that it leads no more: that cannot be held.

    Source: BrokerHeartbeatManager.calculateNextBrokerState, the controlled shutdown offset.
    """
    is_leader = operation == "stop" and begin["leader"] == broker - 1
    return replace(holds, metadata=(), isr_answers=()) if is_leader else holds


def _has_all(state: Mapping[str, Any], broker: int) -> bool:
    """Whether a broker has all that the leader it follows has."""
    followed = state["follows"][broker]
    return bool(followed >= 0 and state["log_record"][broker] == state["log_record"][followed])


def _is_stale(state: Mapping[str, Any], broker: int) -> bool:
    """Whether a running broker must not know the controller's newest decision."""
    leads = state["follows"][broker] == broker
    if state["leader"] == broker and state["leader_knows"] != UP_TO_DATE:
        return True
    if state["follows"][broker] >= 0 and state["leader"] >= 0 and state["follows"][broker] != state["leader"]:
        return True
    if leads and "min_isr_known" in state and state["min_isr_known"][broker] != state["min_isr_changed"]:
        return True
    return "is_replica" in state and not state["is_replica"][broker] and bool(state["log_record"][broker][0])


def order(states: Sequence[Mapping[str, Any]], replicas: int) -> tuple[int, ...]:
    """An assignment in whose order Kafka elects as the model did: the first leader, then the others as they come to lead."""
    led = [state["leader"] for state in states if 0 <= state["leader"] < replicas]
    return tuple(each + 1 for each in dict.fromkeys([*led, *range(replicas)]))
