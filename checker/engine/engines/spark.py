"""The Spark engine: levels are in files; this process expands narrow ones and Spark tasks, which may come and go, wide ones."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise

from neverlost.checker.engine.disk import on_disk_search
from neverlost.checker.engine.outcome import Outcome
from neverlost.checker.engine.search.options import Options, Reporter, SearchProgress
from neverlost.checker.engine.spark.jobs import SparkJobs
from neverlost.model.system import System
from neverlost.specs.property import Property


def explore(
    system: System, properties: Sequence[Property] = (), options: Options | None = None, reporter: Reporter | None = None
) -> Outcome:
    """Explore reachable states, as far as the options say, wide levels on Spark; return the verdicts and what was counted."""
    asked = options or Options()
    master, conf = asked.spark_master or f"local[{asked.workers or '*'},4]", dict(asked.spark_conf)
    narrow = on_disk_search.parse_tuning(conf)["neverlost.driver.states"]
    outcome = on_disk_search.explore(system, properties, asked, reporter, lambda search: SparkJobs(search, master, conf))
    if reporter is not None and outcome.cluster is not None and not outcome.cluster.jobs:
        reporter(_note_without_jobs(outcome, narrow))
    return replace(outcome, engine="spark")


def _note_without_jobs(outcome: Outcome, narrow: int) -> SearchProgress:
    """Return a note on why no Spark job was needed; a level of up to `narrow` states is expanded by this process."""
    sizes = [after - before for (_, before), (_, after) in pairwise([(0, 0), *outcome.growth])]
    why = f"no level has more than {narrow:,} states (--spark-conf neverlost.driver.states)"
    if max(sizes, default=0) > narrow:
        why = "the search ended before a wide level was expanded"
    counts = outcome.counts
    note = f"no job was needed: {why}"
    return SearchProgress(counts.depth, 0, counts.generated, counts.distinct, outcome.seconds, 0, note=note)
