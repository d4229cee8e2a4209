"""Jobs that ask each other nothing, each a task of Spark: what `checker.engine.host.processes` does here, where Spark runs."""

from __future__ import annotations

import pickle
import time
from collections.abc import Generator, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from threading import Thread
from typing import Any

from neverlost.checker.engine.host import interrupts, processes
from neverlost.checker.engine.host.processes import JobReport, Work
from neverlost.checker.engine.spark import session as spark_session

AT_A_TIME = 64
"""Jobs that Spark has at most at a time; it begins with the first ones."""

LOOK = 0.5
"""Seconds between two looks at what is done."""


@dataclass(frozen=True)
class WorkerTarget:
    """Where jobs are done: in so many processes here, or by Spark; `seconds` is what all may take."""

    workers: int
    seconds: float | None = None
    master: str | None = None
    conf: tuple[tuple[str, str], ...] = ()

    def run(self, work: Work, jobs: Sequence[tuple[Any, ...]]) -> Iterator[JobReport]:
        if self.master is not None and jobs:
            return run(work, jobs, self.master, dict(self.conf), self.seconds)
        return processes.run(work, jobs, self.workers, self.seconds)


def run(
    work: Work, jobs: Sequence[tuple[Any, ...]], master: str, conf: dict[str, str], seconds: float | None = None
) -> Generator[JobReport, None, None]:
    """Yield a result or a failure of every job, as they come; closing the iterator, or Ctrl-C, ends what still runs.

    Errors: `InputError` where there is no Spark.
    """
    spark_session.check_requirements(master)
    is_ours = not spark_session.is_running()
    deadline = time.monotonic() + seconds if seconds is not None else float("inf")
    pool = ThreadPoolExecutor(AT_A_TIME)
    starting = pool.submit(spark_session.start, master, conf, "neverlost")
    left: dict[Future[tuple[str, Any]], int] = {}
    try:
        session = starting.result()
        left |= {pool.submit(_answer, session, work, each): number for number, each in enumerate(jobs)}
        while left and time.monotonic() < deadline:
            with interrupts.interrupt_at_once():
                finished = wait(left, LOOK, FIRST_COMPLETED).done
            for done in finished:
                yield JobReport(left.pop(done), *done.result())
        yield from (JobReport(number, "failure", processes.TIMEOUT) for number in left.values())
    finally:
        ending = Thread(target=_end, args=(starting, pool, is_ours))
        ending.start()
        ending.join()


def _end(starting: Future[Any], pool: ThreadPoolExecutor, is_ours: bool) -> None:
    """Cancel what runs, and end a session that is ours.  Java is asked in other threads than the one that is interrupted.

    What is asked for while a session is being ended is never answered, so it ends when nothing is asked any more.
    """
    closing = Thread(target=pool.shutdown, kwargs={"cancel_futures": True})
    closing.start()
    with suppress(Exception):
        session = starting.result()
        while closing.is_alive():
            with suppress(Exception):
                _cancel(session)
            closing.join(LOOK)
        if is_ours:
            spark_session.stop(session)


def _cancel(session: Any) -> None:
    if spark_session.is_remote(session):
        session.interruptAll()
    else:
        session.sparkContext.cancelAllJobs()


def _answer(session: Any, work: Work, arguments: tuple[Any, ...]) -> tuple[str, Any]:
    try:
        rows = session.range(0, 1, 1, 1).mapInArrow(partial(_do_job, work, arguments), "answer binary").collect()
    except Exception as problem:
        return "failure", spark_session.find_reason(problem)
    kind, value = pickle.loads(rows[0][0])
    return kind, value


def _do_job(work: Work, arguments: tuple[Any, ...], batches: Iterator[Any]) -> Iterator[Any]:
    """Yield a task: what a job comes to, in a process of its own."""
    import pyarrow as pa

    for _ in batches:
        *_, last = processes.run(work, [arguments], 1)
        yield pa.RecordBatch.from_arrays([pa.array([pickle.dumps((last.kind, last.value))], pa.binary())], ["answer"])
