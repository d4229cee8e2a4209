"""The workers of a search: one in this process, or several in processes that exchange states.

Every round each worker expands one batch of its frontier and hands the successors that others own to them
through shared memory; what arrived in the last round is inserted first.
"""

from __future__ import annotations

import multiprocessing
import signal
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from itertools import pairwise, zip_longest
from multiprocessing.connection import Connection
from multiprocessing.shared_memory import SharedMemory
from typing import Any, Generic, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from neverlost.checker.engine.host import interrupts
from neverlost.checker.engine.host.processes import Child, spawning
from neverlost.checker.engine.host.resources import ResourceExhausted, classify_exhaustion, free_shared_memory, reserve
from neverlost.checker.engine.outcome import EngineError
from neverlost.checker.engine.search.importable import Homes, homes_of
from neverlost.checker.engine.search.level_report import LevelReport
from neverlost.checker.engine.search.owned_states import OwnedStates
from neverlost.checker.engine.storage.levels import PACKED, Level, StateFile, Store
from neverlost.model.interpreters.columns import Packed
from neverlost.model.kernel import Configuration
from neverlost.model.system import Words, bind
from neverlost.specs.errors import InputError

MAILBOX = 1 << 20
"""States that one worker can hand to another in a round at most; the rest waits for the next one."""


