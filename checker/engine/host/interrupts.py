"""Interrupts (Ctrl-C, and SIGTERM where it means the same): one ends a whole command; and what must be whole is done before."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from types import FrameType
from typing import Any

SIGNALS = (signal.SIGINT, signal.SIGTERM)

INTERRUPTED = "interrupted"
"""Why a search or a job was given up."""

MOMENT = 1.5
"""How long a command may still say what was decided.  Units: seconds."""


@dataclass
class _Command:
    """What is known of a command: was it interrupted, and searching then, has it ever searched, how many searches run now."""

    is_interrupted: bool = False
    was_searching: bool = False
    has_searched: bool = False
    searches: int = 0


_command = _Command()


def end_command(number: int, frame: FrameType | None) -> None:
    """Handle a signal: raise `KeyboardInterrupt` at once in a search, before the first search, and for every later signal.

    A first signal between or after searches raises it after `MOMENT` only, so that what was decided can still be said.  One in
    a search raises it again after `MOMENT` if a search still runs then.  No search begins after a signal.
    """
    is_second, _command.is_interrupted = _command.is_interrupted, True
    if is_second or not _command.has_searched:
        raise KeyboardInterrupt
    signal.signal(signal.SIGALRM, _end_after_a_moment)
    signal.setitimer(signal.ITIMER_REAL, MOMENT)
    _command.was_searching = _command.searches > 0
    if _command.was_searching:
        raise KeyboardInterrupt


def _end_after_a_moment(number: int, frame: FrameType | None) -> None:
    if _command.searches or not _command.was_searching:
        raise KeyboardInterrupt


def have_come() -> bool:
    """Return True if a signal has ended the command: nothing is to be searched for any more."""
    return _command.is_interrupted


@contextmanager
def interrupt_at_once() -> Iterator[None]:
    """Mark this block as a search: in it `end_command` raises `KeyboardInterrupt` at once.  In other threads do nothing."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    _command.has_searched = True
    _command.searches += 1
    try:
        yield
    finally:
        _command.searches -= 1


@contextmanager
def delay_interrupts() -> Iterator[None]:
    """In this block an interrupt is held back until the end; a second one is felt at once.

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
