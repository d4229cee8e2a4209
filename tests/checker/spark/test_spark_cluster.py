"""Spark beyond one process: a cluster whose processes die, and a Spark Connect server."""

from __future__ import annotations

import contextlib
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import sysconfig
from collections.abc import Iterator
from pathlib import Path

import pytest

from neverlost.checker.engine.engines.explore import explore
from neverlost.checker.engine.search.options import Options
from tests.support.searches import classic
from tests.support.spark_cluster import (
    Cluster,
    cluster,
    descendants,
    disturbed,
    driver,
    environment,
    free_port,
    spark_home,
    until,
)
from tests.support.wheel import wheel

SETTINGS = {"replication.factor": 3, "bounds.log_size": 2, "bounds.records": 2, "bounds.max_leader_epoch": 1}
EXPECTED = {"distinct": 39_619, "depth": 22, "left": 0}
"""KIP-320 as TLC counts it: see tests/data/classic-states.json."""

ON_SPARK = ["--spark-conf", "neverlost.driver.states=1500", "--spark-conf", "neverlost.task.least=500"]


def undisturbed() -> dict[str, int]:
    """What the memory engine counts."""
    counts = explore(classic("kip-320", 3, 2, 2, 1), (), Options(workers=1)).counts
    return {"generated": counts.generated, "distinct": counts.distinct, "depth": counts.depth, "left": counts.left}


@pytest.fixture
def running(tmp_path: Path) -> Iterator[Cluster]:
    with cluster(tmp_path) as found:
        yield found


@pytest.mark.slow
def test_counts_survive_the_death_of_executor_worker_and_driver(running: Cluster) -> None:
    """The driver has nothing but its own source to give to the executors, and the storage."""
    expected = undisturbed()
    found, events = disturbed(running, "kip-320", SETTINGS, ON_SPARK, [9, 11, 13], random.Random(20))
    assert {key: found[key] for key in expected} == expected
    assert len(events) == 3


@pytest.fixture
def connect_server(tmp_path: Path) -> Iterator[str]:
    """A Spark Connect server from the pyspark package."""
    port = free_port()
    script = spark_home() / "sbin" / "start-connect-server.sh"
    conf = {"spark.connect.grpc.binding.port": str(port), "spark.ui.enabled": "false"}
    command = [str(script), "--master", "local[2]", *[part for k, v in conf.items() for part in ("--conf", f"{k}={v}")]]
    log = tmp_path / "server.log"
    variables = environment(
        SPARK_NO_DAEMONIZE="1", SPARK_DAEMON_MEMORY="700m", SPARK_LOG_DIR=str(tmp_path), SPARK_PID_DIR=str(tmp_path)
    )
    with open(log, "wb") as output:
        server = subprocess.Popen(["bash", *command], stdout=output, stderr=output, env=variables, cwd=tmp_path)
    try:
        until(lambda: "Spark Connect server started" in log.read_text(errors="replace") or server.poll() is not None, "Connect")
        assert server.poll() is None, log.read_text()[-2000:]
        yield f"sc://127.0.0.1:{port}"
    finally:
        below = list(descendants(server.pid))
        server.kill()
        server.wait()
        for pid in below:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)


@pytest.mark.slow
def test_an_oracle_row_through_spark_connect(connect_server: str, tmp_path: Path) -> None:
    command = driver(connect_server, "kip-320", SETTINGS, tmp_path / "levels", *ON_SPARK)
    ran = subprocess.run(command, capture_output=True, text=True, env=environment(), check=False)
    assert ran.returncode == 0, ran.stderr
    found = json.loads(ran.stdout)["states"]
    assert found == undisturbed()
    assert {key: found[key] for key in EXPECTED} == EXPECTED


def bare_python(folder: Path) -> Path:
    """A Python that finds installed packages but, without `.pth` files, no source tree that was installed for editing."""
    launcher = folder / "python"
    packages = sysconfig.get_path("purelib")
    launcher.write_text(f'#!/bin/sh\nPYTHONPATH="{packages}:$PYTHONPATH" exec {sys.executable} -S "$@"\n')
    launcher.chmod(0o755)
    return launcher


@pytest.mark.slow
@pytest.mark.parametrize("given", ["installed", "py-files"])
def test_a_cluster_needs_only_the_wheel(running: Cluster, tmp_path: Path, given: str) -> None:
    """The driver runs from the wheel alone, and sends what the executors need, or they get the wheel as a Python file."""
    archive = tmp_path / "neverlost.zip"
    shutil.copy(wheel(tmp_path), archive)
    python = bare_python(tmp_path)
    alone = subprocess.run([python, "-c", "import neverlost"], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert "No module named 'neverlost'" in alone.stderr, "the test would prove nothing"
    conf = [*ON_SPARK, "--spark-conf", f"spark.submit.pyFiles={archive}"] if given == "py-files" else ON_SPARK
    command = driver(running.url, "kip-320", SETTINGS, tmp_path / "levels", *conf)
    program = f"import sys; sys.path.insert(0, {str(archive)!r}); from neverlost.reports.cli import main; main()"
    whole = [str(python), "-c", program, *command[3:]]
    ran = subprocess.run(whole, capture_output=True, text=True, check=False, cwd=tmp_path,
                         env=environment(PYSPARK_PYTHON=str(python), PYTHONPATH=""))  # fmt: skip
    assert ran.returncode == 0, ran.stderr
    assert json.loads(ran.stdout)["states"] == undisturbed()
