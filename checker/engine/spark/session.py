"""A quiet Spark session that can run our tasks: in this process, on a cluster, or through Spark Connect."""

from __future__ import annotations

import atexit
import importlib
import importlib.util
import os
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import zipfile
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from functools import partial
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path
from types import SimpleNamespace
from typing import IO, Any

from neverlost.checker.engine.host import interrupts
from neverlost.checker.engine.host.numpy_cpu import environment
from neverlost.checker.engine.host.processes import SAFE_PATH, change_environment
from neverlost.checker.engine.host.resources import ResourceExhausted
from neverlost.checker.engine.spark.java import find_java_home, make_temporary_folder
from neverlost.specs.errors import InputError

CONNECT_PORT = 15002
"""Where a Spark Connect server listens, if its address does not say."""

ANSWERS_WITHIN = 10
"""Seconds that an address of Spark has to answer."""

ENDS_WITHIN = 3
"""Seconds for which it is awaited, after a failed start, that Java ends."""

_CHECK = "check --master and --spark-conf"

_CHATTER = ("WARNING: ", "Setting default log level", "To adjust logging level")

PACKAGES = ("neverlost.model", "neverlost.specs", "neverlost.checker")
"""What executors need of the project."""

_QUIET = """
rootLogger.level = off
rootLogger.appenderRef.stderr.ref = stderr
appender.stderr.type = Console
appender.stderr.name = stderr
appender.stderr.target = SYSTEM_ERR
appender.stderr.layout.type = PatternLayout
"""

_LEAN = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC -XX:-UsePerfData"

DEFAULTS = {
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.sql.adaptive.enabled": "false",
    "spark.sql.execution.arrow.maxRecordsPerBatch": "16",
    "spark.shuffle.compress": "false",
    "spark.shuffle.spill.compress": "false",
    "spark.python.worker.reuse": "true",
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.classic.shuffleDependency.fileCleanup.enabled": "true",
    "spark.sql.connect.shuffleDependency.fileCleanup.enabled": "true",
    "spark.task.maxFailures": "8",
    "spark.shuffle.io.retryWait": "1s",
    "spark.driver.memory": "1g",
    **{f"spark.executorEnv.{name}": value for name, value in SAFE_PATH.items()},
    "spark.log.structuredLogging.enabled": "false",
    "spark.driver.extraJavaOptions": _LEAN,
    "spark.executor.extraJavaOptions": _LEAN,
}
"""Blocks are large and random: few rows to a batch, nothing to compress, no plans worth adapting.  Java only moves them:
its second compiler would cost more time than it saves (a level of fixed cost 0.23 s instead of 0.40 s, start 6 s instead of
10 s, on two busy cores).  What a level shuffled goes with its job: left to collections of Java it stayed, 36 GB of it after
8 * 10^8 states."""

LOOPBACK = {"spark.driver.host": "127.0.0.1", "spark.driver.bindAddress": "127.0.0.1"}
"""Settings with which a Spark on this machine listens on loopback only."""


def check_requirements(master: str) -> None:
    """Check that a session can be started at all.  Errors: `InputError` says what to install, or that no address answers."""
    if importlib.util.find_spec("pyspark") is None:
        raise InputError("the Spark engine needs pyspark, which is not installed; pip install 'neverlost[spark]'")
    if not is_connect(master):
        find_java_home()
    _check_reachable(master)


def _check_reachable(master: str) -> None:
    """Check that one of a master's addresses answers, where it has addresses: else starting to search would be for nothing.

    Errors: `InputError` where none does.
    """
    scheme, _, rest = master.partition("://")
    if scheme not in ("spark", "sc"):
        return
    problem: Exception | None = None
    for each in rest.split("/")[0].split(";")[0].split(","):
        host, _, port = each.rpartition(":") if ":" in each else (each, "", str(CONNECT_PORT))
        try:
            socket.create_connection((host.strip("[]"), int(port)), timeout=ANSWERS_WITHIN).close()
            return
        except (OSError, ValueError) as refused:
            problem = refused
    raise InputError(f"cannot reach Spark on {master!r}: {problem}; {_CHECK}")


def is_connect(master: str) -> bool:
    """Return True if a master is a Spark Connect server."""
    return master.startswith("sc://")


def is_running() -> bool:
    """Return True if this process has a session already, which then is used and left alone."""
    from pyspark import SparkContext
    from pyspark.sql import SparkSession

    # the active session is one of a thread, and a background thread may ask
    return SparkContext._active_spark_context is not None or SparkSession.getActiveSession() is not None


