"""Decides whether some behaviour of the model explains a history, and if not, what it would have explained."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from neverlost.checker.kafka.history.events import ControllerEvent
from neverlost.checker.kafka.history.history import HistoryObservation
from neverlost.checker.kafka.observe.match_history import Explanation, ObservedStep, Observer, TooLarge, explain
from neverlost.checker.kafka.observe.offset_groups import Matching, OffsetGroup, find_steps
from neverlost.checker.kafka.observe.starting_model import LISTS, HistorySetting, choose_lists
from neverlost.model.interpreters.columns import Batch
from neverlost.model.observed.protocol import METADATA

MOST_SHOWN = 6


@dataclass(frozen=True)
class Refusal:
    """The first observation that no behaviour explains, in one group of offsets, and what would have been explained instead."""

    group: OffsetGroup
    seen: tuple[HistoryObservation, ...]
    allowed: tuple[str, ...]


@dataclass
class HistoryVerdict:
    """The verdict on a history: `refusal` is the earliest of all groups; `reason` says why it is inconclusive."""

    setting: HistorySetting
    matching: Matching
    groups: list[OffsetGroup] = field(default_factory=list)
    explanations: list[Explanation] = field(default_factory=list)
    refusal: Refusal | None = None
    reason: str | None = None
    unsaid: str | None = None
    """Why nothing is said of what could have been lost."""

    @property
    def verdict(self) -> str:
        """The verdict: `explained`, `refused` or `inconclusive`."""
        if self.refusal is not None:
            return "refused"
        return "inconclusive" if self.reason else "explained"

    @property
    def states(self) -> int:
        return sum(len(each) for each in self.setting.observers.values())


def match_history(setting: HistorySetting, progress: Callable[[int, int], None] = lambda done, all_: None) -> HistoryVerdict:
    """Match each group of offsets of a history against the model; return the verdict, inconclusive once one is too large."""
    found = HistoryVerdict(setting, Matching(setting))
    found.groups = found.matching.groups()
    refused: dict[ObservedStep, int] = {}
    for number, group in enumerate(found.groups):
        progress(number, len(found.groups))
        try:
            group, explanation = _explain_group(found.matching, group, min((each.latest for each in refused), default=None))
        except TooLarge as problem:
            found.reason = str(problem)
            return found
        found.groups[number] = group
        found.explanations.append(explanation)
        if explanation.refused is not None:
            refused[explanation.refused] = number
    if refused:
        number = refused[min(refused, key=lambda each: each.latest)]
        found.refusal = _make_refusal(found.matching, found.groups[number], found.explanations[number])
    return found


def _explain_group(matching: Matching, group: OffsetGroup, before: float | None) -> tuple[OffsetGroup, Explanation]:
    """Match a group with records sent once; if that fails and clients may resend, sent more than once.  Return the group that
    was matched last, and its explanation.  Records that may have been sent again may diverge though they look equal: many more
    states, and little can be concluded.  So this is done only if nothing else is refused yet (`before` None), or the group is
    refused before that time."""
    found = explain(matching.observer(group), matching.starts(group), group.observations)
    if found.refused is None or not matching.setting.may_repeat or not group.names:
        return group, found
    if before is not None and found.refused.latest >= before:
        return group, found
    again = matching.with_repeats(group)
    return again, explain(matching.observer(again), matching.starts(again), again.observations)


def _make_refusal(matching: Matching, group: OffsetGroup, explanation: Explanation) -> Refusal:
    refused = explanation.refused
    assert refused is not None
    seen = matching.get_seen(refused.label)
    try:
        allowed = _find_nearest_allowed(matching, matching.observer(group), group, explanation, seen)
    except TooLarge as problem:
        allowed = (f"not looked for to the end: {problem}",)
    return Refusal(group, seen, allowed)


def _find_nearest_allowed(
    matching: Matching, observer: Observer, group: OffsetGroup, explanation: Explanation, seen: tuple[HistoryObservation, ...]
) -> tuple[str, ...]:
    """Return, in words, what of the same kind a behaviour could have shown there instead; changes: the nearest few."""
    kind = seen[-1].saw if seen else ""
    if kind in ("partition", "broker"):
        change = next(each for each in matching.setting.changes if each.seen == seen)
        return _find_nearest_changes(matching.setting, observer, explanation, change)
    if kind == "high_watermark":
        return _find_high_watermarks(observer, group, explanation)
    if kind == "log":
        return _find_contents(observer, group, explanation, matching.setting.index(seen[-1]["broker"]) or 0)
    if kind in ("acked", "read"):
        return _find_records(observer, group, explanation, kind)
    return ("no process of that broker is running" if kind == "process" else "nothing",)


def _find_nearest_changes(
    setting: HistorySetting, observer: Observer, explanation: Explanation, change: ControllerEvent
) -> tuple[str, ...]:
    """Return, in words, at most `MOST_SHOWN` changes that the controller could have made, nearest to what was seen first."""
    calls = find_steps(observer, [(name, {}) for name in METADATA])
    after = observer.after(explanation.last, ObservedStep(("any change",), calls))
    batch = Batch(observer.system, observer.get_packed(after))
    lists = choose_lists(observer.system.sizes)
    columns = {name: _read_columns(batch, name) for name in ("leader", "is_fenced", *lists.values())}
    epoch = change.before.partition["partition_epoch"]
    found: dict[str, int] = {}
    for row in range(len(batch)):
        values = {
            name: [int(each[row]) if hasattr(each, "__len__") else int(each) for each in column]
            for name, column in columns.items()
        }
        leader, distance = values["leader"][0], 0
        distance += 2 * (leader != setting.replica(change.after.partition["leader"]))
        words = [f"leader {setting.replicas[leader] if leader >= 0 else 'none'}"]
        for name, flags in lists.items():
            members = [broker for at, broker in enumerate(setting.replicas) if values[flags][at]]
            distance += len(set(members) ^ set(change.after.lists(name)))
            words += _list_brokers(name, members)
        down = [broker for at, broker in enumerate(setting.replicas) if values["is_fenced"][at]]
        distance += sum((broker in down) != change.after.fenced.get(broker, False) for broker in setting.replicas)
        words.append(f"fenced {','.join(map(str, down)) or 'none'}")
        text = f"{', '.join(words)} at partition epoch {epoch + 1} (or {epoch}, if only a registration changes)"
        found[text] = min(distance, found.get(text, distance))
    return tuple(sorted(found, key=lambda each: (found[each], each))[:MOST_SHOWN])


def _list_brokers(name: str, members: Sequence[int]) -> list[str]:
    """Return one text, the name of a list with its brokers; no text for an empty list that is neither the ISR nor the ELR."""
    is_set_of_copies = name in ("isr", "elr")
    word = name.upper() if is_set_of_copies else name
    return [f"{word} {','.join(map(str, members)) or 'empty'}"] if members or is_set_of_copies else []


def _read_columns(batch: Batch, name: str) -> list[Any]:
    base, shape = batch.system.places[name]
    return [batch.column(base + each) for each in range(shape[0] if shape else 1)]


def _find_high_watermarks(observer: Observer, group: OffsetGroup, explanation: Explanation) -> tuple[str, ...]:
    offset, found = group.tracked.offset, []
    for value, text in ((0, f"at most {offset}"), (1, f"above {offset}")):
        steps = [(("leader_shows_high_watermark"), {"value": value, "epoch": epoch}) for epoch in range(3)]
        if observer.after(explanation.last, ObservedStep(("high watermark", value), find_steps(observer, steps))):
            found.append(f"a high watermark {text}")
    return tuple(found) or ("no broker believes it is leader",)


def _find_contents(observer: Observer, group: OffsetGroup, explanation: Explanation, broker: int) -> tuple[str, ...]:
    found = []
    for content in range(observer.system.sizes["record"] + 1):
        steps = find_steps(observer, [("disk_shows", {"broker": broker, "content": content})])
        if observer.after(explanation.last, ObservedStep(("content", broker, content), steps)):
            found.append(_name_content(group, content))
    return tuple(f"{each} at offset {group.tracked.offset}" for each in found)


def _name_content(group: OffsetGroup, content: int) -> str:
    if content == 0:
        return "the end of the log"
    return repr(group.names[content - 1]) if content <= len(group.names) else "an unknown record"


def _find_records(observer: Observer, group: OffsetGroup, explanation: Explanation, kind: str) -> tuple[str, ...]:
    action = "producer_is_notified" if kind == "acked" else "consumer_reads"
    found = []
    for number, name in enumerate(group.names):
        steps = find_steps(observer, [(action, {"record": number})])
        if observer.after(explanation.last, ObservedStep((action, number), steps)):
            found.append(f"{name!r} at offset {group.tracked.offset}")
    return tuple(found) or (f"nothing at offset {group.tracked.offset}",)


ENDED = {"started": "starts", "stopped": "stops", "killed": "crashes", "lost": "crashes"}


def _describe_left(says: Mapping[str, Any]) -> str:
    """Return what a process that lost records has left, in words."""
    end = says.get("log_end")
    return (
        ", losing what was not flushed or its disk" if end is None else f", its log cut at {end}" if end else ", its log lost"
    )


def describe_observation(seen: HistoryObservation) -> str:
    says: Mapping[str, Any] = seen.says
    if seen.saw == "partition":
        is_moving = any(says.get(name) for name in ("adding", "removing"))
        shown = [name for name in LISTS if says.get(name) is not None and (is_moving or name in ("isr", "elr"))]
        lists = [text for name in shown for text in _list_brokers(name, says[name])]
        leader = says["leader"] if says["leader"] >= 0 else "none"
        epochs = f"partition epoch {says['partition_epoch']}: leader {leader}, leader epoch {says['leader_epoch']}"
        return ", ".join([epochs, *lists])
    if seen.saw == "high_watermark":
        return f"the leader of epoch {says['leader_epoch']} shows high watermark {says['high_watermark']}"
    if seen.saw == "log":
        return f"the log of broker {says['broker']} ends at {says['log_end']}"
    if seen.saw == "broker":
        return f"broker {says['broker']} {says['state']}"
    if seen.saw == "process":
        return f"broker {says['broker']} {ENDED[says['state']]}" + (_describe_left(says) if says["state"] == "lost" else "")
    verb = {"acked": "acknowledged", "read": "read", "sent": "sent", "failed": "failed"}[seen.saw]
    return f"record {says['record']!r} {verb}" + (f" at offset {says['offset']}" if "offset" in says else "")
