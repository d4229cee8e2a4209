"""The Spark engine equals the memory engine, whatever happens to its tasks; see also `test_spark_cluster.py`."""

from __future__ import annotations

import importlib
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from neverlost.checker.engine.digest import model_digest
from neverlost.checker.engine.engines.explore import explore
from neverlost.checker.engine.host import scratch
from neverlost.checker.engine.host.resources import ResourceExhausted
from neverlost.checker.engine.outcome import Outcome
from neverlost.checker.engine.search.options import Options, SearchLimits, SearchProgress
from neverlost.checker.engine.spark import java as spark_java
from neverlost.checker.engine.spark import session as spark_session
from neverlost.checker.engine.storage.levels import Store
from neverlost.model.protocols import models
from neverlost.model.system import System, bind
from neverlost.reports.documents.result import document
from neverlost.specs.errors import InputError
from neverlost.specs.properties import guarantees, properties
from tests.support import modern
from tests.support.instances import Golden, golden_counts, golden_verdicts
from tests.support.searches import classic, essence, kraft_matrix

ROOT = Path(__file__).resolve().parents[3]
EVERYWHERE = (("neverlost.driver.states", "0"), ("neverlost.task.least", "50"))
"""Even the narrowest level is done by Spark, in several tasks as soon as it has a hundred states."""


@pytest.fixture(scope="module")
def session() -> Iterator[Any]:
    """One session for all tests of this file; searches use a session that exists and leave it alone."""
    started = spark_session.start("local[2,4]", {}, "tests")
    yield started
    started.stop()


def on_spark(system: System, conf: tuple[tuple[str, str], ...] = EVERYWHERE, reporter: Any = None, **options: Any) -> Outcome:
    return explore(system, guarantees(system.model), Options(spark_conf=conf, **options), reporter, engine="spark")


def in_memory(system: System, **options: Any) -> dict[str, Any]:
    return essence(explore(system, guarantees(system.model), Options(workers=1, **options)))


ROWS: dict[str, tuple[Any, dict[str, Any]]] = {
    "holds": (lambda: classic("kip-320", 2, 2, 2, 1), {}),
    "violated": (lambda: classic("kip-101", 3, 1, 1, 1), {"keep_going": True}),
    "symmetry": (lambda: classic("kip-101", 3, 1, 1, 1), {"symmetry": True}),
    "matrix": (kraft_matrix, {"every_configuration": True}),
}


@pytest.mark.usefixtures("session")
@pytest.mark.parametrize("row", ["holds", *(pytest.param(each, marks=pytest.mark.slow) for each in ROWS if each != "holds")])
def test_spark_equals_memory(row: str) -> None:
    make, options = ROWS[row]
    system = make()
    found = on_spark(system, **options)
    assert found.engine == "spark" and found.cluster is not None
    assert found.cluster.states == found.counts.distinct - found.growth[0][1]
    assert set(range(1, found.counts.depth)) <= {*found.cluster.levels}
    assert found.cluster.jobs >= len(found.cluster.levels)
    assert essence(found) == in_memory(system, **options)


def test_what_a_level_shuffled_does_not_stay(session: Any) -> None:
    found = on_spark(classic("kip-320", 2, 2, 2, 1), limits=SearchLimits(depth=4))
    assert found.cluster is not None and found.cluster.jobs >= 4
    assert [*Path(session.conf.get("spark.local.dir")).rglob("shuffle_*")] == []


class Said:
    """A reporter that keeps the notes."""

    def __init__(self) -> None:
        self.notes: list[str] = []

    def __call__(self, progress: SearchProgress) -> None:
        if progress.note:
            self.notes.append(progress.note)


@pytest.mark.usefixtures("session")
def test_an_interrupt_asks_java_nothing_and_is_not_printed() -> None:
    """pyspark's handler would wait for the answer that is interrupted; the root logger prints a traceback."""
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    assert importlib.import_module("py4j.java_gateway").logging.name == "py4j.java_gateway"


