"""A system's compiled steps and properties by themselves, to be compared with other interpreters."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from neverlost.model.interpreters.compiled_program import emit_system
from neverlost.model.interpreters.llvm import Loaded, OptimizationLevel, compile_program
from neverlost.model.interpreters.machine_code import SIGNATURES, Rows, make_bounds_error
from neverlost.model.system import Predicate, System

CHUNK = 1 << 10
"""Rows that are expanded at once: the room for their successors is for every step of each."""


class Machine:
    """The steps and properties of a system as machine code."""

    def __init__(
        self, system: System, predicates: Sequence[Predicate] = (), effort: OptimizationLevel = OptimizationLevel.GOOD
    ) -> None:
        self.system = system
        self._loaded = Loaded(compile_program(emit_system(system, predicates), effort), SIGNATURES)

    def successors(self, rows: Rows) -> tuple[Rows, NDArray[np.int64], NDArray[np.int64]]:
        """The successors of packed states, with the row and the step that each comes from.

        Errors: `ModelError` where a step leaves the declared bounds.
        """
        parts = [self._expanded(rows, start) for start in range(0, len(rows), CHUNK)]
        after = np.concatenate([np.empty((0, self.system.words), np.uint64), *[found for found, _ in parts]])
        origins = np.concatenate([np.empty(0, np.int64), *[origin for _, origin in parts]])
        return after, origins & 0xFFFFFFFF, origins >> 32

    def _expanded(self, rows: Rows, start: int) -> tuple[Rows, NDArray[np.int64]]:
        chunk = np.ascontiguousarray(rows[start : start + CHUNK])
        steps = len(self.system.steps)
        after = np.empty((len(chunk) * steps, self.system.words), np.uint64)
        origins, fired = np.empty(len(chunk) * steps, np.int64), np.zeros(steps, np.int64)
        places = [each.ctypes.data for each in (after, origins, fired)]
        count = self._loaded.functions["expand"](chunk.ctypes.data, len(chunk), *places)
        if count < 0:
            raise make_bounds_error(self.system, chunk, count)
        return after[:count].copy(), origins[:count] + start

    def broken(self, rows: Rows) -> NDArray[np.uint64]:
        """The properties that each packed state breaks: bit `n` for the property with the number `n`."""
        rows = np.ascontiguousarray(rows)
        found = np.zeros(len(rows), np.uint64)
        self._loaded.functions["judge"](rows.ctypes.data, len(rows), found.ctypes.data)
        return found
