"""Threads that work on a level together, and the chunks of states that they take one after the other."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, wait

from neverlost.checker.engine.host import interrupts
from neverlost.checker.engine.storage.compact import Block
from neverlost.model.interpreters.machine_code import Rows

FEW = 1 << 10
"""States that one thread expands, inserts and checks sooner than several have begun."""


class Threads:
    """A number of threads; one is the caller's own."""

    def __init__(self, total: int) -> None:
        self.total = total
        self._pool = ThreadPoolExecutor(total) if total > 1 else None
        self._stopped = threading.Event()

    @property
    def are_stopped(self) -> bool:
        """Whether what they do is to be given up."""
        return self._stopped.is_set()

    def each(self, work: Callable[[int], None], states: int) -> None:
        """Do something with every number, to the end even where an interrupt comes; it concerns so many states in all."""
        with interrupts.later():
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
        """End them: nothing will be done here any more."""
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
        """The next chunk; None when there is none."""
        with self._lock:
            found = next(self._chunks, None)
            self.left -= 0 if found is None else len(found)
        return found
