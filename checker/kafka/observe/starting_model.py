"""From a history to the model for matching it: configuration, replicas, initial states, silent actions."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from itertools import chain, combinations, product
from typing import Any

from neverlost.checker.kafka.history.events import ControllerEvent, Known, controller_events, find_replicas
from neverlost.checker.kafka.history.history import History
from neverlost.checker.kafka.observe.match_history import Observer, States
from neverlost.model.kernel import NO_REPLICA, Configuration
from neverlost.model.kraft.mechanisms import NEWEST, parsed, version_text
from neverlost.model.kraft.state import BEHIND, ELECTED, UP_TO_DATE
from neverlost.model.observed.one_offset import REFILLED, refilled
from neverlost.model.observed.protocol import METADATA, OBSERVED, PROCESS, SEEN, observed_system
from neverlost.specs.configuration.choose import Given, choose
from neverlost.specs.configuration.keys import is_setting
from neverlost.specs.errors import InputError

OLDEST = (3, 6)
"""The first version that is read: before, a shrunk ISR moved the leader epoch (KAFKA-15021), which the model leaves out."""

REGISTRATIONS = (
    "controller_fence_dead",
    "controller_fence_live",
    "controller_unfence",
    "broker_register",
    "broker_register_clean",
)
"""Metadata steps that change a registration, and may leave the partition alone."""

LISTS = {"isr": "isr", "elr": "elr", "replicas": "is_replica", "adding": "is_adding", "removing": "is_removing"}
"""A partition's lists of brokers to the model's flags; the last three where replicas move."""


def choose_lists(sizes: Mapping[str, int]) -> dict[str, str]:
    """Return the partition's lists that a model of these sizes has, by name, each with the name of the model's flags."""
    left_out = [*([] if sizes["elr"] else ["elr"]), *([] if sizes["reassignment"] else ["replicas", "adding", "removing"])]
    return {name: flags for name, flags in LISTS.items() if name not in left_out}


@dataclass(frozen=True)
class HistorySetting:
    """A history, the configuration and replicas of its model, its first metadata, and the controller events after that."""

    history: History
    configuration: Mapping[str, Any]
    replicas: tuple[int, ...]
    start: Known
    start_at: float
    changes: tuple[ControllerEvent, ...]
    until: float = float("inf")
    """The moment of the monotonic clock at which it is given up."""
    observers: dict[tuple[int, bool], Observer] = field(default_factory=dict, compare=False)

    @property
    def is_whole(self) -> bool:
        """Whether every change of the partition is in the history."""
        return "partition" in self.history.complete

    @property
    def sees_brokers(self) -> bool:
        """Whether every change of the partition and of a registration is in the history."""
        return self.is_whole and "broker" in self.history.complete

    @property
    def may_repeat(self) -> bool:
        """Whether a client may have sent a record twice, by itself or by the application."""
        return "sent" not in self.history.complete

    @cached_property
    def begins_with_the_topic(self) -> bool:
        """Whether the history begins with the creation of the partition."""
        return bool(self.start.partition["partition_epoch"] == 0 and self.start.partition["leader_epoch"] == 0)

    def index(self, broker: int) -> int | None:
        """Return the model's number of a broker; None for one that never had a replica."""
        return self.replicas.index(broker) if broker in self.replicas else None

    def replica(self, broker: int = NO_REPLICA) -> int:
        """Return the model's number of a broker; `NO_REPLICA` for one that never had a replica."""
        at = self.index(broker)
        return NO_REPLICA if at is None else at

    def configure(self, names: int, repeats: bool) -> Configuration:
        """Return the model's configuration for `names` record names, which may be sent again if `repeats`."""
        return {**self.configuration, "bounds.records": names, "faults.producer_retry": int(repeats)}

    def observer(self, names: int, repeats: bool) -> Observer:
        """Return the observer for `names` record names, which may be sent again if `repeats`; made once."""
        if (names, repeats) not in self.observers:
            system = observed_system(self.configure(names, repeats))
            metadata = METADATA if system.sizes["asks_controller"] else METADATA | {"leader_ask_to_expand_isr"}
            loud = (
                set(SEEN)
                | (set(metadata) if self.is_whole else set())
                | (set(PROCESS) if "process" in self.history.complete else set())
            )
            silent = [number for number, step in enumerate(system.steps) if step.action.name not in loud]
            quiet = {}
            if self.is_whole and not self.sees_brokers:
                quiet = {number: is_unchanged for number, each in enumerate(system.steps) if each.action.name in REGISTRATIONS}
            self.observers[names, repeats] = Observer(system, silent, quiet, until=self.until)
        return self.observers[names, repeats]

    def starts(self, names: int, repeats: bool) -> States:
        """Return the states of the model in which the history may begin, by their numbers in the observer."""
        observer = self.observer(names, repeats)
        system, configuration = observer.system, self.configure(names, repeats)
        budget = {"producer_retry_left": 1} if repeats else {}
        found = [system.configured(configuration, values | budget) for values in self._beginnings()]
        return observer.number_states(found)

    def _beginnings(self) -> Iterator[dict[str, Any]]:
        shown = self._show()
        fenced = [bool(self.start.fenced.get(broker, False)) for broker in self.replicas]
        may_run = [[True, False] if each else [True] for each in fenced]
        for running in product(*may_run):
            base = shown | {"is_fenced": fenced, "is_running": list(running)}
            yield from [base | _NOTHING_KNOWN] if self.begins_with_the_topic else self._hidden(base)

    def _show(self) -> dict[str, Any]:
        """Return the fields of the model that the history's first partition line decides."""
        sizes, partition = OBSERVED.sizes(self.configure(2, False)), self.start.lists
        found: dict[str, Any] = {"leader": self.replica(self.start.partition["leader"])}
        for name, flags in choose_lists(sizes).items():
            found[flags] = [broker in partition(name) for broker in self.replicas]
        if sizes["elr"]:
            found["last_known_leader"] = self.replica(*partition("last_known_elr")[:1])
        if not sizes["fenced_fetch"]:
            found["is_stale"] = True
        return found | {each.left: 1 for each in refilled(sizes)}

    def _hidden(self, base: dict[str, Any]) -> Iterator[dict[str, Any]]:
        """Yield `base` with every combination of the fields that a history may hide when it begins in the middle of a run: who
        follows whom, who still believes it is leader, and which ISR each of these has."""
        everyone, leader = range(len(self.replicas)), base["leader"]
        for followed in product((NO_REPLICA, *everyone), repeat=len(self.replicas)):
            leading = [each for each in everyone if followed[each] == each]
            if any(each != NO_REPLICA and each not in leading for each in followed):
                continue
            if any(followed[each] != NO_REPLICA and not base["is_running"][each] for each in everyone):
                continue
            known = (BEHIND, UP_TO_DATE, ELECTED) if leader in leading else (ELECTED,)
            for knows, isrs in product(known, product(*[_list_supersets(each, everyone) for each in leading])):
                rows = [[False] * len(everyone) for _ in everyone]
                for each, isr in zip(leading, isrs, strict=True):
                    rows[each] = list(base["isr"]) if each == leader and knows == UP_TO_DATE else isr
                yield base | {"follows": list(followed), "leader_knows": knows, "leader_isr": rows, "pending": NO_REPLICA}


