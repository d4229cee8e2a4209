"""Work in child processes that can be killed: a time limit, a memory limit and Ctrl-C all leave nothing behind."""

from __future__ import annotations

import contextlib
import ctypes
import multiprocessing
import os
import resource
import signal
import sys
import time
from collections.abc import Callable, Generator, Hashable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from multiprocessing.connection import Connection, wait
from typing import Any

from neverlost.checker.engine.host import interrupts
from neverlost.checker.engine.host.landlock import forbid_writing
from neverlost.checker.engine.host.resources import OUT_OF_MEMORY, measure_activity

Send = Callable[[Any], None]
"""What a child calls to report; the last report of a child that ends well is its result."""

Work = Callable[..., Any]
"""Runs in a child as `work(send, *arguments)`; what it returns is its result."""

TIMEOUT, INTERRUPTED = "the time limit was reached", interrupts.INTERRUPTED
STOOD_STILL = "the process stood still: it waited for what did not come"
"""Why jobs were given up."""

HOUR = 3600
"""Units: seconds."""

LOOK, STILL = 10.0, 30
"""Seconds between two looks at a process that says nothing, and after how many looks without any activity it is given up.

A copy of a process that has threads may have a lock that no thread of its own will ever release.
"""


@dataclass(frozen=True)
class JobReport:
    """A report of the child that runs job `job`; `kind` is `progress`, `result` or `failure`."""

    job: int
    kind: str
    value: Any


@dataclass
class Child:
    """A process that reports through a pipe."""

    process: Any
    pipe: Connection
    looks: int = 0
    looked_at: float = field(default_factory=time.monotonic)
    seen: Hashable = None

    def is_still(self) -> bool:
        """Return True if the process and its children were inactive at `STILL` looks in a row; look again if it is time to."""
        if time.monotonic() - self.looked_at >= LOOK:
            now, self.looked_at = measure_activity(self.process.pid), time.monotonic()
            self.looks, self.seen = (self.looks + 1 if now == self.seen else 0), now
        return self.looks >= STILL


SAFE_PATH = {"PYTHONSAFEPATH": "1"}
"""Keeps a child Python from importing modules from its working directory."""


@contextlib.contextmanager
def change_environment(changed: Mapping[str, str]) -> Iterator[None]:
    """Set these variables in the environment during the block, and restore them after it."""
    before = {name: os.environ.get(name) for name in changed}
    os.environ.update(changed)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value


def prepare_child() -> None:
    """Have this process end with its parent (on Linux), end at SIGTERM, and leave Ctrl-C to the parent."""
    if sys.platform == "linux":
        with contextlib.suppress(OSError, AttributeError):
            ctypes.CDLL(None).prctl(1, int(signal.SIGKILL))
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT, signal.SIGTERM})


def _run_child(pipe: Connection, work: Work, arguments: tuple[Any, ...], memory_bytes: int | None, place: str | None) -> None:
    prepare_child()
    if memory_bytes is not None:
        resource.setrlimit(resource.RLIMIT_AS, (memory_bytes, memory_bytes))
    if place is not None:
        _shut_in(place, pipe.fileno())
    try:
        pipe.send(("result", work(lambda value: pipe.send(("progress", value)), *arguments)))
    except MemoryError:
        pipe.send(("failure", OUT_OF_MEMORY))
    except Exception as error:
        text = f"{type(error).__name__}: {error}"
        pipe.send(("failure", OUT_OF_MEMORY if OUT_OF_MEMORY in text else text))
    finally:
        pipe.close()


def _shut_in(place: str, pipe: int) -> None:
    """Shut this process in a folder: it has nothing open but a pipe, can write no file, and has an hour of processor time."""
    os.chdir(place)
    nothing = os.open(os.devnull, os.O_RDWR)
    for each in range(3):
        os.dup2(nothing, each)
    os.closerange(3, pipe)
    os.closerange(pipe + 1, os.sysconf("SC_OPEN_MAX"))
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))
    resource.setrlimit(resource.RLIMIT_CPU, (HOUR, HOUR))
    forbid_writing()


def run(
    work: Work,
    jobs: Iterable[tuple[Any, ...]],
    workers: int,
    seconds: float | None = None,
    memory_bytes: int | None = None,
    place: str | None = None,
) -> Generator[JobReport, None, None]:
    """Yield the reports of all jobs as they come, `workers` at a time; what is not done after `seconds` is killed.

    Every job ends with one `result` or one `failure`.  Closing the iterator, or an interrupt, kills what still runs.  With a
    `place`, jobs work in this folder, write no file, and have nothing open that is open here.  Each may use `memory_bytes`.
    """
    waiting = list(enumerate(jobs))[::-1]
    running: dict[int, Child] = {}
    # children start as copies where the platform can, so that models with local functions reach them
    context: Any = multiprocessing.get_context("fork" if "fork" in multiprocessing.get_all_start_methods() else "spawn")
    deadline = time.monotonic() + seconds if seconds is not None else float("inf")
    try:
        while waiting or running:
            if interrupts.have_come() or time.monotonic() >= deadline:
                why = INTERRUPTED if interrupts.have_come() else TIMEOUT
                left = sorted({*running, *(each[0] for each in waiting)})
                yield from (JobReport(number, "failure", why) for number in left)
                return
            while waiting and len(running) < max(1, workers):
                number, arguments = waiting.pop()
                running[number] = _start_child(context, work, arguments, memory_bytes, place)
            try:
                yield from _collect_reports(running, deadline)
            except KeyboardInterrupt:
                if not interrupts.have_come():
                    raise
    finally:
        for child in running.values():
            _kill(child)


def _start_child(context: Any, work: Work, arguments: tuple[Any, ...], memory: int | None, place: str | None) -> Child:
    ours, theirs = context.Pipe(duplex=False)
    process = context.Process(target=_run_child, args=(theirs, work, arguments, memory, place), daemon=True)
    before = signal.pthread_sigmask(
        signal.SIG_BLOCK, {signal.SIGINT, signal.SIGTERM}
    )  # Ctrl-C waits until the child has learnt to ignore it
    try:
        process.start()
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
    theirs.close()
    return Child(process, ours)


def _collect_reports(running: dict[int, Child], deadline: float) -> Iterator[JobReport]:
    """Wait for a report, `LOOK` seconds and to the deadline at most; yield all there are, and remove children that are done."""
    patience = min(LOOK, max(0.0, deadline - time.monotonic()))
    with interrupts.interrupt_at_once():
        ready = set(wait([child.pipe for child in running.values()], patience))
    for number, child in list(running.items()):
        if child.pipe not in ready and not child.is_still():
            continue
        kind, value = _receive_report(child) if child.pipe in ready else ("failure", STOOD_STILL)
        if kind != "progress":
            del running[number]
            _kill(child)
        yield JobReport(number, kind, value)


def _receive_report(child: Child) -> tuple[str, Any]:
    try:
        kind, value = child.pipe.recv()
    except (EOFError, OSError):
        child.process.join(1)
        return "failure", f"the process ended with code {child.process.exitcode} (killed, or out of memory)"
    return kind, value


def _kill(child: Child) -> None:
    child.pipe.close()
    if child.process.is_alive():
        child.process.kill()
    child.process.join()