def find_ui_address(session: Any) -> str | None:
    """Return the address of the session's web page; None if it has none, or speaks to a Spark Connect server."""
    return getattr(getattr(session, "sparkContext", None), "uiWebUrl", None) if not is_remote(session) else None


def is_remote(session: Any) -> bool:
    """Return True if a session speaks to a Spark Connect server."""
    return not hasattr(session, "_jsparkSession")


def start(master: str, conf: Mapping[str, str], name: str) -> Any:
    """Return a session on a master, with our source sent to it unless it is local; our defaults yield to `conf`.

    Errors: `InputError` when Spark cannot be started or reached, `ResourceExhausted` where its Java is gone before it is ready.
    """
    settings = (
        DEFAULTS
        | (LOOPBACK if master.startswith("local") else {})
        | {key: value for key, value in conf.items() if not key.startswith("neverlost.")}
    )
    try:
        session = _connect(master, settings) if is_connect(master) else _start_classic(master, settings, name)
    except (InputError, ResourceExhausted):
        raise
    except Exception as problem:
        raise InputError(f"cannot start Spark on {master!r}: {find_reason(problem)}; {_CHECK}") from None
    if not master.startswith("local"):
        _ship(session)
    return session


def _start_classic(master: str, settings: Mapping[str, str], name: str) -> Any:
    from pyspark import SparkConf, SparkContext
    from pyspark.sql import SparkSession

    java_gateway: Any = importlib.import_module("py4j.java_gateway")
    java_gateway.logging = java_gateway.logger  # what it says to all programs would be printed when one is interrupted
    conf = SparkConf().setMaster(master).setAppName(name).setAll(list(settings.items()))
    with _start_quietly(master) as said:
        if master.startswith("local"):
            conf.setIfMissing("spark.local.dir", str(Path(said.name).parent))
        gateway = SparkContext._gateway
        try:
            if SparkContext._active_spark_context is None:
                gateway = gateway or _launch_java(conf, said)
                with _leave_interrupts_alone():
                    SparkContext(gateway=gateway, conf=conf)
            session = SparkSession.builder.config(conf=conf).getOrCreate()
            session.sparkContext.setLogLevel("OFF")
        except Exception as problem:
            cause, was_ended = _find_cause(said, problem), _was_ended(gateway, said)
            _forget()
            if was_ended:
                raise ResourceExhausted(f"Spark's Java ended before it was ready: {cause}") from None
            raise InputError(f"cannot start Spark on {master!r}: {cause}; {_CHECK}") from None
    # this server would print a traceback where Java is gone, which is said elsewhere
    session.sparkContext._accumulatorServer.handle_error = lambda *_: None
    return session


@contextmanager
def _leave_interrupts_alone() -> Iterator[None]:
    """After the block put back the handler of Ctrl-C, which pyspark replaces: its own would ask Java to cancel jobs."""
    before = signal.getsignal(signal.SIGINT)
    try:
        yield
    finally:
        if threading.current_thread() is threading.main_thread():
            signal.signal(signal.SIGINT, before)


def _launch_java(conf: Any, said: IO[bytes]) -> Any:
    """Return the gateway to Java, started by pyspark; the folder in which they meet is in ours, cleared if we are killed.

    Java is ended if its start is cut short: it would stay.
    """
    gateways: Any = importlib.import_module("pyspark.java_gateway")
    here = partial(tempfile.mkdtemp, dir=Path(said.name).parent)
    begun: list[subprocess.Popen[bytes]] = []
    atexit.register(_end, begun)

    def begin(*given: Any, **named: Any) -> subprocess.Popen[bytes]:
        with interrupts.delay_interrupts():  # else one could come before it is known what to end
            begun.append(subprocess.Popen(*given, **named))
        return begun[0]

    gateways.tempfile, gateways.Popen = SimpleNamespace(**vars(tempfile) | {"mkdtemp": here}), begin
    try:
        return gateways.launch_gateway(conf, {"stdout": said, "stderr": said})
    except BaseException:
        _end(begun)
        raise
    finally:
        gateways.tempfile, gateways.Popen = tempfile, subprocess.Popen
        begun.clear()


def _end(processes: Iterable[subprocess.Popen[bytes]]) -> None:
    for each in processes:
        each.kill()
        each.wait()


def _was_ended(gateway: Any, said: IO[bytes]) -> bool:
    """Return True if Java was ended by others: it has not said why, and is gone or ends within `ENDS_WITHIN` seconds."""
    if _list_lines(said):
        return False
    with suppress(subprocess.TimeoutExpired):
        return gateway is None or gateway.proc.wait(ENDS_WITHIN) is not None
    return False


