"""A result for continuous integration: a file in each format, and the summary on the page of a job."""

from __future__ import annotations

import os
from collections.abc import Mapping
from functools import cache
from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules
from typing import Any

from neverlost.checker.engine.host.whole_files import write_text
from neverlost.reports.ci import formats
from neverlost.specs.errors import InputError


@cache
def known_formats() -> Mapping[str, Any]:
    """Return the module of each format, by the name of the format's file, such as `verdicts.csv`."""
    found = [import_module(f"{formats.__name__}.{each.name}") for each in iter_modules(formats.__path__)]
    return {each.FILE: each for each in sorted(found, key=lambda each: each.FILE)}


def render_as(name: str, document: Mapping[str, Any], folder: str | None = None) -> str:
    """Return a result as text in the format `name`, such as `csv`; `folder` has its traces if they were saved."""
    from neverlost.reports.ci.verdicts.gate_verdict import GateResult

    known = {each.__name__.rpartition(".")[2]: each for each in known_formats().values()}
    return str(known[name].render(GateResult(document, Path(folder or "."))))


def write_gate(folder: Path, document: Mapping[str, Any], place: Path) -> None:
    """Write a result in every format, a file each, into the folder `place`; `folder` is where its traces are read."""
    from neverlost.reports.ci.verdicts.gate_verdict import GateResult

    judged = GateResult(document, folder)
    for name, each in known_formats().items():
        write_text(place / name, each.render(judged))


def announce(document: Mapping[str, Any]) -> None:
    """Append a Markdown summary to the page of the GitHub job, if this runs in one; `InputError` if that cannot be written."""
    target = os.environ.get("GITHUB_STEP_SUMMARY")
    if target:
        from neverlost.reports.ci.formats import markdown
        from neverlost.reports.ci.verdicts.gate_verdict import GateResult

        try:
            with open(target, "a", encoding="utf-8") as stream:
                stream.write(markdown.render(GateResult(document, Path())))
        except OSError as problem:
            raise InputError(f"cannot write GITHUB_STEP_SUMMARY {target!r}: {problem.strerror or problem}") from None
