"""Histories for the tests of `observe`: one that is written by hand, and those that walks of the model leave behind."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from neverlost.checker.kafka.history.history import COMPLETE, History, make_history, parse_observation
from neverlost.model.interpreters import ints
from neverlost.model.kernel import NO_REPLICA
from neverlost.model.system import State, System

Line = dict[str, Any]


def partition(at: float, leader_epoch: int, epoch: int, leader: int, isr: list[int], **more: Any) -> Line:
    found = {"leader": leader, "leader_epoch": leader_epoch, "partition_epoch": epoch, "isr": isr, "replicas": [1, 2, 3]}
    return {"at": at, "saw": "partition", "source": "controller", **found, **more}


def broker(at: float, number: int, state: str, **more: Any) -> Line:
    return {"at": at, "saw": "broker", "source": "controller", "broker": number, "state": state, **more}


def process(at: float, number: int, state: str, **more: Any) -> Line:
    return {"at": at, "until": at + 0.05, "saw": "process", "broker": number, "state": state, **more}


def high_watermark(at: float, epoch: int, value: int) -> Line:
    return {"at": at, "until": at + 0.1, "saw": "high_watermark", "leader_epoch": epoch, "high_watermark": value}


def produced(at: float, first: int, count: int) -> Iterator[Line]:
    for number in range(first, first + count):
        moment = at + (number - first) * 0.01
        yield {"at": moment, "saw": "sent", "record": f"r{number}"}
        yield {"at": moment + 0.005, "saw": "acked", "record": f"r{number}", "acks": "all", "offset": number}


def plain() -> list[Line]:
    """Kafka 3.9, min ISR 2: broker 3 dies and leaves the ISR, then leader 1; broker 3 comes back behind leader 2."""
    return [
        *[broker(0, each, "unfenced") for each in (1, 2, 3)],
        partition(1, 0, 0, 1, [1, 2, 3]),
        *produced(1.5, 0, 6),
        high_watermark(2, 0, 6),
        process(3, 3, "killed"),
        partition(5, 0, 1, 1, [1, 2]),
        broker(9, 3, "fenced"),
        *produced(9.5, 6, 4),
        high_watermark(10, 0, 10),
        process(11, 1, "killed"),
        broker(17, 1, "fenced", batch=7),
        partition(17, 1, 2, 2, [2], batch=7),
        broker(20, 3, "registered"),
        broker(21, 3, "unfenced"),
        partition(22, 1, 3, 2, [2, 3]),
        *produced(22.5, 10, 4),
        high_watermark(24, 1, 14),
        *[{"at": 30, "saw": "read", "record": f"r{each}", "offset": each} for each in range(14)],
    ]


def header(**config: Any) -> Line:
    keys = {"kafka.version": "3.9", "min.insync.replicas": 2} | config
    return {"history": "neverlost.history/1", "topic": "t", "config": keys, "complete": list(COMPLETE)}


def history(lines: list[Line], **config: Any) -> History:
    return make_history(
        header(**config), [parse_observation(line, f"line {number}") for number, line in enumerate(lines, 2)], "line 1"
    )


NOT_OBSERVED = ("broker_lose_directory_cleanly",)
"""Steps that histories cannot be held against yet: a directory that is gone after a clean stop."""


class Walk:
    """A random behaviour of a modern model, and everything that an observer could have seen of it."""

    def __init__(self, system: System, seed: int, steps: int) -> None:
        self.system, self.chance = system, random.Random(seed)
        self.state: State = system.initial_states()[0][1]
        self.epoch = self.leader_epoch = 0
        self.led = {self.now["leader"]: 0}
        self.lines: list[Line] = [broker(-1, each + 1, "unfenced") for each in range(3)]
        self.lines.append(self._partition(0, None))
        for at in range(1, steps + 1):
            self._step(float(at))

    @property
    def now(self) -> dict[str, Any]:
        return self.system.nested(self.state)

    def _step(self, at: float) -> None:
        successors = [each for each in ints.successors(self.system, self.state) if each[1] != self.state]
        choices = [each for each in successors if each[0].action.name not in NOT_OBSERVED]
        if not choices:
            return
        kinds = sorted({step.action.name for step, _ in choices})
        kind = self.chance.choice(kinds)
        step, after = self.chance.choice([each for each in choices if each[0].action.name == kind])
        before, self.state = self.now, after
        self._seen(at, step.action.name, dict(step.arguments), before, self.now)
        self._clients(at + 0.5, before, self.now)

    def _seen(self, at: float, name: str, arguments: dict[str, int], before: dict[str, Any], after: dict[str, Any]) -> None:
        number = arguments.get("broker", -1) + 1
        if name.startswith("broker_restart"):
            self._restarted(at, number, before, after)
        elif name in ("controller_fence_dead", "controller_fence_live", "broker_stop_cleanly"):
            self._event(at, before, after, broker(at, number, "fenced"))
        elif name == "controller_unfence":
            self._event(at, before, after, broker(at, number, "unfenced"))
        elif changed(before, after):
            self._event(at, before, after, None)
        ends = {
            "broker_crash": "killed",
            "broker_crash_lossy": "lost",
            "broker_lose_disk": "lost",
            "broker_stop_cleanly": "stopped",
        }
        if name in ends:
            end = {"log_end": sum(1 for each in after["log_record"][number - 1] if each)} if ends[name] == "lost" else {}
            self.lines.append(process(at + 0.2, number, ends[name], **end))
        if name == "broker_apply_leadership":
            self.led[number - 1] = self.leader_epoch

    def _restarted(self, at: float, number: int, before: dict[str, Any], after: dict[str, Any]) -> None:
        """The model's one step, in the two that a controller writes: registration takes the broker out of the ELR.

        That may leave none but the last known leader, who is elected then; a broker that registers is elected when unfenced.
        """
        middle = dict(before)
        if "elr" in before and before["elr"][number - 1] and not before["stopped_cleanly"][number - 1]:
            middle["elr"] = [each and at_ != number - 1 for at_, each in enumerate(before["elr"])]
            if after["leader"] not in (before["leader"], number - 1):
                middle = after
        self._event(at, before, middle, broker(at, number, "registered"))
        self._event(at + 0.1, middle, after, broker(at + 0.1, number, "unfenced"))

    def _event(self, at: float, before: dict[str, Any], after: dict[str, Any], change: Line | None) -> None:
        batch = len(self.lines)
        if change is not None:
            self.lines.append(change | {"batch": batch})
        if changed(before, after):
            self.epoch += 1
            self.leader_epoch += before["leader"] != after["leader"]
            self.lines.append(self._partition(at, after) | {"batch": batch})

    def _partition(self, at: float, state: dict[str, Any] | None) -> Line:
        found = state or self.now
        elr = {}
        if "elr" in found:
            last = found["last_known_leader"]
            elr = {"elr": ids(found["elr"]), "last_known_elr": [last + 1] if last != NO_REPLICA else []}
        leader = found["leader"] + 1 if found["leader"] != NO_REPLICA else -1
        return partition(at, self.leader_epoch, self.epoch, leader, ids(found["isr"]), **elr)

    def _clients(self, at: float, before: dict[str, Any], after: dict[str, Any]) -> None:
        for record, (was, now) in enumerate(zip(before["ghost_acked"], after["ghost_acked"], strict=True)):
            places = [log.index(record + 1) for log in after["log_record"] if record + 1 in log]
            if now and not was and places:
                self.lines.append({"at": at, "saw": "acked", "record": f"m{record}", "acks": "all", "offset": places[0]})
        for each in range(3):
            self._looked_at(at, each, after)

    def _looked_at(self, at: float, each: int, state: dict[str, Any]) -> None:
        if state["follows"][each] == each:
            value = state["high_watermark"][each]
            self.lines.append(high_watermark(at, self.led[each], value) | {"until": at, "broker": each + 1})
            for offset in range(value):
                record = state["log_record"][each][offset] - 1
                self.lines.append({"at": at, "saw": "read", "record": f"m{record}", "offset": offset})
        if self.chance.random() < 0.3:
            records = {str(offset): f"m{record - 1}" for offset, record in enumerate(state["log_record"][each]) if record}
            self.lines.append(
                {"at": at, "saw": "log", "source": "disks", "broker": each + 1, "log_end": len(records), "records": records}
            )


def ids(flags: list[bool]) -> list[int]:
    return [each + 1 for each, there in enumerate(flags) if there]


def changed(before: dict[str, Any], after: dict[str, Any]) -> bool:
    return any(before.get(name) != after.get(name) for name in ("leader", "isr", "elr", "last_known_leader"))


def altered(found: History, number: int, **fields: Any) -> History:
    """The history in which one observation says something else."""
    seen = list(found.seen)
    seen[number] = replace(seen[number], says={**seen[number].says, **fields})
    return replace(found, seen=tuple(seen))


def numbered(found: History, kind: str) -> list[int]:
    return [number for number, each in enumerate(found.seen) if each.saw == kind]


def with_leader_outside_the_isr(found: History) -> History:
    number = [each for each in numbered(found, "partition")[1:] if len(found.seen[each]["isr"]) > 1][-1]
    leader, isr = found.seen[number]["leader"], found.seen[number]["isr"]
    assert leader in isr
    return altered(found, number, isr=[each for each in isr if each != leader])


def with_high_watermark_going_back(found: History) -> History:
    shown = [each for each in numbered(found, "high_watermark") if found.seen[each]["high_watermark"] > 0]
    earlier, later = next(
        (one, other)
        for one, other in zip(reversed(shown[:-1]), reversed(shown), strict=False)
        if found.seen[one]["leader_epoch"] == found.seen[other]["leader_epoch"]
    )
    return altered(found, later, high_watermark=found.seen[earlier]["high_watermark"] - 1)


def with_acknowledged_record_moved(found: History) -> History:
    """Two acknowledged records change places for their readers."""
    one, other = (each for each in found.of("acked")[:2])
    places = {one["record"]: other["offset"], other["record"]: one["offset"]}
    for number in numbered(found, "read"):
        if found.seen[number]["record"] in places:
            found = altered(found, number, offset=places[found.seen[number]["record"]])
    return found


def with_partition_epoch_skipped(found: History) -> History:
    later = [each for each in numbered(found, "partition") if found.seen[each]["partition_epoch"] >= 2]
    for number in later:
        found = altered(found, number, partition_epoch=found.seen[number]["partition_epoch"] + 1)
    return found


FALSIFIED = {
    with_leader_outside_the_isr: {"partition"},
    with_high_watermark_going_back: {"high_watermark"},
    with_acknowledged_record_moved: {"acked", "read"},
    with_partition_epoch_skipped: {"partition"},
}
"""What no run shows, and the kinds of observation that may be the first that is refused then."""
