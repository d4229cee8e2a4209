"""How the workers of a search share a level: threads, the chunks of states that they take, and the boxes for what they find."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, wait

import numpy as np

from neverlost.checker.engine.compiled.programs import Programs
from neverlost.checker.engine.compiled.state_tables import allocate_rows, make_latest
from neverlost.checker.engine.compiled.table_text import TABLES
from neverlost.checker.engine.host import interrupts
from neverlost.checker.engine.storage.compact import Block
from neverlost.model.interpreters.machine_code import Rows, make_bounds_error

FEW = 1 << 10
"""The most states that one thread expands alone: it is done before other threads would have begun."""

APART = 16
"""The fewest numbers that a worker's counters take, so that two workers never write to the same line of the cache."""


class Threads:
    """A number of threads; what concerns few states is done in the caller's own."""

    def __init__(self, total: int) -> None:
        self.total = total
        self._pool = ThreadPoolExecutor(total) if total > 1 else None
        self._stopped = threading.Event()

    @property
    def are_stopped(self) -> bool:
        """True if the threads are to give up what they do."""
        return self._stopped.is_set()

    def each(self, work: Callable[[int], None], states: int) -> None:
        """Call `work` with each thread's number: in threads, or in turn where `states` are few.

        A first interrupt is raised when all calls have ended; at a second one, `are_stopped` has threads end early.
        """
        with interrupts.delay_interrupts():
            if self._pool is None or states <= FEW:
                for number in range(self.total):
                    work(number)
                return
            running = [self._pool.submit(work, number) for number in range(self.total)]
            try:
                wait(running)
            except BaseException:
                self._stopped.set()
                wait(running)
                raise
        for each in running:
            each.result()

    def end(self) -> None:
        """End the threads: nothing will be done by them any more."""
        if self._pool is not None:
            self._pool.shutdown()


class Shares:
    """Blocks of states cut into chunks of rows, each of which one thread takes."""

    def __init__(self, blocks: Sequence[Rows | Block], size: int, rows: Callable[[Rows | Block], Rows]) -> None:
        self.left = sum(map(len, blocks))
        self.blocks = [*blocks]
        self._size, self._rows = size, rows
        self._chunks = self._cut()
        self._lock = threading.Lock()

    def _cut(self) -> Iterator[Rows]:
        while self.blocks:
            block = self._rows(self.blocks.pop())
            yield from (block[start : start + self._size] for start in range(0, len(block), self._size))

    def take(self) -> Rows | None:
        """Return the next chunk; None when there is none."""
        with self._lock:
            found = next(self._chunks, None)
            self.left -= 0 if found is None else len(found)
        return found


class Boxes:
    """A box for each pair of a sender and an owner: the sender puts states into it that belong into the owner's tables.

    A chunk has at most `chunk` states; a sender whose fullest box has `capacity` states expands no further.
    """

    def __init__(self, programs: Programs, senders: int, owners: int, chunk: int, capacity: int) -> None:
        self.capacity = capacity
        self._programs, self._system = programs, programs.system
        words, steps = self._system.words, len(self._system.steps)
        most = chunk * steps
        self._after = [allocate_rows(most, words) for _ in range(senders)]
        self._origins = [allocate_rows(most, 1) for _ in range(senders)]
        self._boxes = [[allocate_rows(capacity + most, words) for _ in range(owners)] for _ in range(senders)]
        self._places = [np.array([box.ctypes.data for box in boxes], np.uint64) for boxes in self._boxes]
        self._filled = np.zeros((senders, max(owners, APART)), np.int64)
        self._owners = np.arange(TABLES, dtype=np.int64) % owners
        self._fired = np.zeros((senders, steps), np.int64)
        self._latest = [make_latest(words) for _ in range(senders)]

    @property
    def total(self) -> int:
        """How many states lie in all boxes."""
        return int(self._filled.sum())

    def count_fired(self) -> Counter[str]:
        """Return how often each action was taken, without those that never were."""
        found = Counter[str]()
        for step, times in zip(self._system.steps, self._fired.sum(axis=0).tolist(), strict=True):
            if times:
                found[step.action.name] += times
        return found

    def is_full(self, sender: int) -> bool:
        """Return True if a sender has put enough into one of its boxes."""
        return bool(self._filled[sender].max() >= self.capacity)

    def expand(self, sender: int, chunk: Rows) -> None:
        """Put the successors of some states into the sender's boxes.

        Errors: `ModelError` for a step that leaves the declared bounds.
        """
        after = self._after[sender]
        places = [each.ctypes.data for each in (after, self._origins[sender], self._fired[sender])]
        count = self._programs.functions["expand"](chunk.ctypes.data, len(chunk), *places)
        if count < 0:
            raise make_bounds_error(self._system, chunk, count)
        self._programs.identify(after, count)
        self.scatter(sender, after, count)

    def scatter(self, sender: int, rows: Rows, count: int) -> None:
        """Put the first `count` rows, mixed, into their owners' boxes, but not what was put there lately; `rows` is kept."""
        arrays = self._owners, self._places[sender], self._filled[sender], self._latest[sender]
        self._programs.functions["scatter"](rows.ctypes.data, count, *[each.ctypes.data for each in arrays])

    def empty(self, sender: int, owner: int) -> tuple[Rows, int]:
        """Return a box and how many states lie in it; what comes next overwrites them."""
        count = int(self._filled[sender, owner])
        self._filled[sender, owner] = 0
        return self._boxes[sender][owner], count
