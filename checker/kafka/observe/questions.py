"""What each observation asks of the model, whichever offset is tracked: events, processes, high watermarks, disks."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from functools import cached_property
from typing import Any

from neverlost.checker.kafka.history.events import Change, Known
from neverlost.checker.kafka.history.history import Seen
from neverlost.checker.kafka.observe.explained import Observation, Relation
from neverlost.checker.kafka.observe.starting_model import Setting, is_changed
from neverlost.model.kernel import NO_REPLICA
from neverlost.model.observed.one_offset import ANY_EPOCH, METADATA, NEWEST_EPOCH, OLDER_EPOCH

SLACK = 5.0
"""Seconds after a process ended in which the controller may still carry out what it had asked for."""


Ask = Callable[[int, int, Mapping[str, int]], tuple[Any, Any, Relation | None]]
"""From an offset, the number of names there and their numbers to a key, the actions and a relation."""


class Questions:
    """The observations of a history that every offset is asked about.  An observation's label is its index in `all`."""

    def __init__(self, setting: Setting) -> None:
        self.setting = setting
        self.all: list[tuple[Seen, ...]] = []

    @cached_property
    def fixed(self) -> list[tuple[Observation, Ask]]:
        """Observations with how to ask them."""
        found = [self._change(number, each) for number, each in enumerate(self.setting.changes)]
        found += self._processes()
        found += [
            self._high_watermark(each) for each in self.setting.history.of("high_watermark") if each.at >= self.setting.start_at
        ]
        found += [self._disk(each) for each in self.setting.history.of("log") if self.setting.index(each["broker"]) is not None]
        return [each for each in found if each is not None]

    def _placed(self, seen: tuple[Seen, ...], earliest: float, latest: float, source: str) -> Observation:
        self.all.append(seen)
        return Observation(None, (), None, earliest, latest, source, len(self.all) - 1)

    def _change(self, number: int, change: Change) -> Any:
        place = self._placed(change.seen, change.seen[0].at, max(each.until for each in change.seen), change.seen[0].source)
        fits, calls = self._fits(change), self._calls(change)
        if not calls:
            self.all.pop()
            return None
        return place, lambda offset, names, index: (("change", number), calls, fits)

    def _calls(self, change: Change) -> list[tuple[str, dict[str, int]]]:
        """The actions that a controller event may be; none where the model sees nothing of it."""
        setting = self.setting
        if not setting.is_whole:
            return [("metadata_shows", {})] if change.has_partition else []
        if not setting.sees_brokers and not change.has_partition:
            return []
        calls: list[tuple[str, dict[str, int]]] = []
        for broker, state in change.brokers:
            at = setting.index(broker)
            if at is None:
                continue
            if state == "registered":
                calls += [(name, {"broker": at}) for name in ("broker_register", "broker_register_clean")]
            elif state == "unfenced":
                calls += [("controller_unfence", {"broker": at})]
            elif not change.before.fenced.get(broker, False):
                calls += [(name, {"broker": at}) for name in ("controller_fence_dead", "controller_fence_live")]
        if calls or not change.has_partition:
            return calls
        if not setting.sees_brokers:
            return [(name, {}) for name in sorted(METADATA)]
        return [
            (name, {})
            for name in sorted(METADATA)
            if not name.startswith(("controller_fence", "controller_unfence", "broker_"))
        ]

    def _fits(self, change: Change) -> Relation:
        setting, before, after = self.setting, change.before, change.after
        moved = after.partition["partition_epoch"] - before.partition["partition_epoch"]
        led = after.partition["leader_epoch"] - before.partition["leader_epoch"]
        hidden = change.has_partition and _visible(before) == _visible(after)

        def fits(k: Any, was: Any, now: Any) -> Any:
            shown = shows(k, now, setting, after)
            if not setting.is_whole:
                return shown
            if not change.has_partition:
                return k.all_of(shown, k.not_(is_changed(k, was, now)))
            if moved != 1 or led not in (0, 1):
                return False
            if hidden:
                return shown if not led else k.all_of(shown, now.leader_knows == 0)
            return k.all_of(shown, is_changed(k, was, now), has_new_leader_epoch(k, was, now) == bool(led))

        return fits

    def _processes(self) -> Iterator[Any]:
        """Starts and ends of processes; the end of one that was not registered since its last end is no stop of a broker."""
        registered = self._registrations()
        last: dict[int, float] = {}
        latest: dict[int, float] = {}
        for each in self.setting.history.of("process"):
            broker, at = each["broker"], self.setting.index(each["broker"])
            if at is None or each.at < self.setting.start_at:
                continue
            times, since = registered.get(broker, []), last.get(broker)
            if each["state"] == "started":
                if since is None:
                    continue
                asked = self._starting(at)
            elif since is not None and not any(since <= time <= each.until for time in times):
                asked = self._ending_unregistered(each, at)
            else:
                asked, last[broker] = self._ending(each, at), each.at
                again = next((time for time in times if time > each.until), math.inf)
                latest[broker] = min(again, each.until + SLACK)
            yield self._placed((each,), each.at, max(each.until, latest[broker]), f"process {broker}"), asked

    def _starting(self, at: int) -> Any:
        return lambda offset, names, index: (("start", at), [("process_start", {"broker": at})], None)

    def _ending_unregistered(self, seen: Seen, at: int) -> Any:
        state, end = seen["state"], seen.get("log_end")

        def asked(offset: int, count: int, index: Mapping[str, int]) -> Any:
            may = [0] if state != "lost" else [0, 1] if end is None else [int(end <= offset)]
            return ("unregistered", at, tuple(may)), [("process_end", {"broker": at, "lost": lost}) for lost in may], None

        return asked

    def _registrations(self) -> dict[int, list[float]]:
        found: dict[int, list[float]] = {}
        for each in self.setting.history.of("broker"):
            if each["state"] == "registered":
                found.setdefault(each["broker"], []).append(each.at)
        return found

    def _ending(self, seen: Seen, at: int) -> Any:
        state, end = seen["state"], seen.get("log_end")
        names = {
            "stopped": ("broker_stop",),
            "killed": ("broker_crash",),
            "lost": ("broker_crash", "broker_crash_lossy", "broker_lose_disk"),
        }

        def emptied(k: Any, was: Any, now: Any) -> Any:
            return now.log_record[at][0] == 0

        def asked(offset: int, count: int, index: Mapping[str, int]) -> Any:
            is_cut = end is not None and end <= offset
            chosen = names[state] if state != "lost" or end is None or is_cut else ("broker_crash",)
            calls = [(name, {"broker": at}) for name in chosen]
            return ("process", at, chosen, is_cut), calls, emptied if is_cut and state == "lost" else None

        return asked

    def _high_watermark(self, seen: Seen) -> Any:
        epoch, value = seen["leader_epoch"], seen["high_watermark"]
        leader = self._leader_of(epoch)
        at = self.setting.index(leader) if leader is not None else None
        is_right = at is not None and seen.get("broker", leader) == leader
        which = self._newest(epoch, seen)
        place = self._placed((seen,), seen.at, seen.until, seen.source)

        def asked(offset: int, count: int, index: Mapping[str, int]) -> Any:
            above = int(value > offset)
            calls = [("leader_shows_high_watermark", {"broker": at, "value": above, "epoch": which})] if is_right else []
            return ("high watermark", at if is_right else None, above, which), calls, None

        return place, asked

    @cached_property
    def _leaders(self) -> dict[int, int]:
        known = [self.setting.start, *[each.after for each in self.setting.changes]]
        return {each.partition["leader_epoch"]: each.partition["leader"] for each in known if each.partition["leader"] >= 0}

    def _leader_of(self, epoch: int) -> int | None:
        return self._leaders.get(epoch)

    def _newest(self, epoch: int, seen: Seen) -> int:
        """Whether the epoch was surely the newest, or surely an older one, while this was seen."""
        epochs = [self.setting.start.partition["leader_epoch"]]
        for each in self.setting.changes:
            if each.seen[0].at <= seen.until:
                now = each.after.partition["leader_epoch"]
                epochs = [now] if max(one.until for one in each.seen) < seen.at else [*epochs, now]
        if set(epochs) == {epoch}:
            return NEWEST_EPOCH
        return OLDER_EPOCH if all(each > epoch for each in epochs) else ANY_EPOCH

    def _disk(self, seen: Seen) -> Any:
        at, end = self.setting.index(seen["broker"]), seen["log_end"]
        records = seen.get("records") or {}
        place = self._placed((seen,), seen.at, seen.until, seen.source)

        def asked(offset: int, count: int, index: Mapping[str, int]) -> Any:
            contents: tuple[int, ...] = (0,)
            if end > offset:
                there = records.get(str(offset))
                contents = tuple(range(1, count + 1)) if there is None else (index.get(there, count - 1) + 1,)
            return ("disk", at, contents), [("disk_shows", {"broker": at, "content": each}) for each in contents], None

        return place, asked


