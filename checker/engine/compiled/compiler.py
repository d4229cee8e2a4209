"""The process that makes fast machine code: `python -m neverlost.checker.engine.compiled.compiler PLACE`."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from neverlost.checker.engine.compiled.code_cache import write
from neverlost.model.interpreters.llvm import OptimizationLevel, compile_program

GIVEN, MADE = "text", "code"
"""Files in the place: the program, and its machine code when that is made."""


def main(place: str) -> None:
    """Compile the program in `place` at a lower priority than the search has."""
    if hasattr(os, "nice"):
        os.nice(5)
    write(Path(place) / MADE, compile_program((Path(place) / GIVEN).read_text(), OptimizationLevel.GOOD))


if __name__ == "__main__":
    main(*sys.argv[1:])
