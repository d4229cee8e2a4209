"""Progress on stderr: bars and lines while something long runs."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Self

from rich.console import Console
from rich.progress import BarColumn, Progress, ProgressColumn, TextColumn

from neverlost.checker.prove.progress import Progress as Proved
from neverlost.checker.search.options import Progress as SearchProgress


class _Bar:
    """A bar on a terminal's stderr while something runs."""

    def __init__(self, *columns: ProgressColumn, total: int | None = None) -> None:
        err = Console(stderr=True, highlight=False)
        self._bar = Progress(*columns, console=err, transient=True, disable=not err.is_terminal)
        self._task = self._bar.add_task("starting", total=total)

    def __enter__(self) -> Self:
        self._bar.start()
        return self

    def __exit__(self, *_: Any) -> None:
        if not self._bar.disable:  # older versions of rich end with an empty line even so
            self._bar.stop()

    @contextmanager
    def aside(self) -> Iterator[None]:
        """Without the bar, while something else is printed."""
        if self._bar.disable:
            yield
            return
        self._bar.stop()
        try:
            yield
        finally:
            self._bar.start()


class PartsProgress(_Bar):
    """Progress through parts, by name."""

    def expect(self, total: int) -> None:
        """How many parts there are."""
        self._bar.update(self._task, total=total)

    def __call__(self, name: str) -> None:
        """One part is done."""
        self._bar.update(self._task, advance=1, description=name)


class Steps(_Bar):
    """Progress by what is being done, and how much of it is."""

    def __call__(self, what: str, done: int = 0, total: int | None = None) -> None:
        self._bar.update(self._task, description=what, completed=done, total=total)


class ProofProgress(_Bar):
    """Progress of a proof: steps that are done, obligations that are proved, an estimate."""

    def __call__(self, progress: Proved) -> None:
        """Show what is known now."""
        is_open = f", {progress.open:,} not" if progress.open else ""
        text = f"{progress.proved:,} obligations proved{is_open}  about {progress.left:.0f} s left"
        self._bar.update(self._task, description=text, completed=progress.tasks, total=progress.of)


class LiveProgress(_Bar):
    """Progress while a search runs: level, counts with rates, frontier, memory, an estimate."""

    def __init__(self) -> None:
        super().__init__(TextColumn("{task.description}"), BarColumn(bar_width=20))
        self._levels: list[tuple[int, int, int]] = []
        self._shown_at = 0.0

    def line(self, text: str) -> None:
        """A line that stays, above the bar."""
        self._bar.console.print(text, markup=False)

    def __call__(self, progress: SearchProgress) -> None:
        """Show what is known now, at most ten times a second."""
        if progress.note:
            self.line(progress.note)
        now = time.monotonic()
        if self._bar.disable:
            return
        left = self.left(progress)
        if now - self._shown_at < 0.1:
            return
        self._shown_at = now
        seconds = max(progress.seconds, 1e-9)
        rest = "growing" if left is None else f"about {left:.0f} s left, if it shrinks as it grew"
        text = (
            f"level {progress.level}  {progress.distinct:,} distinct ({progress.distinct / seconds:,.0f}/s)  "
            f"{progress.generated:,} generated ({progress.generated / seconds:,.0f}/s)  frontier {progress.frontier:,}  "
            f"{progress.memory_bytes / 1e9:.2f} GB  {rest}"
        )
        self._bar.update(self._task, description=text)

    def left(self, progress: SearchProgress) -> float | None:
        """Seconds until the end.  Once the frontier shrinks, its mirror image is the rest: what there was when it was so wide.

        Before that nothing honest can be said: None.
        """
        if self._levels and progress.level < self._levels[-1][0]:
            self._levels.clear()  # of another search
        if not self._levels or progress.level > self._levels[-1][0]:
            self._levels.append((progress.level, progress.frontier, progress.distinct))
        if progress.level <= 5 or progress.frontier >= 0.7 * max(width for _, width, _ in self._levels):
            return None
        mirrored = next(distinct for _, width, distinct in self._levels if width >= progress.frontier)
        return mirrored * progress.seconds / max(progress.distinct, 1)
