"""Keeps the levels of a search whose states are needed afterwards: for `--export`."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from os import PathLike
from pathlib import Path

from neverlost.checker.engine.host import scratch
from neverlost.checker.engine.outcome import Outcome
from neverlost.reports.request.run_options import RunOptions

Kept = tuple[RunOptions, Callable[[Outcome], None]]
"""The request with a place for its levels, and what writes their states out after the search."""


@contextmanager
def keep_levels(request: RunOptions) -> Iterator[RunOptions]:
    """Yield the request with a directory for its levels: its own or, if it has none, a temporary one, removed on leaving."""
    if request.state_dir is not None:
        yield request
        return
    with scratch.hold_folder("levels") as temporary:
        yield replace(request, state_dir=str(Path(temporary, "levels")))


@contextmanager
def export_levels(request: RunOptions, target: str | PathLike[str] | None) -> Iterator[Kept]:
    """Yield a pair: a request that keeps its levels, and a function that writes the states of an outcome to `target` as
    Parquet; without one the request as it is, and what writes nothing.  Errors: `InputError`, before that, for a bad target."""
    if target is None:
        yield request, lambda outcome: None
        return
    from neverlost.checker.engine.disk import parquet
    from neverlost.checker.engine.storage.levels import Store

    parquet.require_empty_directory(str(target))
    with keep_levels(request) as keeping:

        def write(outcome: Outcome) -> None:
            parquet.export(outcome.system, Store.attach(str(keeping.state_dir)), str(target))

        yield keeping, write
