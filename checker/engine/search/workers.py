"""The workers of a search: the one in this process, and those in other processes that answer calls over pipes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import ExitStack, suppress
from itertools import zip_longest
from multiprocessing.connection import Connection
from typing import Any, Generic, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from neverlost.checker.engine.host import interrupts
from neverlost.checker.engine.host.resources import ResourceExhausted, classify_exhaustion
from neverlost.checker.engine.outcome import EngineError
from neverlost.checker.engine.search.level_report import LevelReport
from neverlost.checker.engine.search.owned_states import OwnedStates
from neverlost.checker.engine.storage.levels import PACKED, Level, StateFile, Store
from neverlost.model.system import Words
from neverlost.specs.errors import InputError


class Workers(Protocol):
    """What a search calls on its workers."""

    def round(self) -> bool: ...
    def close_level(self) -> LevelReport: ...
    def forget(self, decided: NDArray[np.bool_]) -> None: ...
    def parents(self, targets: Sequence[Words], depth: int) -> dict[Words, tuple[Words, int]]: ...
    def counts(self) -> tuple[int, int, int, Counter[str]]: ...
    def close(self) -> None: ...


class Answering(Protocol):
    """A worker that is called over a pipe."""

    @property
    def pipe(self) -> Connection: ...
    def received(self) -> Any: ...


A = TypeVar("A", bound=Answering)


class Local:
    """The one worker in this process."""

    def __init__(self, owned: OwnedStates) -> None:
        self.owned = owned

    def round(self) -> bool:
        """Expand a batch; return True if the level has more."""
        self.owned.expand()
        return self.owned.waiting > 0

    def close_level(self) -> LevelReport:
        return self.owned.close_level()

    def forget(self, decided: NDArray[np.bool_]) -> None:
        """Stop expanding these configurations."""
        self.owned.expansion.forget(decided)

    def parents(self, targets: Sequence[Words], depth: int) -> dict[Words, tuple[Words, int]]:
        """Return the smallest predecessor of each state in the level before it, and the step."""
        return best(targets, [self.owned.parents(targets, depth)])

    def counts(self) -> tuple[int, int, int, Counter[str]]:
        """Return how many states are generated, distinct and waiting, and how often each action fired."""
        part = self.owned
        return part.expansion.generated, part.known, part.waiting, part.expansion.fired

    def restore(self, store: Store, level: Level) -> None:
        """Insert a level that an earlier search stored."""
        for file in level.files:
            self.owned.absorb(store.packed(file))
        self.owned.restore_level(level.generated, level.fired)

    def keep(self, location: str, depth: int) -> list[StateFile]:
        """Write the frontier to a store."""
        return [self.owned.keep(location, depth)]

    def keep_levels(self, location: str, depths: Sequence[int]) -> list[list[StateFile]]:
        """Write levels that are in memory to a store."""
        store = Store.attach(location)
        return [[store.write_level(depth, self.owned.level(depth), PACKED)] for depth in depths]

    def offload(self, location: str) -> None:
        """Move visited states to a store."""
        self.owned.offload(location)

    def close(self) -> None:
        """Nothing to release."""


def best(targets: Sequence[Words], answers: Sequence[dict[Words, tuple[Words, int]]]) -> dict[Words, tuple[Words, int]]:
    """Return the smallest predecessor of each target. Errors: `EngineError` for a target without one."""
    found = {each: min([known[each] for known in answers if each in known], default=None) for each in targets}
    best = {each: known for each, known in found.items() if known is not None}
    if len(best) != len(found):
        raise EngineError("a state of a trace has no predecessor in the level before it")
    return best


class Remote(Generic[A]):
    """Several workers that answer calls, each over a pipe of its own.

    A subclass says what each one answered to `counts` last, and what was counted before they began.
    """

    def __init__(self) -> None:
        self._calls = 0
        self._children: list[A] = []
        self._base: tuple[int, Counter[str]] = (0, Counter())
        self._last: list[dict[str, Any]] = []

    def _ask(self, method: str, *arguments: Any) -> list[Any]:
        return self._ask_each(method, [arguments] * len(self._children))

    def _ask_each(self, method: str, arguments: Sequence[tuple[Any, ...]], content: Sequence[Any] = ()) -> list[Any]:
        """Call every worker, or the first ones; answers to an earlier, interrupted call are skipped."""
        self._calls += 1
        asked = self._children[: len(arguments)]
        for child, each, more in zip_longest(asked, arguments, content):
            with suppress(OSError), interrupts.whole(child.pipe):  # what it has to say of its end is read below
                self._send(child, (self._calls, method, each), more)
        return [received(child, self._calls) for child in asked]

    def _send(self, child: A, message: tuple[Any, ...], content: Any = None) -> None:
        """Call a worker; `content` follows the message unchanged."""
        child.pipe.send(message)

    def close_level(self) -> LevelReport:
        """Finish the level on every worker and return the merged report."""
        first, *others = self._ask("close_level")
        report: LevelReport = first
        for each in others:
            report = report.merge(each)
        self._last = self._ask("counts")
        return report

    def forget(self, decided: NDArray[np.bool_]) -> None:
        """Stop expanding these configurations."""
        self._ask("forget", decided)

    def parents(self, targets: Sequence[Words], depth: int) -> dict[Words, tuple[Words, int]]:
        """Return the smallest predecessor of each state over all workers."""
        return best(targets, self._ask("parents", targets, depth))

    def counts(self) -> tuple[int, int, int, Counter[str]]:
        """Return how many states are generated, distinct and waiting, and how often each action fired, over all workers."""
        fired = Counter(self._base[1])
        for each in self._last:
            fired.update(each["fired"])
        return (
            self._base[0] + sum(each["generated"] for each in self._last),
            sum(each["distinct"] for each in self._last),
            sum(each["waiting"] for each in self._last),
            fired,
        )

    def keep(self, location: str, depth: int) -> list[StateFile]:
        """Write the frontier to a store, a file per worker."""
        return self._ask("keep", location, depth)


def received(child: Answering, call: int) -> Any:
    number = -1
    while number != call:
        try:
            number, kind, value = child.received()
        except (EOFError, OSError):
            raise ResourceExhausted("a worker process died: it was killed, or memory ran out (try --memory-limit)") from None
    if kind in ENDS:
        raise ENDS[kind](value)
    return value


ENDS: dict[str, type[Exception]] = {"error": EngineError, "gone": ResourceExhausted, "input": InputError}
"""What a worker says when it cannot go on."""


def answer(pipe: Connection, make: Callable[[], Any]) -> None:
    """Serve as a worker: answer calls until the pipe closes."""
    call = 0
    with ExitStack() as stack:
        try:
            worker = make()
            stack.callback(worker.close)
            pipe.send((0, "done", None))
            while True:
                call, method, arguments = pipe.recv()
                target = worker if hasattr(worker, method) else worker.owned
                pipe.send((call, "done", getattr(target, method)(*arguments)))
        except (EOFError, BrokenPipeError, ConnectionResetError, KeyboardInterrupt):
            return
        except InputError as problem:
            pipe.send((call, "input", str(problem)))
        except Exception as problem:
            try:
                end = "gone", classify_exhaustion(problem)
            except type(problem):
                end = "error", f"{type(problem).__name__}: {problem}"
            with suppress(BrokenPipeError, ConnectionResetError):  # it may not be asked any more
                pipe.send((call, *end))
