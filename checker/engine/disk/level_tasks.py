"""What a task does to its share of a level: expand states, settle candidates, look for predecessors.

Nothing here knows who runs it: tasks are described by JSON (the model by its name), read and write the store's files, and
hand blocks of states to each other.  A task may run twice, or die half way: what it wrote counts only when the driver
commits the result that it returned.

Shapes: states travel as *blocks*, an 8-byte tag and then up to a megabyte of keyed states; see `sorted_states`.
"""

from __future__ import annotations

import json
import resource
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from functools import lru_cache
from typing import Any

import numpy as np

from neverlost.checker.engine.digest import question_digest
from neverlost.checker.engine.host.resources import ResourceExhausted
from neverlost.checker.engine.outcome import EngineError
from neverlost.checker.engine.search.configurations import Configurations
from neverlost.checker.engine.search.expansion import BATCH, Expansion
from neverlost.checker.engine.search.importable import Homes, find_homes
from neverlost.checker.engine.search.level_report import Checks
from neverlost.checker.engine.search.symmetry import Symmetry
from neverlost.checker.engine.storage.levels import KEYED, StateFile, Store
from neverlost.checker.engine.storage.sorted_states import (
    Keyed,
    compute_key_range,
    make_keyed,
    make_packed,
    merge_runs,
    slice_range,
    sort_distinct,
    subtract_run,
)
from neverlost.checker.engine.storage.storage import Bytes
from neverlost.model.interpreters.columns import Packed
from neverlost.model.kernel import ModelError
from neverlost.model.plain import plain, restored
from neverlost.model.system import System, Words, bind
from neverlost.specs.errors import InputError
from neverlost.specs.property import Property

BLOCK_BYTES = 1 << 20
STATES, COUNTED, FAILED = b"states..", b"counted.", b"failed.."
RUNS = "runs"
ERRORS = {each.__name__: each for each in (InputError, EngineError, ModelError, ResourceExhausted)}

Block = tuple[int, Bytes]
"""The owner and the content."""


@dataclass(frozen=True)
class SearchDescription:
    """What every task of a search is told, the same to all.  `configurations` are in the form that `plain` returns."""

    location: str
    model: str
    digest: str
    configurations: tuple[Mapping[str, Any], ...]
    disabled: tuple[tuple[str, str], ...]
    homes: Homes | None
    symmetry: bool

    @classmethod
    def about(cls, location: str, system: System, asked: Sequence[Property], symmetry: bool) -> SearchDescription:
        """Return the description of a search whose levels are at a location."""
        return cls(
            location=location,
            model=system.model.name,
            digest=question_digest(system.model, asked),
            configurations=tuple(map(plain, system.configurations)),
            disabled=tuple(sorted(system.disabled)),
            homes=find_homes(system.model, asked),
            symmetry=symmetry,
        )

    @classmethod
    def of(cls, given: Mapping[str, Any]) -> SearchDescription:
        """Return the description that parsed JSON gives."""
        more = {"configurations": tuple(given["configurations"]), "disabled": tuple(map(tuple, given["disabled"]))}
        homes = given["homes"]
        return cls(**{**given, **more, "homes": homes and Homes(homes["model"], tuple(homes["properties"]))})

    def load(self) -> tuple[System, list[Property]]:
        """Return the system and the properties, from this machine's own source.

        Errors: `InputError` where one is missing here, or means something else than the driver's.
        """
        other = f"an executor has another version of {self.model} than the driver; install the same neverlost"
        if self.homes is None:
            raise InputError(other)
        try:
            model, asked = self.homes.load()
        except (ImportError, AttributeError):
            raise InputError(other) from None
        if question_digest(model, asked) != self.digest:
            raise InputError(other)
        return bind(model, *map(restored, self.configurations), disabled=self.disabled), asked


@dataclass(frozen=True)
class LevelTask:
    """What the tasks of one level do: `slices` of the frontier are expanded, each of `parts` owners settles its keys.

    `runs` hold all visited states; `merging` names those of them that the new states are merged with.  A process that
    has expanded `columns` states goes on in machine code.  Configurations with the numbers `decided` are not expanded.
    """

    depth: int
    parts: int
    slices: tuple[tuple[StateFile, int, int], ...] = ()
    runs: tuple[StateFile, ...] = ()
    merging: tuple[str, ...] = ()
    decided: tuple[int, ...] = ()
    candidates: int = 1 << 22
    columns: int = 60_000


@dataclass
class Settled:
    """What the owner of some keys returns: the files of its new states and of the merged run, if written, and its report."""

    file: StateFile | None = None
    run: StateFile | None = None
    violations: list[tuple[int, int, Words]] = field(default_factory=list)
    by_configuration: list[int] = field(default_factory=list)
    orbits: int = 0


