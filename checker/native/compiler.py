"""The process that makes fast machine code: `python -m neverlost.checker.native.compiler PLACE`."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from neverlost.checker.native.programs import MADE, given, made, write
from neverlost.model.interpreters.machine_code import compiled


def main(place: str) -> None:
    """Compile the texts of a folder, soon and then well, with less claim on the processor than the search has."""
    if hasattr(os, "nice"):
        os.nice(5)
    for effort in MADE:
        write(made(Path(place), effort), compiled(given(Path(place), effort).read_text(), effort))


if __name__ == "__main__":
    main(*sys.argv[1:])
