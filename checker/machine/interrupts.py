"""Interrupts (Ctrl-C, and SIGTERM where it means the same) that wait until what must be whole is done."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from multiprocessing.connection import Connection
from types import FrameType
from typing import Any

SIGNALS = (signal.SIGINT, signal.SIGTERM)


@contextmanager
def later() -> Iterator[None]:
    """An interrupt that comes meanwhile is felt afterwards; a second one at once.

    In other threads than the main one nothing changes: interrupts come to that one.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    usual: dict[int, Any] = {each: handler for each in SIGNALS if callable(handler := signal.getsignal(each))}
    came: list[int] = []
    waits = True

    def wait(number: int, frame: FrameType | None) -> None:
        if waits and not came:
            came.append(number)
        else:
            usual[number](number, frame)

    try:
        for each in usual:
            signal.signal(each, wait)
        yield
    except KeyboardInterrupt:
        came.clear()
        raise
    finally:
        waits = False
        for each, handler in usual.items():
            signal.signal(each, handler)
        if came:  # or was ignored where Python ignores what is raised
            usual[came[0]](came[0], None)


@contextmanager
def whole(pipe: Connection) -> Iterator[None]:
    """What is sent or read meanwhile is so to its end, though an interrupt comes; where it cannot be, the pipe is closed."""
    with later():
        try:
            yield
        except BaseException:
            pipe.close()
            raise
