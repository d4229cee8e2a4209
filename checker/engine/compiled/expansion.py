"""Steps from batches of states in machine code, for searches on stored levels; what it finds is what columns find."""

from __future__ import annotations

import numpy as np

from neverlost.checker.engine.compiled.programs import SAMPLE, Programs
from neverlost.checker.engine.compiled.state_tables import make_latest
from neverlost.checker.engine.search.expansion import Expansion
from neverlost.model.interpreters.columns import Packed
from neverlost.model.interpreters.machine_code import Rows

CHUNK = 1 << 10
"""States that are expanded at once."""


class NativeExpansion(Expansion):
    """An expansion in machine code that goes on where `columns` is, with its counts and its decided configurations.

    Errors: `RuntimeError` where machine code cannot be made; `EngineError` where it contradicts columns.
    """

    def __init__(self, columns: Expansion, states: Packed) -> None:
        super().__init__(columns.system, columns.configurations, columns.symmetry)
        self.generated, self.fired, self.decided = columns.generated, columns.fired, columns.decided
        self._programs = Programs(self.system, (), self.symmetry)
        self._programs.agree(np.ascontiguousarray(states[:, :SAMPLE].T))

    def of(self, batch: Packed) -> Packed | None:
        """Return a batch's successors, most of them once, None for none; count all, repeats too; see `Expansion.of`."""
        if self._programs.improve():
            self._programs.agree(np.ascontiguousarray(batch[:, :SAMPLE].T))
        if self.decided is not None:
            batch = batch.compress(~self.decided[self.configurations.of(batch)], axis=1)
        rows, parts = np.ascontiguousarray(batch.T), []
        fired, latest = np.zeros(len(self.system.steps), np.int64), make_latest(self.system.words)
        for start in range(0, len(rows), CHUNK):
            after, origins = self._programs.successors(rows[start : start + CHUNK])
            parts.append(self._sift(after, latest).T)
            fired += np.bincount(origins >> 32, minlength=len(fired))
        for number in np.flatnonzero(fired).tolist():
            self.fired[self.system.steps[number].action.name] += int(fired[number])
        self.generated += int(fired.sum())
        return np.concatenate(parts, axis=1) if fired.any() else None

    def _sift(self, rows: Rows, latest: Rows) -> Rows:
        """Return rows without those in `latest`; one found long before may come again.  Overwrites `rows`; adds to `latest`."""
        left = np.zeros(1, np.int64)
        self._programs.functions["sift"](rows.ctypes.data, len(rows), left.ctypes.data, latest.ctypes.data)
        return rows[: int(left[0])]

    def close(self) -> None:
        self._programs.close()
