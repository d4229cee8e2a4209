"""A job that is shut in: it changes no file, makes none, and reaches no other process."""

from __future__ import annotations

import ctypes
import os
import socket
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from neverlost.checker.engine.host.landlock import ASK_VERSION, CREATE
from neverlost.checker.engine.host.processes import Send, run


def has_landlock() -> bool:
    return sys.platform == "linux" and ctypes.CDLL(None).syscall(CREATE, None, ctypes.c_size_t(0), ASK_VERSION) >= 4


def attempt(send: Send, how: str, target: str) -> str:
    """What an attempt ends with: the name of its error, or `done`."""
    try:
        ATTEMPTS[how](target)
    except OSError as problem:
        return type(problem).__name__
    return "done"


def connect(target: str) -> None:
    host, port = target.split(":")
    socket.create_connection((host, int(port)), timeout=5).close()


ATTEMPTS: dict[str, Callable[[str], object]] = {
    "write": lambda target: Path(target).write_text("forged"),
    "empty": lambda target: os.close(os.open(target, os.O_WRONLY | os.O_TRUNC)),
    "make": lambda target: Path(f"{target}.new").touch(),
    "make a folder": lambda target: Path(f"{target}.folder").mkdir(),
    "remove": os.unlink,
    "read": lambda target: Path(target).read_text(),
    "connect": connect,
}


def result(how: str, target: str, place: Path | None) -> object:
    (found,) = run(attempt, [(how, target)], 1, 60.0, None, None if place is None else str(place))
    return found.value


@pytest.mark.parametrize("how", [each for each in ATTEMPTS if each != "connect"])
def test_a_shut_in_job_reads_and_changes_nothing(how: str, tmp_path: Path) -> None:
    target, place = tmp_path / "file", tmp_path / "scratch"
    place.mkdir()
    target.write_text("mine")
    found = result(how, str(target), place)
    if how == "read":
        assert found == "done"
    elif has_landlock():
        assert found == "PermissionError"
        assert {each.name: each.read_text() for each in tmp_path.iterdir() if each.is_file()} == {"file": "mine"}
    else:
        assert target.read_text() in ("mine", "") if how != "remove" else not target.exists()
    target.write_text("mine")
    assert result(how, str(target), None) == "done"


def test_a_shut_in_job_connects_to_nothing(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        target = f"127.0.0.1:{server.getsockname()[1]}"
        assert result("connect", target, tmp_path) == ("PermissionError" if has_landlock() else "done")
        assert result("connect", target, None) == "done"
