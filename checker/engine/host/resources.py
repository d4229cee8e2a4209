"""What processes use of the machine, and what it means when there is no more of it."""

from __future__ import annotations

import ctypes
import errno
import gc
import os
import resource
import sys
import time
from collections.abc import Hashable, Iterator
from contextlib import suppress
from functools import cache
from pathlib import Path

OUT_OF_MEMORY = "out of memory"

USED_UP = {
    errno.ENOMEM: OUT_OF_MEMORY,
    errno.ENOSPC: "no space is left on the device",
    errno.EDQUOT: "the disk quota is used up",
}
"""Errors of the system that say that nothing is left, and how we say it."""


class ResourceExhausted(Exception):
    """Memory, a disk, a worker or Spark is used up or gone.  The search ends inconclusive and says what it covered."""


def classify_exhaustion(problem: Exception) -> str:
    """Return why work cannot go on, where what it works with is used up.

    Errors: the problem itself, where it is another one.
    """
    if isinstance(problem, MemoryError):
        return OUT_OF_MEMORY
    if isinstance(problem, ResourceExhausted):
        return str(problem)
    if isinstance(problem, OSError) and problem.errno in USED_UP:
        return USED_UP[problem.errno]
    if isinstance(problem, RuntimeError) and "can't start new thread" in str(problem):
        return OUT_OF_MEMORY
    raise problem


_UNIT = 1 if sys.platform == "darwin" else 1024


def measure_memory() -> int:
    """Return the resident bytes of this process and its direct children now; its own peak where there is no /proc."""
    try:
        own = _measure_resident("self")
        children = Path("/proc/self/task").glob("*/children")
        return own + sum(_measure_resident(child) for each in children for child in each.read_text().split()) or peak_memory()
    except OSError:
        return peak_memory()


def _measure_resident(process: str) -> int:
    try:
        pages = int(Path(f"/proc/{process}/statm").read_text().split()[1])
    except (OSError, IndexError):
        return 0
    return pages * resource.getpagesize()


def measure_activity(process: int) -> Hashable:
    """Return what changes whenever a process, or one below it, has had the processor or waits for it or for a disk."""
    try:
        found = [(each, *_read_state_and_ticks(each)) for each in _list_family(process)]
    except (OSError, IndexError, ValueError):
        return time.monotonic()
    return time.monotonic() if any(state in "RD" for _, state, _ in found) else tuple(found)


def _list_family(process: int) -> Iterator[int]:
    yield process
    for each in Path(f"/proc/{process}/task").glob("*/children"):
        for child in each.read_text().split():
            yield from _list_family(int(child))


def _read_state_and_ticks(process: int) -> tuple[str, int]:
    parts = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return parts[0], sum(map(int, parts[11:15]))


@cache
def find_memory_allowance() -> int:
    """Return what this process and its children may use in all: the machine's memory, or less where a container says so.

    Units: bytes.
    """
    found = [os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")]
    for limit in _list_groups():
        with suppress(OSError, ValueError):
            found.append(int(limit.read_text()))
    return min(found)


@cache
def measure_free_memory() -> int:
    """Return what was free on the machine when this was first asked, or less where a container allows less.  Units: bytes."""
    with suppress(OSError, StopIteration, ValueError):
        lines = Path("/proc/meminfo").read_text().splitlines()
        free = next(line for line in lines if line.startswith("MemAvailable:"))
        return min(int(free.split()[1]) << 10, find_memory_allowance())
    return find_memory_allowance()


def _list_groups() -> Iterator[Path]:
    """Yield the paths of files with memory limits, of this process's control groups and those above; some may not be there."""
    try:
        lines = Path("/proc/self/cgroup").read_text().splitlines()
    except OSError:
        return
    for _, controllers, place in (line.split(":", 2) for line in lines):
        name, file = ("memory", "memory.limit_in_bytes") if controllers == "memory" else ("", "memory.max")
        if controllers in ("memory", ""):
            own = Path("/sys/fs/cgroup", name, place.lstrip("/"))
            yield from (each / file for each in (own, *own.parents) if each.is_relative_to("/sys/fs/cgroup"))


def free_memory() -> None:
    """Free what only references in circles hold, such as the tables of a search that is over, and give it back."""
    gc.collect()
    give_back()


def give_back() -> None:
    """Let the system have memory that was freed, where the C library would keep it for later."""
    with suppress(AttributeError, OSError):
        ctypes.CDLL(None).malloc_trim(0)


def peak_memory() -> int:
    """Return the largest resident memory that this process has had, in bytes."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * _UNIT
