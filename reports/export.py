"""`--export`: levels that are kept for as long as the export needs them."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path

from neverlost.checker.disk import parquet as dataset
from neverlost.checker.disk.levels import Store
from neverlost.checker.outcome import Outcome
from neverlost.reports.request import Request


@contextmanager
def kept_levels(request: Request, target: str | None) -> Iterator[tuple[Request, Callable[[Outcome], None]]]:
    """The request with a place for its levels, and what writes them out after the search.

    Errors: `InputError`, before anything is searched, for a target that cannot be written.
    """
    if target is None:
        yield request, lambda outcome: None
        return
    dataset.empty_directory(target)
    with ExitStack() as stack:
        place = request.state_dir
        if place is None:
            place = str(Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="neverlost-levels-")), "levels"))

        def write(outcome: Outcome) -> None:
            dataset.export(outcome.system, Store.attach(str(place)), str(target))

        yield replace(request, state_dir=place), write
