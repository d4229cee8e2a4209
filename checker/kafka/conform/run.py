"""A whole comparison: each part and setting in a child process with a Java of its own, so that a failure costs only itself."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from neverlost.checker.kafka.conform import change_builder, entry_points, leader, replication_control
from neverlost.checker.kafka.conform.classes import jvm
from neverlost.checker.kafka.conform.classes.kafka import Kafka
from neverlost.checker.kafka.conform.comparison import Tally
from neverlost.checker.kafka.conform.settings import (
    SEED,
    SHORT_RANDOM_STATES,
    controller_settings,
    leader_settings,
    random_settings,
    setting,
)
from neverlost.checker.machine import processes

Told = Callable[[str, "Report"], None]
"""Called with what has just been compared and with all there is so far."""


@dataclass(frozen=True)
class Job:
    """One part for one setting; `arguments` are the part's own."""

    part: str
    name: str
    arguments: tuple[Any, ...]


@dataclass
class Report:
    """What was compared for one Kafka; `left` names the jobs that were not done, each with its reason."""

    kafka: Kafka
    tallies: dict[str, Tally] = field(default_factory=dict)
    left: dict[str, str] = field(default_factory=dict)
    seconds: float = 0.0

    @property
    def unexplained(self) -> int:
        """How many differences no known entry explains."""
        return sum(len(each.unexplained) for each in self.tallies.values())

    @property
    def is_complete(self) -> bool:
        """Whether everything that was asked for was compared."""
        return not self.left


PARTS: dict[str, Callable[..., Tally]] = {
    "builder": change_builder.compare,
    "entry-points": entry_points.compare,
    "controller": replication_control.compare,
    "leader": leader.compare,
    "random": leader.compare_random,
}
"""What can be compared, by name; each runs where Java has been started with the version's jars."""


def jobs(kafka: Kafka, parts: Sequence[str], short: bool, given: str | None = None) -> list[Job]:
    """The jobs of a comparison, the longest first; with `given` keys, of that one setting."""
    one = [setting(kafka, given)] if given is not None else None
    found = []
    if "leader" in parts:
        found += [Job("leader", each.text, (each,)) for each in reversed(one or leader_settings(kafka, short))]
    if "random" in parts:
        drawn = [(each, SHORT_RANDOM_STATES) for each in one] if one else random_settings(kafka, short)
        found += [Job("random", each.text, (each, count, SEED)) for each, count in drawn]
    for part in ("controller", "builder"):
        if part in parts:
            settings = one or controller_settings(kafka, short, part == "controller")
            found += [Job(part, each.text, (each,)) for each in settings]
    if "entry-points" in parts:
        found.append(Job("entry-points", "", ()))
    return found


def compare(kafka: Kafka, todo: Sequence[Job], workers: int, seconds: float | None, told: Told) -> Report:
    """Do all jobs, `workers` at a time; Ctrl-C keeps what was compared.

    Errors: `KeyboardInterrupt` is not passed on: the jobs that were not done are named in `left`.
    """
    found = Report(kafka, left={f"{each.part}: {each.name}": processes.INTERRUPTED for each in todo})
    begun = time.monotonic()
    try:
        for number, result in _results(kafka, todo, workers, seconds):
            job = todo[number]
            name = f"{job.part}: {job.name}"
            if isinstance(result, Tally):
                found.tallies.setdefault(job.part, Tally(job.part)).add(result)
                del found.left[name]
            else:
                found.left[name] = str(result)
            found.seconds = time.monotonic() - begun
            told(name, found)
    except KeyboardInterrupt:
        pass
    found.seconds = time.monotonic() - begun
    return found


def _results(kafka: Kafka, todo: Sequence[Job], workers: int, seconds: float | None) -> Iterator[tuple[int, Tally | str]]:
    arguments = [(kafka, each.part, each.arguments) for each in todo]
    for message in processes.run(_work, arguments, workers, seconds):
        if message.kind != "progress":
            yield message.job, message.value


def _work(send: processes.Send, kafka: Kafka, part: str, arguments: tuple[Any, ...]) -> Tally:
    jvm.start(kafka.jars, kafka.java)
    return PARTS[part](*arguments)
