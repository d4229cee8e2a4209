"""From parsed options to an outcome, and from an outcome to text, documents and files: what `check` and `explore` share."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from neverlost.checker.machine.whole_files import as_json, writable_directory, write_text
from neverlost.checker.outcome import Outcome, Trace
from neverlost.checker.search.explore import ENGINES, explore
from neverlost.checker.search.options import Limits, Options
from neverlost.model.kernel import Model
from neverlost.model.system import System
from neverlost.reports.counterexample import mermaid, svg
from neverlost.reports.counterexample.itf import to_itf
from neverlost.reports.counterexample.timeline import timeline
from neverlost.reports.options import memory_size
from neverlost.reports.terminal import results as terminal
from neverlost.specs.errors import InputError, unknown
from neverlost.specs.property import Property, guarantees, properties


@dataclass(frozen=True)
class Request:
    """The common options of a run, as given."""

    engine: str = "memory"
    symmetry: bool = False
    workers: int | None = None
    out: str | None = None
    json: str | None = None
    time_limit: float | None = None
    memory_limit: str | None = None
    state_dir: str | None = None
    resume: bool = False
    keep_going: bool = False
    master: str | None = None
    spark_conf: Sequence[str] | None = None
    forecast: bool | None = None

    @classmethod
    def of(cls, arguments: Mapping[str, Any]) -> Request:
        """The common options among a command's arguments: they have the same names everywhere."""
        return cls(**{each.name: arguments[each.name] for each in fields(cls) if each.name in arguments})

    def options(self, **changes: Any) -> Options:
        """The search options.

        Errors: `InputError` for values that make no sense.
        """
        if self.engine not in ENGINES:
            raise unknown("engine", self.engine, ENGINES, "--engine")
        if self.workers is not None and not 1 <= self.workers <= 256:
            raise InputError(f"bad value '{self.workers}' for --workers: use a number from 1 to 256")
        if self.time_limit is not None and not self.time_limit > 0:
            raise InputError(f"bad value '{self.time_limit:g}' for --time-limit: use seconds above 0")
        if self.resume and self.state_dir is None:
            raise InputError("--resume needs --state-dir DIR: the levels of the run to go on from")
        settings = [each.partition("=") for each in self.spark_conf or ()]
        for name, equals, value in settings:
            if not name or not value:
                raise InputError(f"bad --spark-conf {name + equals + value!r}: write KEY=VALUE")
        return Options(
            limits=Limits(self.time_limit, memory_size(self.memory_limit)),
            workers=self.workers,
            symmetry=self.symmetry,
            keep_going=self.keep_going,
            state_dir=self.state_dir,
            resume=self.resume,
            spark_master=self.master,
            spark_conf=tuple((name, value) for name, _, value in settings),
            **changes,
        )


def chosen_properties(model: Model, names: Iterable[str] | None) -> list[Property]:
    """The properties to check; all of the model's guarantees by default.

    Errors: `InputError` for an unknown property, or one that the model does not define.
    """
    if not names:
        return guarantees(model)
    found = []
    for name in dict.fromkeys(names):
        if name not in properties():
            raise unknown("property", name, properties(), "--property")
        found.append(properties()[name])
    return found


def require_fields(system: System, asked: Sequence[Property]) -> None:
    """Errors: `InputError` for a property that speaks of something the model does not have."""
    for each in asked:
        lacking = [name for name in each.needs if name not in system.places]
        if lacking:
            defined = [name for name, every in sorted(properties().items()) if set(every.needs) <= set(system.places)]
            raise InputError(
                f"property {each.name!r} is not defined for model {system.model.name!r} with this configuration "
                f"(it needs {', '.join(lacking)}); defined: {', '.join(defined)}"
            )


def search(system: System, asked: Sequence[Property], request: Request, **changes: Any) -> Outcome:
    """Run the engine with progress on a terminal's stderr."""
    require_fields(system, asked)
    if system.model.symmetric(system.configurations[0]) is False and request.symmetry:
        raise InputError(f"--symmetry cannot be used with {system.model.name} in this configuration: its replicas differ")
    with terminal.LiveProgress() as progress:
        return explore(system, asked, request.options(**changes), progress, request.engine)


def prepare(request: Request) -> None:
    """Fail early where options make no sense or results cannot be written.

    Errors: `InputError` for a bad value, and for an unusable --out or --json.
    """
    request.options()
    if request.out is not None:
        writable_directory(request.out)
    if request.json not in (None, "-"):
        target = Path(str(request.json))
        if target.is_dir():
            raise InputError(f"{str(target)!r} is a directory; name a file for --json")
        if not target.parent.is_dir():
            raise InputError(f"cannot write {str(target)!r}: directory {str(target.parent)!r} does not exist")


def save_counterexamples(outcome: Outcome, directory: str, prefix: str = "", number: int = 0) -> dict[str, str]:
    """Trace and pictures of every violated property; the trace's file name by property."""
    saved: dict[str, str] = {}
    for finding in outcome.findings:
        if finding.trace is None or finding.configuration != number:
            continue
        stem = f"{prefix}{finding.property.name}"
        folder = Path(directory)
        write_text(folder / f"{stem}.itf.json", as_json(to_itf(outcome.system, finding)))
        for picture, extension in pictures(outcome.system, finding.property, finding.trace):
            write_text(folder / f"{stem}.{extension}", picture)
        saved[finding.property.name] = f"{stem}.itf.json"
    return saved


def pictures(system: System, broken: Property, trace: Trace) -> list[tuple[str, str]]:
    """SVG and Mermaid of a counterexample, for models that have a portrait."""
    if system.model.portrait is None:
        return []
    shown = timeline(system, broken, trace)
    return [(svg.render(shown), "svg"), (mermaid.render(shown), "mmd")]


def deliver(document: dict[str, Any], request: Request) -> None:
    """Write the result document where it was asked for."""
    if request.json == "-":
        sys.stdout.write(as_json(document))
    elif request.json is not None:
        write_text(request.json, as_json(document))
    if request.out is not None:
        write_text(Path(request.out) / "result.json", as_json(document))


def with_traces(document: dict[str, Any], saved: dict[str, str]) -> dict[str, Any]:
    """The document with the names of the saved traces."""
    listed = [each | ({"trace": saved[each["name"]]} if each["name"] in saved else {}) for each in document["properties"]]
    return document | {"properties": listed}
