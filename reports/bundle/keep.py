"""The decorator that gives `tolerance`, `roll`, `plan`, `rescue` and `nines` their evidence bundles."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import wraps
from importlib import import_module
from inspect import signature
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar

from neverlost.checker.engine.host.whole_files import writable_directory
from neverlost.reports.request.keywords import ClusterKeywords
from neverlost.specs.configuration.input import keeping

if TYPE_CHECKING:
    from neverlost.reports.page.tables import TableReport
    from neverlost.reports.results.results import Answer

Asked = ParamSpec("Asked")
Found = TypeVar("Found", bound="Answer")


def writes_bundle(function: Callable[Asked, Found]) -> Callable[Asked, Found]:
    """Return the function, changed so that with `out` it also writes a bundle there: its question, files read and document.

    The `REPORT` of the module `page` beside it says how the document becomes a page.  Kafka's files may be given as keywords,
    which are put into its `files`.  Errors: `InputError`, before the function is called, for an `out` that cannot be written.
    """

    @wraps(function)
    def asked(*positional: Asked.args, **named: Asked.kwargs) -> Found:
        read = {name: named.pop(name) for name in ClusterKeywords.__annotations__ if name in named}
        if read:
            named["files"] = {**(named.get("files") or {}), **read}  # type: ignore[dict-item]
        given = signature(function).bind(*positional, **named)
        out = given.arguments.get("out")
        if out is not None:
            writable_directory(out)
        with keeping() as contents:
            found = function(*positional, **named)
        if out is not None:
            report = import_module(f"{function.__module__.rpartition('.')[0]}.page").REPORT
            _write(function.__name__, given.arguments, contents, found, report)
        return found

    return asked


def _write(command: str, given: Mapping[str, Any], contents: Mapping[str, bytes], found: Answer, report: TableReport) -> None:
    from neverlost.reports.bundle import seal
    from neverlost.reports.bundle.question import ARGUMENTS, BundleQuestion
    from neverlost.reports.request.run_options import RunOptions

    arguments = {name: given.get(name) or None for name in ARGUMENTS[command]}
    arguments["files"] = {name: each for name, each in (given.get("files") or {}).items() if each}
    asked = BundleQuestion(command, {}, contents).with_arguments(**arguments).with_effort(RunOptions(**given.get("search", {})))
    document = {**found.document, **asked.answered}
    seal.write_bundle(given["out"], asked, document, [], {}, tables={report.schema: report})
