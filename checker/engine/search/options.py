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
    """How far a search is.  Units: seconds since its start, bytes.  `note` is a sentence on what happened; empty if nothing."""

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
    """An engine's function that searches a system for states that break properties, and returns the outcome."""

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
        """Return True if `until` is past, or more than `seconds` have passed since `started`, a time of `time.monotonic()`."""
        now = time.monotonic()
        is_late = self.seconds is not None and now - started > self.seconds
        return is_late or (self.until is not None and now > self.until)

    @property
    def too_little_time(self) -> str:
        """The reason, as a phrase, why a search ended at the limit of time."""
        return "the time limit was reached" if self.seconds is None else f"the time limit of {self.seconds:g} s was reached"

    @property
    def too_many_states(self) -> str:
        """The reason, as a phrase, why a search ended at the limit of states."""
        return f"there are more than {self.states or 0:,} states"

    @property
    def too_little_memory(self) -> str:
        """The reason, as a phrase, why a search ended at the limit of memory."""
        return f"the memory limit of {self.memory_bytes} bytes was reached"


@dataclass(frozen=True)
class Options:
    """How to search.

    By default a search stops after the level of the first violation.  With `every_configuration` it goes on until each
    configuration breaks each property, and does not expand states of configurations that break all of them by then; with
    `keep_going` it explores everything.  With `orbits` a search without `state_dir` has `symmetry` if replicas are alike.
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
        """Return a copy of these options with no time left: a search with it is given up at once."""
        return replace(self, limits=replace(self.limits, seconds=0.0))
