"""Explores Kafka's own classes breadth first, with one Java process per core.

The process that first reaches a state expands it, since it holds the saved objects.  The parent process decides which states
are new, and balances the work by sending paths, which the receiver runs from the beginning; the state reached so must be the
one that was saved.

Everything that is reported (counts, depth, the trace) is the same for any number of processes.
"""

from __future__ import annotations

import contextlib
import multiprocessing
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from multiprocessing.connection import Connection
from typing import Any

from neverlost.checker.engine.host.processes import prepare_child
from neverlost.checker.kafka.conform.cases.entry_calls import Script
from neverlost.checker.kafka.conform.exploration.world import Bounds, ClassesState, Event, Key, World
from neverlost.checker.kafka.conform.java import jvm
from neverlost.checker.kafka.conform.java.kafka import Kafka

SPREAD = 64
"""A frontier of so many states is worth sharing."""

SAMPLE = 4
"""So many states of each level are reached by their path again."""

UNEVEN = 1.3
"""Work is evened out where one process has so many times its share."""

Progress = Callable[["ExplorationResult"], None]
State = tuple[int, int]
"""A state's number and the number of the process that holds it."""


class RestoreError(Exception):
    """A saved and restored state differs from the one that its path leads to."""


@dataclass
class ExplorationResult:
    """The result of an exploration.  `trace`: the events of a shortest counterexample; `left`: how many states were not
    expanded."""

    kafka: str
    bounds: Bounds
    states: int = 1
    transitions: int = 0
    depth: int = 0
    left: int = 1
    replayed: int = 0
    """States that were reached by their whole path again, and found to be the same."""
    trace: tuple[Event, ...] | None = None
    described: tuple[str, ...] = ()
    script: Script | None = None
    """The same as calls of the leader's entry points."""
    seconds: float = 0.0
    reason: str | None = None
    levels: list[int] = field(default_factory=list)

    @property
    def verdict(self) -> str:
        """The verdict: violated, holds (nothing is left), or inconclusive."""
        if self.trace is not None:
            return "violated"
        return "inconclusive" if self.left else "holds"


def explore_classes(
    kafka: Kafka, bounds: Bounds, workers: int, depth: int | None, seconds: float | None, progress: Progress
) -> ExplorationResult:
    """Explore until no state is new, a loss is found, or a limit is reached; Ctrl-C keeps what was found."""
    found = ExplorationResult(kafka.version, bounds)
    crew = _WorkerProcesses(kafka, bounds, workers)
    begun = time.monotonic()
    try:
        _explore(found, crew, depth, begun, seconds, progress)
    except KeyboardInterrupt:
        found.reason = "interrupted"
    finally:
        found.seconds = time.monotonic() - begun
        crew.close()
    return found


def _explore(
    found: ExplorationResult, crew: _WorkerProcesses, depth: int | None, begun: float, seconds: float | None, progress: Progress
) -> None:
    first = crew.ask(0, ("first",))
    known: dict[Key, int] = {first: 0}
    parents: list[tuple[int, Event]] = [(-1, "")]
    frontier: list[State] = [(0, 0)]
    while frontier:
        found.left = len(frontier)
        if depth is not None and found.depth >= depth:
            found.reason = f"the depth limit of {depth} was reached"
            return
        if seconds is not None and time.monotonic() - begun > seconds:
            found.reason = "the time limit was reached"
            return
        frontier = _expand_level(found, crew, known, parents, frontier)
        found.depth += 1
        found.states, found.left, found.seconds = len(known), len(frontier), time.monotonic() - begun
        found.levels.append(len(frontier))
        progress(found)
        if found.trace is not None:
            found.described = tuple(crew.ask(0, ("described", found.trace)))
            found.script = crew.ask(0, ("script", found.trace))
            return
        _check_restored(found, crew, parents, frontier)
        if len(frontier) >= SPREAD:
            frontier = _balance(found, crew, parents, frontier)


