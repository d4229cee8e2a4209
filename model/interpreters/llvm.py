"""From the text of a program to functions that can be called, by LLVM.

Nothing else is imported, so that a process that only compiles begins soon.
"""

from __future__ import annotations

import ctypes
from collections.abc import Mapping
from enum import IntEnum
from functools import cache
from typing import Any

import llvmlite
import llvmlite.binding as llvm


@cache
def _initialise() -> None:
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()


@cache
def describe_processor() -> tuple[str, str, str]:
    """Return what machine code depends on beside its program: the compiler's version, the processor's name and its features."""
    return f"llvmlite {llvmlite.__version__}", llvm.get_host_cpu_name(), llvm.get_host_cpu_features().flatten()


class OptimizationLevel(IntEnum):
    """What is done for the speed of machine code: nothing, or a good choice of instructions and registers.

    The text repeats no computation, so LLVM's other passes gain less than they take: machine code that was made without any
    effort is two thirds as fast as the best.
    """

    NONE = 0
    GOOD = 2


def compile_program(text: str, effort: OptimizationLevel) -> bytes:
    """Return the machine code of a program, for this processor, as an object file."""
    _initialise()
    _, name, features = describe_processor()
    target = llvm.Target.from_default_triple()
    machine = target.create_target_machine(opt=int(effort), cpu=name, features=features, reloc="pic")
    module = llvm.parse_assembly(text)
    passes = llvm.create_new_module_pass_manager()
    passes.add_always_inliner_pass()
    passes.run(module, llvm.create_pass_builder(machine, llvm.create_pipeline_tuning_options(speed_level=int(effort))))
    found: bytes = machine.emit_object(module)
    return found


class Loaded:
    """An object file in memory, and its `functions` by name, which live as long as this; calls let other Python threads run."""

    def __init__(self, machine_code: bytes, signatures: Mapping[str, tuple[Any, ...]]) -> None:
        _initialise()
        self._engine = llvm.create_lljit_compiler()
        library = llvm.JITLibraryBuilder().add_object_img(machine_code)
        for name in signatures:
            library.export_symbol(name)
        self._tracker = library.link(self._engine, "system")
        self.functions = {
            name: ctypes.CFUNCTYPE(ctypes.c_int64, *kinds)(self._tracker[name]) for name, kinds in signatures.items()
        }