@dataclass
class Counted:
    """Successors counted by tasks, in all and by action, and how often tasks were tried again."""

    generated: int = 0
    fired: Counter[str] = field(default_factory=Counter)
    retried: int = 0

    def add(self, other: Counted) -> None:
        self.generated += other.generated
        self.fired.update(other.fired)
        self.retried += other.retried


class LevelWorker:
    """Does the tasks of a search in one process, with the store and the properties; lets the process have more open files."""

    def __init__(self, store: Store, system: System, asked: Sequence[Property], symmetry: bool) -> None:
        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        if soft < hard:  # visited runs stay mapped, and so open, from level to level
            resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
        self.store, self.system = store, system
        parts = Configurations(system), Symmetry(system) if symmetry else None
        self._expansion, self._checks = Expansion(system, *parts), Checks(system, asked, *parts)
        self._expanded_here = 0

    def candidates(self, task: LevelTask, slices: Iterable[tuple[StateFile, int, int]], counted: Counted) -> Iterator[Keyed]:
        """Yield successors of slices, about `task.candidates` at a time, as sorted arrays; no array has a state twice, but two
        arrays may have the same.  Count all successors in `counted`, repeats too."""
        waiting: list[Packed] = []
        self._decide(task)
        for batch in self._batches(slices):
            found = self._expand_batch(batch, counted, task.columns)
            if found is not None:
                waiting.append(make_keyed(found))
            if sum(each.shape[1] for each in waiting) >= task.candidates:
                yield sort_distinct(np.concatenate(waiting, axis=1))
                waiting = []
        if waiting:
            yield sort_distinct(np.concatenate(waiting, axis=1))

    def _decide(self, task: LevelTask) -> None:
        decided = np.zeros(len(self.system.configurations), dtype=np.bool_)
        decided[list(task.decided)] = True
        self._expansion.forget(decided)

    def _batches(self, slices: Iterable[tuple[StateFile, int, int]]) -> Iterator[Packed]:
        for file, start, end in slices:
            states = self.store.read(file)
            for first in range(start, end, BATCH):
                batch = states[:, first : min(first + BATCH, end)]
                yield make_packed(batch) if file.order == KEYED else np.ascontiguousarray(batch)

    def _compile(self, batch: Packed, columns: int) -> None:
        """Count a batch as expanded here; move to machine code if that reaches `columns` states and there is a compiler."""
        before, self._expanded_here = self._expanded_here, self._expanded_here + batch.shape[1]
        if before >= columns or self._expanded_here < columns:
            return
        with suppress(ImportError, OSError, RuntimeError):
            from neverlost.checker.engine.compiled.expansion import NativeExpansion

            self._expansion = NativeExpansion(self._expansion, batch)

    def close(self) -> None:
        self._expansion.close()

    def _expand_batch(self, batch: Packed, counted: Counted, columns: int) -> Packed | None:
        self._compile(batch, columns)
        self._expansion.generated, self._expansion.fired = 0, Counter()
        found = self._expansion.of(batch)
        counted.add(Counted(self._expansion.generated, self._expansion.fired))
        return found

    def settle(self, task: LevelTask, owner: int, candidates: Sequence[Keyed]) -> Settled:
        """Write the candidates that no run has, check them, merge them with the runs of `merging`; return files and report."""
        low, high = compute_key_range(owner, task.parts)
        new = _join_candidates(candidates, self.store.words)
        runs = [file for file in task.runs if file.low < high and low < file.high]
        for file in runs:
            new = subtract_run(new, slice_range(self.store.read(file), low, high))
        result = Settled()
        if new.shape[1]:
            result.file = self.store.write_level(task.depth, new, low=low, high=high)
            self._check(new, result)
        together = [slice_range(self.store.read(file), low, high) for file in runs if file.name in task.merging]
        together = [each for each in [*together, new] if each.shape[1]]
        if task.merging and together:
            result.run = self.store.write(merge_runs(together), RUNS, low=low, high=high)
        self.store.forget(keep=task.runs)
        return result

    def _check(self, new: Keyed, result: Settled) -> None:
        report = self._checks.report(new.shape[1])
        for start in range(0, new.shape[1], BATCH):
            self._checks.add(make_packed(new[:, start : start + BATCH]), report)
        result.violations = [(*key, words) for key, words in report.violations.items()]
        result.by_configuration = [] if report.by_configuration is None else report.by_configuration.tolist()
        result.orbits = report.orbits

    def parents(self, slices: Iterable[tuple[StateFile, int, int]], targets: Sequence[Words]) -> dict[Words, tuple[Words, int]]:
        """Return, for each target that has a predecessor in the slices, the smallest one and the lowest step from it."""
        return self._expansion.find_parents(self._batches(slices), targets)


