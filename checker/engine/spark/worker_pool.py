"""The workers of a search that hold its states in the memory of Spark's tasks: one job that lasts as long as the search.

The tasks, all of which must run at the same time (a barrier), connect to the driver, and to each other; see `member`.
What they hold exists nowhere else.  So when one is lost, the search goes on from the last level in files, in other jobs.
"""

from __future__ import annotations

import json
import os
import socket
import time
from collections.abc import Sequence
from contextlib import ExitStack, suppress
from dataclasses import asdict
from threading import Event, Thread, current_thread
from typing import Any

from neverlost.checker.engine.compiled.compiled_search import CompiledSearch
from neverlost.checker.engine.compiled.programs import Programs
from neverlost.checker.engine.compiled.table_text import TABLES
from neverlost.checker.engine.host import interrupts
from neverlost.checker.engine.host.resources import ResourceExhausted, allowed_memory
from neverlost.checker.engine.search.workers import Remote, received
from neverlost.checker.engine.spark import links, session
from neverlost.checker.engine.spark.jobs import SparkJobs
from neverlost.checker.engine.storage.levels import StateFile
from neverlost.model.system import Words
from neverlost.specs.errors import InputError

STARTS_WITHIN = 60.0
"""Seconds in which all tasks have to come, once Spark is there."""

ENDS_WITHIN = 10.0
"""Seconds that the tasks have to end."""

MOST = 0.5
"""The part of this machine's memory that tasks on it may take together, if nothing else is said."""

LOOK = 0.2
"""Seconds between two looks at a task that says nothing."""


class ExecutorTask:
    """A member, as the driver sees it."""

    def __init__(self, link: socket.socket, host: str, job: Thread) -> None:
        self.link, self.pipe, self.host, self._job = link, links.piped(link), host, job

    def received(self) -> Any:
        """Return what it says next.

        Errors: `EOFError` where its job is over.
        """
        while not self.pipe.poll(LOOK):
            if not self._job.is_alive():
                raise EOFError("the job is over")
        with interrupts.whole(self.pipe):
            return self.pipe.recv()

    def close(self) -> None:
        """Let it end."""
        self.pipe.close()
        self.link.close()


