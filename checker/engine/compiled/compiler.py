"""The process that makes fast machine code: `python -m neverlost.checker.engine.compiled.compiler <TEXT >CODE`."""

from __future__ import annotations

import os
import sys

from neverlost.model.interpreters.llvm import OptimizationLevel, compile_program


def main() -> None:
    """Compile the LLVM text on standard input to machine code on standard output, at a lower priority than the search has."""
    if hasattr(os, "nice"):
        os.nice(5)
    sys.stdout.buffer.write(compile_program(sys.stdin.read(), OptimizationLevel.GOOD))


if __name__ == "__main__":
    main()
