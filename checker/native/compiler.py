"""The process that makes fast machine code: `python -m neverlost.checker.native.compiler PROGRAM PLACE`."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from neverlost.checker.native.programs import MADE, made, write
from neverlost.model.interpreters.machine_code import compiled


def main(program: str, place: str) -> None:
    """Compile the text of a file, soon and then well, with less claim on the processor than the search has."""
    if hasattr(os, "nice"):
        os.nice(5)
    text = Path(program).read_text()
    for effort in MADE:
        write(made(Path(place), effort), compiled(text, effort))


if __name__ == "__main__":
    main(*sys.argv[1:])
