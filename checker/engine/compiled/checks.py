"""What the states of a new level bring, by compiled code: violations, orbits, and how many belong to each configuration."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from neverlost.checker.engine.compiled.programs import Programs
from neverlost.checker.engine.search.configurations import Configurations
from neverlost.checker.engine.search.level_report import LevelReport
from neverlost.model.interpreters.machine_code import Rows
from neverlost.specs.property import Property


class CompiledChecks:
    """Reports on the new states of a search by compiled code: broken properties, states by configuration, and orbits."""

    def __init__(self, programs: Programs, properties: Sequence[Property], configurations: Configurations) -> None:
        self._programs, self._properties, self._configurations = programs, properties, configurations

    @property
    def are_none(self) -> bool:
        """True if a level's report says its size only: there are no properties, one configuration, and no symmetry."""
        return not self._properties and self._configurations.count == 1 and self._programs.symmetry is None

    def nothing(self, size: int = 0) -> LevelReport:
        """Return a report of `size` new states without violations; counts are 0, or None by configuration if there is one."""
        count = self._configurations.count
        return LevelReport(size, by_configuration=np.zeros(count, np.int64) if count > 1 else None)

    def of(self, rows: Rows) -> LevelReport:
        """Return the report of new states: smallest bad one by (property, configuration), states by configuration, orbits."""
        report, count = self.nothing(len(rows)), self._configurations.count
        if self._programs.symmetry is not None:
            report.orbits = self._programs.identify(rows, len(rows))
        cells = self._configurations.of(rows.T) if count > 1 else None
        if cells is not None:
            report.by_configuration = np.bincount(cells, minlength=count)
        broken = np.empty(len(rows), np.uint64)
        if not self._properties or not self._programs.functions["judge"](rows.ctypes.data, len(rows), broken.ctypes.data):
            return report
        bad = np.flatnonzero(broken)
        bad = bad[np.lexsort(rows[bad].T[::-1])]
        for row in bad.tolist():
            words = tuple(rows[row].tolist())
            for number in range(len(self._properties)):
                if int(broken[row]) >> number & 1:
                    report.violations.setdefault((number, 0 if cells is None else int(cells[row])), words)
        return report