def test_a_narrow_space_needs_no_job(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(spark_session, "start", None)
    said: list[str] = []
    system = classic("kip-320", 2, 2, 2, 1)
    found = on_spark(system, (), lambda progress: said.append(progress.note))
    assert essence(found) == in_memory(system)
    assert [each for each in said if each] == [
        "no job was needed: no level has more than 600,000 states (--spark-conf neverlost.driver.states)"
    ]
    assert document(found)["spark"] == {"master": "local[*,4]", "jobs": 0, "levels": [], "states_in_jobs": 0}


@pytest.mark.parametrize("master", ["spark://127.0.0.1:9", "sc://127.0.0.1:9/;token=x", "spark://127.0.0.1:9,127.0.0.1:x"])
def test_a_master_that_cannot_be_reached_is_an_error_before_the_first_level(master: str) -> None:
    said: list[SearchProgress] = []
    with pytest.raises(InputError, match=f"cannot reach Spark on '{re.escape(master)}': .*; check --master and --spark-conf"):
        explore(classic("kip-320", 2, 2, 2, 1), (), Options(spark_master=master), said.append, "spark")
    assert not said


@pytest.mark.slow
@pytest.mark.usefixtures("session")
def test_levels_may_change_hands(tmp_path: Path) -> None:
    """Narrow levels on the driver, wide ones on Spark, a cut, and a resumption with another number of partitions."""
    system = classic("kip-101", 3, 2, 2, 1)
    mixed = (("neverlost.driver.states", "4000"), ("neverlost.task.least", "1000"))
    place = tmp_path / "s"
    cut = on_spark(system, mixed, state_dir=place, keep_going=True, limits=SearchLimits(depth=12))
    assert cut.counts.left > 0
    finer = (
        ("neverlost.driver.states", "5000"),
        ("neverlost.task.candidates", "3000"),
        ("neverlost.task.states", "2000"),
    )
    found = on_spark(system, finer, state_dir=place, keep_going=True, resume=True)
    assert essence(found) == in_memory(system, keep_going=True)
    files = [len(level.files) for level in Store.attach(place).levels()]
    assert max(files[:13]) == 2 and max(files[13:]) > 2


@pytest.mark.usefixtures("session")
@pytest.mark.parametrize("kind", ["frontier", "run"])
def test_damage_that_a_task_finds_is_named(tmp_path: Path, kind: str) -> None:
    system = classic("kip-320", 2, 2, 2, 1)
    on_spark(system, state_dir=tmp_path / "s", limits=SearchLimits(depth=7))
    last = Store.attach(tmp_path / "s").levels()[-1]
    victim = (last.files if kind == "frontier" else last.runs)[0]
    path = tmp_path / "s" / victim.name
    content = path.read_bytes()
    path.write_bytes(content[:-1] + bytes([content[-1] ^ 1]))
    with pytest.raises(InputError, match=f"damaged state file .*{victim.name}"):
        on_spark(system, state_dir=tmp_path / "s", resume=True)


def python_workers(parent: int) -> list[int]:
    """Processes below this one that run Spark's Python workers."""
    listed = subprocess.run(["ps", "-wweo", "pid=,ppid=,args="], capture_output=True, text=True, check=True).stdout
    rows = [line.split(None, 2) for line in listed.splitlines()]
    below = {parent}
    for _ in range(6):
        below |= {int(pid) for pid, ppid, *_ in rows if int(ppid) in below}
    daemons = {int(pid) for pid, _, args in (row for row in rows if len(row) == 3) if "pyspark.daemon" in args}
    return [int(pid) for pid, ppid, *_ in rows if int(pid) in below & daemons and int(ppid) in daemons]


@pytest.mark.usefixtures("session")
def test_killed_workers_change_nothing(tmp_path: Path) -> None:
    """At a third of the levels, whatever Python worker is there is killed; its tasks run again."""
    system = classic("kip-101", 3, 1, 1, 1)
    killed: list[int] = []
    levels: set[int] = set()

    def reporter(progress: SearchProgress) -> None:
        if progress.level % 3 == 0 and progress.level not in levels:
            levels.add(progress.level)
            threading.Timer(0.1, kill).start()

    def kill() -> None:
        for pid in python_workers(os.getpid())[:1]:
            os.kill(pid, signal.SIGKILL)
            killed.append(pid)

    found = on_spark(system, reporter=reporter, keep_going=True)
    assert killed
    assert essence(found) == in_memory(system, keep_going=True)


@pytest.mark.usefixtures("session")
def test_a_time_limit_ends_a_job_that_runs(tmp_path: Path) -> None:
    """The level is given up, those before it stay, and the session is there for the next search."""
    system = classic("kip-101", 3, 2, 2, 1)
    slow = (("neverlost.driver.states", "100"), ("neverlost.task.states", "100"))
    cut = on_spark(system, slow, state_dir=tmp_path / "s", keep_going=True, limits=SearchLimits(seconds=3))
    assert cut.reason == "the time limit of 3 s was reached"
    assert len(Store.attach(tmp_path / "s").levels()) == cut.counts.depth
    assert cut.counts.left > 0
    found = on_spark(system, (("neverlost.driver.states", "4000"),), state_dir=tmp_path / "s", keep_going=True, resume=True)
    assert essence(found) == in_memory(system, keep_going=True)


@pytest.mark.usefixtures("session")
def test_an_error_in_a_task_keeps_its_kind(monkeypatch: pytest.MonkeyPatch) -> None:
    """An executor with another source of the model is refused, and is not retried into a wrong answer."""
    monkeypatch.setattr("neverlost.checker.engine.disk.level_tasks.question_digest", lambda model, asked: "sha256:other")
    with pytest.raises(Exception, match="an executor has another version of kip-320 than the driver") as caught:
        on_spark(classic("kip-320", 2, 1, 1, 1))
    assert type(caught.value).__name__ == "InputError"


@pytest.mark.parametrize(
    ("conf", "message"),
    [
        (("neverlost.task.stats", "3"), "unknown setting 'neverlost.task.stats' in --spark-conf; available: neverlost.driver"),
        (("neverlost.task.states", "many"), "bad value 'many' for neverlost.task.states in --spark-conf"),
    ],
)
def test_bad_settings_are_input_errors(conf: tuple[str, str], message: str) -> None:
    with pytest.raises(InputError, match=message):
        on_spark(classic("kip-320", 2, 1, 1, 1), (conf,))


def test_the_source_archive_is_enough_for_an_executor(tmp_path: Path) -> None:
    """Python imports tasks, models and properties from the archive, and finds the same digest."""
    archive = spark_session.pack_source(tmp_path)
    program = (
        "import neverlost.checker.engine.spark.jobs, neverlost.checker.engine.disk.level_tasks;"
        "import json, neverlost.checker as checker;"
        "from neverlost.checker.engine.digest import model_digest; from neverlost.model.protocols import models; "
        "from neverlost.specs.properties import properties;"
        "print(json.dumps([checker.__file__, sorted(properties()), {n: model_digest(m) for n, m in models().items()}]))"
    )
    environment = {**os.environ, "PYTHONPATH": str(archive)}
    ran = subprocess.run([sys.executable, "-c", program], cwd=tmp_path, env=environment, capture_output=True, text=True)
    assert ran.returncode == 0, ran.stderr
    place, names, digests = json.loads(ran.stdout)
    assert place.startswith(str(archive))
    assert digests == {name: model_digest(each) for name, each in models().items()}
    assert names == sorted(properties())


def pretended(place: Path, monkeypatch: pytest.MonkeyPatch, spark: str) -> None:
    """A script in the place of Spark, and a Java that only says which it is."""
    for name, script in (("java", "echo 'version \"25\"' >&2"), ("spark-submit", spark)):
        launcher = place / "bin" / name
        launcher.parent.mkdir(exist_ok=True)
        launcher.write_text(f"#!/bin/sh\n{script}\n")
        launcher.chmod(0o755)
    monkeypatch.setenv("JAVA_HOME", str(place))
    monkeypatch.setenv("SPARK_HOME", str(place))
    monkeypatch.setattr("pyspark.SparkContext._active_spark_context", None)
    monkeypatch.setattr("pyspark.SparkContext._gateway", None)


class TestJava:
    """Which Java serves, and what is said when none does."""

    def test_the_extra_serves_without_an_installed_java(self) -> None:
        home = spark_java.find_java_home({"PATH": ""})
        launched = [home / "bin" / "java", spark_java.MISSING_MODULE, "-version"]
        assert subprocess.run(launched, capture_output=True, check=False).returncode == 0
        version = spark_java.read_java_version(home)
        assert version is not None and version >= spark_java.OLDEST

    def test_without_any_java_the_remedy_is_named(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(spark_java, "_find_extra_home", lambda: None)
        with pytest.raises(
            InputError, match=r"needs Java 17 or newer, and there is none; install .* pip install 'neverlost\[java\]'"
        ):
            spark_java.find_java_home({"PATH": ""})

    @pytest.mark.parametrize(
        ("script", "what"),
        [
            ("echo 'openjdk version \"11.0.2\"' >&2", "is Java 11"),
            ("echo 'java version \"1.8.0_1\"' >&2", "is Java 8"),
            ("exit 1", "is not runnable"),
        ],
    )
    def test_an_old_java_is_named(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, script: str, what: str) -> None:
        monkeypatch.setattr(spark_java, "_find_extra_home", lambda: None)
        launcher = tmp_path / "bin" / "java"
        launcher.parent.mkdir()
        launcher.write_text(f"#!/bin/sh\n{script}\n")
        launcher.chmod(0o755)
        with pytest.raises(InputError, match=f"JAVA_HOME {tmp_path} {what}"):
            spark_java.find_java_home({"PATH": "", "JAVA_HOME": str(tmp_path)})

    def test_what_starts_java_leaves_nothing_where_it_is_killed(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        """It is in a folder that is cleared once its owner is gone."""
        pretended(tmp_path, monkeypatch, "echo Error: $_PYSPARK_DRIVER_CONN_INFO_PATH; exit 1")
        with pytest.raises(InputError, match=f"Error: {tempfile.gettempdir()}/{scratch.PREFIX}spark-[^/]*/[^/]*/[^/]*;"):
            spark_session.start("local[1]", {}, "killed")

    def test_java_that_is_ended_while_it_starts_is_no_wrong_setting(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        pretended(tmp_path, monkeypatch, "echo 'WARNING: Using incubator modules: jdk.incubator.vector'; kill -TERM $$")
        with pytest.raises(ResourceExhausted, match="Spark's Java ended before it was ready"):
            spark_session.start("local[1]", {}, "ended")

    def test_pyspark_missing_is_named(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(spark_session.importlib.util, "find_spec", lambda name: None)
        with pytest.raises(InputError, match=r"needs pyspark, which is not installed; pip install 'neverlost\[spark\]'"):
            on_spark(classic("kip-320", 2, 1, 1, 1))


def command(path: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    """The command line in a process of its own, without an installed Java but what the path has."""
    variables = {name: value for name, value in os.environ.items() if name != "JAVA_HOME"} | {"PATH": path}
    bounds = ["--set", "bounds.records=2", "--set", "bounds.max_leader_epoch=1"]
    whole = [sys.executable, "-m", "neverlost", "explore", "kip-320", *bounds, "--engine", "spark", *arguments]
    return subprocess.run(whole, cwd=ROOT, env=variables, capture_output=True, text=True, check=False)


@pytest.mark.slow
def test_a_search_on_the_extra_s_java_is_quiet(tmp_path: Path) -> None:
    """Nothing of Spark's own is shown, but for the address of its page, which is asked for."""
    for folder in os.environ["PATH"].split(os.pathsep):
        for each in Path(folder).glob("*"):
            if not each.name.startswith("java") and not (tmp_path / each.name).exists():
                (tmp_path / each.name).symlink_to(each)
    conf = ["neverlost.driver.states=0", "spark.ui.enabled=true", "spark.ui.port=0"]
    ran = command(str(tmp_path), "--master", "local[2]", *[part for each in conf for part in ("--spark-conf", each)])
    assert ran.returncode == 0, ran.stderr
    assert "39,619 distinct states, 102,220 generated, depth 22" in ran.stdout
    (line,) = ran.stderr.splitlines()
    assert line.startswith("Spark UI at http://")


JAVA_IS_KILLED = """
import os, signal, sys
from neverlost.checker.engine.engines.explore import explore
from neverlost.checker.engine.search.options import Options
from neverlost.specs.properties import guarantees
from pyspark import SparkContext
from tests.support.searches import classic, essence

def kill(progress):
    if progress.level == 9:
        os.kill(SparkContext._gateway.proc.pid, signal.SIGKILL)

system = classic("kip-101", 3, 1, 1, 1)
conf = (("neverlost.driver.states", "0"), ("neverlost.task.least", "50"))
def asked(reporter, **more):
    options = Options(spark_conf=conf, state_dir=sys.argv[1], keep_going=True, **more)
    return explore(system, guarantees(system.model), options, reporter, engine="spark")
cut = asked(kill)
print(cut.reason)
assert cut.counts.depth >= 8, cut.counts
assert essence(asked(None, resume=True)) == essence(explore(system, guarantees(system.model), Options(keep_going=True)))
print("the same")
"""


@pytest.mark.slow
def test_a_search_whose_java_is_killed_ends_and_the_next_one_starts_another(tmp_path: Path) -> None:
    whole = [sys.executable, "-c", JAVA_IS_KILLED, str(tmp_path / "s")]
    ran = subprocess.run(whole, cwd=ROOT, capture_output=True, text=True, check=False, timeout=300)
    assert ran.returncode == 0, ran.stderr
    reason, same = ran.stdout.splitlines()
    assert reason.startswith("Spark gave up on a level: ") and reason.endswith("; what was committed can be resumed")
    assert same == "the same"


@pytest.mark.slow
def test_a_scenario_is_judged_the_same() -> None:
    def judged(*arguments: str) -> dict[str, Any]:
        whole = [sys.executable, "-m", "neverlost", "scenarios", "last-replica-standing", "--workers", "1", "--json", "-"]
        ran = subprocess.run([*whole, *arguments], cwd=ROOT, capture_output=True, text=True, check=False)
        assert ran.returncode == 0, ran.stderr
        found: dict[str, Any] = json.loads(
            ran.stdout, object_hook=lambda each: {k: v for k, v in each.items() if k != "seconds"}
        )
        return found

    conf = ["--spark-conf", "neverlost.driver.states=300", "--master", "local[2]"]
    assert judged("--engine", "spark", *conf) == judged()


@pytest.mark.slow
def test_what_java_says_is_shown_in_one_line() -> None:
    conf = ["--spark-conf", "spark.driver.memory=tiny", "--spark-conf", "neverlost.driver.states=0"]
    ran = command(os.environ["PATH"], "--master", "local[2]", *conf)
    assert (ran.returncode, ran.stdout) == (64, "")
    (line,) = ran.stderr.splitlines()
    assert line.startswith("neverlost: cannot start Spark on 'local[2]': Error: Could not create the Java Virtual Machine")
    assert line.endswith("; check --master and --spark-conf")


GOLDENS = [each for each in (*golden_counts(), *golden_verdicts()) if each.expected.get("distinct", 0) < 10**6]
"""The larger ones are in `tests/tools/bench/spark_bench.py`, which compares their counts too."""


@cache
def explored(model: str, given: tuple[tuple[str, Any], ...]) -> Outcome:
    """A model on Spark, levels of 1,000 states or more in tasks; equal to the memory engine's."""
    return equal_to_memory(bind(models()[model], dict(given)))


def equal_to_memory(system: System) -> Outcome:
    """The outcome on Spark, after comparing everything that does not depend on the engine; replay of traces included."""
    expected = in_memory(system, keep_going=True)
    found = on_spark(system, (("neverlost.driver.states", "1000"), ("neverlost.task.least", "2000")), keep_going=True)
    assert essence(found) == expected
    return found


@pytest.mark.slow
@pytest.mark.usefixtures("session")
@pytest.mark.parametrize("golden", GOLDENS, ids=lambda golden: golden.name)
def test_goldens(golden: Golden) -> None:
    """Counts, depths, verdicts and lengths of counterexamples as TLC, Spin and the design have them."""
    found = explored(golden.model, tuple(golden.configuration.items()))
    if "property" in golden.expected:
        (finding,) = (each for each in found.findings if each.property.name == golden.expected["property"])
        assert finding.verdict == golden.expected["verdict"]
        assert (len(finding.trace.steps) if finding.trace else None) == golden.expected.get("steps")
    else:
        assert (found.counts.distinct, found.counts.depth) == (golden.expected["distinct"], golden.expected["depth"])


MODERN: dict[str, dict[str, Any]] = {
    "kraft": {"lossy_crash": 1, "isr_shrink": 2},
    "kraft-elr": {"lossy_crash": 1, "isr_shrink": 1, "crash": 1, "leader_move": 1},
    "0.10": {"crash": 1, "leader_move": 1, "isr_shrink": 1},
    "majority": {"min_isr": None, "lossy_crash": 1, "leader_move": 2},
}


@pytest.mark.slow
@pytest.mark.usefixtures("session")
@pytest.mark.parametrize("model", MODERN)
def test_modern_models(model: str) -> None:
    found = equal_to_memory(modern.system(model, **MODERN[model]))
    assert found.counts.distinct > 2_000, "a level of the size that goes to Spark"
