"""Explores Kafka's own brokers and controller breadth first, in a process of its own; what was found can be kept in a file and
gone on from.

Of each level a few paths are walked from the beginning on a second group of brokers: each must lead to the state that was
found, whether that was new or was reached by another path before.  The file has for each state its parent and the event between
them; who goes on takes these events again.
"""

from __future__ import annotations

import json
import time
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from neverlost.checker.engine.host import interrupts, processes
from neverlost.checker.engine.host.processes import INTERRUPTED, TIMEOUT
from neverlost.checker.engine.host.whole_files import write_text
from neverlost.checker.kafka.conform.exploration.explored_group import LIMITED, Bounds, ExploredGroup
from neverlost.checker.kafka.conform.exploration.saved_process import RestoreError
from neverlost.checker.kafka.conform.java import jvm
from neverlost.checker.kafka.conform.java.kafka import Kafka
from neverlost.checker.kafka.conform.walk.explain_walk import WalkExplainer
from neverlost.checker.kafka.conform.walk.random_walk import Drawn
from neverlost.checker.kafka.conform.walk.walks import OLDEST, Steps, explain
from neverlost.model.kraft.mechanisms import parsed
from neverlost.specs.errors import InputError, describe_misreading

REPORTED, SHARE = 1.0, 20
"""The least time between two reports: in seconds, and as a multiple of how long a report takes."""

SAMPLE = 4
"""About how many new states of each level, and how many known ones, are reached again by their path, as a check."""


@dataclass(frozen=True)
class ExplorationLimits:
    """Where an exploration stops: events from the beginning, states, seconds."""

    depth: int | None = None
    states: int | None = None
    seconds: float | None = None


@dataclass
class ExplorationResult:
    """The result of an exploration.  `trace`: the events of a shortest counterexample; `steps`: those with what is seen after
    each; `calls`: how many events Kafka's classes did; `left`: how many states were not expanded; `explanation`: the step that
    the model forbids, or that it forbids none."""

    kafka: str
    bounds: Bounds
    states: int = 1
    transitions: int = 0
    calls: int = 0
    depth: int = 0
    left: int = 1
    replayed: int = 0
    """Paths that were walked from the beginning, and led to the state that was found."""
    by_event: Counter[str] = field(default_factory=Counter)
    broken: str | None = None
    trace: tuple[Drawn, ...] | None = None
    steps: Steps = field(default_factory=list)
    explanation: tuple[str, ...] = ()
    seconds: float = 0.0
    reason: str | None = None

    @property
    def verdict(self) -> str:
        """The verdict: violated with a counterexample, holds if no state is left to expand, else inconclusive."""
        if self.trace is not None:
            return "violated"
        return "inconclusive" if self.left else "holds"


Progress = Callable[[ExplorationResult], None]


def explore_classes(
    kafka: Kafka, bounds: Bounds, limits: ExplorationLimits, state_dir: str | None, progress: Progress, sample: int = SAMPLE
) -> ExplorationResult:
    """Return the result of exploring until no state is new, a property is broken, or a limit is reached, in a process with a
    Java of its own; after Ctrl-C, or if that dies, the last one reported.  Errors: `InputError` for a version without what is
    run here, and for a state directory of something else."""
    if (parsed(kafka.minor) or OLDEST) < OLDEST:
        raise InputError(f"--free explores three brokers from Kafka {OLDEST[0]}.{OLDEST[1]} on, not {kafka.version}")
    found = ExplorationResult(kafka.version, bounds)
    for message in processes.run(_explore, [(kafka, bounds, limits, state_dir, sample)], 1):
        if isinstance(message.value, InputError):
            raise message.value
        if message.kind == "failure":
            found.reason = INTERRUPTED if interrupts.have_come() else message.value
        else:
            found = message.value
            progress(found)
    return found


