"""What symmetry costs a search in machine code, per successor: `python -m tests.tools.bench.symmetry`.

Five replicas have 120 permutations.  Both searches are cut off at a depth, in turn, with processor seconds of one worker.
"""

from __future__ import annotations

import statistics
import sys
import time

from neverlost.checker.engine.engines.explore import explore
from neverlost.checker.engine.search.options import Options, SearchLimits
from neverlost.model.protocols import models
from neverlost.model.system import System, bind
from neverlost.specs.configuration.keys import configuration

KEYS = {"replication.factor": "5", "min.insync.replicas": "2", "faults.crash": "any", "faults.isr_shrink": "any"}
DEPTHS = {False: 9, True: 13}
"""The depth that each search goes to; orbits are fewer."""


def cost(system: System, symmetry: bool) -> tuple[float, str]:
    """Processor nanoseconds for each successor, and what was found."""
    started = time.process_time()
    found = explore(system, (), Options(workers=1, symmetry=symmetry, limits=SearchLimits(depth=DEPTHS[symmetry])))
    spent = time.process_time() - started
    held = f" of {found.orbit_states:,} states" if symmetry else ""
    return spent / found.counts.generated * 1e9, f"{found.counts.distinct:,}{held}, {found.counts.generated:,} successors"


def main(times: int) -> None:
    """Print the medians and their ratio."""
    model = models()["kraft-elr"]
    system = bind(model, configuration(model, {key: (value, "bench") for key, value in KEYS.items()}))
    found: dict[bool, list[tuple[float, str]]] = {False: [], True: []}
    for _ in range(times):
        for symmetry, rows in found.items():
            rows.append(cost(system, symmetry))
    middle = {symmetry: statistics.median(each for each, _ in rows) for symmetry, rows in found.items()}
    for symmetry, rows in found.items():
        print(f"{'orbits' if symmetry else 'states':<8} {rows[0][1]}: {middle[symmetry]:.0f} ns each, median of {times}")
    print(f"ratio    {middle[True] / middle[False]:.2f}")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 3)
