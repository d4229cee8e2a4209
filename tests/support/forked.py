"""The program in a copy of this process, so that what it imports is imported once however often it runs."""

from __future__ import annotations

import atexit
import contextlib
import importlib
import os
import signal
import sys
import tempfile
import threading
import time
import weakref
from collections.abc import Callable, Sequence
from pathlib import Path

import typer

from neverlost.reports import cli, program


def prepare(*modules: str) -> None:
    """Put the commands together and import modules, once: every copy would do it again."""
    for each in modules:
        importlib.import_module(each)
    program.register(())
    program.app = typer.main.get_command(program.app)  # type: ignore[assignment]
    program.register = lambda words: None


def started(arguments: Sequence[str], said: Path, first: Callable[[], object] = lambda: None) -> int:
    """The id of a copy that runs the program with these arguments, after `first`; its stderr goes into the file `said`."""
    child = os.fork()
    if child:
        return child
    code = 70
    try:
        code = _run(["neverlost", *arguments], said, first)
    finally:
        os._exit(code)


def _run(arguments: list[str], said: Path, first: Callable[[], object]) -> int:
    """As the interpreter would: the program, its threads, what is to be done at the end."""
    nothing = os.open(os.devnull, os.O_RDWR)
    words = os.open(said, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    for stream, target in ((0, nothing), (1, nothing), (2, words)):
        os.dup2(target, stream)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    tempfile.tempdir, sys.argv = None, arguments
    weakref.finalize._registry.clear()  # type: ignore[attr-defined]  # temporary folders of the first process are its own
    code = 70
    try:
        first()
        cli.main()
    except SystemExit as done:
        code = done.code if isinstance(done.code, int) else 1
    except BaseException as problem:
        os.write(2, f"{type(problem).__name__}: {problem}\n".encode())
    with contextlib.suppress(KeyboardInterrupt):  # an interpreter that ends goes on after an interrupt
        threading._shutdown()  # type: ignore[attr-defined]
    with contextlib.suppress(KeyboardInterrupt):
        atexit._run_exitfuncs()
    sys.stderr.flush()
    return code


def ended(process: int, seconds: float, meanwhile: Callable[[], object] = lambda: None) -> int | None:
    """How a process of ours ended, the negative number of a signal; None where it was still there after so many seconds.

    `meanwhile` is called at every look.
    """
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        done, status = os.waitpid(process, os.WNOHANG)
        if done:
            return os.waitstatus_to_exitcode(status)
        meanwhile()
        time.sleep(0.005)
    return None


def end(process: int) -> None:
    """Kill a process of ours."""
    os.kill(process, signal.SIGKILL)
    os.waitpid(process, 0)


def family(process: int) -> list[int]:
    """A process and those below it that are there now, parents first."""
    found = [process]
    for each in found:
        with contextlib.suppress(OSError):
            for thread in Path(f"/proc/{each}/task").iterdir():
                found += map(int, (thread / "children").read_text().split())
    return found


def used(processes: Sequence[int]) -> int:
    """What processes, and those that ended below them, have had of the processor.  Units: ticks of the system's clock."""
    found = 0
    for each in processes:
        with contextlib.suppress(OSError, IndexError):
            found += sum(map(int, Path(f"/proc/{each}/stat").read_text().rpartition(")")[2].split()[11:15]))
    return found
