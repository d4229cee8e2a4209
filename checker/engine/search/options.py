"""What every engine is asked and how: limits, options, progress."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Protocol

from neverlost.checker.engine.outcome import Outcome
from neverlost.model.system import System
from neverlost.specs.property import Property


@dataclass(frozen=True)
class SearchProgress:
    """What is known after a batch.  Units: seconds since the start, bytes.  `note` is an event in a sentence."""

    level: int
    frontier: int
    generated: int
    distinct: int
    seconds: float
    memory_bytes: int
    note: str = ""


class Reporter(Protocol):
    """Called with how far a search is, from the driving process only."""

    def __call__(self, progress: SearchProgress) -> None: ...


class Engine(Protocol):
    """An engine's search for states that break properties."""

    def __call__(
        self, system: System, properties: Sequence[Property], options: Options, reporter: Reporter | None
    ) -> Outcome: ...


@dataclass(frozen=True)
class SearchLimits:
    """What cuts a search short.  Units: seconds, bytes, levels; None is no limit.

    `until` is when the time of a whole command ends, by `time.monotonic()`.  Once more than `states` distinct states are known,
    no further level is begun: so every engine stops at the same place.
    """

    seconds: float | None = None
    memory_bytes: int | None = None
    depth: int | None = None
    states: int | None = None
    until: float | None = None

    def are_passed(self, started: float) -> bool:
        """Return True if the time of a search that started then is over."""
        now = time.monotonic()
        is_late = self.seconds is not None and now - started > self.seconds
        return is_late or (self.until is not None and now > self.until)

    @property
    def too_little_time(self) -> str:
        """What is said where the limit of time was reached."""
        return "the time limit was reached" if self.seconds is None else f"the time limit of {self.seconds:g} s was reached"

    @property
    def too_many_states(self) -> str:
        """What is said where the limit of states was reached."""
        return f"there are more than {self.states or 0:,} states"

    @property
    def too_little_memory(self) -> str:
        """What is said where the limit of memory was reached."""
        return f"the memory limit of {self.memory_bytes} bytes was reached"


@dataclass(frozen=True)
class Options:
    """How to search.

    A search stops after the level of the first violation.  `every_configuration` goes on until each
    configuration has a verdict on each property, and no longer expands those that have; `keep_going` explores everything.
    With `orbits` it uses symmetry where replicas are alike and no levels are kept.
    Without `machine_code` the columns interpreter does everything, as it does where there is no compiler.
    """

    limits: SearchLimits = field(default_factory=SearchLimits)
    workers: int | None = None
    machine_code: bool = True
    symmetry: bool = False
    orbits: bool = False
    keep_going: bool = False
    every_configuration: bool = False
    state_dir: Path | str | None = None
    resume: bool = False
    spark_master: str | None = None
    spark_conf: tuple[tuple[str, str], ...] = ()

    def out_of_time(self) -> Options:
        """Return the same with no time left: what is searched for next is given up at once."""
        return replace(self, limits=replace(self.limits, seconds=0.0))
