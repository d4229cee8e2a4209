"""Forecasts against what was found: `python -m tests.bench.forecast --large` prints the page `reports/published/forecast.md`.

Each search runs by itself on one core; its forecast sees only what is far smaller.
"""

from __future__ import annotations

import json
import math
import os
import platform
import statistics
import subprocess
import sys
from dataclasses import dataclass
from itertools import pairwise

from neverlost.checker.campaign import forecast as predicting
from neverlost.checker.campaign.forecast import Forecast, predicted, sampled
from neverlost.model.versions import models
from neverlost.reports.api.forecasts import SECONDS, Lowered, axes_of
from neverlost.reports.terminal.progress import rest
from neverlost.specs.configuration.keys import configuration

FARTHER = 5
"""A forecast sees only samples with this part of the states, or less."""

ELR = "min.insync.replicas=2 faults.crash=1 faults.lossy_crash=1 faults.leader_move=1"
ANY = "min.insync.replicas=2 faults.crash=any"
FIVE = (
    f"{ANY} bounds.records=1 faults.lossy_crash=any faults.disk_loss=any faults.isr_shrink=any faults.fence=any defects=fixed"
)
ORBITS = "orbits"
"""The end of the names of searches with `--symmetry`."""

RUNS = {
    "kip-320, log 3, epochs 0 to 1": "model=kip-320 bounds.records=3 bounds.max_leader_epoch=1",
    "kip-320, log 2, epochs 0 to 2": "model=kip-320 bounds.records=2 bounds.max_leader_epoch=2",
    "kip-279, log 2, epochs 0 to 2": "model=kip-279 bounds.records=2 bounds.max_leader_epoch=2",
    "kip-320, log 3, epochs 0 to 2": "model=kip-320 bounds.records=3 bounds.max_leader_epoch=2",
    "majority, RF 5, 1 record, crash 1, lossy 1": (
        "model=majority replication.factor=5 bounds.records=1 faults.crash=1 faults.lossy_crash=1"
    ),
    "majority, RF 3, 2 records, crash 2, lossy 1": "model=majority bounds.records=2 faults.crash=2 faults.lossy_crash=1",
    "kraft, 2 records, crash 1, lossy 1, shrink 2": (
        "model=kraft min.insync.replicas=2 bounds.records=2 faults.crash=1 faults.lossy_crash=1 faults.isr_shrink=2"
    ),
    "kraft, 1 record, crash 2, fence 2, shrink 1": (
        "model=kraft bounds.records=1 faults.crash=2 faults.fence=2 faults.isr_shrink=1"
    ),
    "kraft-elr, 2 records, crash 1, lossy 1, shrink 1, move 1": f"model=kraft-elr {ELR} bounds.records=2 faults.isr_shrink=1",
    "kraft-elr, 1 record, crash 1, lossy 1, shrink 2, move 1, fence 1": (
        f"model=kraft-elr {ELR} bounds.records=1 faults.isr_shrink=2 faults.fence=1"
    ),
    "kraft-elr, RF 5, 1 record, lossy 2, shrink 2": (
        "model=kraft-elr replication.factor=5 min.insync.replicas=3 bounds.records=1 faults.lossy_crash=2 faults.isr_shrink=2"
    ),
    "kraft-elr, 2 records, crash 1, lossy 1, shrink 1, fence 1": (
        "model=kraft-elr min.insync.replicas=2 bounds.records=2 faults.crash=1 faults.lossy_crash=1 faults.isr_shrink=1 "
        "faults.fence=1"
    ),
    "kip-320, RF 4, log 1, epochs 0 to 1": "model=kip-320 replication.factor=4 bounds.records=1 bounds.max_leader_epoch=1",
    "majority, 2 records, crash any, lossy any:1": "model=majority bounds.records=2 faults.crash=any faults.lossy_crash=any:1",
    "majority, RF 4, 1 record, crash any, two at once": (
        "model=majority replication.factor=4 bounds.records=1 faults.crash=any faults.at_once=2"
    ),
    "majority, RF 5, 1 record, crash any": "model=majority replication.factor=5 bounds.records=1 faults.crash=any",
    "majority, RF 5, 1 record, crash any, two at once": (
        "model=majority replication.factor=5 bounds.records=1 faults.crash=any faults.at_once=2"
    ),
    "kraft, 2 records, crash any": f"model=kraft {ANY} bounds.records=2",
    "kraft, 1 record, crash, shrink and fence any": (
        f"model=kraft {ANY} bounds.records=1 faults.isr_shrink=any faults.fence=any"
    ),
    "kraft, RF 4, 1 record, crash any:2": (
        "model=kraft replication.factor=4 min.insync.replicas=2 bounds.records=1 faults.crash=any:2"
    ),
    "kraft-elr, 1 record, crash and shrink any, lossy any:1": (
        f"model=kraft-elr {ANY} bounds.records=1 faults.lossy_crash=any:1 faults.isr_shrink=any"
    ),
    "kraft-elr, 2 records, crash any:2, shrink 1": (
        "model=kraft-elr min.insync.replicas=2 bounds.records=2 faults.crash=any:2 faults.isr_shrink=1"
    ),
    "kraft-elr, RF 4, 1 record, crash any, one at once": (
        f"model=kraft-elr replication.factor=4 {ANY} bounds.records=1 faults.at_once=1"
    ),
    "kraft, RF 4, 1 record, crash, lossy, shrink and fence any, two at once, orbits": (
        f"model=kraft replication.factor=4 {ANY} bounds.records=1 faults.lossy_crash=any faults.isr_shrink=any "
        "faults.fence=any faults.at_once=2"
    ),
    "kraft-elr, 1 record, five kinds any, orbits": f"model=kraft-elr {FIVE}",
    "kraft-elr, RF 4, 1 record, five kinds any, two at once, orbits": (
        f"model=kraft-elr {FIVE} replication.factor=4 faults.at_once=2"
    ),
}
LARGE = {
    "kraft-elr, 2 records, crash, shrink and fence any": (
        f"model=kraft-elr {ANY} bounds.records=2 faults.isr_shrink=any faults.fence=any"
    ),
    "kip-320, log 3, epochs 0 to 3": "model=kip-320 bounds.records=3 bounds.max_leader_epoch=3",
    "kraft-elr, RF 4, 1 record, five kinds any, three at once, orbits": (
        f"model=kraft-elr {FIVE} replication.factor=4 faults.at_once=3"
    ),
}
"""What takes minutes is done with `--large` only."""