def _explore(
    send: processes.Send, kafka: Kafka, bounds: Bounds, limits: ExplorationLimits, state_dir: str | None, sample: int
) -> ExplorationResult | InputError:
    """Explore in this process and return the result, or an `InputError` that the caller raises; send progress.  With a
    `state_dir` the search is resumed from the file there, and written to it before each report and at the end."""
    file = None if state_dir is None else Path(state_dir) / f"free-{kafka.version}.json"
    try:
        jvm.start(kafka.jars, kafka.java)
        search = ClassesSearch(kafka, bounds, limits, sample)
        if file is not None and file.is_file():
            search.resume(file)
        search.run(Reports(search, file, send))
    except InputError as problem:
        return problem
    except jvm.MissingClass as missing:
        return InputError(f"Kafka {kafka.version} has no {missing}, which --free needs")
    search.count()
    if file is not None:
        write_text(file, json.dumps(search.stored))
    search.close()
    return search.found


class Reports:
    """Writes a search to its file, if there is one, and sends its result so far; at most once a second, and seldom if slow."""

    def __init__(self, search: ClassesSearch, file: Path | None, send: processes.Send) -> None:
        self.search, self.file, self.send = search, file, send
        self.next = 0.0

    def __call__(self, found: ExplorationResult) -> None:
        begun = time.monotonic()
        if begun < self.next:
            return
        self.search.count()
        if self.file is not None:
            write_text(self.file, json.dumps(self.search.stored))
        self.send(found)
        ended = time.monotonic()
        self.next = ended + max(REPORTED, SHARE * (ended - begun))


