"""The programs that count the states of kip-320: ours, Spin, Stateright, and TLC where one is given.

Each is a function from a size and limits to a `Row`; what is missing on a machine is a row that says so.
"""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from tests.tools.bench.measure import Measured, measure

HERE = Path(__file__).parent
ROOT = HERE.parent.parent


@dataclass(frozen=True)
class Size:
    """Bounds of the kip-320 model, as the contract's keys name them."""

    replicas: int
    log_size: int
    records: int
    max_epoch: int

    def __str__(self) -> str:
        return f"{self.replicas} replicas, log {self.log_size}, records {self.records}, epochs 0-{self.max_epoch}"


@dataclass(frozen=True)
class Limits:
    """Units: seconds, MiB."""

    seconds: float
    memory: int
    workers: int


@dataclass(frozen=True)
class Row:
    """What a program found.  `search_seconds` is its own figure, without start-up; `note` says why there are no counts."""

    program: str
    distinct: int | None = None
    depth: int | None = None
    wall_seconds: float = 0.0
    search_seconds: float = 0.0
    peak_bytes: int = 0
    note: str = ""


def _number(pattern: str, text: str) -> float | None:
    """The last number that a pattern finds in an output."""
    found = re.findall(pattern, text)
    return float(found[-1].replace(",", "")) if found else None


def _with_workers(program: str, workers: int) -> str:
    return f"{program}, {workers} worker{'s' if workers > 1 else ''}"


def _row(program: str, run: Measured, distinct: float | None, depth: float | None, search: float | None) -> Row:
    """The row of a run that went to its end, or why it did not."""
    if run.cut:
        return Row(program, note=f"time limit reached after {run.seconds:.0f} s")
    if distinct is None:
        lines = [line.strip() for line in run.output.splitlines() if line.strip()] or ["no output"]
        errors = [line for line in lines if re.search("error|exception", line, re.IGNORECASE)] or lines[-1:]
        return Row(program, note=f"exit status {run.status}: {errors[0][:100]}")
    whole = int(depth) if depth is not None else None
    return Row(program, int(distinct), whole, run.seconds, run.seconds if search is None else search, run.peak_bytes)


def ours(size: Size, limits: Limits, workers: int | None = None) -> Row:
    """`neverlost explore kip-320` in its own process, start-up included in the wall time."""
    command = [sys.executable, "-m", "neverlost", "explore", "kip-320", "--json", "-"]
    settings = {
        "replication.factor": size.replicas,
        "bounds.log_size": size.log_size,
        "bounds.records": size.records,
        "bounds.max_leader_epoch": size.max_epoch,
    }
    for key, value in settings.items():
        command += ["--set", f"{key}={value}"]
    count = limits.workers if workers is None else workers
    command += ["--workers", str(count)]
    run = measure(command, ROOT, limits.seconds)
    name = _with_workers("neverlost", count)
    start = run.output.find("{")
    try:
        result = json.loads(run.output[start:]) if start >= 0 else {}
    except json.JSONDecodeError:
        result = {}
    states = result.get("states", {})
    if run.status == 0 and states.get("left"):
        return Row(name, note=f"inconclusive: {result.get('reason')}")
    return _row(name, run, states.get("distinct"), states.get("depth"), result.get("seconds"))


def _spin(size: Size, limits: Limits, folder: Path, name: str, define: str, *flags: str) -> Row:
    """Generate, compile (not counted in the times) and run a verifier.  Spin uses one core."""
    for tool in ("spin", "gcc"):
        if not shutil.which(tool):
            return Row(name, note=f"{tool} is not installed (Debian: apt-get install spin gcc)")
    bounds = {"REPLICAS": size.replicas, "LOG_SIZE": size.log_size, "RECORDS": size.records, "MAX_EPOCH": size.max_epoch}
    given = [f"-D{key}={value}" for key, value in bounds.items()]
    shutil.copy(HERE / "kip320.pml", folder / "kip320.pml")
    made = measure(["spin", "-a", *([define] if define else []), *given, "kip320.pml"], folder)
    if made.status == 0 and (folder / "pan.c").exists():
        made = measure(
            ["gcc", "-O2", "-w", "-DSAFETY", "-DNOREDUCE", f"-DMEMLIM={limits.memory}", *flags, "-o", "pan", "pan.c"], folder
        )
    if made.status != 0 or not (folder / "pan").exists():
        return _row(name, made, None, None, None)
    run = measure([str(folder / "pan"), "-m1000000"], folder, limits.seconds)
    if "max search depth too small" in run.output or "out of memory" in run.output or "memory limit" in run.output:
        return Row(name, note=f"stopped at its limit of memory ({limits.memory} MiB) or depth")
    depth = _number(r"depth reached (\d+)", run.output) if "-DBFS" in flags else None
    levels = None if depth is None else depth + 1
    return _row(
        name, run, _number(r"([\d.e+]+) states, stored", run.output), levels, _number(r"elapsed time ([\d.]+)", run.output)
    )


