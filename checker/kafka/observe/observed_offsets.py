"""High watermarks and disk contents as questions to the model; they depend on the tracked offset."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from neverlost.checker.kafka.history.history import HistoryObservation
from neverlost.checker.kafka.observe.history_question import HistoryQuestion, StepQuery, Tracked, ask_about
from neverlost.checker.kafka.observe.starting_model import HistorySetting
from neverlost.model.observed.observations import ANY_EPOCH, NEWEST_EPOCH, OLDER_EPOCH


def ask_about_high_watermarks(setting: HistorySetting) -> Iterator[HistoryQuestion]:
    """Yield a question for each high watermark with which a leader answered, from the first partition line on."""
    known = [setting.start, *[each.after for each in setting.changes]]
    leaders = {each.partition["leader_epoch"]: each.partition["leader"] for each in known if each.partition["leader"] >= 0}
    for each in setting.history.of("high_watermark"):
        if each.at >= setting.start_at:
            yield ask_about(each, _make_high_watermark_query(setting, each, leaders.get(each["leader_epoch"])))


def _make_high_watermark_query(
    setting: HistorySetting, seen: HistoryObservation, leader: int | None
) -> Callable[[Tracked], StepQuery]:
    """Return the query about a leader's answer; no step explains the answer of a broker that did not lead the named epoch."""
    is_leader = leader is not None and seen.get("broker", leader) == leader
    at = setting.index(leader) if leader is not None and is_leader else None
    epoch = _classify_epoch(setting, seen)

    def asked(tracked: Tracked) -> StepQuery:
        above = int(seen["high_watermark"] > tracked.offset)
        calls = [] if at is None else [("leader_shows_high_watermark", {"broker": at, "value": above, "epoch": epoch})]
        return StepQuery(("high watermark", at, above, epoch), calls)

    return asked


def _classify_epoch(setting: HistorySetting, seen: HistoryObservation) -> int:
    """Return `NEWEST_EPOCH` if the epoch surely was that while this was seen, `OLDER_EPOCH` if surely not, else `ANY_EPOCH`."""
    epoch, possible = seen["leader_epoch"], [setting.start.partition["leader_epoch"]]
    for each in setting.changes:
        if each.seen[0].at <= seen.until:
            now = each.after.partition["leader_epoch"]
            possible = [now] if max(one.until for one in each.seen) < seen.at else [*possible, now]
    if set(possible) == {epoch}:
        return NEWEST_EPOCH
    return OLDER_EPOCH if all(each > epoch for each in possible) else ANY_EPOCH


def ask_about_disks(setting: HistorySetting) -> Iterator[HistoryQuestion]:
    """Yield a question for each look at a replica's disk."""
    for each in setting.history.of("log"):
        at = setting.index(each["broker"])
        if at is not None:
            yield ask_about(each, _make_disk_query(each, at))


def _make_disk_query(seen: HistoryObservation, at: int) -> Callable[[Tracked], StepQuery]:
    """Return the query for a look at a disk: nothing is at the offset if `log_end` is at or below it, else the record that was
    read there, or, if none was read, any record."""
    records = seen.get("records") or {}

    def asked(tracked: Tracked) -> StepQuery:
        contents: tuple[int, ...] = (0,)
        if seen["log_end"] > tracked.offset:
            there = records.get(str(tracked.offset))
            contents = tuple(range(1, tracked.count + 1)) if there is None else (tracked.number(there) + 1,)
        return StepQuery(("disk", at, contents), [("disk_shows", {"broker": at, "content": each}) for each in contents])

    return asked