class Team(Remote[ExecutorTask]):
    """The members of a search.

    `memory` are the bytes that one may use; without, half of `limit`, or of this machine, is for all.
    """

    def __init__(self, jobs: SparkJobs, memory: int | None, limit: int | None = None) -> None:
        super().__init__()
        self.jobs, self._memory, self._limit = jobs, memory, min(limit or allowed_memory(), allowed_memory())
        self.problem: str | None = None
        self.lost: str | None = None
        self.wrong: InputError | None = None
        self._settled = Event()
        self._is_closed = self._is_whole = False
        self._gathering = Thread(target=self._gather, daemon=True)
        self._door = ExitStack()
        self._job: Thread | None = None
        self._programs: Programs | None = None

    def prepare(self) -> None:
        """Start Spark and gather the members in the background."""
        if self._gathering.ident is None:
            self._gathering.start()

    @property
    def is_settled(self) -> bool:
        """True if the members are there, or it is known why they are not: `problem`, or what is `wrong` with the settings."""
        return self._settled.is_set()

    def wait(self) -> None:
        """Wait until it is settled."""
        while not self._settled.wait(LOOK):
            pass

    def _gather(self) -> None:
        try:
            self._meet()
        except InputError as wrong:
            self.wrong = wrong
        except Exception as problem:
            self.problem = session.reason(problem)
        if self._is_closed:
            self.close()
        self._settled.set()

    def _meet(self) -> None:
        count = min(self.jobs.parallelism, TABLES)
        conf = self.jobs.session.sparkContext.getConf()
        host = conf.get("spark.driver.host")
        bind = conf.get("spark.driver.bindAddress", host)
        key = os.urandom(32)
        door = self._door.enter_context(socket.create_server((bind, 0)))
        about = {"search": asdict(self.jobs.search), "host": host, "port": door.getsockname()[1], "key": key.hex()}
        is_here = self.jobs.master.startswith("local")
        text = json.dumps(about | {"bind": bind if is_here else ""})
        self._job = Thread(target=self._run, args=(text, count), daemon=True)
        self._job.start()
        ports = self._admit(door, key, count)
        self._door.close()
        addresses = [(each.host, port) for each, port in zip(self._children, ports, strict=True)]
        for number, child in enumerate(self._children):
            child.pipe.send((number, addresses))
        for child in self._children:
            received(child, 0)
        if self._memory is None:
            self._memory = int(MOST * self._limit) // count

    def _run(self, text: str, count: int) -> None:
        try:
            self.jobs.hold(text, count)
        except Exception as problem:
            self.problem = self.problem or session.reason(problem)

    def _admit(self, door: socket.socket, key: bytes, count: int) -> list[int]:
        """Let the members in; the ports at which they meet each other."""
        assert self._job is not None
        ports: list[int] = []
        door.settimeout(LOOK)
        started = time.monotonic()
        while len(ports) < count:
            with suppress(TimeoutError):
                came = links.accepted(door, key)
                if came is not None:
                    self._children.append(ExecutorTask(*came, self._job))
                    ports.append(self._children[-1].received())
            if self._is_closed or not self._job.is_alive() or time.monotonic() - started > STARTS_WITHIN:
                raise ResourceExhausted(self.problem or f"{len(ports)} of {count} tasks came within {STARTS_WITHIN:g} s")
        return ports

    def _ask_each(self, method: str, arguments: Sequence[tuple[Any, ...]], content: Sequence[Any] = ()) -> list[Any]:
        try:
            return super()._ask_each(method, arguments, content)
        except ResourceExhausted as problem:
            self.lost = f"a task that held states is gone ({problem})"
            raise

    def _send(self, child: ExecutorTask, message: tuple[Any, ...], content: Any = None) -> None:
        super()._send(child, message)
        if content is not None:
            child.link.sendall(content)

    def expect(self, native: CompiledSearch) -> None:
        """Count as those do whose states will come."""
        generated, distinct, waiting, fired = native.counts()
        self._base, self._programs = (generated, fired), native.programs
        self._last = [{"generated": 0, "distinct": distinct, "waiting": waiting, "fired": {}, "memory": 0}]

    def continue_from(self, native: CompiledSearch, levels: int) -> None:
        """Hold what was found so far, and go on from there."""
        native.threads.end()
        for first in range(0, TABLES, len(self)):
            tables = [(each, *native.tables.taken(each)) for each in range(first, min(first + len(self), TABLES))]
            self._ask_each("take", [(number, description) for number, description, _ in tables], [part for *_, part in tables])
        self._ask("begin", levels, native.decided)
        self._last = self._ask("counts")
        self._is_whole = True

    def parents(self, targets: Sequence[Words], depth: int) -> dict[Words, tuple[Words, int]]:
        """Return the smallest predecessor of each state over all members.

        Errors: `ResourceExhausted` where they do not have all states.
        """
        if not self._is_whole:
            raise ResourceExhausted("states were on their way to other tasks")
        return super().parents(targets, depth)

    def round(self) -> bool:
        """Work on the level for a while; whether there is more of it."""
        if self._programs is not None:
            self._programs.improve()  # what is being made here serves tasks on this machine
        self._last = self._ask("round")
        return any(each["waiting"] for each in self._last)

    @property
    def is_full(self) -> bool:
        """True if a member uses as much memory as it may."""
        return self._memory is not None and any(each["memory"] > self._memory for each in self._last)

    def keep_levels(self, location: str, depths: list[int]) -> list[list[StateFile]]:
        """Write levels to a store, each as a file per member."""
        found = self._ask("keep_levels", location, depths)
        return [list(files) for files in zip(*found, strict=True)]

    def __len__(self) -> int:
        return len(self._children)

    def close(self) -> None:
        """Let the members go; a Spark that is starting is waited for, because it would leave folders and a Java behind."""
        self._is_closed = True
        if self._gathering.is_alive() and self._gathering is not current_thread():
            self._gathering.join(STARTS_WITHIN)
        if self._programs is not None:
            self._programs.close()
        for child in self._children:
            child.close()
        self._door.close()
        if self._job is not None and self._settled.is_set():
            self._job.join(ENDS_WITHIN)