def _find_cause(said: IO[bytes], problem: Exception) -> str:
    """Return the first line of what Java said that names an error; without one, `find_reason` of the Python error."""
    texts = [*_list_lines(said), find_reason(problem)]
    return next((text for text in texts if "Exception" in text or "rror" in text), texts[-1])[:300]


def _list_lines(said: IO[bytes]) -> list[str]:
    """Return what Java said, but for what it says whenever it starts."""
    said.seek(0)
    lines = map(str.strip, said.read().decode(errors="replace").splitlines())
    return [line for line in lines if line and not line.startswith(_CHATTER)]


def stop(session: Any) -> None:
    """End a session; one whose Java is gone cannot end by itself, and is forgotten: the next search starts another."""
    try:
        session.stop()
    except Exception:
        _forget()


def _forget() -> None:
    from pyspark import SparkContext
    from pyspark.sql import SparkSession

    with suppress(Exception):
        SparkContext._gateway.shutdown()
    SparkContext._active_spark_context = SparkContext._gateway = SparkContext._jvm = None
    SparkSession._instantiatedSession = None


@contextmanager
def ask_spark(work: str, kept: str) -> Iterator[None]:
    """Run a block that asks Spark for a part of `work`; the error of a failure says with `kept` what is not lost.

    Errors: `ResourceExhausted` for every `Exception` of the block but `InputError`, which stays; interrupts pass too.
    """
    try:
        yield
    except (ResourceExhausted, InputError):
        raise
    except Exception as problem:
        raise ResourceExhausted(f"Spark gave up on {work}: {find_reason(problem)}; {kept}") from None


def find_reason(problem: Exception) -> str:
    """Return the line of a long message that says what happened, 300 characters of it at most."""
    try:
        text = str(problem)
    except Exception as gone:  # what Java's exceptions say is asked of Java
        text = f"{type(problem).__name__}, and then {gone}"
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    causes = [line for line in lines if "Exception" in line or "Error" in line or "aborted" in line]
    return (causes or lines or [type(problem).__name__])[-1 if "Traceback" in text else 0][:300]


def _connect(address: str, settings: Mapping[str, str]) -> Any:
    from pyspark.sql import SparkSession

    session = SparkSession.builder.remote(address).getOrCreate()
    for key, value in settings.items():
        if key.startswith("spark.sql.") and session.conf.isModifiable(key):
            session.conf.set(key, value)
    return session


@contextmanager
def _start_quietly(master: str) -> Iterator[IO[bytes]]:
    """In this block Java is found and logs nothing, and its Python workers find this project.

    What Java says all the same belongs into the file that is yielded.
    """
    folder = make_temporary_folder()
    Path(folder, "log4j2.properties").write_text(_QUIET)
    quiet = f"-Dlog4j2.configurationFile={folder}/log4j2.properties -Djava.io.tmpdir={folder}"
    changed = _choose_python(master) | environment() | SAFE_PATH
    changed["JAVA_HOME"] = str(find_java_home())
    changed["SPARK_SUBMIT_OPTS"] = " ".join(filter(None, [quiet, os.environ.get("SPARK_SUBMIT_OPTS")]))
    with change_environment(changed), open(Path(folder, "java.log"), "w+b") as said:
        yield said


def _choose_python(master: str) -> dict[str, str]:
    """Return the variable by which local workers run this process's Python; none if it is set, or the master is not local."""
    return {"PYSPARK_PYTHON": sys.executable} if master.startswith("local") and "PYSPARK_PYTHON" not in os.environ else {}


def _ship(session: Any) -> None:
    """Send the project's own source to the executors."""
    archive = pack_source(make_temporary_folder())
    if is_remote(session):
        session.addArtifacts(str(archive), pyfile=True)
    else:
        session.sparkContext.addPyFile(str(archive))


def pack_source(folder: Path) -> Path:
    """Write the packages that executors need into a zip file in a folder, from which Python can import, and return its path."""
    archive = folder / "neverlost_source.zip"
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as target:
        target.writestr("neverlost/__init__.py", "")
        for package in PACKAGES:
            for name, content in _list_sources(files(package), package.replace(".", "/")):
                target.writestr(name, content)
    return archive


def _list_sources(folder: Traversable, prefix: str) -> Iterator[tuple[str, bytes]]:
    for each in folder.iterdir():
        if each.is_dir() and each.name != "__pycache__":
            yield from _list_sources(each, f"{prefix}/{each.name}")
        elif each.name.endswith((".py", ".toml", ".json")):
            yield f"{prefix}/{each.name}", each.read_bytes()
