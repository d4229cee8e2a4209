"""One state of a partition as a figure shows it, read from a TOML file.

    leader = "1"                    # left out: no leader
    isr = ["1", "2"]
    first_offset = 7                # the first offset that the logs show (default 0)

    [broker.1]                      # in assignment order
    log = ["m7", "m8", "m9@3"]      # records; NAME@EPOCH names the leader epoch of the append
    high_watermark = 9              # left out: what every member of the ISR has

    [broker.2]
    log_end = 9                     # instead of log: the next offset, where logs differ in length only

    [broker.3]
    log_end = 8
    up = false                      # stopped; stopped_cleanly = true matters with eligible leader replicas

Also `elr`, `last_known_leader`, `leader_epoch` and `acknowledged` (records; default: those that acks acknowledges).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from os import PathLike
from typing import Any

from neverlost.model.kernel import NO_REPLICA
from neverlost.model.observed.described_state import DescribedState
from neverlost.specs.configuration.input import TableReader, parse_toml, read_text
from neverlost.specs.errors import InputError, unknown

MOST_RECORDS = 9
"""Different records that a figure may show; each may be lost or kept, so with more the answer would be long."""

MOST_BROKERS = 5


@dataclass(frozen=True)
class Figure:
    """What a file shows, with its names: `brokers` in assignment order, `records` by number less one."""

    where: str
    brokers: tuple[str, ...]
    records: tuple[str, ...]
    first_offset: int
    shows_epochs: bool
    state: DescribedState

    def offset(self, position: int) -> int:
        return self.first_offset + position


def read_figure(path: PathLike[str] | str) -> Figure:
    """Return the figure that a file describes: one state of a partition, with its names.

    Errors: `InputError` for what is no such file, and for a state that contradicts itself.
    """
    document = parse_toml(read_text(path), str(path))
    shown = document.pop("broker", None)
    if not isinstance(shown, dict) or not shown:
        raise InputError(
            f"no brokers in {str(path)!r}: add a table [broker.1] with log = [...] or log_end = N for each replica"
        )
    table = TableReader(document, repr(str(path)))
    return _Reading(table, shown).figure()


class _Reading:
    """A file that is being read: its tables, and the names that it has shown so far."""

    def __init__(self, table: TableReader, shown: Mapping[str, Any]) -> None:
        self.table, self.where = table, table.where
        self.brokers = tuple(shown)
        if len(self.brokers) > MOST_BROKERS:
            raise InputError(f"{len(self.brokers)} brokers in {self.where}: show at most {MOST_BROKERS}")
        self.first = table.number("first_offset") or 0
        self.tables = [TableReader(each, f"[broker.{name}] of {self.where}") for name, each in shown.items()]
        self.ends = [_number(each, "log_end") for each in self.tables]
        self.lists = [each.texts("log") for each in self.tables]

    def figure(self) -> Figure:
        logs = self._logs()
        records = tuple(dict.fromkeys(record for log in logs for record in log))
        if len(records) > MOST_RECORDS:
            raise InputError(
                f"{len(records)} records in {self.where}: show at most {MOST_RECORDS}, those that differ, with first_offset"
            )
        epochs = self._epochs(logs)
        ranks = sorted({*epochs.values(), self._leader_epoch(epochs)})
        numbers = {record: number for number, record in enumerate(records, 1)}
        leader = self._broker("leader")
        state = DescribedState(
            logs=tuple(tuple(numbers[each] for each in log) for log in logs),
            isr=self._members("isr"),
            elr=self._members("elr"),
            leader=leader,
            leader_epoch=len(ranks) - 1,
            last_known_leader=self._broker("last_known_leader"),
            runs=tuple(self._flag(each, "up", True) for each in self.tables),
            stopped_cleanly=tuple(self._flag(each, "stopped_cleanly", False) for each in self.tables),
            high_watermarks=tuple(self._high_watermark(each, len(log)) for each, log in zip(self.tables, logs, strict=True)),
            record_epochs=tuple(ranks.index(epochs[each]) for each in records),
            acknowledged=self._acknowledged(numbers),
        )
        for each in (*self.tables, self.table):
            each.end()
        figure = Figure(
            self.where, self.brokers, tuple(_name(each) for each in records), self.first, any("@" in r for r in records), state
        )
        _require_no_contradiction(figure)
        return figure

    def _logs(self) -> list[tuple[str, ...]]:
        """Return the names of each broker's records; by offset (`m7`) where only its log's end is shown.  Errors: `InputError`
        where some brokers show records and others a log end, and for a record twice in one log."""
        found = []
        for broker, end, log in zip(self.brokers, self.ends, self.lists, strict=True):
            if end is not None and log:
                raise InputError(f"[broker.{broker}] of {self.where} has log and log_end: give one of them")
            if end is not None and any(self.lists):
                raise InputError(f"[broker.{broker}] of {self.where} has log_end, but others have log: show all logs alike")
            if end is not None and end < self.first:
                raise InputError(f"log_end = {end} of [broker.{broker}] in {self.where} is below first_offset = {self.first}")
            rest = tuple(f"m{offset}" for offset in range(self.first, end or self.first))
            found.append(log or rest)
            twice = next((record for record in log if log.count(record) > 1), None)
            if twice is not None:
                raise InputError(
                    f"record {twice!r} is twice in the log of [broker.{broker}] in {self.where}: name it otherwise"
                )
        return found

    def _epochs(self, logs: Sequence[Sequence[str]]) -> dict[str, int]:
        """Return the leader epoch of each record, 0 where it names none.  Errors: `InputError` for a record of another form,
        and for epochs that contradict each other."""
        found: dict[str, int] = {}
        places: dict[tuple[int, int], str] = {}
        for broker, log in zip(self.brokers, logs, strict=True):
            last = 0
            for position, record in enumerate(log):
                name, at, epoch = record.partition("@")
                if not name or (at and not (epoch.isdigit() and len(epoch) < 4)):
                    raise InputError(f"bad record {record!r} in [broker.{broker}] of {self.where}: write NAME or NAME@EPOCH")
                number = int(epoch or 0)
                if number < last:
                    raise InputError(
                        f"{record!r} of [broker.{broker}] in {self.where} has an older leader epoch than the record before"
                    )
                last, found[record] = number, number
                if at and places.setdefault((position, number), record) != record:
                    other = places[position, number]
                    raise InputError(
                        f"{record!r} and {other!r} in {self.where} have one offset and one leader epoch: "
                        "an epoch has one leader, which writes an offset once"
                    )
        return found

    def _leader_epoch(self, epochs: Mapping[str, int]) -> int:
        newest, given = max(epochs.values(), default=0), _number(self.table, "leader_epoch")
        if given is not None and given < newest:
            raise InputError(f"leader_epoch = {given} in {self.where}, but a record is of epoch {newest}")
        return newest if given is None else given

    def _broker(self, key: str) -> int:
        name = self.table.text(key, "")
        if name and name not in self.brokers:
            raise unknown(key, name, self.brokers, self.where)
        return self.brokers.index(name) if name else NO_REPLICA

    def _members(self, key: str) -> frozenset[int]:
        names = self.table.texts(key)
        for name in names:
            if name not in self.brokers:
                raise unknown(f"broker of {key}", name, self.brokers, self.where)
        return frozenset(self.brokers.index(name) for name in names)

    def _flag(self, table: TableReader, key: str, default: bool) -> bool:
        return table.flag(key) if table.has(key) else default

    def _high_watermark(self, table: TableReader, length: int) -> int | None:
        given = _number(table, "high_watermark")
        if given is not None and not self.first <= given <= self.first + length:
            raise InputError(
                f"high_watermark = {given} in {table.where} is outside its log, which goes from offset {self.first} to "
                f"the log end offset {self.first + length}"
            )
        return None if given is None else given - self.first

    def _acknowledged(self, numbers: Mapping[str, int]) -> frozenset[int] | None:
        names = self.table.texts("acknowledged") if self.table.has("acknowledged") else None
        by_name = {**{_name(record): number for record, number in numbers.items()}, **numbers}
        for name in names or ():
            if name not in by_name:
                raise unknown("record of acknowledged", name, by_name, self.where)
        return None if names is None else frozenset(by_name[name] for name in names)


def _number(table: TableReader, key: str) -> int | None:
    """Return a whole number below 1000, or None where it is not given.  Errors: `InputError` for anything else."""
    return (table.number(key) or 0) if table.has(key) else None


def _name(record: str) -> str:
    return record.partition("@")[0]


def _require_no_contradiction(figure: Figure) -> None:
    """Errors: `InputError` for a state that no partition can be in."""
    state, where = figure.state, figure.where

    def named(brokers: frozenset[int]) -> str:
        return ", ".join(figure.brokers[each] for each in sorted(brokers))

    led = None if state.leader == NO_REPLICA else figure.brokers[state.leader]
    if led is not None and state.leader not in state.isr:
        raise InputError(f"leader {led} is not in the ISR ({named(state.isr) or 'empty'}) in {where}: a leader is in its ISR")
    if state.isr & state.elr:
        raise InputError(f"broker {named(state.isr & state.elr)} is in the ISR and in the ELR in {where}: it is in one of them")
    waiting = frozenset(each for each in state.isr if state.runs[each]) if led is None else frozenset()
    if waiting:
        raise InputError(
            f"there is no leader in {where}, but {named(waiting)} is up and in the ISR, so it is elected: "
            "name the leader, with up = false where it has just stopped"
        )
    if not state.isr | state.elr and led is None and set(state.high_watermarks) == {None}:
        raise InputError(f"ISR and ELR are empty in {where}, so give a high_watermark: nothing else says what is committed")
