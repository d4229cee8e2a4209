"""The program of a search, compiled at once without optimisation, and better by another process once it has run a while."""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from neverlost.checker.engine.compiled.code_cache import folder, read, write
from neverlost.checker.engine.compiled.orbit_text import MOST_REPLICAS, ORBIT_SIGNATURES, Orbits
from neverlost.checker.engine.compiled.order_text import ORDER_SIGNATURES, emit_order_functions
from neverlost.checker.engine.compiled.table_text import TABLE_SIGNATURES, Layout, emit_table_functions
from neverlost.checker.engine.host.processes import SAFE_PATH
from neverlost.checker.engine.outcome import EngineError
from neverlost.checker.engine.search.symmetry import Symmetry
from neverlost.model.interpreters.columns import Successors, evaluate_condition
from neverlost.model.interpreters.compiled_program import emit_system
from neverlost.model.interpreters.llvm import Loaded, OptimizationLevel, compile_program, describe_processor
from neverlost.model.interpreters.machine_code import SIGNATURES, Rows, make_bounds_error
from neverlost.model.system import System
from neverlost.specs.property import Property

SAMPLE = 256
"""States whose successors and properties are compared with the columns interpreter before machine code is trusted."""

WORTH_OPTIMISING = 0.5
"""Processor seconds of a search after which better code gains more than it takes to make; more if the program is `LONG`."""

LONG = 500_000
"""Characters of a program."""


def find_cached_file(text: str) -> Path:
    """Return the path of the file that caches a program's compiled code, if there is one: a byte for the effort, then code."""
    return folder() / hashlib.sha256("\0".join([*describe_processor(), text]).encode()).hexdigest()


def emit_program(system: System, properties: Sequence[Property], symmetry: Symmetry | None) -> str:
    """Return the LLVM text of a search's program. Errors: `RuntimeError` for symmetry of too many replicas."""
    if symmetry is not None and symmetry.replicas > MOST_REPLICAS:
        raise RuntimeError(f"symmetry of {symmetry.replicas} replicas")
    steps = emit_system(system, [each.condition for each in properties])
    texts = [steps, emit_table_functions(Layout.of(system)), emit_order_functions(system.words)]
    lines = "\n".join(texts if symmetry is None else [*texts, Orbits(symmetry).text]).split("\n")
    declared = dict.fromkeys(line for line in lines if line.startswith("declare "))
    return "\n".join([*declared, *[line for line in lines if line not in declared]])


