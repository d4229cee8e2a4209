"""Temporary folders are held by their process, whatever others that clear left-over ones do at that moment."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from neverlost.checker.engine.host import locks, scratch
from neverlost.specs.errors import InputError


def test_a_folder_that_cannot_be_locked_is_made_again(monkeypatch: pytest.MonkeyPatch) -> None:
    scratch.clear_once()
    tried: list[str] = []
    held = locks.hold_lock

    @contextmanager
    def slow(place: str, name: str) -> Iterator[None]:
        tried.append(place)
        if len(tried) < scratch.TRIES:
            raise InputError("in use by another search")
        with held(place, name):
            yield

    monkeypatch.setattr(locks, "hold_lock", slow)
    with scratch.hold_folder("test") as place:
        assert Path(place).is_dir() and tried[-1] == place and len(tried) == scratch.TRIES
    assert not any(Path(each).exists() for each in tried)