def shows(k: Any, now: Any, setting: Setting, known: Known) -> Any:
    """Whether a state has the metadata that was seen."""
    leader = setting.index(known.partition["leader"])
    wanted = [now.leader == (NO_REPLICA if leader is None else leader)]
    vectors = {"isr": known.lists("isr")}
    if now.sizes["elr"]:
        vectors["elr"] = known.lists("elr")
        last = known.lists("last_known_elr")
        wanted.append(
            now.last_known_leader
            == ((setting.index(last[0]) if last else None) if last and setting.index(last[0]) is not None else NO_REPLICA)
        )
    elif known.lists("elr") or known.lists("last_known_elr"):
        return False
    if now.sizes["reassignment"]:
        vectors |= {
            f"is_{name}": known.lists(key)
            for name, key in (("replica", "replicas"), ("adding", "adding"), ("removing", "removing"))
        }
    for name, members in vectors.items():
        vector = getattr(now, name)
        wanted += [is_member(k, vector[at], broker in members) for at, broker in enumerate(setting.replicas)]
    if setting.sees_brokers:
        wanted += [
            is_member(k, now.is_fenced[at], known.fenced.get(broker, False)) for at, broker in enumerate(setting.replicas)
        ]
    return k.all_of(*wanted)


def is_member(k: Any, value: Any, wanted: bool) -> Any:
    """Whether a flag is as it should be."""
    return value if wanted else k.not_(value)


def has_new_leader_epoch(k: Any, was: Any, now: Any) -> Any:
    """A leader epoch ends when the leader changes, and when a replica goes."""
    gone = []
    if was.sizes["reassignment"]:
        gone = [k.all_of(was.is_replica[each], k.not_(now.is_replica[each])) for each in range(len(was.is_replica))]
    return k.any_of(was.leader != now.leader, *gone)


def _visible(known: Known) -> tuple[Any, ...]:
    lists = [frozenset(known.lists(name)) for name in ("isr", "elr", "last_known_elr", "replicas", "adding", "removing")]
    return (known.partition["leader"], *lists)
