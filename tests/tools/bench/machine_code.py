"""The memory engine with machine code and without, on the same spaces in one run: `python -m tests.tools.bench.machine_code`.

`--limit 600` adds a third: machine code whose levels are kept on disk, within so many MB of memory.

Each search runs in a process of its own, one after the other: by columns; in machine code for the first time, which is made
meanwhile; and in machine code that was kept.  Processor seconds are of all threads and processes of a search; they depend less
on what else the machine does than seconds do.  `--touch 2` uses so many GB of memory before each search: a virtual machine that
has not used them lately may take two seconds to get one of them.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from neverlost.checker.engine.compiled.programs import Programs
from neverlost.checker.engine.engines.explore import explore
from neverlost.checker.engine.search.options import Options, SearchLimits
from neverlost.model.protocols import models
from neverlost.model.system import System, bind
from neverlost.specs.configuration.keys import configuration

SPACES = {
    "kip-320 737,794": "kip-320 replication.factor=3 bounds.log_size=2 bounds.records=2 bounds.max_leader_epoch=2",
    "kip-320 4,093,531": "kip-320 replication.factor=3 bounds.log_size=3 bounds.records=3 bounds.max_leader_epoch=2",
    "kraft-elr, faults once": (
        "kraft-elr min.insync.replicas=2 bounds.records=2 faults.crash=1 faults.lossy_crash=1 faults.isr_shrink=1 "
        "faults.leader_move=1"
    ),
    "kraft-elr, any number, 2 records": (
        "kraft-elr min.insync.replicas=2 bounds.records=2 faults.crash=any faults.isr_shrink=any faults.fence=any"
    ),
    "kip-320 64,739,578": "kip-320 replication.factor=3 bounds.log_size=3 bounds.records=3 bounds.max_leader_epoch=3",
    "kip-320 over 10^9": "kip-320 replication.factor=3 bounds.log_size=3 bounds.records=6 bounds.max_leader_epoch=3",
}
"""What is explored; the last three, which take minutes, are left out unless they are named."""

FIRST, STORED = "first time", "stored"
"""The memory engine without code that was kept, and with levels on disk, beside the names of engines."""


def system(space: str) -> System:
    """What is explored."""
    name, *keys = SPACES[space].split()
    model = models()[name]
    return bind(
        model, configuration(model, {key: (value, "bench") for key, _, value in (each.partition("=") for each in keys)})
    )


def keep(space: str) -> None:
    """Have machine code for a space, which a search that is soon over leaves behind unfinished."""
    programs = Programs(system(space), ())
    while programs.is_compiling:
        programs.improve()
        time.sleep(0.05)


def search(space: str, engine: str, workers: int, limit: int) -> dict[str, Any]:
    """Explore a space in this process.  Units: MB of memory, for what is stored."""
    with tempfile.TemporaryDirectory() as folder:
        options = Options(workers=workers)
        if engine == STORED:
            options = replace(options, limits=SearchLimits(memory_bytes=limit << 20), state_dir=Path(folder, "levels"))
        if engine == FIRST:
            os.environ["XDG_CACHE_HOME"] = folder
        found = explore(system(space), (), options, engine="columns" if engine == "columns" else "memory")
        disk = sum(each.stat().st_size for each in Path(folder, "levels").rglob("*") if each.is_file())
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return {
        "distinct": found.counts.distinct,
        "depth": found.counts.depth,
        "seconds": found.seconds,
        "processor": sum(each.ru_utime + each.ru_stime for each in used),
        "bytes": found.peak_memory_bytes / found.counts.distinct,
        "disk": disk / found.counts.distinct,
    }


def touch(gigabytes: int) -> None:
    """Use memory, and let it go."""
    if gigabytes:
        subprocess.run([sys.executable, "-c", f"import numpy; numpy.ones({gigabytes} << 27)"], check=True)


def measured(space: str, engine: str, workers: int, limit: int) -> dict[str, Any]:
    """Explore a space in a process of its own."""
    options = ["--only", engine, "--workers", str(workers), "--limit", str(limit)]
    command = [sys.executable, "-m", "tests.tools.bench.machine_code", *options, space]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def compare(space: str, workers: int, times: int, limit: int, touched: int) -> None:
    """Print the medians of the engines, and how much of columns' time machine code takes."""
    rows: dict[str, list[dict[str, Any]]] = {"columns": [], FIRST: [], "memory": [], **({STORED: []} if limit else {})}
    keep(space)
    for _ in range(times):
        for engine, found in rows.items():
            touch(touched)
            found.append(measured(space, engine, workers, limit))
    (counts,) = {(row["distinct"], row["depth"]) for found in rows.values() for row in found}
    middle = {
        engine: {key: statistics.median(row[key] for row in found) for key in ("seconds", "processor", "bytes", "disk")}
        for engine, found in rows.items()
    }
    print(f"{space}: {counts[0]:,} states, depth {counts[1]}, {workers} workers, median of {times}")
    for engine, row in middle.items():
        ratios = [row[key] / middle["columns"][key] for key in ("seconds", "processor")]
        spent = f"{row['seconds']:8.2f} s ({ratios[0]:.2f}) {row['processor']:8.2f} processor s ({ratios[1]:.2f})"
        print(f"  {engine:<10} {spent} {row['bytes']:6.1f} bytes a state, {row['disk']:.2f} on disk", flush=True)


def main(arguments: Sequence[str]) -> None:
    """Compare, or run one search."""
    parser = argparse.ArgumentParser(prog="python -m tests.tools.bench.machine_code")
    parser.add_argument("spaces", nargs="*", default=list(SPACES)[:-3], metavar="SPACE")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--times", type=int, default=3)
    parser.add_argument("--limit", type=int, default=0, metavar="MB")
    parser.add_argument("--touch", type=int, default=0, metavar="GB")
    parser.add_argument("--only", metavar="ENGINE")
    asked = parser.parse_args(arguments)
    for space in asked.spaces:
        if asked.only:
            print(json.dumps(search(space, asked.only, asked.workers, asked.limit)))
        else:
            compare(space, asked.workers, asked.times, asked.limit, asked.touch)


if __name__ == "__main__":
    main(sys.argv[1:])
