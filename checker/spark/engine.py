"""The Spark engine: a search on stored levels, whose wide levels are done by Spark tasks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from neverlost.checker.disk import on_disk_search
from neverlost.checker.outcome import Outcome
from neverlost.checker.search.options import Options, Reporter
from neverlost.checker.spark.jobs import SparkJobs
from neverlost.model.system import System
from neverlost.specs.property import Property


def explore(
    system: System, properties: Sequence[Property] = (), options: Options | None = None, reporter: Reporter | None = None
) -> Outcome:
    """Every reachable state of the system; see `neverlost.checker.search.explore.explore`."""
    asked = options or Options()
    master = asked.spark_master or f"local[{asked.workers or '*'},4]"
    found = on_disk_search.explore(
        system, properties, asked, reporter, lambda search: SparkJobs(search, master, dict(asked.spark_conf))
    )
    return replace(found, engine="spark")
