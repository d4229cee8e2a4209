"""The controller's events in a history: what each did to the partition and its brokers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from neverlost.checker.kafka.history.history import History, HistoryObservation
from neverlost.specs.errors import InputError


@dataclass(frozen=True)
class Known:
    """The controller's metadata at a moment, as far as the history shows it: what was not seen is left out."""

    partition: Mapping[str, Any]
    fenced: Mapping[int, bool]

    def lists(self, name: str) -> tuple[int, ...]:
        """Return the broker ids in a list of the partition, such as `isr` or `elr`; empty if the history does not give it."""
        return tuple(self.partition.get(name) or ())


@dataclass(frozen=True)
class ControllerEvent:
    """One controller event: what it did to brokers and to the partition, and the metadata before and after."""

    seen: tuple[HistoryObservation, ...]
    before: Known
    after: Known
    brokers: tuple[tuple[int, str], ...]
    has_partition: bool


def controller_events(history: History) -> tuple[Known, float, list[ControllerEvent]]:
    """Return the metadata of the first partition line, its time, and all later controller events; `InputError` without it."""
    known: Known | None = None
    fenced: dict[int, bool] = {}
    began, changes = 0.0, []
    for group in _group_events(history):
        partition = next((each for each in reversed(group) if each.saw == "partition"), None)
        brokers = tuple((each["broker"], each["state"]) for each in group if each.saw == "broker")
        later = fenced | {broker: state != "unfenced" for broker, state in brokers}
        if known is None and partition is not None:
            known, began = Known(partition.says, later), partition.at
        elif known is not None:
            after = Known(partition.says if partition is not None else known.partition, later)
            changes.append(ControllerEvent(tuple(group), known, after, brokers, partition is not None))
            known = after
        fenced = later
    if known is None:
        raise InputError(f"the history of {history.topic}-{history.partition} has no partition line: nothing says who leads")
    first = changes[0].before if changes else known
    return first, began, changes


def _group_events(history: History) -> list[list[HistoryObservation]]:
    """Return observations of the controller, grouped by event.  A batch may hold several events: a broker's change goes with a
    change of the partition beside it that it explains. Source: ReplicationControlManager (handleBrokerFenced,
    handleBrokerUnfenced, handleBrokerInControlledShutdown), ClusterControlManager.registerBroker."""
    groups: list[list[HistoryObservation]] = []
    before: HistoryObservation | None = None
    for each in history.of("partition", "broker"):
        last = groups[-1][-1] if groups else None
        if last is not None and len(groups[-1]) == 1 and _is_one_batch(last, each) and _is_caused(last, each, before):
            groups[-1].append(each)
        else:
            groups.append([each])
        before = next((one for group in reversed(groups[:-1]) for one in group if one.saw == "partition"), None)
    return groups


def _is_one_batch(first: HistoryObservation, second: HistoryObservation) -> bool:
    """Return True if the controller wrote two observations in one batch."""
    return first.source == second.source and first.get("batch") is not None and first.get("batch") == second.get("batch")


def _is_caused(first: HistoryObservation, second: HistoryObservation, before: HistoryObservation | None) -> bool:
    """Return True if two consecutive lines are a broker's change and its effect on the partition, which was as `before`."""
    if {first.saw, second.saw} != {"partition", "broker"} or before is None:
        return False
    change, broker = (first, second) if first.saw == "partition" else (second, first)
    number, state = broker["broker"], broker["state"]
    if state == "unfenced":
        return bool(before["leader"] < 0 <= change["leader"])
    was_there = number in (*before["isr"], *(before.get("elr") or ()))
    has_gone = number not in change["isr"]
    is_led_no_more = before["leader"] == number != change["leader"]
    return was_there and (has_gone or is_led_no_more)


def find_replicas(start: Known, changes: list[ControllerEvent]) -> tuple[int, ...]:
    """Return every broker that ever was a replica: the first ones in their order, then those added, then any other that led or
    was in an ISR or ELR.  Errors: `InputError` if there is none."""
    found = dict.fromkeys(start.lists("replicas"))
    for each in changes:
        found |= dict.fromkeys(each.after.lists("replicas"))
    for known in (start, *[each.after for each in changes]):
        leader = [known.partition["leader"]] if known.partition["leader"] >= 0 else []
        named = {*known.lists("isr"), *known.lists("elr"), *leader}
        found |= dict.fromkeys(sorted(named))
    if not found:
        raise InputError("the first partition line has no replicas")
    return tuple(found)
