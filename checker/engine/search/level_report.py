"""What a finished level brought: how many states, whose they are, and which properties they break."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from neverlost.checker.engine.search.configurations import Configurations
from neverlost.checker.engine.search.symmetry import Symmetry
from neverlost.model.interpreters.columns import Packed, evaluate_condition
from neverlost.model.system import System, Words
from neverlost.specs.property import Property

Violations = dict[tuple[int, int], Words]
"""(property, configuration) to the smallest packed state that breaks it."""


@dataclass
class LevelReport:
    """A level's `new` states; with symmetry they stand for `orbits` states; `by_configuration` is None if there is only one."""

    new: int
    violations: Violations = field(default_factory=dict)
    by_configuration: NDArray[np.int64] | None = None
    orbits: int = 0

    def merge(self, other: LevelReport) -> LevelReport:
        """Return this report merged with another: counts add up, the smallest violation wins.  This one's violations change."""
        for key, words in other.violations.items():
            self.note(key, words)
        one, two = self.by_configuration, other.by_configuration
        return LevelReport(
            self.new + other.new, self.violations, one if one is None or two is None else one + two, self.orbits + other.orbits
        )

    def note(self, key: tuple[int, int], words: Words) -> None:
        """Record a state that breaks the property and configuration of `key`, unless a smaller one is known."""
        self.violations[key] = min(words, self.violations.get(key, words))


class Checks:
    """Evaluates the properties on every new state, and counts states by configuration and in orbits."""

    def __init__(
        self, system: System, properties: Sequence[Property], configurations: Configurations, symmetry: Symmetry | None
    ) -> None:
        self.system, self.properties = system, tuple(properties)
        self.configurations, self.symmetry = configurations, symmetry

    def report(self, new: int) -> LevelReport:
        """Return a report for a level of `new` states of which nothing is noted yet."""
        count = self.configurations.count
        return LevelReport(new, by_configuration=np.zeros(count, np.int64) if count > 1 else None)

    def add(self, states: Packed, report: LevelReport) -> None:
        """Evaluate the properties on some states of a new level, and add the result to its report."""
        homes = self.configurations.of(states)
        if report.by_configuration is not None:
            report.by_configuration += np.bincount(homes, minlength=self.configurations.count)
        if self.symmetry:
            report.orbits += self.symmetry.orbit_total(states)
        for number, each in enumerate(self.properties):
            broken = np.flatnonzero(~evaluate_condition(self.system, states, each.condition))
            if len(broken):
                self._note(number, states.take(broken, axis=1), homes[broken], report)

    @staticmethod
    def _note(number: int, bad: Packed, homes: NDArray[np.int64], report: LevelReport) -> None:
        """Record the smallest bad state of each configuration."""
        order = np.lexsort(bad[::-1])
        homes = homes[order]
        for configuration in np.unique(homes):
            first = order[np.argmax(homes == configuration)]
            report.note((number, int(configuration)), tuple(int(word[first]) for word in bad))