def _mailbox(total: int, words: int) -> int:
    """States that fit into one mailbox: shared memory may be small (64 MB in a container)."""
    boxes = total * total * 2
    return max(1 << 12, min(MAILBOX, (1 << 22) // total, free_shared_memory() // 2 // (boxes * words * 8)))


class Workers(Protocol):
    """What a search asks of its workers."""

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
    """One worker, in this process."""

    def __init__(self, owned: OwnedStates) -> None:
        self.owned = owned

    def round(self) -> bool:
        """Expand a batch; whether there is more of this level."""
        self.owned.expand()
        return self.owned.waiting > 0

    def close_level(self) -> LevelReport:
        """Finish the level; what it brought."""
        return self.owned.close_level()

    def forget(self, decided: NDArray[np.bool_]) -> None:
        """Stop expanding these configurations."""
        self.owned.expansion.forget(decided)

    def parents(self, targets: Sequence[Words], depth: int) -> dict[Words, tuple[Words, int]]:
        """The smallest predecessor of each state in the level before it, and the step."""
        return best(targets, [self.owned.parents(targets, depth)])

    def counts(self) -> tuple[int, int, int, Counter[str]]:
        """Generated, distinct, waiting, and how often each action fired."""
        part = self.owned
        return part.expansion.generated, part.known, part.waiting, part.expansion.fired

    def restore(self, store: Store, level: Level) -> None:
        """Go on from a level that an earlier search kept."""
        for file in level.files:
            self.owned.adopt(store.packed(file))
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
    """The smallest predecessor of each target among the answers.

    Errors: `EngineError` for a target without one.
    """
    found = {each: min([known[each] for known in answers if each in known], default=None) for each in targets}
    best = {each: known for each, known in found.items() if known is not None}
    if len(best) != len(found):
        raise EngineError("a state of a trace has no predecessor in the level before it")
    return best


PLENTY = 8
"""What is less than such a part of what is free need not be reserved: that would touch every page of it."""


@contextmanager
def _shared(size: int) -> Iterator[SharedMemory]:
    """Shared memory that is really there: a process that touches more than there is would be killed.

    Errors: `ResourceExhausted` where there is not so much.
    """
    free = free_shared_memory()
    if size > free:
        raise ResourceExhausted(f"no {size >> 20} MiB of shared memory are left")
    memory = SharedMemory(create=True, size=size)
    try:
        if size > free // PLENTY:
            reserve(memory.name, size)
        yield memory
    finally:
        memory.close()
        memory.unlink()


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
        """One call on every worker, or the first ones; answers to a call that was interrupted are passed over."""
        self._calls += 1
        asked = self._children[: len(arguments)]
        for child, each, more in zip_longest(asked, arguments, content):
            with suppress(OSError), interrupts.whole(child.pipe):  # what it has to say of its end is read below
                self._send(child, (self._calls, method, each), more)
        return [received(child, self._calls) for child in asked]

    def _send(self, child: A, message: tuple[Any, ...], content: Any = None) -> None:
        """Call a worker; `content`, where workers understand that, follows as it is."""
        child.pipe.send(message)

    def close_level(self) -> LevelReport:
        """Finish the level on every worker; what it brought."""
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
        """The smallest predecessor of each state over all workers."""
        return best(targets, self._ask("parents", targets, depth))

    def counts(self) -> tuple[int, int, int, Counter[str]]:
        """Generated, distinct, waiting, and how often each action fired, over all workers."""
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


class Processes(Remote[Child]):
    """Several workers, one process each, continuing from what one has found so far."""

    def __init__(self, local: OwnedStates, total: int) -> None:
        super().__init__()
        self._memory = ExitStack()
        try:
            with spawning():  # shared memory has a Python of its own too, which clears it
                self._start(local, total)
        except BaseException:
            self.close()
            raise
        self._base = (local.expansion.generated, local.expansion.fired)
        self._last = self._ask("counts")

    def _start(self, local: OwnedStates, total: int) -> None:
        context = multiprocessing.get_context("spawn")
        shape = (total, total, 2, local.system.words, _mailbox(total, local.system.words))
        count = len(local.states)
        self._mail = self._memory.enter_context(_shared(int(np.prod(shape)) * 8))
        self._handover = self._memory.enter_context(_shared(max(count * local.system.words * 8, 8)))
        block = np.ndarray((local.system.words, count), np.uint64, self._handover.buf)
        block[:] = local.states.slice(0, count)
        system, homes = local.system, homes_of(local.system.model, local.properties)
        task = {
            "homes": homes,
            "configurations": system.configurations,
            "disabled": system.disabled,
            "symmetry": local.symmetry is not None,
            "total": total,
            "mail": self._mail.name,
            "shape": shape,
            "handover": self._handover.name,
            "bounds": local.bounds,
        }
        for number in range(total):
            ours, theirs = context.Pipe()
            child = context.Process(target=_serve, args=(task | {"number": number}, theirs), daemon=True)
            with _interrupts_blocked():
                child.start()
            theirs.close()
            self._children.append(Child(child, ours))
        for each in self._children:
            received(each, 0)

    def round(self) -> bool:
        """Expand a batch on every worker; whether there is more of this level."""
        arriving = [([each["sent"][number] for each in self._last],) for number in range(len(self._children))]
        self._last = self._ask_each("round", arriving)
        return any(each["busy"] or any(each["sent"]) for each in self._last)

    def offload(self, location: str) -> None:
        """Move visited states to a store."""
        self._ask("offload", location)

    def close(self) -> None:
        """End the processes and release the shared memory."""
        for child in self._children:
            child.pipe.close()
        for child in self._children:
            child.process.join(timeout=1)
            if child.process.is_alive():
                child.process.kill()
                child.process.join()
        self._memory.close()


@contextmanager
def _interrupts_blocked() -> Iterator[None]:
    """Children inherit that Ctrl-C is not for them: the driver, to which it comes a little later, ends them."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


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


class _Worker:
    """The other end: the states it owns, its mailboxes, and what it could not deliver yet."""

    def __init__(self, task: dict[str, Any]) -> None:
        configurations: Sequence[Configuration] = task["configurations"]
        homes: Homes = task["homes"]
        model, asked = homes.load()
        system = bind(model, *configurations, disabled=task["disabled"])
        self.number, self.total = task["number"], task["total"]
        self.owned = OwnedStates(system, asked, task["symmetry"], self.number, self.total)
        self._memory = SharedMemory(name=task["mail"])
        self._mail = np.ndarray(task["shape"], np.uint64, self._memory.buf)
        self._room = task["shape"][-1]
        self._turn = 0
        self._arriving = [0] * self.total
        self._unsent: list[list[Packed]] = [[] for _ in range(self.total)]
        self._continue_from(SharedMemory(name=task["handover"]), task["bounds"])

    def _continue_from(self, memory: SharedMemory, bounds: list[int]) -> None:
        block = np.ndarray((self.owned.system.words, bounds[-1]), np.uint64, memory.buf)
        for start, end in pairwise(bounds):
            self.owned.adopt(block[:, start:end])
            self.owned.bounds.append(len(self.owned.states))
        self.owned.distinct = len(self.owned.states)
        self.owned.start_level()
        del block
        memory.close()

    def round(self, arriving: list[int]) -> dict[str, Any]:
        """Insert what the others sent last round, expand, and hand over; says how much went to whom."""
        for sender, count in enumerate(arriving):
            if count:
                self.owned.absorb(self._mail[sender, self.number, 1 - self._turn, :, :count])
        if self.owned.waiting and not any(self._unsent):
            for owner, states in enumerate(self.owned.expand()):
                if owner != self.number and states.shape[1]:
                    self._unsent[owner].append(states)
        sent = [self._send(owner) for owner in range(self.total)]
        self._turn = 1 - self._turn
        return self.counts() | {"sent": sent}

    def _send(self, owner: int) -> int:
        box = self._mail[self.number, owner, self._turn]
        used = 0
        while self._unsent[owner] and used < self._room:
            states = self._unsent[owner].pop(0)
            fits = min(states.shape[1], self._room - used)
            box[:, used : used + fits] = states[:, :fits]
            used += fits
            if fits < states.shape[1]:
                self._unsent[owner].insert(0, states[:, fits:])
        return used

    def close(self) -> None:
        """Nothing runs beside this."""

    def forget(self, decided: NDArray[np.bool_]) -> None:
        """Stop expanding these configurations."""
        self.owned.expansion.forget(decided)

    def counts(self) -> dict[str, Any]:
        part = self.owned
        busy = part.waiting > 0 or any(self._unsent)
        return {
            "generated": part.expansion.generated,
            "distinct": part.known,
            "waiting": part.waiting,
            "fired": part.expansion.fired,
            "busy": busy,
            "sent": [0] * self.total,
        }


def _serve(task: dict[str, Any], pipe: Connection) -> None:
    """A worker process.  Interrupts are the driver's business."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    answer(pipe, lambda: _Worker(task))


def answer(pipe: Connection, make: Callable[[], Any]) -> None:
    """Be a worker: answer calls until the pipe closes."""
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
