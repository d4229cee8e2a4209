"""A standalone Spark cluster on this machine whose processes are killed while it explores.

    python -m tests.support.spark_cluster --runs 10

explores 4,093,531 states ten times on two workers; each time one executor, one worker and later the driver are killed with
SIGKILL at random levels, and a second driver resumes.  Every run must end with the counts of an undisturbed search.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import random
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
PATIENCE = 600
"""Seconds until a step that does not happen is a failure."""


def spark_home() -> Path:
    """Where the pyspark package keeps its scripts."""
    import pyspark

    return Path(pyspark.__file__).parent


def environment(**more: str) -> dict[str, str]:
    """Variables for the cluster's processes and for drivers."""
    from neverlost.checker.engine.spark.java import find_java_home

    given = {
        "SPARK_HOME": str(spark_home()),
        "JAVA_HOME": str(find_java_home()),
        "PYSPARK_PYTHON": sys.executable,
        "SPARK_LOCAL_IP": "127.0.0.1",
        "SPARK_DAEMON_JAVA_OPTS": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
        "SPARK_DAEMON_MEMORY": "256m",
    }
    return os.environ | given | more


def free_port() -> int:
    """A port on which no process listens."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def until(happens: Callable[[], Any], what: str) -> Any:
    """The first true answer.

    Errors: `TimeoutError` when it takes too long.
    """
    deadline = time.monotonic() + PATIENCE
    while time.monotonic() < deadline:
        found = happens()
        if found:
            return found
        time.sleep(0.05)
    raise TimeoutError(f"waited {PATIENCE} s for {what}")


def descendants(pid: int) -> dict[int, str]:
    """Process ids below one, with their command lines."""
    listed = subprocess.run(["ps", "-wweo", "pid=,ppid=,args="], capture_output=True, text=True, check=True).stdout
    rows = [line.split(None, 2) for line in listed.splitlines()]
    below, grown = {pid}, True
    while grown:
        more = {int(child) for child, parent, *_ in rows if int(parent) in below} - below
        below |= more
        grown = bool(more)
    return {int(row[0]): row[2] for row in rows if len(row) == 3 and int(row[0]) in below and int(row[0]) != pid}


@dataclass
class Cluster:
    """A master and some workers with one core each."""

    folder: Path
    port: int = field(default_factory=free_port)
    master: subprocess.Popen[bytes] | None = None
    workers: list[subprocess.Popen[bytes]] = field(default_factory=list)

    @property
    def url(self) -> str:
        """The address for `--master`."""
        return f"spark://127.0.0.1:{self.port}"

    def start(self, workers: int = 2) -> None:
        """Start everything; returns when the workers are registered."""
        self.master = self._launch(
            "master", "org.apache.spark.deploy.master.Master", "--host", "127.0.0.1", "--port", str(self.port),
            "--webui-port", str(free_port()),
        )  # fmt: skip
        until(self._is_listening, "the master")
        for _ in range(workers):
            self.add_worker()

    def add_worker(self) -> None:
        """One more worker with one core."""
        number = len(self.workers)
        folder = self.folder / f"work-{number}"
        self.workers.append(
            self._launch(
                f"worker-{number}", "org.apache.spark.deploy.worker.Worker", self.url, "--cores", "1", "--memory", "1g",
                "--host", "127.0.0.1", "--work-dir", str(folder), "--webui-port", str(free_port()),
            )
        )  # fmt: skip
        log = self.folder / f"worker-{number}.log"
        until(lambda: "Successfully registered with master" in log.read_text(errors="replace"), f"worker {number}")

    def _launch(self, name: str, *arguments: str) -> subprocess.Popen[bytes]:
        with open(self.folder / f"{name}.log", "wb") as log:
            command = [str(spark_home() / "bin" / "spark-class"), *arguments]
            return subprocess.Popen(command, stdout=log, stderr=log, env=environment())

    def _is_listening(self) -> bool:
        with socket.socket() as probe:
            return probe.connect_ex(("127.0.0.1", self.port)) == 0

    def executors(self) -> list[int]:
        """Process ids of running executors."""
        alive = [worker.pid for worker in self.workers if worker.poll() is None]
        return [pid for worker in alive for pid, text in descendants(worker).items() if "CoarseGrainedExecutor" in text]

    def kill_executor(self, chance: random.Random) -> int:
        """Kill one of the executors."""
        pid = chance.choice(until(self.executors, "an executor"))
        os.kill(pid, signal.SIGKILL)
        return pid

    def kill_worker(self, chance: random.Random) -> int:
        """Kill one of the workers, with no notice to its executors."""
        worker = chance.choice([each for each in self.workers if each.poll() is None])
        worker.kill()
        worker.wait()
        return worker.pid

    def stop(self) -> None:
        """End every process that was started here."""
        for process in [*self.workers, *([self.master] if self.master else [])]:
            below = [] if process.poll() is not None else list(descendants(process.pid))
            process.kill()
            process.wait()
            for pid in below:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)


@contextlib.contextmanager
def cluster(folder: Path, workers: int = 2) -> Iterator[Cluster]:
    """A running cluster."""
    found = Cluster(folder)
    try:
        found.start(workers)
        yield found
    finally:
        found.stop()


def driver(master: str, model: str, settings: dict[str, int], levels: Path, *more: str) -> list[str]:
    """The command of a driver."""
    chosen = [part for key, value in settings.items() for part in ("--set", f"{key}={value}")]
    return [
        sys.executable, "-m", "neverlost", "explore", model, *chosen, "--engine", "spark", "--master", master,
        "--spark-conf", "spark.driver.host=127.0.0.1", "--spark-conf", "spark.executor.memory=512m",
        "--state-dir", str(levels), "--json", "-", *more,
    ]  # fmt: skip


def manifests(levels: Path) -> int:
    """How many levels are committed."""
    return len(list(levels.glob("level-*.json")))


def disturbed(
    running: Cluster,
    model: str,
    settings: dict[str, int],
    conf: list[str],
    depths: list[int],
    chance: random.Random,
) -> tuple[dict[str, int], list[str]]:
    """Explore while an executor, a worker and the driver are killed when these depths are reached; resume; the counts."""
    folder = running.folder
    levels = folder / "levels"
    events: list[str] = []
    with open(folder / "driver.log", "wb") as log:
        first = subprocess.Popen(driver(running.url, model, settings, levels, *conf), stdout=log, stderr=log, env=environment())
        try:
            kills = [running.kill_executor, running.kill_worker]
            chance.shuffle(kills)
            for depth, kill in zip(depths, kills, strict=False):
                until(lambda wanted=depth: manifests(levels) > wanted or first.poll() is not None, f"level {depth}")
                until(lambda: running.executors() or first.poll() is not None, "an executor")
                if first.poll() is not None:
                    break
                events.append(f"{kill.__name__} {kill(chance)} at level {manifests(levels)}")
            until(lambda: manifests(levels) > depths[-1] or first.poll() is not None, f"level {depths[-1]}")
            if first.poll() is not None:
                raise AssertionError(f"the driver ended before it was killed: {(folder / 'driver.log').read_text()[-2000:]}")
        finally:
            first.kill()
            first.wait()
    events.append(f"driver {first.pid} at level {manifests(levels)}")
    again = driver(running.url, model, settings, levels, "--resume", *conf)
    resumed = subprocess.run(again, capture_output=True, text=True, env=environment(), check=False)
    if resumed.returncode != 0:
        raise AssertionError(f"the resumed driver ended with {resumed.returncode}: {resumed.stderr[-2000:]}")
    found: dict[str, int] = json.loads(resumed.stdout)["states"]
    return found, events


MILLIONS = {"replication.factor": 3, "bounds.log_size": 3, "bounds.records": 3, "bounds.max_leader_epoch": 2}
EXPECTED = {"generated": 11_444_788, "distinct": 4_093_531, "depth": 31, "left": 0}


def main() -> None:
    """Run it as often as asked, each time with other random points."""
    asked = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    asked.add_argument("--runs", type=int, default=10)
    asked.add_argument("--seed", type=int, default=int(time.time()))
    given = asked.parse_args()
    conf = ["--spark-conf", "neverlost.driver.states=20000", "--spark-conf", "neverlost.task.least=8000"]
    for run in range(given.runs):
        chance = random.Random(given.seed + run)
        depths = sorted(chance.sample(range(11, 26), 3))
        with tempfile.TemporaryDirectory(prefix="neverlost-cluster-") as name, cluster(Path(name)) as running:
            started = time.monotonic()
            found, events = disturbed(running, "kip-320", MILLIONS, conf, depths, chance)
            is_equal = {key: found[key] for key in EXPECTED} == EXPECTED
            seconds = time.monotonic() - started
            print(
                f"run {run + 1} seed {given.seed + run}: {'equal' if is_equal else found} {seconds:.0f} s; {'; '.join(events)}",
                flush=True,
            )
            if not is_equal:
                sys.exit(1)


if __name__ == "__main__":
    main()
