"""What this process and its children use of the machine."""

from __future__ import annotations

import os
import resource
import sys
from pathlib import Path

_UNIT = 1 if sys.platform == "darwin" else 1024


def used_memory() -> int:
    """Resident memory of this process and its children now, in bytes; the peak where the system says no more."""
    try:
        own = _resident("self")
        children = Path("/proc/self/task").glob("*/children")
        return own + sum(_resident(child) for each in children for child in each.read_text().split())
    except OSError:
        return peak_memory()


def _resident(process: str) -> int:
    try:
        pages = int(Path(f"/proc/{process}/statm").read_text().split()[1])
    except (OSError, IndexError):
        return 0
    return pages * resource.getpagesize()


def peak_memory() -> int:
    """The largest resident memory that this process has had, in bytes."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * _UNIT


def free_shared_memory() -> int:
    """Bytes that shared memory blocks may take; a generous guess where the system does not say."""
    try:
        found = os.statvfs("/dev/shm")
    except OSError:
        return 1 << 30
    return found.f_bavail * found.f_frsize
