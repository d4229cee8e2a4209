"""One SIGINT or SIGTERM ends a whole command: what is not decided is said to be so, soon, and the status is 20."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.forger import DESCRIBED, MATRIX

SOON = 4.0
"""What about two seconds may be on a machine with other work.  Units: seconds."""

PROGRAM = """
import contextlib, os, signal, sys, time
from neverlost.checker.engine.host import interrupts
from neverlost.reports import cli

ending, when = signal.Signals[sys.argv.pop(1)], int(sys.argv.pop(1))
usual, begun, sent = interrupts.interrupt_at_once, [], []

@contextlib.contextmanager
def searching():
    with usual():
        begun.append(None)
        if len(begun) == when:
            sent.append(time.monotonic())
            os.kill(os.getpid(), ending)
        yield

interrupts.interrupt_at_once = searching
try:
    cli.main()
finally:
    print("seconds", time.monotonic() - sent[0], file=sys.stderr)
"""
"""A run of the program that gets a signal when it searches for the first time, or the second, or later."""


def interrupted(place: Path, when: int, ending: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Such a run, which ends soon after the signal."""
    (place / "topics.txt").write_text(DESCRIBED)
    (place / "matrix.toml").write_text(MATRIX)
    (place / "program.py").write_text(PROGRAM)
    command = [sys.executable, str(place / "program.py"), ending, str(when), *arguments]
    done = subprocess.run(command, cwd=place, capture_output=True, text=True, timeout=120, check=False)
    assert "Traceback" not in done.stderr, done.stderr
    assert float(done.stderr.split()[-1]) < SOON
    return done


CLUSTER = ("--describe", "topics.txt", "--kafka-version", "3.9", "--set", "metadata.version=3.9-IV0", "--set", "acks=all")
SMALL = ("--set", "replication.factor=2", "--set", "bounds.records=1")
KIP = ("--set", "model=kip-320", *SMALL, "--set", "bounds.max_leader_epoch=1")

UNDECIDED: dict[str, tuple[tuple[str, ...], str]] = {
    "check": (("check", *CLUSTER, "--set", "faults.lossy_crash=1", "--property", "acked-never-lost"), "INCONCLUSIVE"),
    "check one": (("check", *KIP), "inconclusive: interrupted"),
    "check with a limit": (("check", *KIP, "--time-limit", "60"), "interrupted"),
    "explore": (("explore", "kip-320", "--set", "replication.factor=2"), "inconclusive: interrupted"),
    "tolerance": (("tolerance", *CLUSTER, "--again"), "not decided"),
    "roll": (("roll", *CLUSTER, "--set", "bounds.records=2"), "not decided"),
    "nines": (("nines", "--set", "kafka.version=3.9", *SMALL, "--again"), "Not decided, so nothing is bounded"),
    "sweep": (("sweep", "matrix.toml"), "inconclusive"),
    "bounded search": (("prove", *KIP, "--depth", "9"), "inconclusive beyond: interrupted"),
    "induction": (("prove", *KIP, "--method", "induction"), "inconclusive: interrupted"),
    "scenarios": (("scenarios", "last-replica-standing", "unclean-election-loss"), "0 as expected, 0 different"),
    "claims": (("claims", "confluent-replication/core-guarantee"), "undecided"),
    "necessity": (("necessity", *KIP), "neverlost: interrupted"),
    "agree": (("check", *KIP, "--agree"), "interrupted"),
}


SEEN = ("check", "tolerance", "induction", "scenarios")
"""Commands that are sent SIGTERM every time, one of each way in which answers are found; one handler ends them all."""


@pytest.mark.parametrize(
    ("what", "ending"),
    [
        *[(what, "SIGINT") for what in UNDECIDED],
        *[pytest.param(what, "SIGTERM", marks=() if what in SEEN else pytest.mark.slow) for what in UNDECIDED],
    ],
)
def test_one_signal_ends_every_command(what: str, ending: str, tmp_path: Path) -> None:
    arguments, said = UNDECIDED[what]
    done = interrupted(tmp_path, 1, ending, *arguments)
    assert done.returncode == 20, done.stderr
    assert said in done.stdout + done.stderr


@pytest.mark.parametrize("ending", ["SIGINT", "SIGTERM"])
def test_what_was_decided_before_is_said_and_kept(ending: str, tmp_path: Path) -> None:
    """Two groups of topics, of which one is decided; the status is that of the interrupt and not of the loss."""
    (tmp_path / "more.txt").write_text(DESCRIBED.replace("min.insync.replicas=1", "min.insync.replicas=2"))
    given = (*CLUSTER, "--set", "acks=1", "--set", "faults.lossy_crash=1", "--property", "acked-never-lost", "--no-advise")
    done = interrupted(tmp_path, 2, ending, "check", *given, "--json", "r.json", "--out", "out")
    assert done.returncode == 20, done.stderr
    first, second = json.loads((tmp_path / "r.json").read_text())["cells"]
    assert (first["verdict"], first["reason"]) == ("violated", None)
    assert (second["verdict"], second["reason"]) == ("inconclusive", "interrupted")
    assert "VIOLATED" in done.stdout and "INCONCLUSIVE" in done.stdout
    assert json.loads((tmp_path / "out" / "result.json").read_text())["cells"][1]["reason"] == "interrupted"


def test_what_is_not_decided_is_no_advice(tmp_path: Path) -> None:
    """The search for a change that helps is what is interrupted."""
    given = ("--set", "acks=1", "--set", "faults.lossy_crash=1", "--property", "acked-never-lost", "--topic", "orders")
    done = interrupted(tmp_path, 2, "SIGTERM", "check", *CLUSTER, *given, "--json", "r.json")
    assert done.returncode == 20, done.stderr
    (cell,) = json.loads((tmp_path / "r.json").read_text())["cells"]
    assert cell["verdict"] == "violated" and "remedy" not in cell and "no change" not in done.stdout


