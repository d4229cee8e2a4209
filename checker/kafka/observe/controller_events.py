"""Controller events as questions to the model: which of its actions a change may be, and the metadata after it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from neverlost.checker.kafka.history.events import ControllerEvent, Known
from neverlost.checker.kafka.observe.history_question import Call, HistoryQuestion, StepQuery, repeat_query
from neverlost.checker.kafka.observe.match_history import Relation
from neverlost.checker.kafka.observe.starting_model import LISTS, REGISTRATIONS, HistorySetting, choose_lists, is_changed
from neverlost.model.kraft.state import ELECTED
from neverlost.model.observed.protocol import METADATA

REGISTERS: Mapping[str, tuple[str, ...]] = {
    "registered": ("broker_register", "broker_register_clean"),
    "unfenced": ("controller_unfence",),
}
"""The actions that put a broker's registration into a state; for any other state it is one of `FENCES`."""

FENCES = ("controller_fence_dead", "controller_fence_live")


def ask_about_controller(setting: HistorySetting) -> Iterator[HistoryQuestion]:
    """Yield a question for each controller event of which the model sees something."""
    for number, change in enumerate(setting.changes):
        calls = _list_calls(setting, change)
        if calls:
            asked = StepQuery(("change", number), calls, _make_relation(setting, change))
            ends = max(each.until for each in change.seen)
            yield HistoryQuestion(change.seen, change.seen[0].at, ends, change.seen[0].source, repeat_query(asked))


def _list_calls(setting: HistorySetting, change: ControllerEvent) -> list[Call]:
    """Return the actions that a controller event may be; an empty list if the model sees nothing of it."""
    if not setting.is_whole:
        return [("metadata_shows", {})] if change.has_partition else []
    if not (setting.sees_brokers or change.has_partition):
        return []
    calls = list(_list_registrations(setting, change))
    if calls or not change.has_partition:
        return calls
    return [(name, {}) for name in sorted(METADATA) if not (setting.sees_brokers and name in REGISTRATIONS)]


def _list_registrations(setting: HistorySetting, change: ControllerEvent) -> Iterator[Call]:
    """Yield the actions on registrations that an event may be; none for a broker that is no replica or is fenced again."""
    for broker, state in change.brokers:
        at = setting.index(broker)
        is_fenced_again = state not in REGISTERS and change.before.fenced.get(broker, False)
        if at is not None and not is_fenced_again:
            yield from ((name, {"broker": at}) for name in REGISTERS.get(state, FENCES))


def _make_relation(setting: HistorySetting, change: ControllerEvent) -> Relation:
    """Return what a step must satisfy: it leads to the metadata seen and, if all changes are known, moves the same epochs."""
    before, after = change.before, change.after
    moved = after.partition["partition_epoch"] - before.partition["partition_epoch"]
    led = after.partition["leader_epoch"] - before.partition["leader_epoch"]

    def shown(k: Any, was: Any, now: Any) -> Any:
        return has_metadata(k, now, setting, after)

    def leaves_partition(k: Any, was: Any, now: Any) -> Any:
        return k.all_of(shown(k, was, now), k.not_(is_changed(k, was, now)))

    def renews_leader(k: Any, was: Any, now: Any) -> Any:
        return k.all_of(shown(k, was, now), now.leader_knows == ELECTED)

    def changes_partition(k: Any, was: Any, now: Any) -> Any:
        return k.all_of(shown(k, was, now), is_changed(k, was, now), has_new_leader_epoch(k, was, now) == bool(led))

    if not setting.is_whole:
        return shown
    if not change.has_partition:
        return leaves_partition
    if moved != 1 or led not in (0, 1):
        return lambda k, was, now: False
    if _get_visible(before) == _get_visible(after):
        return renews_leader if led else shown
    return changes_partition


def has_metadata(k: Any, now: Any, setting: HistorySetting, known: Known) -> Any:
    """Return the condition that a state has the metadata seen; False if an ELR was seen and the model has none at all."""
    sizes, last_known = now.sizes, known.lists("last_known_elr")
    if not sizes["elr"] and (known.lists("elr") or last_known):
        return False
    wanted = [now.leader == setting.replica(known.partition["leader"])]
    if sizes["elr"]:
        wanted.append(now.last_known_leader == setting.replica(*last_known[:1]))
    for name, flags in choose_lists(sizes).items():
        wanted += _compare_flags(k, getattr(now, flags), [broker in known.lists(name) for broker in setting.replicas])
    if setting.sees_brokers:
        wanted += _compare_flags(k, now.is_fenced, [known.fenced.get(broker, False) for broker in setting.replicas])
    return k.all_of(*wanted)


def _compare_flags(k: Any, flags: Any, wanted: list[bool]) -> list[Any]:
    """Return the condition, for each flag, that it has its wanted value."""
    return [flags[at] if is_set else k.not_(flags[at]) for at, is_set in enumerate(wanted)]


def has_new_leader_epoch(k: Any, was: Any, now: Any) -> Any:
    """Return the condition that a change raises the leader epoch: the leader changes, or a replica is removed."""
    gone = []
    if was.sizes["reassignment"]:
        gone = [k.all_of(was.is_replica[each], k.not_(now.is_replica[each])) for each in range(len(was.is_replica))]
    return k.any_of(was.leader != now.leader, *gone)


def _get_visible(known: Known) -> tuple[Any, ...]:
    return (known.partition["leader"], *(frozenset(known.lists(name)) for name in (*LISTS, "last_known_elr")))