@dataclass(frozen=True)
class Found:
    """A search that ended.  Units: seconds, bytes; `left` is how far off was what was said of the rest at each level."""

    states: int
    seconds: float
    memory: int
    left: list[float]


def found(settings: dict[str, str], symmetry: bool) -> Found:
    """The search itself, in a process of its own."""
    keys = [part for key, value in settings.items() if key != "model" for part in ("--set", f"{key}={value}")]
    command = [sys.executable, "-m", "neverlost", "explore", settings["model"], *keys, "--workers", "1", "--json", "-"]
    command += ["--symmetry"] if symmetry else []
    measured = json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
    states, distinct = measured["states"]["distinct"], measured["levels"]["distinct"]
    levels = [(after - before, after) for before, after in pairwise([0, *distinct])]
    said = [(rest(levels[: number + 1]), states - after) for number, (_, after) in enumerate(levels)]
    left = [guess / real for guess, real in said if guess is not None and real]
    return Found(states, measured["seconds"], measured["peak_memory_bytes"], left)


def forecast(settings: dict[str, str], symmetry: bool, most: float) -> Forecast:
    """What searches of at most so many states say of it."""
    model = models()[settings["model"]]
    chosen = configuration(model, {key: (value, "bench") for key, value in settings.items() if key != "model"})
    make = Lowered(model.name, (chosen,), axes_of(model.name, [chosen]))
    replicas = make.replicas(symmetry)
    samples = sampled(make, make.target, replicas, SECONDS, most)
    smaller = {point: each for point, each in samples.items() if each.distinct <= most}
    return predicted(smaller, make.target, replicas, make(make.target).words, 1, SECONDS)


@dataclass(frozen=True)
class Row:
    """A line of the table, how far off its forecast was, whether the interval held, how far that reaches, and `Found.left`."""

    line: str
    off: float
    held: bool
    reach: float
    left: list[float]


def row(name: str, keys: str) -> Row:
    """Search, and forecast from what is far smaller."""
    settings, symmetry = dict(each.split("=") for each in keys.split()), name.endswith(ORBITS)
    real = found(settings, symmetry)
    predicted = forecast(settings, symmetry, real.states / FARTHER)
    ratio = predicted.states.likely / real.states
    held = predicted.states.low <= real.states <= predicted.states.high
    columns = [
        name,
        f"{predicted.states.likely:,.0f}",
        f"{predicted.states.low:,.0f} to {predicted.states.high:,.0f}",
        f"{real.states:,}",
        f"{ratio:.2f}",
        "yes" if held else "no",
        str(predicted.samples),
        f"{predicted.seconds.likely:.1f} s",
        f"{real.seconds:.1f} s",
        f"{predicted.memory.likely / 1e6:,.0f} MB",
        f"{real.memory / 1e6:,.0f} MB",
    ]
    reach = math.sqrt(predicted.states.high / predicted.states.low)
    return Row(f"| {' | '.join(columns)} |", max(ratio, 1 / ratio), held, reach, real.left)


def main() -> None:
    """Print the page."""
    predicting.PATIENCE = 60.0  # these forecasts are not waited for, and the machine may be busy
    print("# Forecasts against what was found\n")
    machine = f"{os.cpu_count()} cores, {platform.system()} {platform.machine()}, Python {platform.python_version()}"
    arguments = "".join(f" {each}" for each in sys.argv[1:])
    print(f"Made by `python -m tests.bench.forecast{arguments}` ({machine}).")
    print(
        f"Every search ran on one core. Its forecast comes from {SECONDS:g} s of processor time, and only from searches with at"
    )
    print(f"most a {FARTHER}th of its states. It is of the whole space; a search that meets a violation ends earlier.\n")
    columns = ["search", "forecast", "interval", "found", "ratio", "inside", "samples", "forecast", "took", "forecast", "peak"]
    print(f"| {' | '.join(columns)} |\n|{' --- |' * len(columns)}")
    rows = []
    for name, keys in (RUNS | (LARGE if "--large" in sys.argv[1:] else {})).items():
        rows.append(row(name, keys))
        print(rows[-1].line, flush=True)
    held, near = sum(each.held for each in rows), sum(each.off <= 3 for each in rows)
    reach = statistics.median(each.reach for each in rows)
    print(f"\n{held} of {len(rows)} are inside their interval, which reaches a factor of {reach:.1f} each way or less for half")
    farthest = max(each.off for each in rows)
    print(f"of them. The likeliest number is within a factor of 3 for {near}, and at most {farthest:.1f} times off.")
    left = [max(each, 1 / each) for one in rows for each in one.left]
    shares = [sum(each <= factor for each in left) / len(left) for factor in (2, 3)]
    print("\nWhile they ran, what was said of the rest of each search, once it shrank, was within a factor of 2 for")
    print(f"{shares[0]:.2f} of {len(left)} levels, and within a factor of 3 for {shares[1]:.2f}.")


if __name__ == "__main__":
    main()
