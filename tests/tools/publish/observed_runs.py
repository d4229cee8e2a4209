"""Many seeded runs on real clusters, each held against the model: `python -m tests.tools.publish.observed_runs --runs 25`.

Every fourth seed produces with acks=1, every fifth has min.insync.replicas=1, every sixth allows unclean elections, every third
has a fourth broker and moves replicas to it.  A run's history is kept in --out before it is judged: a series that was
interrupted goes on where it was, and --kept-only judges again what is there, without a cluster.
"""

from __future__ import annotations

import argparse
import ctypes
import itertools
import json
import multiprocessing
import os
import signal
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor, ThreadPoolExecutor
from pathlib import Path
from typing import Any, TypeVar

from neverlost.checker.engine.host.whole_files import write_text
from neverlost.checker.kafka.cluster.jars import find_kafka
from neverlost.checker.kafka.history.history import History, format_history, read_history
from neverlost.checker.kafka.observe.history_verdict import match_history
from neverlost.checker.kafka.observe.losses import find_intervals
from neverlost.checker.kafka.observe.starting_model import make_setting
from neverlost.reports.questions.observe.document import document
from tests.support.live.faults import parse_fault_names
from tests.support.live.live_run import LiveRunPlan, record_run

FAULTS = "crash,lossy_crash,disk_loss,slow,pause,session_timeout,fence,leader_move,clean_stop,network,controller"
PATIENCE = 1500
"""Seconds after which a run, or its judgement, is given up."""

Found = TypeVar("Found")
HEAD = "| Kafka | seed | setting | events | offsets | observations | verdict |\n| --- | --- | --- | --- | --- | --- | --- |"


def plan_of(seed: int, seconds: float, faults: str) -> LiveRunPlan:
    """What a seed varies beside its choices."""
    named = parse_fault_names(faults) + (("reassign",) if seed % 3 == 0 else ())
    return LiveRunPlan(seed, seconds, named, "1" if seed % 4 == 0 else "all", 1 if seed % 5 == 0 else 2, unclean=seed % 6 == 0)


def begin() -> None:
    """A process that is no longer wanted, or hangs, gets a signal, and takes its cluster down."""
    ctypes.CDLL(None).prctl(1, signal.SIGTERM)
    signal.signal(signal.SIGALRM, lambda *_: sys.exit(f"given up after {PATIENCE} s"))
    signal.alarm(PATIENCE)


def apart(function: Callable[..., Found], *arguments: Any) -> Found:
    """Called in a process of its own: a cluster wants a main thread, and a crash costs one run."""
    with ProcessPoolExecutor(1, multiprocessing.get_context("spawn"), begin) as pool:
        return pool.submit(attended, function, *arguments).result()


def attended(function: Callable[..., Found], *arguments: Any) -> Found:
    """Called as long as its parent lives: a process of a pool would wait for more when its parent is gone."""
    parent = os.getppid()
    try:
        return function(*arguments)
    finally:
        if os.getppid() != parent:
            os._exit(1)


def recorded(version: str, plan: LiveRunPlan, history: Path) -> None:
    """Run the cluster and keep what was seen."""
    write_text(history, format_history(record_run(find_kafka(version=version), plan)))


def judged(history: Path, losses: bool) -> dict[str, Any]:
    """Hold a kept history against the model, and keep the result beside it."""
    os.nice(10)  # clusters run beside it
    judgement = match_history(make_setting(read_history(history), {}))
    moments = find_intervals(judgement) if losses and judgement.verdict != "inconclusive" else []
    found = document(judgement, moments)
    write_text(history.with_name("observation.json"), json.dumps(found, indent=1))
    return found


def series(arguments: argparse.Namespace) -> Iterator[tuple[str, int, Path, dict[str, Any]]]:
    """Every run in order: a few clusters side by side, and judges behind them."""
    until = time.time() + 60 * arguments.minutes
    wanted = [(version, arguments.first + seed) for seed in range(arguments.runs) for version in arguments.kafka_version]

    def kept(version: str, seed: int, history: Path) -> None:
        if not history.exists() and not arguments.kept_only and time.time() < until:
            history.parent.mkdir(parents=True, exist_ok=True)
            apart(recorded, version, plan_of(seed, arguments.duration, arguments.faults), history)

    def result(running: Future[None], history: Path) -> dict[str, Any]:
        try:
            running.result()
            return apart(judged, history, arguments.losses) if history.exists() else {"verdict": "not begun"}
        except (Exception, SystemExit) as problem:
            return {"verdict": f"failed: {str(problem).splitlines()[:1]}"}

    with ThreadPoolExecutor(arguments.side_by_side) as clusters, ThreadPoolExecutor(arguments.judges) as judges:
        found = []
        for version, seed in wanted:
            history = Path(arguments.out) / f"{version}-{seed}" / "history.jsonl"
            running = clusters.submit(kept, version, seed, history)
            found.append((version, seed, history, judges.submit(result, running, history)))
        try:
            for version, seed, history, future in found:
                yield version, seed, history, future.result()
        finally:
            clusters.shutdown(wait=False, cancel_futures=True)
            judges.shutdown(wait=False, cancel_futures=True)


