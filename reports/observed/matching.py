"""What each observation asks of the model, for one tracked offset.

The history is held against the model once for every offset that it speaks about.  Offsets about which it says the same in
the same order are one *cohort*, asked about once.
"""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from checker.observed import Observation, Observer, Relation
from model.kernel import NOBODY
from model.observable import ANY_EPOCH, METADATA, NEWEST_EPOCH, OLDER_EPOCH
from reports.observed.history import Seen
from reports.observed.setting import Change, Known, Setting, is_changed

SLACK = 5.0
"""Seconds after a process ended in which the controller may still carry out what it had asked for."""

SOMEBODY = "somebody else's"


@dataclass(frozen=True)
class Cohort:
    """Offsets about which the history says the same: the offsets, the names of the records there, and what is asked."""

    offsets: tuple[int, ...]
    names: tuple[str, ...]
    observations: tuple[Observation, ...]

    @property
    def tracked(self) -> int:
        """The offset that stands for all."""
        return self.offsets[-1]


class Matching:
    """The observations of a history, as the model is asked about them.  An observation's label is its index in `all`."""

    def __init__(self, setting: Setting) -> None:
        self.setting = setting
        self.all: list[tuple[Seen, ...]] = []
        self._steps: dict[tuple[int, Any], tuple[int, ...]] = {}

    # what does not depend on the offset

    @cached_property
    def fixed(self) -> list[tuple[Observation, Callable[[int, int, Mapping[str, int]], tuple[Any, Any, Relation | None]]]]:
        """Observations with how to ask them: from offset, number of names and names to a key, steps and a relation."""
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
        """Ends of processes; one that was not registered since its last end had no part in the partition, but has a disk."""
        registered = self._registrations()
        last: dict[int, float] = {}
        for each in self.setting.history.of("process"):
            broker, at = each["broker"], self.setting.index(each["broker"])
            if each["state"] == "started" or at is None or each.at < self.setting.start_at:
                continue
            times = registered.get(broker, [])
            since = last.get(broker)
            if since is not None and not any(since <= time <= each.until for time in times):
                if each["state"] == "lost":
                    yield self._placed((each,), each.at, each.until, f"process {broker}"), self._lost_while_down(each, at)
                continue
            last[broker] = each.at
            again = next((time for time in times if time > each.until), math.inf)
            latest = max(each.until, min(again, each.until + SLACK))
            place = self._placed((each,), each.at, latest, f"process {broker}")
            yield place, self._ending(each, at)

    def _lost_while_down(self, seen: Seen, at: int) -> Any:
        end = seen.get("log_end")

        def asked(offset: int, count: int, index: Mapping[str, int]) -> Any:
            may_stay = end is None or end > offset
            calls = [("broker_lose_down", {"broker": at})] if end is None or end <= offset else []
            return ("down", at, may_stay, bool(calls)), calls + ([("metadata_shows", {})] if may_stay else []), None

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

    # what is about one offset

    @cached_property
    def _grid(self) -> list[float]:
        times = {time for place, _ in self.fixed for time in (place.earliest, place.latest) if math.isfinite(time)}
        return sorted(times)

    def _down(self, time: float) -> float:
        """Just after the last moment of the grid before a time: nothing is in between that could tell them apart."""
        at = bisect_right(self._grid, time)
        return math.nextafter(self._grid[at - 1], math.inf) if at and self._grid[at - 1] < time else time if at else -math.inf

    def _up(self, time: float) -> float:
        """Just before the first moment of the grid after a time."""
        at = bisect_left(self._grid, time)
        return (
            math.nextafter(self._grid[at], -math.inf)
            if at < len(self._grid) and self._grid[at] > time
            else time
            if at < len(self._grid)
            else math.inf
        )

    @cached_property
    def about(self) -> dict[int, list[Seen]]:
        """Acknowledgements and reads by offset."""
        found: dict[int, list[Seen]] = {}
        for each in self.setting.history.of("acked", "read"):
            if each["offset"] >= 0 and (each.saw == "read" or each["acks"] != "0"):
                found.setdefault(each["offset"], []).append(each)
        return found

    @cached_property
    def _places(self) -> dict[str, set[int]]:
        """The offsets at which each record was seen."""
        found: dict[str, set[int]] = {}
        for offset, seen in self.about.items():
            for each in seen:
                found.setdefault(each["record"], set()).add(offset)
        for one in self.setting.history.of("log"):
            for offset, record in (one.get("records") or {}).items():
                found.setdefault(record, set()).add(int(offset))
        return found

    @cached_property
    def _sent(self) -> dict[str, float]:
        found: dict[str, float] = {}
        for each in self.setting.history.of("sent"):
            found.setdefault(each["record"], each.at)
        return found

    @cached_property
    def unaccounted(self) -> float:
        """When the first record was sent of which nobody knows the offset: it may be anywhere."""
        if "sent" not in self.setting.history.complete:
            return -math.inf
        return min((at for record, at in self._sent.items() if record not in self._places), default=math.inf)

    def cohorts(self) -> list[Cohort]:
        """Everything that is asked: first about an offset that nobody ever wrote, then about each that was seen."""
        records: dict[int, set[str]] = {}
        for record, offsets in self._places.items():
            for offset in offsets:
                records.setdefault(offset, set()).add(record)
        beyond = max([each["high_watermark"] for each in self.setting.history.of("high_watermark")] + [*records, 0]) + 1
        found: dict[Any, list[int]] = {}
        asked: dict[Any, tuple[tuple[str, ...], tuple[Observation, ...]]] = {}
        for offset in [beyond, *sorted(records)] if self._can_track else [beyond]:
            names = tuple(sorted(records.get(offset, ())))
            observations = self._observations(offset, names)
            signature = (len(names), tuple((each.key, each.earliest, each.latest) for each in observations))
            found.setdefault(signature, []).append(offset)
            asked[signature] = (names, observations)
        return [Cohort(tuple(offsets), *asked[signature]) for signature, offsets in found.items()]

    @property
    def _can_track(self) -> bool:
        """Whether no offset can have been written before the history begins."""
        return self.setting.begins_with_the_topic

    def count_of(self, names: tuple[str, ...]) -> int:
        """How many names the model has: those that were seen, at least one, and somebody else's."""
        return max(1, len(names)) + 1

    def _observations(self, offset: int, names: tuple[str, ...]) -> tuple[Observation, ...]:
        count = self.count_of(names)
        observer, index = self.setting.observer(count), {name: number for number, name in enumerate(names)}
        found = []
        for place, asked in self.fixed:
            key, calls, fits = asked(offset, count, index)
            found.append(self._asking(observer, count, place, key, calls, fits))
        for kind, name, at, seen in self._told(offset, names):
            number = count - 1 if name == SOMEBODY else index[name]
            label = self._label(seen)
            place = Observation(None, (), None, at, at, f"{kind} {name}", label)
            found.append(self._asking(observer, count, place, (kind, number), [(kind, {"record": number})], None))
        return tuple(found)

    def _told(self, offset: int, names: tuple[str, ...]) -> Iterator[tuple[str, str, float, Seen | None]]:
        """What is said about the records at one offset, with the moment that says least: sent early, heard of late."""
        if self.unaccounted < math.inf:
            yield "producer_sends", SOMEBODY, self._down(self.unaccounted), None
        for name in names:
            yield "producer_sends", name, self._down(self._sent.get(name, -math.inf)), None
            for elsewhere in self._places[name] - {offset}:
                first = min(
                    (each for each in self.about.get(elsewhere, ()) if each["record"] == name),
                    key=lambda each: each.at,
                    default=None,
                )
                if first is not None:
                    yield "record_stands_elsewhere", name, self._up(first.until), first
        once: set[tuple[str, str]] = set()
        for each in self.about.get(offset, ()):
            kind = "producer_hears" if each.saw == "acked" else "consumer_reads"
            if (kind, each["record"]) not in once:
                once.add((kind, each["record"]))
                yield kind, each["record"], self._up(each.until), each

    @cached_property
    def _labels(self) -> dict[int, int]:
        return {}

    def _label(self, seen: Seen | None) -> int:
        if seen is None:
            return -1
        if id(seen) not in self._labels:
            self.all.append((seen,))
            self._labels[id(seen)] = len(self.all) - 1
        return self._labels[id(seen)]

    def _asking(
        self, observer: Observer, count: int, place: Observation, key: Any, calls: Iterable[Any], fits: Any
    ) -> Observation:
        where = (count, key)
        if where not in self._steps:
            self._steps[where] = numbers(observer, calls)
        return Observation(key, self._steps[where], fits, place.earliest, place.latest, place.source, place.label)


def numbers(observer: Observer, calls: Iterable[tuple[str, Mapping[str, int]]]) -> tuple[int, ...]:
    """The steps of some actions with some of their arguments given."""
    wanted = list(calls)
    return tuple(
        number
        for number, step in enumerate(observer.system.steps)
        if any(step.action.name == name and given.items() <= dict(step.arguments).items() for name, given in wanted)
    )


def shows(k: Any, now: Any, setting: Setting, known: Known) -> Any:
    """Whether a state has the metadata that was seen."""
    leader = setting.index(known.partition["leader"])
    wanted = [now.leader == (NOBODY if leader is None else leader)]
    vectors = {"isr": known.lists("isr")}
    if now.sizes["elr"]:
        vectors["elr"] = known.lists("elr")
        last = known.lists("last_known_elr")
        wanted.append(
            now.last_known_leader
            == ((setting.index(last[0]) if last else None) if last and setting.index(last[0]) is not None else NOBODY)
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
