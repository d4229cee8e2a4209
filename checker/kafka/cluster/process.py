"""Kafka's processes: started so that they end with this process, watched through their log, killed or stopped."""

from __future__ import annotations

import contextlib
import ctypes
import os
import re
import signal
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

from neverlost.checker.kafka.cluster.jars import KafkaHome

Found = TypeVar("Found")

HEAP = "-Xmx192m"
FAST_START = ("-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-XX:-UsePerfData", "-Xshare:auto")
END_WITH_PARENT = 1
"""PR_SET_PDEATHSIG of prctl(2)."""

LOG4J_1 = """log4j.rootLogger=INFO, stdout
log4j.appender.stdout=org.apache.log4j.ConsoleAppender
log4j.appender.stdout.layout=org.apache.log4j.PatternLayout
log4j.appender.stdout.layout.ConversionPattern=[%d] %p %m (%c)%n
"""
LOG4J_2 = """status = error
appender.stdout.type = Console
appender.stdout.name = stdout
appender.stdout.layout.type = PatternLayout
appender.stdout.layout.pattern = [%d] %p %m (%c)%n
rootLogger.level = info
rootLogger.appenderRef.stdout.ref = stdout
"""


class ClusterError(Exception):
    """The cluster did not do what it must: a request is refused, a tool fails, or a condition is not met in time."""


class ConditionNotMet(ClusterError):
    """A condition was not met in time; the message says what was seen instead."""

    def __init__(self, what: str, seconds: float, seen: str) -> None:
        super().__init__(f"waited {seconds:.0f} s for {what}; {seen}")
        self.what, self.seconds, self.seen = what, seconds, seen


def wait_until(
    happens: Callable[[], Found], what: str, seconds: float, seen: Callable[[], object] = lambda: "it did not happen"
) -> Found:
    """Wait for the first true value of a condition and return it.  Errors: `ConditionNotMet` when it takes too long."""
    deadline = time.monotonic() + seconds
    while True:
        found = happens()
        if found:
            return found
        if time.monotonic() > deadline:
            raise ConditionNotMet(what, seconds, str(seen()))
        time.sleep(0.05)


_libc: Any = None


def _end_with_parent() -> None:
    """Make the kernel kill this child process when its parent dies; runs in the child before Java starts."""
    if _libc is not None:
        _libc.prctl(END_WITH_PARENT, signal.SIGKILL)


class Java:
    """Runs Kafka's classes with a home's jars; writes log settings for both generations of log4j into `folder`."""

    def __init__(self, home: KafkaHome, folder: Path) -> None:
        global _libc
        self.home, self.folder = home, folder
        (folder / "log4j.properties").write_text(LOG4J_1)
        (folder / "log4j2.properties").write_text(LOG4J_2)
        with contextlib.suppress(OSError):
            _libc = ctypes.CDLL(None)

    def command(self, main_class: str, *arguments: str) -> list[str]:
        logging = [
            f"-Dlog4j.configuration=file:{self.folder / 'log4j.properties'}",
            f"-Dlog4j2.configurationFile={self.folder / 'log4j2.properties'}",
        ]
        java = str(self.home.java / "bin" / "java")
        return [java, HEAP, *FAST_START, *logging, "-cp", str(self.home.folder / "libs" / "*"), main_class, *arguments]

    def run(self, main_class: str, *arguments: str, seconds: float = 120) -> str:
        """Run a tool to its end; return its output.  Errors: `ClusterError` if it fails, `TimeoutExpired` after `seconds`."""
        command = self.command(main_class, *arguments)
        process = subprocess.Popen(
            command,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
            preexec_fn=_end_with_parent,
        )
        try:
            said, _ = process.communicate(timeout=seconds)
        except BaseException:
            process.kill()
            process.wait()
            raise
        if process.returncode != 0:
            words = [line for line in said.strip().splitlines() if not line.startswith("[")]
            raise ClusterError(f"{main_class} {' '.join(arguments)} failed: {' / '.join(words[:4])}")
        return said


class Process:
    """One Kafka server, which may be started several times; its output is appended to `log`."""

    def __init__(self, java: Java, properties: Path, log: Path) -> None:
        self.java, self.properties, self.log = java, properties, log
        self.popen: subprocess.Popen[bytes] | None = None
        self.is_paused = False
        self.started_at = 0

    @property
    def is_running(self) -> bool:
        """Whether the server runs; a paused one counts."""
        return self.popen is not None and self.popen.poll() is None

    @property
    def pid(self) -> int | None:
        """The process id of the server while it runs; None otherwise."""
        return self.popen.pid if self.popen is not None and self.is_running else None

    def start(self) -> None:
        """Start the server in a session of its own, which Ctrl-C does not reach.  It ends with the thread that calls this."""
        self.started_at = self.mark
        with self.log.open("ab") as log:
            self.popen = subprocess.Popen(
                self.java.command("kafka.Kafka", str(self.properties)),
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
                preexec_fn=_end_with_parent,
            )

    def kill(self) -> None:
        """Send the server SIGKILL and wait until it has ended."""
        if self.popen is not None:
            self.popen.kill()
            self.popen.wait()
        self.is_paused = False

    def stop(self, meanwhile: Callable[[], None] = lambda: None, seconds: float = 60) -> None:
        """Send SIGTERM for a controlled shutdown, call `meanwhile` at once, and wait for the end.  Errors: `ClusterError` with
        the last line of output after `seconds`; the server is killed then, so that it can be started again."""
        if self.popen is None:
            return
        self.resume()
        self.popen.terminate()
        meanwhile()
        try:
            self.popen.wait(seconds)
        except subprocess.TimeoutExpired:
            self.kill()
            last = self.read_log(self.started_at).strip().splitlines()[-1:]
            raise ClusterError(f"{self.properties.stem} did not shut down within {seconds:.0f} s: {' '.join(last)}") from None

    def pause(self) -> None:
        """Send the server SIGSTOP, if it runs."""
        if self.pid is not None:
            os.kill(self.pid, signal.SIGSTOP)
            self.is_paused = True

    def resume(self) -> None:
        """Send the server SIGCONT, if it runs."""
        if self.pid is not None:
            os.kill(self.pid, signal.SIGCONT)
        self.is_paused = False

    def find_printed(self, pattern: str, since: int = 0) -> re.Match[str] | None:
        """Return the first match of a pattern in the log from a byte position on; None without one."""
        return re.search(pattern, self.read_log(since))

    def read_log(self, since: int = 0) -> str:
        if not self.log.exists():
            return ""
        with self.log.open("rb") as stream:
            stream.seek(since)
            return stream.read().decode(errors="replace")

    @property
    def mark(self) -> int:
        """Return the present end of the log, as a position for `find_printed`; 0 without a log."""
        return self.log.stat().st_size if self.log.exists() else 0
