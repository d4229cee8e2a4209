"""What the functions of a compiled program take, and the error that one of them ends with."""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np
from numpy.typing import NDArray

from neverlost.model.interpreters.columns import Successors
from neverlost.model.kernel import ModelError
from neverlost.model.system import System

Rows = NDArray[np.uint64]
"""Shape `(n, words)`: one packed state per row."""

POINTER, COUNT = ctypes.c_void_p, ctypes.c_int64
SIGNATURES: dict[str, tuple[Any, ...]] = {
    "expand": (POINTER, COUNT, POINTER, POINTER, POINTER),
    "judge": (POINTER, COUNT, POINTER),
}
"""Arguments of the functions of a program; each returns a 64-bit number."""


def make_bounds_error(system: System, rows: Rows, code: int) -> ModelError:
    """Return the error of an expansion that returned `code`: the columns interpreter's, or one that says that it has none."""
    row, step = (-1 - code) & 0xFFFFFFFF, (-1 - code) >> 32
    try:
        list(Successors(system).of(np.ascontiguousarray(rows[row : row + 1].T), [step]))
    except ModelError as problem:
        return problem
    return ModelError(f"machine code refuses {system.steps[step].label}, which stays within its bounds by columns")