class Programs:
    """A search's machine code: the best there is at any time.

    Errors: `RuntimeError` where the compiler does not know the processor, or symmetry is of too many replicas.
    """

    def __init__(self, system: System, properties: Sequence[Property], symmetry: Symmetry | None = None) -> None:
        self.system, self.properties, self.symmetry = system, tuple(properties), symmetry
        self.functions: dict[str, Callable[..., int]] = {}
        self._signatures = SIGNATURES | TABLE_SIGNATURES | ORDER_SIGNATURES | (ORBIT_SIGNATURES if symmetry else {})
        text = emit_program(system, properties, symmetry)
        self._best = find_cached_file(text)
        self._compiler: subprocess.Popen[bytes] | None = None
        self._started = time.process_time()
        found = read(self._best)
        self._text = None if found and found[0] == OptimizationLevel.GOOD else text
        self._load(found[1:] if found else self._keep(compile_program(text, OptimizationLevel.NONE), OptimizationLevel.NONE))

    def _keep(self, machine_code: bytes, effort: OptimizationLevel) -> bytes:
        write(self._best, bytes([effort]) + machine_code)
        return machine_code

    def _load(self, machine_code: bytes) -> None:
        self._loaded = Loaded(machine_code, self._signatures)
        self.functions.update(self._loaded.functions)

    def _start_compiler(self, text: str) -> None:
        """Start a process that optimises the program."""
        with tempfile.TemporaryFile() as given:
            self._made = tempfile.TemporaryFile()  # noqa: SIM115 - as long as the compiler
            given.write(text.encode())
            given.seek(0)
            self._compiler = subprocess.Popen(
                [sys.executable, "-P", "-m", "neverlost.checker.engine.compiled.compiler"],
                cwd=tempfile.gettempdir(),
                env=os.environ | SAFE_PATH,
                stdin=given,
                stdout=self._made,
                stderr=subprocess.DEVNULL,
                start_new_session=True,
            )

    @property
    def is_compiling(self) -> bool:
        """True if another process is making better code, or will if the search lasts; it needs some hundred MB."""
        return self._text is not None

    def improve(self) -> bool:
        """Load better code if it is ready and return True; else start making it if that pays.  No old code may be running."""
        if self._text is None:
            return False
        if self._compiler is None:
            if time.process_time() - self._started > WORTH_OPTIMISING * max(1, len(self._text) / LONG):
                try:
                    self._start_compiler(self._text)
                except OSError:  # without room for another process, what code there is does
                    self.close()
            return False
        if self._compiler.poll() is None:
            return False
        self._made.seek(0)
        found = self._made.read() if self._compiler.returncode == 0 else b""
        if found:
            self._load(self._keep(found, OptimizationLevel.GOOD))
        self.close()
        return bool(found)

    def identify(self, rows: Rows, count: int) -> int:
        """With symmetry, make the first `count` rows canonical and return how many states are in their orbits; else `count`."""
        return count if self.symmetry is None else self.functions["canonical"](rows.ctypes.data, count)

    def successors(self, rows: Rows) -> tuple[Rows, NDArray[np.int64]]:
        """Return the successors of packed states, canonical, and for each a number: bits 0-31 its parent's row, above its step.

        Errors: `ModelError` where a step leaves the declared bounds.
        """
        rows, steps = np.ascontiguousarray(rows), len(self.system.steps)
        after = np.empty((len(rows) * steps, self.system.words), np.uint64)
        origins, fired = np.empty(len(rows) * steps, np.int64), np.zeros(steps, np.int64)
        places = [each.ctypes.data for each in (after, origins, fired)]
        count = self.functions["expand"](rows.ctypes.data, len(rows), *places)
        if count < 0:
            raise make_bounds_error(self.system, rows, count)
        self.identify(after, count)
        return after[:count], origins[:count]

    def agree(self, rows: Rows) -> None:
        """Check that machine code finds what columns find: successors of `rows`, and properties of `rows` and `_any_states`.

        Errors: `EngineError` where it does not.
        """
        self._agree_on_properties(np.concatenate([rows, self._any_states()]))
        after, origins = self.successors(rows)
        found: set[tuple[int, ...]] = set(zip(origins.tolist(), *after.T.tolist(), strict=True))
        wanted: set[tuple[int, ...]] = set()
        for number, places, words in Successors(self.system).of(np.ascontiguousarray(rows.T)):
            words = self.symmetry.canonical(words) if self.symmetry else words
            wanted |= set(zip((places | number << 32).tolist(), *words.tolist(), strict=True))
        if found != wanted:
            raise EngineError("machine code and the columns interpreter disagree on successors")

    def _agree_on_properties(self, rows: Rows) -> None:
        rows, broken = np.ascontiguousarray(rows), np.zeros(len(rows), np.uint64)
        if self.properties:
            self.functions["judge"](rows.ctypes.data, len(rows), broken.ctypes.data)
        for number, each in enumerate(self.properties):
            if (
                (broken >> np.uint64(number) & np.uint64(1)).astype(bool)
                == evaluate_condition(self.system, rows.T, each.condition)
            ).any():
                raise EngineError(f"machine code and the columns interpreter disagree on {each.name}")

    def _any_states(self) -> Rows:
        """Return `SAMPLE` random states, always the same, reachable or not: some of them are likely to break a property."""
        drawn, rows = np.random.default_rng(0), np.zeros((SAMPLE, self.system.words), np.uint64)
        for slot in self.system.slots:
            rows[:, slot.word] |= drawn.integers(0, slot.high - slot.low, SAMPLE, np.uint64, True) << np.uint64(slot.shift)
        return rows

    def close(self) -> None:
        self._text = None
        if self._compiler is not None:
            self._compiler.kill()
            self._compiler.wait()
            self._made.close()
            self._compiler = None
