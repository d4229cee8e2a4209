"""The memory engine with machine code and without, on the same spaces in one run: `python -m tests.bench.machine_code`.

Each search runs in a process of its own, the two in turn.  Processor seconds are of all threads and processes of a search,
the making of the fast code included where it was not kept; they depend less on what else the machine does than seconds do.
"""

from __future__ import annotations

import argparse
import json
import resource
import statistics
import subprocess
import sys
from collections.abc import Sequence
from typing import Any

from neverlost.checker.search.explore import explore
from neverlost.checker.search.options import Options
from neverlost.model.catalogue import models
from neverlost.model.system import bind
from neverlost.specs.configuration.keys import configuration

SPACES = {
    "kip-320 737,794": "kip-320 replication.factor=3 bounds.log_size=2 bounds.records=2 bounds.max_leader_epoch=2",
    "kip-320 4,093,531": "kip-320 replication.factor=3 bounds.log_size=3 bounds.records=3 bounds.max_leader_epoch=2",
    "kraft-elr, faults once": (
        "kraft-elr min.insync.replicas=2 bounds.records=2 faults.crash=1 faults.lossy_crash=1 faults.isr_shrink=1 "
        "faults.leader_move=1"
    ),
    "kip-320 64,739,578": "kip-320 replication.factor=3 bounds.log_size=3 bounds.records=3 bounds.max_leader_epoch=3",
}
"""What is explored; the last is left out unless it is named."""


def search(space: str, engine: str, workers: int) -> dict[str, Any]:
    """Explore a space in this process."""
    name, *keys = SPACES[space].split()
    model = models()[name]
    chosen = configuration(model, {key: (value, "bench") for key, _, value in (each.partition("=") for each in keys)})
    found = explore(bind(model, chosen), (), Options(workers=workers), engine=engine)
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return {
        "distinct": found.counts.distinct,
        "depth": found.counts.depth,
        "seconds": found.seconds,
        "processor": sum(each.ru_utime + each.ru_stime for each in used),
        "bytes": found.peak_memory_bytes / found.counts.distinct,
    }


def measured(space: str, engine: str, workers: int) -> dict[str, Any]:
    """Explore a space in a process of its own."""
    command = [sys.executable, "-m", "tests.bench.machine_code", "--only", engine, "--workers", str(workers), space]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def compare(space: str, workers: int, times: int) -> None:
    """Print the medians of both engines, and how much of columns' time machine code takes."""
    rows: dict[str, list[dict[str, Any]]] = {"columns": [], "memory": []}
    measured(space, "memory", workers)
    for _ in range(times):
        for engine, found in rows.items():
            found.append(measured(space, engine, workers))
    (counts,) = {(row["distinct"], row["depth"]) for found in rows.values() for row in found}
    middle = {
        engine: {key: statistics.median(row[key] for row in found) for key in ("seconds", "processor", "bytes")}
        for engine, found in rows.items()
    }
    print(f"{space}: {counts[0]:,} states, depth {counts[1]}, {workers} workers, median of {times}")
    for engine, row in middle.items():
        print(f"  {engine:<8} {row['seconds']:8.2f} s {row['processor']:8.2f} processor s {row['bytes']:6.1f} bytes a state")
    ratios = [middle["memory"][key] / middle["columns"][key] for key in ("seconds", "processor")]
    print(f"  ratio    {ratios[0]:8.2f}   {ratios[1]:8.2f}", flush=True)


def main(arguments: Sequence[str]) -> None:
    """Compare, or run one search."""
    parser = argparse.ArgumentParser(prog="python -m tests.bench.machine_code")
    parser.add_argument("spaces", nargs="*", default=list(SPACES)[:-1], metavar="SPACE")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--times", type=int, default=3)
    parser.add_argument("--only", metavar="ENGINE")
    asked = parser.parse_args(arguments)
    for space in asked.spaces:
        if asked.only:
            print(json.dumps(search(space, asked.only, asked.workers)))
        else:
            compare(space, asked.workers, asked.times)


if __name__ == "__main__":
    main(sys.argv[1:])