def size(ranges: str) -> int:
    """How many offsets `0-4,7` names."""
    ends = [list(map(int, each.split("-"))) for each in ranges.split(",")]
    return sum(each[-1] - each[0] + 1 for each in ends)


def row(version: str, seed: int, found: dict[str, Any], seen: History) -> str:
    """A line of the table of what was judged."""
    config, moments, events = found["config"], found["intervals"], len(seen.of("partition", "broker", "process"))
    setting = f"acks={config['acks']} min ISR {config['min.insync.replicas']}"
    setting += " unclean" if config["unclean.leader.election.enable"] else ""
    setting += " reassign" if "reassign" in found["about"]["faults"] else ""
    lost = sum(size(each["offsets"]) for interval in moments[-1:] for each in interval["acknowledged"] if each["may_be_lost"])
    verdict = found["verdict"] + (f"; {lost} acknowledged records may be lost" if lost else "")
    return f"| {version} | {seed} | {setting} | {events} | {found['offsets']:,} | {found['observations']:,} | {verdict} |"


def happened(seen: History) -> Counter[str]:
    """What went on in a run: ends of processes, changes of leader, ISR and replicas, and what was acknowledged to clients."""
    found = Counter({each: len(seen.of(each)) for each in ("acked", "failed", "read", "high_watermark")})
    found.update(each["state"] for each in seen.of("process") if each["state"] != "started")
    changes = seen.of("partition")
    for before, after in itertools.pairwise(changes):
        found.update(name for name in ("leader", "isr", "replicas") if plain(before[name]) != plain(after[name]))
    return found


def plain(value: Any) -> Any:
    """A list without its order."""
    return frozenset(value) if isinstance(value, list) else value


def main() -> int:
    """Print the table; 0 when every run was explained."""
    reading = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    reading.add_argument("--runs", type=int, default=25, help="seeds, each on every version")
    reading.add_argument("--first", type=int, default=1, help="the first seed")
    reading.add_argument("--kafka-version", nargs="+", default=["3.9", "4.3"])
    reading.add_argument("--duration", type=float, default=120, help="seconds of each run")
    reading.add_argument("--faults", default=FAULTS)
    reading.add_argument("--side-by-side", type=int, default=2, help="clusters at a time")
    reading.add_argument("--judges", type=int, default=1, help="processes that judge meanwhile")
    reading.add_argument("--minutes", type=float, default=1e6, help="begin no run after so many")
    reading.add_argument("--kept-only", action="store_true", help="judge what is in --out, run nothing")
    reading.add_argument("--no-losses", dest="losses", action="store_false", help="judge only; that is half of the work")
    reading.add_argument("--out", default="observed-runs")
    arguments = reading.parse_args()
    print(HEAD)
    verdicts: Counter[str] = Counter()
    what: dict[str, Counter[str]] = {version: Counter() for version in arguments.kafka_version}
    for version, seed, history, found in series(arguments):
        verdict = found["verdict"].partition(":")[0]
        verdicts[verdict] += 1
        if "config" in found:
            seen = read_history(history)
            what[version] += happened(seen)
            print(row(version, seed, found, seen), flush=True)
        elif verdict != "not begun":
            print(f"| {version} | {seed} | | | | | {found['verdict']} |", flush=True)
    begun = verdicts.total() - verdicts["not begun"]
    print(
        f"\n{verdicts['explained']} of {begun} explained ({', '.join(f'{count} {each}' for each, count in verdicts.items())})"
    )
    for version, counts in what.items():
        print(f"{version}: " + ", ".join(f"{name} {count:,}" for name, count in sorted(counts.items())))
    return 0 if verdicts["explained"] == begun else 21


if __name__ == "__main__":
    sys.exit(main())