LATE = """
import os, signal, sys
from neverlost.reports import cli

wanted = sys.argv.pop(1)

class Late:
    def find_spec(self, name, path=None, target=None):
        if name == wanted:
            os.kill(os.getpid(), signal.SIGINT)

sys.meta_path.insert(0, Late())
cli.main()
"""
"""A run of the program that gets a signal while it imports a module."""

IMPORTED = (
    "neverlost.checker.engine.host.interrupts",
    "typer",
    "neverlost.reports.program",
    "neverlost.reports.commands.check",
)
IMPORTED_LATER = (
    "neverlost.reports.output.output",
    "rich.console",
    "neverlost.reports.questions.check.api",
    "numpy",
    "neverlost.checker.engine.engines.memory",
)


@pytest.mark.parametrize("module", [*IMPORTED, *IMPORTED_LATER])
def test_an_early_interrupt_is_one_line_and_the_status_of_an_interrupt(module: str) -> None:
    command = [sys.executable, "-c", LATE, module, "check", *KIP]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 20 and "Traceback" not in done.stderr
    assert done.stderr == "neverlost: interrupted\n" or "inconclusive: interrupted" in done.stdout


@pytest.mark.parametrize("ending", ["INT", "TERM"])
def test_java_that_begins_ends_with_the_command(ending: str, tmp_path: Path) -> None:
    """A script in the place of Spark sends the signal, and would stay for a minute."""
    begins = f"echo $$ > {tmp_path}/id; kill -{ending} $PPID; exec sleep 60"
    for name, script in (("java", "echo 'version \"25\"' >&2"), ("spark-submit", begins)):
        (launcher := tmp_path / "bin" / name).parent.mkdir(exist_ok=True)
        launcher.write_text(f"#!/bin/sh\n{script}\n")
        launcher.chmod(0o755)
    command = [
        sys.executable,
        "-m",
        "neverlost",
        "check",
        *KIP,
        "--engine",
        "spark",
        "--spark-conf",
        "neverlost.driver.states=0",
    ]
    places = {"JAVA_HOME": str(tmp_path), "SPARK_HOME": str(tmp_path)}
    done = subprocess.run(command, env=os.environ | places, capture_output=True, text=True, timeout=50, check=False)
    assert done.returncode == 20 and "Traceback" not in done.stderr and "interrupted" in done.stdout + done.stderr
    assert not Path("/proc", (tmp_path / "id").read_text().strip()).exists()


LAST = """
import os, signal
from neverlost.reports import cli

class Last:
    def __del__(self, kill=os.kill, me=os.getpid()):
        kill(me, signal.SIGNAL)

last = Last()
cli.main()
"""
"""A run of the program that gets a signal while the interpreter ends."""


@pytest.mark.parametrize("ending", ["SIGINT", "SIGTERM"])
def test_a_signal_after_the_verdict_changes_nothing(ending: str) -> None:
    command = [sys.executable, "-c", LAST.replace("SIGNAL", ending), "check", *KIP]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, done.stderr) == (0, "")


def test_hardly_anything_is_imported_before_signals_are_handled() -> None:
    before = "import __future__, importlib, signal, sys; before = {*sys.modules}"
    code = f"{before}; import neverlost.reports.cli; print(*({{*sys.modules}} - before))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True)
    ours = {"neverlost", "neverlost.reports", "neverlost.reports.cli"}
    assert {*done.stdout.split()} == ours


def described(replicas: int, least: int) -> str:
    """A topic of its own group."""
    first = f"Topic: t{replicas}{least}\tPartitionCount: 1\tReplicationFactor: {replicas}\tConfigs: min.insync.replicas={least}"
    brokers = ",".join(str(each + 1) for each in range(replicas))
    return f"{first}\n\tTopic: t{replicas}{least}\tPartition: 0\tLeader: 1\tReplicas: {brokers}\tIsr: {brokers}\n"


@pytest.mark.parametrize("ending", [signal.SIGINT, signal.SIGTERM])
def test_ten_groups_of_topics_end_while_one_of_them_is_searched(ending: signal.Signals, tmp_path: Path) -> None:
    """The signal comes as soon as one is decided, as `timeout` sends it: to all processes that work for the command."""
    text = "".join(described(replicas, least) for replicas in range(1, 5) for least in range(1, replicas + 1))
    (tmp_path / "topics.txt").write_text(text)
    keys = ("faults.lossy_crash=1", "faults.isr_shrink=2", "faults.crash=2", "acks=all")
    asked = ["--kafka-version", "4.1", *(part for each in keys for part in ("--set", each)), "--property", "acked-never-lost"]
    command = [sys.executable, "-m", "neverlost", "check", "--describe", "topics.txt", *asked, "--json", "r.json"]
    running = subprocess.Popen(
        command, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True
    )
    with running:
        assert running.stderr is not None
        while not running.stderr.readline().startswith("VIOLATED"):
            assert running.poll() is None
        os.killpg(running.pid, ending)
        said, errors = running.communicate(timeout=2 * SOON)
    assert running.returncode == 20 and "Traceback" not in errors
    assert "VIOLATED" in said and "INCONCLUSIVE" in said
    cells = json.loads((tmp_path / "r.json").read_text())["cells"]
    assert len(cells) >= 10 and {each["verdict"] for each in cells} == {"violated", "inconclusive"}
    assert {each["reason"] for each in cells if each["verdict"] == "inconclusive"} == {"interrupted"}
