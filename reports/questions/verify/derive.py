"""Derives the bundle of a question again, by asking the question again; `verify` compares with it."""

from __future__ import annotations

import re
import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

import neverlost
from neverlost.checker.engine.host import scratch
from neverlost.checker.engine.host.whole_files import as_json
from neverlost.reports.bundle import safe_paths, seal
from neverlost.reports.bundle.question import ARGUMENTS, FILE, BundleQuestion
from neverlost.reports.bundle.seal import COMMAND, RESULT
from neverlost.reports.questions.table_reports import TABLE_REPORTS
from neverlost.specs.configuration.input import Contents, known
from neverlost.specs.errors import InputError
from neverlost.specs.strict_json import parse_json

VERSION = re.compile(r"[0-9][0-9A-Za-z.+]{0,40}")
"""What a version may be, which is printed in a command to be pasted: nothing that a shell or a terminal obeys."""

BUNDLE = "bundle"
"""The folder of a derived bundle, inside a temporary one."""


@dataclass
class Derived:
    """A question's bundle as this version writes it, in a directory of its own; `answer` is what the question's function
    returned."""

    question: BundleQuestion
    answer: Any
    place: scratch.Folder
    files: Contents

    @property
    def folder(self) -> Path:
        return Path(self.place.name, BUNDLE)

    def document(self, name: str) -> Any:
        """Return a JSON document of the derived bundle, by the name of its file."""
        return parse_json(self.files[name].decode(), name)

    def rendered(self, documents: Mapping[str, bytes], name: str) -> Contents:
        """Write these documents into the folder; return, by name, the reports, pictures and gate files that follow from them.
        `name` is the result's."""
        for each, content in documents.items():
            (self.folder / each).parent.mkdir(parents=True, exist_ok=True)
            (self.folder / each).write_bytes(content)
        result = parse_json(documents[name].decode(), name)
        with scratch.hold_folder("rendered") as place:
            Path(place, BUNDLE).mkdir()
            seal.render(self.folder, result, Path(place, BUNDLE), tables=TABLE_REPORTS)
            return safe_paths.read_files(Path(place, BUNDLE))


def derive(question: BundleQuestion, seconds: float | None = None) -> Derived:
    """Ask the question again with the function that answered it; searches end after `seconds`.  Of how to search, the bundle
    decides only the engine (but never Spark) and symmetry of `check` and `sweep`.  Errors: `InputError` for a question of
    another version, for bad arguments, and for one that has other arguments or files than are read."""
    require_this_version(question)
    module = "roll.plan_api" if question.command == "plan" else f"{question.command}.api"
    answer = getattr(import_module(f"neverlost.reports.questions.{module}"), question.command)
    arguments = {name: each for name, each in question.arguments.items() if name in ARGUMENTS[question.command]}
    if question.command in ("check", "sweep"):
        engine = question.arguments.get("engine", "memory")
        arguments["engine"] = "memory" if engine == "spark" else engine
        arguments["symmetry"] = question.arguments.get("symmetry")
    if question.command == "roll":
        arguments.setdefault("files", {})
    if seconds is not None and question.command != "rescue" and not {"broker", "pod"} & arguments.keys():
        arguments["time_limit"] = seconds
    place = scratch.Folder("verify")
    with warnings.catch_warnings(), known(question.contents):
        warnings.simplefilter("ignore")
        found = answer(**arguments, out=Path(place.name, BUNDLE))
    files = dict(safe_paths.read_files(Path(place.name, BUNDLE)))
    again = BundleQuestion.of(files)
    if _without_search_options(again) != _without_search_options(question):
        raise InputError(f"{FILE} is refused: it has more than is asked, or less: {_difference(question, again)}")
    for name in again.files:
        del files[name]
    document = parse_json(files[RESULT].decode(), RESULT)
    document = {name: each for name, each in document.items() if name not in ("question", "commit")} | question.answered
    files |= {**question.files, RESULT: as_json(document).encode(), COMMAND: question.command_line.encode()}
    return Derived(question, found, place, files)


def _without_search_options(question: BundleQuestion) -> tuple[Any, ...]:
    """Return a question's command, arguments, files and symmetry, without the other options of how to search."""
    own = {name: each for name, each in question.arguments.items() if name in ARGUMENTS[question.command]}
    return question.command, own, dict(question.contents), question.arguments.get("symmetry")


def _difference(question: BundleQuestion, again: BundleQuestion) -> str:
    unread = sorted(question.contents.keys() - again.contents.keys())
    return f"nothing reads {', '.join(map(repr, unread))}" if unread else "its arguments are written otherwise"


def require_this_version(question: BundleQuestion) -> None:
    """Raise `InputError` for a question of another release, naming the release to verify it with."""
    if question.version == neverlost.__version__:
        return
    known = f"this is neverlost {neverlost.__version__}"
    if not VERSION.fullmatch(question.version):
        raise InputError(f"{FILE} says that {question.version!r:.60} wrote this bundle, which is no version; {known}")
    wrote = question.version
    raise InputError(f"neverlost {wrote} wrote this bundle, {known}: verify it with a checkout or a wheel of {wrote}")