class ClassesSearch:
    """A search; the states that were found stand in the order in which they are expanded."""

    def __init__(self, kafka: Kafka, bounds: Bounds, limits: ExplorationLimits, sample: int = SAMPLE) -> None:
        self.kafka, self.limits, self.sample = kafka, limits, sample
        self.group, self.again = ExploredGroup(bounds), ExploredGroup(bounds)
        self.found, self.begun = ExplorationResult(kafka.version, bounds), time.monotonic()
        self.states = [self.group.first]
        self.known = {self.group.first: 0}
        self.parents: list[tuple[int, Drawn]] = [(-1, ("begin", ()))]
        self.depths = [0]
        self.joins: list[tuple[int, Drawn, int]] = []
        """Events of this level that lead to a state which was known: parent, event, state."""
        self.expanded, self.checked = 0, 1

    def close(self) -> None:
        self.group.close()
        self.again.close()

    def count(self) -> None:
        """Put how many states, states left to expand and calls there are by now, and the time spent, into the result."""
        found = self.found
        found.states, found.left = len(self.states), len(self.states) - self.expanded
        found.calls, found.seconds = len(self.group.outcomes), time.monotonic() - self.begun

    def run(self, progress: Progress) -> None:
        found, limits = self.found, self.limits
        while self.expanded < len(self.states) and found.trace is None:
            depth = self.depths[self.expanded]
            if depth > found.depth:
                found.depth = depth
                self._retrace_level()
            progress(found)
            if limits.depth is not None and depth >= limits.depth:
                found.reason = f"the depth limit of {limits.depth} was reached"
            elif limits.states is not None and len(self.states) >= limits.states:
                found.reason = f"the limit of {limits.states:,} states was reached"
            elif limits.seconds is not None and time.monotonic() - self.begun > limits.seconds:
                found.reason = TIMEOUT
            if found.reason is not None:
                return
            self._expand(self.expanded)

    def _expand(self, number: int) -> None:
        state, events = self.states[number], Counter[str]()
        for event in self.group.events(state):
            events[event[0]] += 1
            if self._reach(number, event) and self.found.broken is not None:
                break
        self.found.by_event += events
        self.found.transitions += events.total()
        self.expanded += 1

    def _reach(self, parent: int, event: Drawn) -> bool:
        """Take an event in the known state number `parent`; return True if it leads to a new state, which is stored, with the
        trace if it breaks a property."""
        after = self.group.take(self.states[parent], event)
        number = self.known.setdefault(after, len(self.states))
        if number != len(self.states):
            self.joins.append((parent, event, number))
            return False
        self.states.append(after)
        self.parents.append((parent, event))
        self.depths.append(self.depths[parent] + 1)
        broken = self.group.broken(after)
        if broken is not None:
            self.found.broken, self.found.trace = broken, self.path(len(self.states) - 1)
            self.found.depth = self.depths[-1]
            self._describe(self.found.trace)
        return True

    def path(self, number: int) -> tuple[Drawn, ...]:
        """Return the events that lead from the beginning to the state of a number."""
        events = []
        while number:
            number, event = self.parents[number]
            events.append(event)
        return tuple(reversed(events))

    def _retrace_level(self) -> None:
        """Walk some of the paths again that have led to new states since the last time, and some to known ones."""
        first, self.checked, joins, self.joins = self.checked, len(self.states), self.joins, []
        for number in range(first, self.checked, max(1, (self.checked - first) // self.sample)):
            self.retrace(self.path(number), number)
        for parent, event, number in joins[:: max(1, len(joins) // self.sample)]:
            self.retrace((*self.path(parent), event), number)

    def retrace(self, path: tuple[Drawn, ...], number: int) -> None:
        """Walk a path on the second group.  Errors: `RestoreError` if it leads to another state than the one of this number."""
        walked = self.again.whole_key(self.again.retrace(path))
        found = self.group.whole_key(self.states[number])
        if walked != found:
            raise RestoreError(f"found: {found}; by the path {path}: {walked}")
        self.found.replayed += 1

    def _describe(self, path: tuple[Drawn, ...]) -> None:
        """Walk a path on the second group; put what is seen, and what the version's model forbids of it, into the result."""
        steps, bounds = self.again.walk(path), self.found.bounds
        self.found.steps = steps
        fixed = ["equal-epoch-record-skipped"] if bounds.skips_known_epoch else []
        found = explain(WalkExplainer(self.kafka, bounds.min_isr, fixed, brokers=self.again.group.brokers), steps)
        if found is None:
            self.found.explanation = ("the model of this version forbids none of its steps",)
        else:
            self.found.explanation = (f"the model forbids: {found.event}", *found.differences, *found.refused)

    # what is kept

    @property
    def stored(self) -> dict[str, Any]:
        """What a later search needs to go on: version, bounds, counts, and each state's parent with the event between them."""
        counts = {name: getattr(self.found, name) for name in ("transitions", "by_event")}
        identity = {"kafka": self.kafka.version, "bounds": asdict(self.found.bounds)}
        return {**identity, "expanded": self.expanded, **counts, "parents": self.parents[1:]}

    def resume(self, file: Path) -> None:
        """Reach a file's states again, by its events.  Errors: `InputError` for another exploration's, or a damaged file."""
        try:
            stored: Mapping[str, Any] = json.loads(file.read_text())
            identity = (stored["kafka"], stored["bounds"])
            if identity != (self.kafka.version, asdict(self.found.bounds)):
                raise InputError(f"{str(file)!r} is of other bounds: name another --state-dir")
            for parent, (name, arguments) in stored["parents"]:
                event = (str(name), tuple(map(int, arguments)))
                if event not in self.group.events(self.states[int(parent)]) or not self._reach(int(parent), event):
                    raise ValueError(f"{event} leads nowhere")
            self.expanded = min(int(stored["expanded"]), len(self.states))
            self.found.transitions, self.found.by_event = int(stored["transitions"]), Counter(stored["by_event"])
        except (ValueError, KeyError, TypeError, AttributeError, IndexError, AssertionError) as problem:
            raise InputError(f"{str(file)!r} is no exploration ({describe_misreading(problem)}): remove it") from None
        self.checked, self.found.depth = len(self.states), self.depths[self.expanded - 1]


def list_missing(found: ExplorationResult) -> list[str]:
    """Return the events that never happened, of those that are always possible and those that the bounds allow."""
    allowed = [name for name, bound in LIMITED.items() if getattr(found.bounds, bound)]
    return [name for name in (*ALWAYS, *allowed) if not found.by_event[name]]


ALWAYS = ("produce", "send", "answer", "deliver")
