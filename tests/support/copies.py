"""The program in copies of one process that has imported it: Python's start and its imports take longer than most runs.

`run` is what tests use.  `python -m tests.support.copies` is the process that is copied, once for each request that comes by
the socket that is its standard input; a copy does what `python -m neverlost` does in a process of its own.
"""

from __future__ import annotations

import atexit
import contextlib
import functools
import gc
import importlib
import json
import os
import pkgutil
import runpy
import signal
import socket
import subprocess
import sys
import tempfile
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from neverlost.checker.engine import kept_digests

ROOT = Path(__file__).resolve().parents[2]
LONGEST = 1 << 17
"""Bytes that a request may have."""

OTHERS = ("jinja2", "numpy", "pyarrow.parquet", "rich.console", "rich.table", "yaml", "z3")
"""Modules of others that the program imports where it needs them."""

ALONE = ("neverlost.__main__", "neverlost.checker.kafka.conform", "neverlost.checker.engine.spark")
"""What is not imported before it is needed: the program itself, and what needs Java."""


def run(
    arguments: Sequence[str], cwd: Path, environment: Mapping[str, str], timeout: float
) -> subprocess.CompletedProcess[str]:
    """A run of the program: exit status, stdout and stderr.  Units: seconds."""
    request = {"arguments": arguments, "cwd": str(cwd), "environment": dict(environment)}
    connection = _original(os.getpid())
    with tempfile.TemporaryFile("w+") as said, tempfile.TemporaryFile("w+") as complained:
        socket.send_fds(connection, [json.dumps(request).encode()], [said.fileno(), complained.fileno()])
        process = json.loads(connection.recv(LONGEST))
        connection.settimeout(timeout)
        try:
            status = json.loads(connection.recv(LONGEST))
        except TimeoutError:
            os.kill(process, signal.SIGKILL)
            connection.settimeout(None)
            connection.recv(LONGEST)
            raise subprocess.TimeoutExpired([*arguments], timeout) from None
        connection.settimeout(None)
        said.seek(0)
        complained.seek(0)
        return subprocess.CompletedProcess(["neverlost", *arguments], status, said.read(), complained.read())


@functools.cache
def _original(_: int) -> socket.socket:
    """The socket of the process that is copied, one for each process that asks, which ends when that one does."""
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    command = [sys.executable, "-m", "tests.support.copies"]
    with theirs:
        copied = subprocess.Popen(command, cwd=ROOT, stdin=theirs.fileno(), stdout=subprocess.DEVNULL)
    atexit.register(copied.wait)
    atexit.register(ours.close)
    return ours


def _prepare() -> None:
    """Import everything once, and use the digests that are kept as a run does that has imported nothing yet."""
    kept_digests.begin()
    import neverlost

    for each in OTHERS:
        importlib.import_module(each)
    for found in pkgutil.walk_packages(neverlost.__path__, "neverlost."):
        if not found.name.startswith(ALONE):
            with contextlib.suppress(ImportError):
                importlib.import_module(found.name)
    gc.collect()
    gc.freeze()


def _serve(connection: socket.socket) -> list[str] | None:
    """Copy this process for each request; the arguments of the run in a copy, and None where nobody asks any more."""
    while True:
        asked, descriptors, _, _ = socket.recv_fds(connection, LONGEST, 2)
        if not asked:
            return None
        process = os.fork()
        if process == 0:
            connection.close()
            return _become(json.loads(asked), descriptors)
        for each in descriptors:
            os.close(each)
        connection.send(json.dumps(process).encode())
        connection.send(json.dumps(os.waitstatus_to_exitcode(os.waitpid(process, 0)[1])).encode())


def _become(request: Mapping[str, Any], descriptors: Sequence[int]) -> list[str]:
    """Take the place, the environment and the streams of a run, and what it may know of earlier ones; its arguments."""
    nothing = os.open(os.devnull, os.O_RDONLY)
    for source, target in zip((nothing, *descriptors), (0, 1, 2), strict=True):
        os.dup2(source, target)
        os.close(source)
    os.environ.clear()
    os.environ.update(request["environment"])
    os.chdir(request["cwd"])
    sys.path[0], tempfile.tempdir = os.getcwd(), None
    if "verify" in request["arguments"]:
        kept_digests._kept, kept_digests._sources = {}, None
    else:
        with contextlib.suppress(OSError, ValueError, KeyError):
            found = json.loads(Path(f"{kept_digests.__spec__.cached}.json").read_text())
            kept_digests._kept |= found["digests"] if found["sources"] == kept_digests._sources else {}
    arguments: list[str] = request["arguments"]
    return arguments


def _run(arguments: list[str]) -> None:
    """The program, and then what an interpreter does at its end, without freeing each object first."""
    sys.argv[1:] = arguments
    try:
        runpy.run_module("neverlost", run_name="__main__", alter_sys=True)
    except SystemExit as done:
        if not isinstance(done.code, int):
            raise
        threading._shutdown()  # type: ignore[attr-defined]
        atexit._run_exitfuncs()
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(done.code)


if __name__ == "__main__":
    _prepare()
    given = _serve(socket.socket(fileno=os.dup(0)))
    if given is not None:
        _run(given)
