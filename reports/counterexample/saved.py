"""A counterexample with its pictures, each drawn once, and the saved counterexamples of a directory."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from neverlost.checker.engine.outcome import Behaviour, Finding, Verdict
from neverlost.model.system import System
from neverlost.reports.counterexample import space_time, tlc
from neverlost.reports.counterexample.itf import read_itf, to_itf
from neverlost.reports.counterexample.timeline import Timeline, timeline
from neverlost.specs.configuration.choose import broker_names
from neverlost.specs.property import Property

SUFFIX = ".itf.json"


@dataclass(frozen=True)
class Counterexample:
    """A behaviour of a system and the property that is violated at its end.  `brokers` are the user's brokers that the replicas
    stand for, by partition."""

    system: System
    broken: Property
    trace: Behaviour
    configuration: int = 0
    brokers: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    @classmethod
    def read(cls, path: Path | str) -> Counterexample:
        """Return a saved counterexample, read and re-executed.  Errors: as `read_itf`."""
        system, broken, trace, brokers = read_itf(path)
        return cls(system, broken, trace, brokers=brokers)

    @classmethod
    def read_tlc(cls, path: Path, folder: Path) -> Counterexample:
        """Return the counterexample that TLC printed of a module in `folder`, re-executed.  Errors: as `tlc.read_tlc`."""
        return cls(*tlc.read_tlc(path, folder))

    @property
    def names(self) -> tuple[str, ...]:
        """The user's names of the replicas: the brokers of the first partition; empty without any, or for several topics."""
        return broker_names(self.brokers)

    @cached_property
    def timeline(self) -> Timeline | None:
        """The counterexample as a `Timeline` of frames; None for a model without cluster snapshots."""
        if self.system.model.portrait is None:
            return None
        return timeline(self.system, self.broken, self.trace, given=self.names)

    @property
    def labels(self) -> tuple[str, ...]:
        return tuple(self.system.steps[number].label for number in self.trace.steps)

    @cached_property
    def itf(self) -> dict[str, Any]:
        return to_itf(self.system, Finding(self.broken, self.configuration, Verdict.VIOLATED, self.trace), self.brokers)

    def pictures(self) -> dict[str, str]:
        """Return the pictures as texts by file extension, `svg`; empty for a model without cluster snapshots."""
        if self.timeline is None:
            return {}
        return {"svg": space_time.render_file(self.timeline, self.labels)}


class SavedCounterexamples:
    """The counterexamples of a directory by file name, each read and re-executed when first needed; those in `known` never."""

    def __init__(self, folder: Path, known: Mapping[str, Counterexample] | None = None) -> None:
        self._folder, self._known = folder, dict(known or {})

    def __getitem__(self, name: str) -> Counterexample:
        if name not in self._known:
            self._known[name] = Counterexample.read(self._folder / name)
        return self._known[name]
