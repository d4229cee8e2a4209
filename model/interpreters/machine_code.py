"""Programs of the compiling interpreter made callable by LLVM."""

from __future__ import annotations

import ctypes
from collections.abc import Mapping, Sequence
from enum import IntEnum
from functools import cache
from typing import Any

import llvmlite
import llvmlite.binding as llvm
import numpy as np
from numpy.typing import NDArray

from neverlost.model.interpreters.columns import Successors
from neverlost.model.interpreters.native_program import program
from neverlost.model.kernel import ModelError
from neverlost.model.system import Predicate, System

Rows = NDArray[np.uint64]
"""Shape `(n, words)`: one packed state per row."""

POINTER, COUNT = ctypes.c_void_p, ctypes.c_int64
SIGNATURES: dict[str, tuple[Any, ...]] = {
    "expand": (POINTER, COUNT, POINTER, POINTER, POINTER),
    "judge": (POINTER, COUNT, POINTER),
}
"""Arguments of the functions of a program; each returns a 64-bit number."""

CHUNK = 1 << 10
"""Rows that are expanded at once: the room for their successors is for every step of each."""


@cache
def _initialised() -> None:
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()


@cache
def processor() -> tuple[str, str, str]:
    """What machine code depends on beside its program: the compiler, the processor's name and its features."""
    return f"llvmlite {llvmlite.__version__}", llvm.get_host_cpu_name(), llvm.get_host_cpu_features().flatten()


class Effort(IntEnum):
    """What is done for the speed of machine code: nothing, little, or what LLVM usually does.

    The text repeats no computation: inlining the steps and a good allocation of registers, QUICK, take a third of the time that
    BEST takes and give about half of its speed.
    """

    PLAIN = 0
    QUICK = 1
    BEST = 2


def compiled(text: str, effort: Effort) -> bytes:
    """The machine code of a program as an object file."""
    _initialised()
    _, name, features = processor()
    target = llvm.Target.from_default_triple()
    machine = target.create_target_machine(opt=int(effort), cpu=name, features=features, reloc="pic")
    module = llvm.parse_assembly(text)
    builder = llvm.create_pass_builder(machine, llvm.create_pipeline_tuning_options(speed_level=int(effort)))
    if effort is Effort.BEST:
        builder.getModulePassManager().run(module, builder)
    elif effort is Effort.QUICK:
        passes = llvm.create_new_module_pass_manager()
        passes.add_always_inliner_pass()
        passes.run(module, builder)
    found: bytes = machine.emit_object(module)
    return found


class Loaded:
    """An object file in memory, and its functions, which live as long as this; calls let other threads of Python run."""

    def __init__(self, machine_code: bytes, signatures: Mapping[str, tuple[Any, ...]]) -> None:
        _initialised()
        self._engine = llvm.create_lljit_compiler()
        library = llvm.JITLibraryBuilder().add_object_img(machine_code)
        for name in signatures:
            library.export_symbol(name)
        self._tracker = library.link(self._engine, "system")
        self.functions = {
            name: ctypes.CFUNCTYPE(ctypes.c_int64, *kinds)(self._tracker[name]) for name, kinds in signatures.items()
        }


class Machine:
    """The steps and properties of a system as machine code."""

    def __init__(
        self, system: System, predicates: Sequence[Predicate] = (), effort: Effort = Effort.QUICK, is_wide: bool = False
    ) -> None:
        self.system = system
        self._loaded = Loaded(compiled(program(system, predicates, is_wide), effort), SIGNATURES)

    def successors(self, rows: Rows) -> tuple[Rows, NDArray[np.int64], NDArray[np.int64]]:
        """The successors of packed states, with the row and the step that each comes from; in order, if the program is plain.

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
            raise left_its_bounds(self.system, chunk, count)
        return after[:count].copy(), origins[:count] + start

    def broken(self, rows: Rows) -> NDArray[np.uint64]:
        """The properties that each packed state breaks: bit `n` for the property with the number `n`."""
        rows = np.ascontiguousarray(rows)
        found = np.zeros(len(rows), np.uint64)
        self._loaded.functions["judge"](rows.ctypes.data, len(rows), found.ctypes.data)
        return found


def left_its_bounds(system: System, rows: Rows, code: int) -> ModelError:
    """The error that an expansion ended with, in the words of the columns interpreter."""
    row, step = (-1 - code) & 0xFFFFFFFF, (-1 - code) >> 32
    try:
        list(Successors(system).of(np.ascontiguousarray(rows[row : row + 1].T), [step]))
    except ModelError as problem:
        return problem
    return ModelError(f"machine code refuses {system.steps[step].label}, which stays within its bounds by columns")
