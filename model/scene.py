"""What a state looks like to someone who runs Kafka: plain data for the pictures, from plain state values."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Lane:
    """One broker.  `log` holds (record, leader epoch) by offset; `isr` is what the broker itself believes, if it leads."""

    broker: int
    role: str
    log: tuple[tuple[int, int | None], ...]
    high_watermark: int | None = None
    epoch: int | None = None
    isr: tuple[int, ...] | None = None
    is_leader: bool = False
    notes: tuple[str, ...] = ()

    @property
    def log_end_offset(self) -> int:
        """The offset after the last record."""
        return len(self.log)


@dataclass(frozen=True)
class Scene:
    """Controller and brokers at one moment.  `promised` are the records whose loss is a loss: told to the producer to be
    written, or shown to consumers."""

    leader: int | None
    epoch: int | None
    isr: tuple[int, ...]
    lanes: tuple[Lane, ...]
    promised: frozenset[int] = frozenset()
    notes: tuple[str, ...] = ()


def members(flags: list[Any]) -> tuple[int, ...]:
    """The numbers of the replicas whose flag is set."""
    return tuple(number for number, is_set in enumerate(flags) if is_set)


def named(replica: int) -> int | None:
    """A replica-valued field as a broker number, or None for nobody."""
    return None if replica < 0 else replica


def log_of(values: Mapping[str, Any], replica: int) -> tuple[tuple[int, int | None], ...]:
    """A replica's records with their epochs."""
    end = values["log_end_offset"][replica]
    pairs = zip(values["log_record"][replica], values["log_epoch"][replica], strict=True)
    return tuple((record, epoch) for record, epoch in list(pairs)[:end])
