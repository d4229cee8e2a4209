"""Runs a whole comparison: each part and setting in a child process with a Java of its own, so that a failure costs only
itself."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from neverlost.checker.engine.host import locks, processes
from neverlost.checker.engine.spark.java import find_java_home
from neverlost.checker.kafka.conform import broker_order, entry_points, leader, partition_change_builder, replication_control
from neverlost.checker.kafka.conform.cases.comparison import Tally
from neverlost.checker.kafka.conform.cases.settings import (
    SEED,
    SHORT_RANDOM_STATES,
    controller_settings,
    leader_settings,
    parse_setting,
    random_settings,
)
from neverlost.checker.kafka.conform.java import jvm
from neverlost.checker.kafka.conform.java.kafka import Kafka
from neverlost.checker.kafka.conform.quorum import voters
from neverlost.checker.kafka.conform.transactions import comparison as transactions
from neverlost.checker.kafka.conform.walk import walks

Progress = Callable[[str, "ConformReport"], None]
"""Called with what has just been compared and with all there is so far."""

Limits = tuple[int, float | None]
"""How many processes there are at a time, and how many seconds all of them may take."""


@dataclass(frozen=True)
class Job:
    """One part of a comparison for one setting; `arguments` are those of the function of the part."""

    part: str
    name: str
    arguments: tuple[Any, ...]


@dataclass
class ConformReport:
    """What was compared for one Kafka; `left` names the jobs that were not done, each with its reason."""

    kafka: Kafka
    tallies: dict[str, Tally] = field(default_factory=dict)
    left: dict[str, str] = field(default_factory=dict)
    seconds: float = 0.0

    @property
    def unexplained(self) -> int:
        """The number of differences of which it is not known why they are there."""
        return sum(len(each.unexplained) for each in self.tallies.values())


PARTS: dict[str, Callable[..., Tally]] = {
    "builder": partition_change_builder.compare,
    "entry-points": entry_points.compare,
    "broker": broker_order.compare,
    "controller": replication_control.compare,
    "leader": leader.compare,
    "random": leader.compare,
    "quorum": voters.compare,
    "transactions": transactions.compare,
    walks.PART: walks.compare,
}
"""What can be compared, by name; each runs where Java has been started with the version's jars."""


def plan_jobs(kafka: Kafka, parts: Sequence[str], short: bool, given: str | None = None) -> list[Job]:
    """Return the jobs of the named parts, by and large long ones first; keys `given`: for their setting, no walks or quorum."""
    found = []
    if "transactions" in parts:
        chosen = transactions.settings(kafka, short) if given is None else [transactions.setting(given)]
        found += [Job("transactions", each.text, (each,)) for each in chosen]
    if list(parts) == ["transactions"]:
        return found
    one = [parse_setting(kafka, given)] if given is not None else None
    if "leader" in parts:
        found += [Job("leader", each.text, (each,)) for each in reversed(one or leader_settings(kafka, short))]
    if "random" in parts:
        drawn = [(each, SHORT_RANDOM_STATES) for each in one] if one else random_settings(kafka, short)
        found += [Job("random", each.text, (each, count, SEED)) for each, count in drawn]
    for part in ("controller", "builder"):
        if part in parts:
            settings = one or controller_settings(kafka, short, part == "controller")
            found += [Job(part, each.text, (each,)) for each in settings]
    if walks.PART in parts and one is None:
        found += plan_walks(kafka, walks.SHORT if short else walks.PLAIN, walks.SEED)
    if "broker" in parts:
        first = one[0] if one else controller_settings(kafka, short=True)[0]
        found.append(Job("broker", first.text, (first,)))
    if "quorum" in parts and one is None:
        found += [Job("quorum", each, (each,)) for each in (voters.SHORT if short else voters.LONG)]
    if "entry-points" in parts:
        found.append(Job("entry-points", "", ()))
    return found


def plan_walks(kafka: Kafka, count: int, seed: int, state_dir: str | None = None) -> list[Job]:
    """Return the jobs of `count` random walks, one for each batch of walks."""
    return [Job(walks.PART, walks.batch_name(seed, *batch), (kafka, seed, *batch, state_dir)) for batch in walks.batches(count)]


def run_walks(kafka: Kafka, count: int, seed: int, state_dir: str | None, limits: Limits, progress: Progress) -> ConformReport:
    """Return the report of random walks; batches that the state directory has are read from there, not done again."""
    with locks.hold_lock(state_dir):
        todo = plan_walks(kafka, count, seed, state_dir)
        done = {each.name: walks.read_batch(state_dir, *each.arguments[:-1]) for each in todo}
        found = run_jobs(kafka, [each for each in todo if done[each.name] is None], limits, progress)
    for tally in done.values():
        if tally is not None:
            found.tallies.setdefault(walks.PART, Tally(walks.PART)).add(tally)
    return found


def run_jobs(kafka: Kafka, todo: Sequence[Job], limits: Limits, progress: Progress) -> ConformReport:
    """Return the report of all jobs; call `progress` after each.  Ctrl-C ends them without an error; jobs that failed or were
    not done are named in `left`, each with the reason."""
    found = ConformReport(kafka, left={f"{each.part}: {each.name}": processes.INTERRUPTED for each in todo})
    begun = time.monotonic()
    try:
        for number, result in _results(kafka, todo, limits):
            job = todo[number]
            name = f"{job.part}: {job.name}"
            if isinstance(result, Tally):
                found.tallies.setdefault(job.part, Tally(job.part)).add(result)
                del found.left[name]
            else:
                found.left[name] = str(result)
            found.seconds = time.monotonic() - begun
            progress(name, found)
    except KeyboardInterrupt:
        pass
    found.seconds = time.monotonic() - begun
    return found


def _results(kafka: Kafka, todo: Sequence[Job], limits: Limits) -> Iterator[tuple[int, Tally | str]]:
    arguments = [(kafka, each.part, each.arguments) for each in todo]
    for message in processes.run(_run_part, arguments, *limits):
        if message.kind != "progress":
            yield message.job, message.value


def _run_part(send: processes.Send, kafka: Kafka, part: str, arguments: tuple[Any, ...]) -> Tally | str:
    """Start Java, run a part and return its tally, or a text that names a class that it needs and this version lacks."""
    _start_java(kafka)
    try:
        return PARTS[part](*arguments)
    except jvm.MissingClass as missing:
        return f"Kafka {kafka.version} has no {missing}, which this part needs"


def _start_java(kafka: Kafka) -> None:
    """Start Java with a version's jars."""
    jvm.require_bridge()
    java = kafka.java if kafka.java.is_dir() else find_java_home(needed_by="a comparison with Kafka's classes")
    jvm.start(kafka.jars, java)