def _expand_level(
    found: ExplorationResult,
    crew: _WorkerProcesses,
    known: dict[Key, int],
    parents: list[tuple[int, Event]],
    frontier: Sequence[State],
) -> list[State]:
    """Expand all states of a level; return the new ones, each with its first parent whatever the number of processes."""
    results = crew.ask_all([("expand", each) for each in _by_holder(crew, frontier)])
    best: dict[Key, tuple[int, int, Event, int, int, bool]] = {}
    for holder, (transitions, reached) in enumerate(results):
        found.transitions += transitions
        for parent, order, event, key, place, lacks in reached:
            if key not in known:
                candidate = (parent, order, event, holder, place, lacks)
                best[key] = min(candidate, best.get(key, candidate))
    new: list[State] = []
    kept: list[dict[int, int]] = [{} for _ in crew.pipes]
    for key, (parent, _, event, holder, place, lacks) in sorted(best.items(), key=lambda item: item[1][:2]):
        number = len(parents)
        known[key] = number
        parents.append((parent, event))
        kept[holder][place] = number
        new.append((number, holder))
        if lacks and found.trace is None:
            found.trace = _path(parents, number)
    crew.ask_all([("keep", each) for each in kept])
    return new


def _check_restored(
    found: ExplorationResult, crew: _WorkerProcesses, parents: Sequence[tuple[int, Event]], frontier: Sequence[State]
) -> None:
    """Run the paths of a few of a level's states again; each must lead to the state that was saved."""
    sample = frontier[:: max(1, len(frontier) // SAMPLE)][:SAMPLE]
    for number, holder in sample:
        _require_same(parents, number, *crew.ask(holder, ("compare", number, _path(parents, number))))
    found.replayed += len(sample)


def _require_same(parents: Sequence[tuple[int, Event]], number: int, saved: Key, walked: Key) -> None:
    """Refuse a restored state that is not the one of its path.  Errors: `RestoreError`."""
    if saved != walked:
        raise RestoreError(f"restored: {saved}; by its path {_path(parents, number)}: {walked}")


def _path(parents: Sequence[tuple[int, Event]], number: int) -> tuple[Event, ...]:
    steps = []
    while number > 0:
        number, event = parents[number]
        steps.append(event)
    return tuple(reversed(steps))


def _balance(
    found: ExplorationResult, crew: _WorkerProcesses, parents: Sequence[tuple[int, Event]], frontier: list[State]
) -> list[State]:
    """Move states from processes that have too many to those that have too few, which reach each by its path again."""
    share = -(-len(frontier) // len(crew.pipes))
    held = _by_holder(crew, frontier)
    if max(map(len, held)) <= UNEVEN * share:
        return frontier
    surplus = [(number, holder) for holder, numbers in enumerate(held) for number in numbers[share:]]
    receivers = [holder for holder, numbers in enumerate(held) for _ in range(len(numbers), share)]
    moves = [(number, sender, receiver) for (number, sender), receiver in zip(reversed(surplus), receivers, strict=False)]
    paths: list[list[tuple[int, tuple[Event, ...]]]] = [[] for _ in crew.pipes]
    for number, _, receiver in moves:
        paths[receiver].append((number, _path(parents, number)))
    reached = dict(pair for answer in crew.ask_all([("reach", each) for each in paths]) for pair in answer)
    leaving = _by_holder(crew, [(number, sender) for number, sender, _ in moves])
    saved = dict(pair for answer in crew.ask_all([("yield", each) for each in leaving]) for pair in answer)
    for number, key in reached.items():
        _require_same(parents, number, saved[number], key)
    found.replayed += len(reached)
    new_holder = {number: receiver for number, _, receiver in moves}
    return [(number, new_holder.get(number, holder)) for number, holder in frontier]


def _by_holder(crew: _WorkerProcesses, states: Sequence[State]) -> list[list[int]]:
    """Return the numbers of states by the process that holds them."""
    held: list[list[int]] = [[] for _ in crew.pipes]
    for number, holder in states:
        held[holder].append(number)
    return held


class _WorkerProcesses:
    """Processes that each run Kafka's classes; requests and answers go through a pipe."""

    def __init__(self, kafka: Kafka, bounds: Bounds, workers: int) -> None:
        context = multiprocessing.get_context("fork")
        self.pipes: list[Connection] = []
        self.processes = []
        for _ in range(workers):
            ours, theirs = context.Pipe()
            process = context.Process(target=_serve, args=(theirs, kafka, bounds), daemon=True)
            process.start()
            theirs.close()
            self.pipes.append(ours)
            self.processes.append(process)

    def ask(self, number: int, question: tuple[Any, ...]) -> Any:
        self.pipes[number].send(question)
        return self._received(number)

    def ask_all(self, questions: Sequence[tuple[Any, ...]]) -> list[Any]:
        for pipe, question in zip(self.pipes, questions, strict=True):
            pipe.send(question)
        return [self._received(number) for number in range(len(questions))]

    def _received(self, number: int) -> Any:
        kind, value = self.pipes[number].recv()
        if kind == "failure":
            raise RuntimeError(value)
        return value

    def close(self) -> None:
        """End the processes; each removes its log first if it can."""
        for pipe, process in zip(self.pipes, self.processes, strict=True):
            with contextlib.suppress(OSError):
                pipe.send(("end",))
            process.join(5)
            if process.is_alive():
                process.kill()
                process.join()
            pipe.close()


def _serve(pipe: Connection, kafka: Kafka, bounds: Bounds) -> None:
    prepare_child()
    jvm.start(kafka.jars, kafka.java)
    worker = _ClassesWorker(bounds)
    try:
        while True:
            name, *arguments = pipe.recv()
            if name == "end":
                return
            try:
                pipe.send(("answer", getattr(worker, "do_" + name)(*arguments)))
            except Exception as problem:
                pipe.send(("failure", f"{type(problem).__name__}: {problem}"))
    except (EOFError, OSError):
        return
    finally:
        worker.world.close()


class _ClassesWorker:
    """The states that one process holds, by number."""

    def __init__(self, bounds: Bounds) -> None:
        self.world = World(bounds)
        self.held: dict[int, ClassesState] = {0: self.world.first}
        self.waiting: list[ClassesState] = []

    def do_first(self) -> Key:
        """Return the identity of the first state."""
        return self.world.key()

    def do_expand(self, numbers: Sequence[int]) -> tuple[int, list[tuple[int, int, Event, Key, int, bool]]]:
        """Return the number of transitions, and for each state that was reached: parent, order, event, identity, index, and
        whether a replica lacks a record."""
        world, transitions, own = self.world, 0, set()
        found: list[tuple[int, int, Event, Key, int, bool]] = []
        self.waiting = []
        for number in numbers:
            before = self.held.pop(number)
            world.restore(before)
            for order, event in enumerate(list(world.events())):
                if order:
                    world.restore(before)
                world.do(event)
                transitions += 1
                key = world.key()
                if key not in own:
                    own.add(key)
                    found.append((number, order, event, key, len(self.waiting), bool(world.lacking())))
                    self.waiting.append(world.save())
        return transitions, found

    def do_keep(self, places: dict[int, int]) -> None:
        """Store the new ones among the states reached last."""
        for place, number in places.items():
            self.held[number] = self.waiting[place]
        self.waiting = []

    def do_compare(self, number: int, path: Sequence[Event]) -> tuple[Key, Key]:
        """Return a state's identity as it was saved, and as its path leads to it."""
        saved = self.held[number]
        self.world.restore(saved)
        restored = self.world.key()
        walked = self._walked(number, path)
        self.held[number] = saved
        return restored, walked

    def do_reach(self, paths: Sequence[tuple[int, tuple[Event, ...]]]) -> list[tuple[int, Key]]:
        """Run paths and store the states that they lead to."""
        return [(number, self._walked(number, path)) for number, path in paths]

    def _walked(self, number: int, path: Sequence[Event]) -> Key:
        self.world.restore(self.world.first)
        for event in path:
            self.world.do(event)
        self.held[number] = self.world.save()
        return self.world.key()

    def do_yield(self, numbers: Sequence[int]) -> list[tuple[int, Key]]:
        """Drop some states, and return their numbers."""
        found = []
        for number in numbers:
            self.world.restore(self.held.pop(number))
            found.append((number, self.world.key()))
        return found

    def do_described(self, path: Sequence[Event]) -> list[str]:
        """Return what each event of a path does, in Kafka's words."""
        return self.world.described(path)

    def do_script(self, path: Sequence[Event]) -> Script:
        """Return the calls that a path makes."""
        return self.world.script(path)
