"""Runs a command and measures it: wall seconds, output, and the peak memory of it with all its children."""

from __future__ import annotations

import os
import resource
import subprocess
import tempfile
import threading
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from time import monotonic

SAMPLING = 0.25
"""Units: seconds between two looks at the memory of a running command."""


@dataclass(frozen=True)
class Measured:
    """A finished command.  Units: seconds, bytes.  `cut` says that it reached the time limit."""

    status: int
    output: str
    seconds: float
    peak_bytes: int
    cut: bool


def processes_of(pid: int) -> list[int]:
    """A process and all its descendants, where the system says so (Linux)."""
    found = [pid]
    for each in found:
        try:
            for task in Path(f"/proc/{each}/task").iterdir():
                found.extend(map(int, (task / "children").read_text().split()))
        except OSError:
            continue
    return found


def _memory_of(pid: int) -> tuple[int, int]:
    """A process's memory, shared pages divided among those who share them, and what of it no file stands behind."""
    try:
        lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
    except OSError:
        return 0, 0
    sizes = {line.split()[0]: int(line.split()[1]) * 1024 for line in lines[1:]}
    return sizes["Pss:"], sizes["Pss_Anon:"]


def _processor_of(pid: int) -> float:
    """The processor time of a process, without those that it started."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return 0
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


class Sampler(threading.Thread):
    """Looks at a process with its descendants until stopped; `peak` and `private` are the largest sums of memory.

    Units: bytes; `private` is what no file on disk stands behind.  `processor` are seconds of all of them, as last seen.
    """

    def __init__(self, pid: int) -> None:
        super().__init__(daemon=True)
        self.pid, self.peak, self.private, self.done = pid, 0, 0, threading.Event()
        self._spent: dict[int, float] = {}

    @property
    def processor(self) -> float:
        return sum(self._spent.values())

    def run(self) -> None:
        while not self.done.wait(SAMPLING):
            processes = processes_of(self.pid)
            shares, private = zip(*map(_memory_of, processes), strict=True)
            self.peak, self.private = max(self.peak, sum(shares)), max(self.private, sum(private))
            for each in processes:
                self._spent[each] = max(self._spent.get(each, 0), _processor_of(each))


def measure(command: Sequence[str], folder: Path | str | None = None, time_limit: float | None = None) -> Measured:
    """Run a command to its end, or to the time limit.

    A short run is over before the first sample: then the largest single process counts, as the kernel kept it.  The kernel's
    figure starts with what this process had when it forked, so it says nothing unless it is above that.
    Errors: `OSError` where the command does not exist.
    """
    with tempfile.TemporaryFile() as output:
        started = monotonic()
        process = subprocess.Popen(command, cwd=folder, stdout=output, stderr=subprocess.STDOUT, start_new_session=True)
        sampler = Sampler(process.pid)
        sampler.start()
        timer = threading.Timer(time_limit, _stop, (process.pid,)) if time_limit else None
        if timer:
            timer.start()
        try:
            _, status, usage = os.wait4(process.pid, 0)
        except BaseException:
            _stop(process.pid)
            raise
        finally:
            seconds = monotonic() - started
            sampler.done.set()
            if timer:
                timer.cancel()
        process.returncode = os.waitstatus_to_exitcode(status)
        output.seek(0)
        text = output.read().decode(errors="replace")
    cut = time_limit is not None and seconds >= time_limit
    is_its_own = usage.ru_maxrss > resource.getrusage(resource.RUSAGE_SELF).ru_maxrss or not sampler.peak
    peak = max(sampler.peak, usage.ru_maxrss * 1024) if is_its_own else sampler.peak
    return Measured(process.returncode, text, seconds, peak, cut)


def _stop(pid: int) -> None:
    """End a command with everything that it started; it leads its own process group."""
    try:
        os.killpg(pid, 9)
    except ProcessLookupError:
        return