def _join_candidates(candidates: Sequence[Keyed], words: int) -> Keyed:
    if not candidates:
        return np.empty((words, 0), dtype=np.uint64)
    return candidates[0] if len(candidates) == 1 else sort_distinct(np.concatenate(candidates, axis=1))


def describe_task(search: SearchDescription, task: LevelTask, **more: Any) -> str:
    """Return a search and a task as JSON text for an executor."""
    return json.dumps({"search": asdict(search), "task": asdict(task), **more})


@lru_cache(maxsize=2)
def _make_worker(search_text: str) -> LevelWorker:
    """Return the worker of a search in this process; its files stay mapped and verified from task to task."""
    search = SearchDescription.of(json.loads(search_text))
    return LevelWorker(Store.attach(search.location), *search.load(), search.symmetry)


def _parse_task(text: str) -> tuple[LevelWorker, LevelTask, dict[str, Any]]:
    given = json.loads(text)
    task = given["task"]
    task["slices"] = tuple((StateFile(**file), start, end) for file, start, end in task["slices"])
    task["runs"] = tuple(StateFile(**file) for file in task["runs"])
    return _make_worker(json.dumps(given["search"])), LevelTask(**task), given


def expand(text: str, numbers: Iterable[int], retried: int = 0) -> Iterator[Block]:
    """Expand the slices with these numbers; yield for each blocks of candidates for their owners, then counts; or a failure."""
    try:
        worker, task, _ = _parse_task(text)
        for number in numbers:
            counted = Counted(retried=retried)
            for states in worker.candidates(task, [task.slices[number]], counted):
                yield from _cut_blocks(states, task.parts)
            yield 0, COUNTED + json.dumps(vars(counted)).encode()
            if number == 0:
                yield from ((owner, STATES) for owner in range(task.parts))  # so that every owner has work
    except tuple(ERRORS.values()) as problem:
        yield 0, describe_failure(problem)


def _cut_blocks(states: Keyed, parts: int) -> Iterator[Block]:
    rows = BLOCK_BYTES // (8 * len(states))
    for owner in range(parts):
        mine = slice_range(states, *compute_key_range(owner, parts))
        for start in range(0, mine.shape[1], rows):
            yield owner, STATES + mine[:, start : start + rows].tobytes()


def settle(text: str, blocks: Iterable[Block], retried: int = 0) -> Iterator[Bytes]:
    """Write the candidate states that are new; yield a result for each of their owners, and what was counted, or a failure."""
    try:
        worker, task, _ = _parse_task(text)
        candidates: dict[int, list[Keyed]] = {}
        for owner, block in blocks:
            if block[:8] == STATES:
                states = np.frombuffer(block, dtype="<u8", offset=8).reshape(worker.store.words, -1)
                candidates.setdefault(owner, []).append(states)
            else:
                yield block
        if retried:
            yield COUNTED + json.dumps(vars(Counted(retried=retried))).encode()
        for owner in sorted(candidates):
            yield STATES + json.dumps(asdict(worker.settle(task, owner, candidates.pop(owner)))).encode()
    except tuple(ERRORS.values()) as problem:
        yield describe_failure(problem)


def search_back(text: str, numbers: Iterable[int]) -> Iterator[bytes]:
    """Yield, as JSON, the smallest predecessors of targets within the slices with these numbers; or a failure."""
    try:
        worker, task, given = _parse_task(text)
        targets = [tuple(each) for each in given["targets"]]
        found = worker.parents([task.slices[number] for number in numbers], targets)
        yield STATES + json.dumps([[target, *found[target]] for target in found]).encode()
    except tuple(ERRORS.values()) as problem:
        yield describe_failure(problem)


def describe_failure(problem: Exception) -> bytes:
    return FAILED + json.dumps([type(problem).__name__, str(problem)]).encode()


def collect_results(rows: Iterable[bytes]) -> tuple[list[Any], Counted]:
    """Return what tasks returned: their results and the total of what they counted.

    Errors: what a task failed with, as the same kind of error.
    """
    found, total = [], Counted()
    for row in rows:
        tag, body = row[:8], json.loads(row[8:])
        if tag == FAILED:
            raise ERRORS[body[0]](body[1])
        if tag == COUNTED:
            total.add(Counted(body["generated"], Counter(body["fired"]), body["retried"]))
        else:
            found.append(body)
    return found, total


def parse_settled(body: Mapping[str, Any]) -> Settled:
    file, run = (StateFile(**body[name]) if body[name] else None for name in ("file", "run"))
    violations = [(number, cell, tuple(words)) for number, cell, words in body["violations"]]
    return Settled(file, run, violations, body["by_configuration"], body["orbits"])
