"""Progress on stderr: bars and lines while a command runs.  Only a terminal shows bars, and only then `rich.progress` is
imported, which would take a tenth of the time of a command that looks an answer up."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Self

from rich.console import Console

from neverlost.checker.engine.proof.progress import ProofProgress as Proved
from neverlost.checker.engine.search.options import SearchProgress as SearchProgress

if TYPE_CHECKING:
    from rich.progress import Progress


class _Bar:
    """A bar with a description, at a terminal only; `is_wide` leaves out percentage and time, if the description says more."""

    def __init__(self, total: int | None = None, is_wide: bool = False) -> None:
        self.console = Console(stderr=True, highlight=False)
        self._bar = self._make_bar(total, is_wide) if self.console.is_terminal else None

    def _make_bar(self, total: int | None, is_wide: bool) -> Progress:
        from rich.progress import BarColumn, Progress, TextColumn

        columns = (TextColumn("{task.description}"), BarColumn(bar_width=20)) if is_wide else ()
        found = Progress(*columns, console=self.console, transient=True)
        self._task = found.add_task("starting", total=total)
        return found

    def _update(self, **shown: Any) -> None:
        if self._bar is not None:
            self._bar.update(self._task, **shown)

    def __enter__(self) -> Self:
        if self._bar is not None:
            self._bar.start()
        return self

    def __exit__(self, *_: Any) -> None:
        if self._bar is not None:
            self._bar.stop()


class PartsProgress(_Bar):
    """Progress through named parts."""

    def expect(self, total: int) -> None:
        """Set how many parts there are."""
        self._update(total=total)

    def __call__(self, name: str) -> None:
        self._update(advance=1, description=name)


class Steps(_Bar):
    """Progress by the name of the current step, and the part of it that is done."""

    def __call__(self, what: str, done: int = 0, total: int | None = None) -> None:
        self._update(description=what, completed=done, total=total)


class ProofProgressBar(_Bar):
    """Progress of a proof: finished steps, proved obligations, an estimate of the time left."""

    def __call__(self, progress: Proved) -> None:
        is_open = f", {progress.open:,} not" if progress.open else ""
        text = f"{progress.proved:,} obligations proved{is_open}  about {progress.left:.0f} s left"
        self._update(description=text, completed=progress.tasks, total=progress.of)


SHRUNK = 0.7
"""What part of the widest level the frontier is when something is first said about the rest."""

WITHIN = 2
"""How far off that is for most levels (decision 074 says for how many)."""


def estimate_states_left(levels: Sequence[tuple[int, int]]) -> float | None:
    """Estimate how many states are left, from each level's width and the states found until then.  They are taken to mirror the
    growth: as many as there were when a level was first as wide as the last one; or fewer, if levels that go on shrinking as
    the last three did have fewer.  None for fewer than six levels, or a last one of 70 % of the widest or more."""
    width = levels[-1][0]
    if len(levels) <= 5 or width >= SHRUNK * max(each for each, _ in levels):
        return None
    mirrored = next(distinct for each, distinct in levels if each >= width)
    shrinks = (width / levels[-4][0]) ** (1 / 3)
    return min(mirrored, width * shrinks / (1 - shrinks)) if shrinks < 1 else mirrored


class LiveProgress(_Bar):
    """Progress of a search: level, counts with rates, frontier, memory, an estimate of the time left."""

    def __init__(self) -> None:
        super().__init__(is_wide=True)
        self._level = -1
        self._levels: list[tuple[int, int]] = []
        self._shown_at = 0.0

    def line(self, text: str) -> None:
        """Print a line that stays, above the bar."""
        self.console.print(text, markup=False, soft_wrap=True)

    def __call__(self, progress: SearchProgress) -> None:
        """Show the progress of a search, at most ten times a second; its notes stay above the bar."""
        if progress.note:
            self.line(progress.note)
        now = time.monotonic()
        if self._bar is None:
            return
        left = self.left(progress)
        if now - self._shown_at < 0.1:
            return
        self._shown_at = now
        seconds = max(progress.seconds, 1e-9)
        ending = "growing" if left is None else f"{left / WITHIN:.0f} to {left * WITHIN:.0f} s left, if it shrinks as it grew"
        text = (
            f"level {progress.level}  {progress.distinct:,} distinct ({progress.distinct / seconds:,.0f}/s)  "
            f"{progress.generated:,} generated ({progress.generated / seconds:,.0f}/s)  frontier {progress.frontier:,}  "
            f"{progress.memory_bytes / 1e9:.2f} GB  {ending}"
        )
        self._update(description=text)

    def left(self, progress: SearchProgress) -> float | None:
        """Estimate the seconds until the end at the rate so far; None where `estimate_states_left` gives none."""
        if progress.level < self._level:
            self._levels.clear()  # of another search
        if not self._levels or progress.level > self._level:
            self._levels.append((progress.frontier, progress.distinct))
        self._level = progress.level
        states = estimate_states_left(self._levels)
        return None if states is None else states * progress.seconds / max(progress.distinct, 1)
