"""A search's jobs on Spark: the DataFrame plans, and nothing else."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from functools import cached_property, partial
from threading import Lock, Thread
from typing import Any

from neverlost.checker.engine.disk.level_tasks import (
    Counted,
    LevelTask,
    SearchDescription,
    Settled,
    collect_results,
    describe_task,
    expand,
    parse_settled,
    search_back,
    settle,
)
from neverlost.checker.engine.host.resources import ResourceExhausted
from neverlost.checker.engine.spark import session as spark_session
from neverlost.model.system import Words

_BLOCKS = "owner int, block binary"
_RESULTS = "result binary"
_WHAT = "a level", "what was committed can be resumed"


class SparkJobs:
    """Runs level tasks on a session, which is started when the first one comes, or by `prepare`."""

    def __init__(self, search: SearchDescription, master: str, conf: Mapping[str, str]) -> None:
        spark_session.check_requirements(master)
        self.search, self.master, self.conf = search, master, conf
        self._session: Any = None
        self._is_ours = False
        self._events: list[str] = []
        self._starting = Lock()
        self._is_preparing = self._is_closed = False

    @property
    def session(self) -> Any:
        """The session, started when it is first needed."""
        with self._starting:
            if self._session is None:
                self._is_ours = not spark_session.is_running()
                self._session = spark_session.start(self.master, self.conf, f"neverlost {self.search.model}")
                address = spark_session.find_ui_address(self._session)
                if address:
                    self._events.append(f"Spark UI at {address}")
                if self._is_closed:
                    self._stop()
        return self._session

    def prepare(self) -> None:
        """Start the session and the Python workers in the background, and let them import what they need.

        It is not waited for: a search that ends earlier after all leaves a daemon thread behind, which stops what it started.
        """
        if not self._is_preparing:
            self._is_preparing = True
            Thread(target=self._prepare, daemon=True).start()

    def _prepare(self) -> None:
        with suppress(Exception):  # the user of the session meets the same problem, and reports it
            tasks = self.parallelism
            _collect_rows(self.session.range(0, tasks, 1, tasks).mapInArrow(_warm, _RESULTS))

    @property
    def parallelism(self) -> int:
        """How many tasks run at a time."""
        if spark_session.is_connect(self.master):
            return self._remote_parallelism
        with spark_session.ask_spark(*_WHAT):
            return int(self.session.sparkContext.defaultParallelism)

    @cached_property
    def _remote_parallelism(self) -> int:
        """Into how many tasks a range is split, asked once: a Spark Connect client sees no more of a cluster."""
        with spark_session.ask_spark(*_WHAT):
            return int(self.session.range(1 << 16).mapInArrow(_count_task, "n int").count())

    def level(self, task: LevelTask) -> tuple[list[Settled], Counted]:
        """Expand a level and settle its successors; return one result per owner, and the sum of what the tasks counted."""
        text = describe_task(self.search, task)
        with spark_session.ask_spark(*_WHAT):
            rows = _collect_rows(
                self._numbers(len(task.slices))
                .mapInArrow(partial(_expand, text), _BLOCKS)
                .repartitionById(task.parts, "owner")
                .mapInArrow(partial(_settle, text), _RESULTS)
            )
        found, counted = collect_results(rows)
        if counted.retried:
            self._events.append(f"level {task.depth + 1}: {counted.retried} failed or lost tasks were run again")
        return [parse_settled(body) for body in found], counted

    def parents(self, task: LevelTask, targets: Sequence[Words]) -> dict[Words, tuple[Words, int]]:
        """Return, for each target that has one, the smallest predecessor in the task's slices, and the lowest step from it."""
        text = describe_task(self.search, task, targets=targets)
        with spark_session.ask_spark(*_WHAT):
            rows = _collect_rows(self._numbers(len(task.slices)).mapInArrow(partial(_search_back, text), _RESULTS))
        found, _ = collect_results(rows)
        best: dict[Words, tuple[Words, int]] = {}
        for target, words, step in (each for body in found for each in body):
            before = (tuple(words), step)
            best[tuple(target)] = min(before, best.get(tuple(target), before))
        return best

    def _numbers(self, count: int) -> Any:
        return self.session.range(0, count, 1, count)

    def events(self) -> list[str]:
        """Return notes on what happened since the last call: where Spark's UI is, which tasks were run again."""
        events, self._events = self._events, []
        return events

    def cancel(self) -> None:
        """Stop every job of the session, if there is one; that Spark does not answer is no error."""
        with suppress(ResourceExhausted), spark_session.ask_spark(*_WHAT):
            if self._session is not None and spark_session.is_connect(self.master):
                self._session.interruptAll()
            elif self._session is not None:
                self._session.sparkContext.cancelAllJobs()

    def close(self) -> None:
        """End the session, if it was started here; one that is still starting ends itself."""
        self._is_closed = True
        if self._session is not None:
            self._stop()

    def _stop(self) -> None:
        if self._is_ours:
            spark_session.stop(self._session)
        self._session = None


def _collect_rows(frame: Any) -> list[bytes]:
    return [bytes(row[0]) for row in frame.collect()]


def _expand(text: str, batches: Iterator[Any]) -> Iterator[Any]:
    import pyarrow as pa

    for owner, block in expand(text, _read_column(batches, "id"), _count_attempts()):
        yield pa.RecordBatch.from_arrays([pa.array([owner], pa.int32()), pa.array([block], pa.binary())], ["owner", "block"])


def _settle(text: str, batches: Iterator[Any]) -> Iterator[Any]:
    blocks = (
        (owner.as_py(), memoryview(block.as_buffer()))
        for batch in batches
        for owner, block in zip(batch.column("owner"), batch.column("block"), strict=True)
    )
    yield from _make_result_rows(settle(text, blocks, _count_attempts()))


def _count_attempts() -> int:
    """Return how many attempts at this Spark task were made before this one; 0 outside a task."""
    from pyspark import TaskContext

    context = TaskContext.get()
    return 0 if context is None else int(context.attemptNumber())


def _search_back(text: str, batches: Iterator[Any]) -> Iterator[Any]:
    yield from _make_result_rows(search_back(text, _read_column(batches, "id")))


def _warm(batches: Iterator[Any]) -> Iterator[Any]:
    return _make_result_rows(b"" for batch in batches if batch.num_rows)


def _count_task(batches: Iterator[Any]) -> Iterator[Any]:
    import pyarrow as pa

    if any(batch.num_rows for batch in batches):
        yield pa.RecordBatch.from_arrays([pa.array([1], pa.int32())], ["n"])


def _read_column(batches: Iterator[Any], name: str) -> Iterator[int]:
    return (number for batch in batches for number in batch.column(name).to_pylist())


def _make_result_rows(rows: Iterator[bytes]) -> Iterator[Any]:
    import pyarrow as pa

    for row in rows:
        yield pa.RecordBatch.from_arrays([pa.array([bytes(row)], pa.binary())], ["result"])