_NOTHING_KNOWN: dict[str, Any] = {"leader_knows": ELECTED, "follows": NO_REPLICA, "pending": NO_REPLICA}


def _list_supersets(member: int, everyone: range) -> list[list[bool]]:
    others = [each for each in everyone if each != member]
    chosen = chain.from_iterable(combinations(others, size) for size in range(len(others) + 1))
    return [[each == member or each in some for each in everyone] for some in map(set, chosen)]


def is_unchanged(k: Any, before: Any, after: Any) -> Any:
    """Return the condition that a step leaves the partition alone."""
    return k.not_(is_changed(k, before, after))


def is_changed(k: Any, before: Any, after: Any) -> Any:
    """Return the condition that a step changes what the controller has of the partition."""
    differs = [before.leader != after.leader]
    if before.sizes["elr"]:
        differs.append(before.last_known_leader != after.last_known_leader)
    for flags in choose_lists(before.sizes).values():
        one, other = getattr(before, flags), getattr(after, flags)
        differs += [one[each] != other[each] for each in range(len(one))]
    return k.any_of(*differs)


def make_setting(history: History, given: Given, until: float = float("inf")) -> HistorySetting:
    """Return the setting of a history; `given` are keys of the command line, which win over those of the header; `until` is
    the time of the monotonic clock at which matching is given up.  Errors: `InputError` for a history without a partition, and
    for a history or keys that the model cannot be asked about."""
    start, start_at, changes = controller_events(history)
    replicas = find_replicas(start, changes)
    configuration = _make_configuration(history, given, start, replicas, changes)
    return HistorySetting(history, configuration, replicas, start, start_at, tuple(changes), until)


def _make_configuration(
    history: History, given: Given, start: Known, replicas: tuple[int, ...], changes: list[ControllerEvent]
) -> Configuration:
    """Return the configuration of header and command line; replicas and acks are the history's; `InputError` if unsupported."""
    offered: Given = {name: (value, "the history's header") for name, value in history.config.items()}
    keys_given = offered | given
    for name in keys_given:
        if not is_setting(name) or name in ("model", "replication.factor", "broker.rack", "consumer.commit"):
            raise InputError(f"{name} in {keys_given[name][1]} is not read by observe: the history decides it")
    version = parsed(str(keys_given.get("kafka.version", (version_text(NEWEST), ""))[0]))
    if version is not None and version < OLDEST:
        raise InputError(
            f"observe reads runs of Kafka 3.6 and later, not {keys_given['kafka.version'][0]}: "
            "before, a smaller ISR moved the leader epoch"
        )
    factor = len(start.lists("replicas"))
    moves = any(set(each.after.lists("replicas")) != set(start.lists("replicas")) for each in changes)
    if len(replicas) > factor + 1 or factor > 5:
        raise InputError(
            f"the partition had {len(replicas)} replicas over its time; observe follows up to 5 and one that is added"
        )
    acks = {each["acks"] for each in history.of("acked")} or {"all"}
    chosen = choose(keys_given | {"acks": (min(acks, key=ACKS_ORDER.index), "the history")})
    is_ordered = all(each.after.lists("replicas") == start.lists("replicas") for each in changes)
    found = dict(chosen.configuration) | {"replication.factor": factor, "faults.reassign": int(moves or len(replicas) > factor)}
    found |= {each.key: 1 for each in REFILLED}
    if "election.policy" not in keys_given:
        found["election.policy"] = "preferred" if is_ordered else "any"
    return {name: found[name] for name in OBSERVED.keys if name in found}


ACKS_ORDER = ["0", "1", "all"]
