"""The columns engine: the memory engine without compiled code, in one process, as a second opinion."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from neverlost.checker.engine.engines import memory
from neverlost.checker.engine.outcome import Outcome
from neverlost.checker.engine.search.options import Options, Reporter
from neverlost.model.system import System
from neverlost.specs.property import Property


def explore(
    system: System, properties: Sequence[Property] = (), options: Options | None = None, reporter: Reporter | None = None
) -> Outcome:
    """Explore reachable states, as far as the options say, without compiled code; return the verdicts and what was counted."""
    asked = replace(options or Options(), machine_code=False)
    return replace(memory.explore(system, properties, asked, reporter), engine="columns")
