"""The Spark engine: wide levels are done by Spark tasks, which hold the states in memory as long as they can.

A search begins in this process.  From a wide level on a team of tasks holds its states; where there can be none, or the
states become too many, the search goes on from levels in files, whose tasks may come and go.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from dataclasses import replace
from itertools import pairwise
from typing import TYPE_CHECKING

from neverlost.checker.engine.disk import on_disk_search
from neverlost.checker.engine.disk.level_tasks import SearchDescription
from neverlost.checker.engine.host import scratch
from neverlost.checker.engine.outcome import Counts, JobsDone, Outcome
from neverlost.checker.engine.search.options import Options, Reporter, SearchProgress
from neverlost.checker.engine.spark import session
from neverlost.checker.engine.spark.jobs import SparkJobs
from neverlost.checker.engine.storage.levels import Store
from neverlost.checker.engine.storage.storage import storage
from neverlost.model.system import System
from neverlost.specs.property import Property

if TYPE_CHECKING:
    from neverlost.checker.engine.engines.in_memory_shards import InMemoryShardSearch


def explore(
    system: System, properties: Sequence[Property] = (), options: Options | None = None, reporter: Reporter | None = None
) -> Outcome:
    """Explore every reachable state of the system; see `neverlost.checker.engine.engines.explore.explore`."""
    asked = options or Options()
    with nullcontext(str(asked.state_dir)) if asked.state_dir else scratch.folder("levels") as place:
        return _explore(system, tuple(properties), asked, reporter, place)


def _explore(
    system: System, properties: tuple[Property, ...], asked: Options, reporter: Reporter | None, place: str
) -> Outcome:
    master = asked.spark_master or f"local[{asked.workers or '*'},4]"
    tuning = on_disk_search.tuning(dict(asked.spark_conf))
    described = SearchDescription.about(storage(place).location, system, properties, asked.symmetry)
    jobs = SparkJobs(described, master, dict(asked.spark_conf))
    try:
        before, done = 0.0, JobsDone(master)
        search = _held(system, properties, asked, reporter, place, jobs, tuning) if described.homes is not None else None
        if search is not None:
            found = search.attempt()
            if found is not None:
                return _noted(replace(found, engine="spark", cluster=search.done), tuning, reporter)
            before, done = time.monotonic() - search.started, search.done
            _say(reporter, f"from level {search.levels} on levels are in files: {search.moved}")
            asked = replace(asked, resume=True, limits=asked.limits.after(before))
        found = on_disk_search.explore(system, properties, replace(asked, state_dir=place), reporter, lambda _: jobs)
        cluster = found.cluster.together(done) if found.cluster else None
        return _noted(replace(found, engine="spark", cluster=cluster, seconds=found.seconds + before), tuning, reporter)
    finally:
        jobs.close()


def _held(
    system: System,
    properties: tuple[Property, ...],
    asked: Options,
    reporter: Reporter | None,
    place: str,
    jobs: SparkJobs,
    tuning: Mapping[str, int],
) -> InMemoryShardSearch | None:
    """Return a search whose states Spark's executors hold; None if they may not or cannot hold them."""
    memory = _memory_of_a_task(jobs.master, tuning["neverlost.task.memory"])
    may_be = memory != 0 and asked.machine_code and not session.is_connect(jobs.master)
    if not may_be or _is_large(asked, place, tuning["neverlost.driver.states"]):
        return None
    try:
        from neverlost.checker.engine.engines.in_memory_shards import InMemoryShardSearch
        from neverlost.checker.engine.spark.worker_pool import Team
    except (ImportError, OSError):  # there is no compiler
        return None
    team = Team(jobs, memory, asked.limits.memory_bytes)
    return InMemoryShardSearch(system, properties, asked, reporter, place, team, tuning)


def _memory_of_a_task(master: str, megabytes: int) -> int | None:
    """Return the bytes that a task may take to hold states: None is a share of this machine, and 0 none.

    What a task of a cluster may take, the cluster does not say here; a task that takes too much is killed.
    """
    if megabytes >= 0:
        return megabytes << 20
    return None if master.startswith("local") else 0


def _is_large(asked: Options, place: str, most: int) -> bool:
    """Return True if a resumed search has more states than this process should hold."""
    return asked.resume and Store.exists(place) and sum(level.rows for level in Store.attach(place).levels()) > most


def _noted(found: Outcome, tuning: Mapping[str, int], reporter: Reporter | None) -> Outcome:
    """Return the outcome, and report if no Spark job was needed."""
    if found.cluster is not None and not found.cluster.jobs:
        narrow = tuning["neverlost.driver.states"]
        sizes = [after - before for (_, before), (_, after) in pairwise([(0, 0), *found.growth])]
        why = f"no level has more than {narrow:,} states (--spark-conf neverlost.driver.states)"
        if max(sizes, default=0) > narrow:
            why = "the search ended before Spark was ready"
        _say(reporter, f"no job was needed: {why}", found)
    return found


def _say(reporter: Reporter | None, note: str, found: Outcome | None = None) -> None:
    if reporter is not None:
        counts = found.counts if found else Counts(0, 0, 0, 0)
        seconds = found.seconds if found else 0.0
        reporter(SearchProgress(counts.depth, 0, counts.generated, counts.distinct, seconds, 0, note=note))