def spin_dfs(size: Size, limits: Limits, folder: Path) -> Row:
    """Spin as it comes: depth first, every state stored whole."""
    return _spin(size, limits, folder, "Spin, depth first", "")


def spin_bfs(size: Size, limits: Limits, folder: Path) -> Row:
    """Spin breadth first, which gives shortest traces as ours does."""
    return _spin(size, limits, folder, "Spin, breadth first", "-DBREADTH_FIRST", "-DBFS")


def stateright(size: Size, limits: Limits, folder: Path) -> Row:
    """Stateright breadth first, compiled (not counted in the times) by cargo, which fetches the crate once."""
    name = _with_workers("Stateright", limits.workers)
    if not shutil.which("cargo"):
        return Row(name, note="cargo is not installed (see rustup.rs)")
    made = measure(["cargo", "build", "--release", "--quiet"], HERE / "stateright")
    program = HERE / "stateright" / "target" / "release" / "kip320"
    if made.status != 0 or not program.exists():
        return _row(name, made, None, None, None)
    bounds = (size.replicas, size.log_size, size.records, size.max_epoch, limits.workers)
    run = measure([str(program), *map(str, bounds)], folder, limits.seconds)
    # With several workers its levels overlap, and the depth that it prints is not that of the graph.
    depth = _number(r"depth=(\d+)", run.output) if limits.workers == 1 else None
    return _row(name, run, _number(r"unique=(\d+)", run.output), depth, _number(r"seconds=([\d.]+)", run.output))


MODULE = """---- MODULE Bench ----
EXTENDS Kip320
====
"""


def tlc(size: Size, limits: Limits, folder: Path) -> Row:
    """TLC on the public module Kip320, if the environment says how to run it and where the module is."""
    name = _with_workers("TLC", limits.workers)
    command, modules = os.environ.get("TLC"), os.environ.get("KAFKA_SPECIFICATION")
    if not command or not modules:
        return Row(name, note="set TLC to its command and KAFKA_SPECIFICATION to a copy of hachikuji/kafka-specification")
    for path in Path(modules).glob("*.tla"):
        shutil.copy(path, folder / path.name)
    replicas = ", ".join(f"r{number}" for number in range(1, size.replicas + 1))
    lines = [
        "INIT Init",
        "NEXT Next",
        "CONSTANTS",
        f"  Replicas = {{{replicas}}}",
        f"  LogSize = {size.log_size}",
        f"  MaxRecords = {size.records}",
        f"  MaxLeaderEpoch = {size.max_epoch}",
    ]
    (folder / "Bench.tla").write_text(MODULE)
    (folder / "Bench.cfg").write_text("\n".join(lines) + "\n")
    options = ["-deadlock", "-workers", str(limits.workers), "-config", "Bench.cfg", "Bench.tla"]
    try:
        run = measure([*shlex.split(command), *options], folder, limits.seconds)
    except OSError as error:
        return Row(name, note=f"TLC={command!r} cannot be run: {error.strerror}")
    distinct = _number(r"([\d,]+) distinct states found, 0 states left", run.output)
    return _row(name, run, distinct, _number(r"depth of the complete state graph search is (\d+)", run.output), None)


PEERS: dict[str, Callable[[Size, Limits, Path], Row]] = {
    "neverlost": lambda size, limits, folder: ours(size, limits),
    "neverlost-1": lambda size, limits, folder: ours(size, limits, workers=1),
    "spin-dfs": spin_dfs,
    "spin-bfs": spin_bfs,
    "stateright": stateright,
    "tlc": tlc,
}
"""Every program by the name that `--peers` takes."""
