"""The Spark engine's figures in one run: `python -m tests.tools.bench.spark_bench [PART ...]`.

level         the cost of an almost empty level, all of its stages on Spark
jobs          64,739,578 states in files, all in jobs: machine code beside columns, and the memory engine
large         64,739,578 states, levels durable, beside the memory engine
small-memory  the same with memory for driver, Java and workers kept below 2 GB together
growth        time and disk for four sizes

Every search runs in a process of its own; its memory is sampled with that of all its children.  Compare on an idle machine.
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.tools.bench.measure import Sampler

ROOT = Path(__file__).resolve().parents[3]

SIZES = {
    (3, 2, 2, 1): (39_619, 22),
    (3, 2, 2, 2): (737_794, 26),
    (3, 3, 3, 2): (4_093_531, 31),
    (3, 3, 3, 3): (64_739_578, 37),
}
"""Replicas, log size, records, highest epoch of kip-320 to distinct states and depth."""
LARGE = (3, 3, 3, 3)
AT_ONCE = {"neverlost.driver.states": "0"}
MASTER = "local[2]"

LITTLE = {
    "spark.driver.memory": "600m",
    "neverlost.task.states": str(1 << 17),
    "neverlost.task.candidates": str(1 << 19),
    "neverlost.driver.states": str(1 << 16),
}
"""Settings for a machine with little memory: a small Java heap, small tasks."""


@dataclass(frozen=True)
class Run:
    """A finished search.  Units: seconds, bytes; `processor` is of all processes together.

    `levels` are the seconds at which each level was committed.
    """

    distinct: int
    depth: int
    seconds: float
    wall: float
    disk: int
    peak: int
    peak_private: int
    processor: float
    levels: list[float]


def search(size: tuple[int, int, int, int], engine: str, conf: dict[str, str], place: str | None) -> None:
    """The child: one search, printed as JSON."""
    from neverlost.checker.engine.host import numpy_cpu as processor

    os.environ.update(processor.environment())
    from neverlost.checker.engine.engines.explore import explore
    from neverlost.checker.engine.search.options import Options, SearchProgress
    from neverlost.model.protocols import models
    from neverlost.model.system import bind

    keys = ("replication.factor", "bounds.log_size", "bounds.records", "bounds.max_leader_epoch")
    system = bind(models()["kip-320"], dict(zip(keys, size, strict=True)))
    levels: dict[int, float] = {}

    def reporter(progress: SearchProgress) -> None:
        levels.setdefault(progress.level, progress.seconds)

    options = Options(state_dir=place, spark_master=MASTER, spark_conf=tuple(conf.items()), workers=2)
    outcome = explore(system, (), options, reporter, engine)
    counts = outcome.counts
    found = {"distinct": counts.distinct, "depth": counts.depth, "seconds": outcome.seconds, "levels": list(levels.values())}
    print(json.dumps(found))


def measured(size: tuple[int, int, int, int], engine: str, conf: dict[str, str] | None = None) -> Run:
    """Run a search in a process of its own and watch it.

    Errors: `AssertionError` when it counts wrongly.
    """
    with tempfile.TemporaryDirectory(prefix="neverlost-bench-") as folder:
        place = str(Path(folder, "levels")) if engine == "spark" else None
        task = json.dumps([size, engine, conf or {}, place])
        started = time.monotonic()
        command = [sys.executable, "-m", "tests.tools.bench.spark_bench", "--child", task]
        child = subprocess.Popen(command, stdout=subprocess.PIPE, cwd=ROOT, text=True)
        sampler = Sampler(child.pid)
        sampler.start()
        output, _ = child.communicate()
        wall = time.monotonic() - started
        sampler.done.set()
        sampler.join()
        assert child.returncode == 0, f"{engine} on {size} ended with {child.returncode}"
        found: dict[str, Any] = json.loads(output)
        counts = found["distinct"], found["depth"]
        assert counts == SIZES.setdefault(size, counts), found
        disk = sum(path.stat().st_size for path in Path(folder).rglob("*") if path.is_file())
        used = sampler.peak, sampler.private, sampler.processor
        return Run(found["distinct"], found["depth"], found["seconds"], wall, disk, *used, found["levels"])


def shown(name: str, run: Run) -> None:
    """One line."""
    print(
        f"  {name:<34} {run.distinct:>12,} {run.depth:>4} {run.seconds:>8.1f} s {run.distinct / run.seconds:>11,.0f}/s "
        f"wall {run.wall:>7.1f} s  processor {run.processor:>7.1f} s  disk {run.disk / 1e9:>6.3f} GB  "
        f"memory {run.peak / 1e9:>5.2f} GB "
        f"(private {run.peak_private / 1e9:.2f} GB)",
        flush=True,
    )


def level() -> None:
    """Levels of a narrow search, all on Spark; the first ones, which start Java and Python, apart."""
    run = measured((3, 2, 2, 1), "spark", AT_ONCE)
    steps = [after - before for before, after in zip(run.levels, run.levels[1:], strict=False)]
    print("the cost of a level of up to a few thousand states (kip-320, 39,619 states in 22 levels):")
    print(f"  the first, with the start of Java and of the workers: {steps[0]:.2f} s")
    print(f"  the others: median {statistics.median(steps[1:]):.2f} s, largest {max(steps[1:]):.2f} s")
    print(f"  the last five, almost empty: {', '.join(f'{each:.2f}' for each in steps[-5:])} s")


def jobs() -> None:
    """The large space with every level in jobs."""
    print("64,739,578 states, every level in jobs:")
    memory = measured(LARGE, "memory")
    shown("memory, 2 workers", memory)
    for name, columns in (("machine code", {}), ("columns", {"neverlost.task.columns": str(1 << 40)})):
        run = measured(LARGE, "spark", AT_ONCE | columns)
        shown(f"spark {MASTER}, {name}", run)
        times = run.seconds / memory.seconds, run.processor / memory.processor
        print(f"  {times[0]:.2f} times as long as in memory, {times[1]:.2f} times the processor time")


def large() -> None:
    """Both engines on the large space."""
    print("64,739,578 states:")
    memory = measured(LARGE, "memory")
    shown("memory, 2 workers", memory)
    spark = measured(LARGE, "spark")
    shown(f"spark {MASTER}, durable levels", spark)
    print(f"  Spark takes {spark.seconds / memory.seconds:.2f} times as long")


def small_memory() -> None:
    """The large space with little memory."""
    print("64,739,578 states with less than 2 GB for driver, Java and workers together:")
    run = measured(LARGE, "spark", LITTLE)
    shown(f"spark {MASTER}, small tasks", run)
    print(f"  private memory {'stayed below' if run.peak_private < 2e9 else 'EXCEEDED'} 2 GB")


def growth() -> None:
    """Four sizes."""
    print("growth:")
    for size in [*SIZES]:
        run = measured(size, "spark")
        shown(f"spark {MASTER} {size}", run)
        print(f"  {'':<34} {run.disk / run.distinct:.1f} bytes of disk a state")


PARTS = {"level": level, "jobs": jobs, "large": large, "small-memory": small_memory, "growth": growth}


def main() -> None:
    """Run the parts that are named; all of them by default."""
    if sys.argv[1:2] == ["--child"]:
        size, engine, conf, place = json.loads(sys.argv[2])
        search(tuple(size), engine, conf, place)
        return
    print(f"{os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}, Python {sys.version.split()[0]}")
    for name in sys.argv[1:] or list(PARTS):
        PARTS[name]()


if __name__ == "__main__":
    main()
