"""Writes evidence bundles: a directory with a question, its answer, everything that the answer rests on, and a digest of every
file.  `neverlost.reports.questions.verify.verify` derives a bundle again from the question and compares."""

from __future__ import annotations

import hashlib
import json
import os
import platform
from collections.abc import Mapping, Sequence
from contextlib import suppress
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING, Any

import neverlost
from neverlost.checker.engine.evidence import ledger
from neverlost.checker.engine.host.whole_files import as_json, clear_unfinished, write_bytes, write_text
from neverlost.model.kernel import Configuration, Model
from neverlost.reports.bundle.question import BundleQuestion
from neverlost.reports.bundle.safe_paths import MANIFEST
from neverlost.reports.counterexample.saved import SUFFIX, Counterexample, SavedCounterexamples
from neverlost.reports.documents.ledger_lines import lines_of
from neverlost.specs.configuration.choose import PREFIXED
from neverlost.specs.configuration.input import LARGEST_FILE, read_json
from neverlost.specs.configuration.keys import KEYS, shown
from neverlost.specs.errors import InputError, describe_misreading
from neverlost.specs.strict_json import parse_json

if TYPE_CHECKING:
    from neverlost.reports.page.tables import TableReport

SCHEMA = "neverlost.bundle/2"
RESULT, ENVIRONMENT, COMMAND, CONFIGURATION = "result.json", "environment.json", "command.txt", "config.toml"
RENDERED = (".md", ".html", ".svg", ".xml", ".sarif", ".csv", ".log", ".sh")
"""Endings of the files that `render` writes."""

PACKAGES = ("numpy", "z3-solver", "pyarrow", "pyspark", "networkx")


def configuration_toml(model: Model, configuration: Configuration) -> str:
    """Return a configuration as the text of a TOML file that `neverlost check` reads."""
    tables: dict[str, list[str]] = {}
    for name, value in configuration.items():
        table = KEYS[name].table if name in KEYS else "mechanism"
        short = name.removeprefix(f"{table}.") if table in PREFIXED else name
        tables.setdefault(table, []).append(f"{short} = {json.dumps(shown(value))}")
    parts = [f"model = {json.dumps(model.name)}"]
    parts += [f"\n[{table}]\n" + "\n".join(lines) for table, lines in tables.items()]
    return "\n".join(parts) + "\n"


def describe_environment() -> dict[str, Any]:
    """Return the versions of neverlost, Python and packages (None for a missing one), and the machine, of this run."""
    found: dict[str, str | None] = {}
    for name in PACKAGES:
        try:
            found[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            found[name] = None
    return {
        "neverlost": neverlost.__version__,
        "python": platform.python_version(),
        "system": f"{platform.system()} {platform.machine()}",
        "cores": os.cpu_count(),
        "packages": found,
    }


def digest(path: Path) -> str:
    """Return the SHA-256 of a file: `sha256:` and hexadecimal digits."""
    with path.open("rb") as stream:
        return "sha256:" + hashlib.file_digest(stream, "sha256").hexdigest()


def files_of(directory: Path) -> list[str]:
    found = [each.relative_to(directory).as_posix() for each in directory.rglob("*") if each.is_file() or each.is_symlink()]
    return sorted(name for name in found if name != MANIFEST)


def write_bundle(
    directory: str | os.PathLike[str],
    question: BundleQuestion,
    document: Mapping[str, Any],
    configurations: Sequence[tuple[Model, Configuration]],
    counterexamples: Mapping[str, Counterexample],
    also: Mapping[str, bytes] | None = None,
    tables: Mapping[str, TableReport] | None = None,
) -> None:
    """Write a bundle, after an earlier one in the directory is removed: the question first, then counterexamples, result,
    ledger, configuration (if there is only one), environment, command and reports, and at last the manifest with all digests.
    `also` are further files that the answer rests on."""
    folder = Path(directory)
    remove_earlier_bundle(folder)
    for name, content in {**question.files, **(also or {})}.items():
        write_bytes(folder / name, content)
    write_traces(folder, counterexamples)
    write_document(folder, document)
    if lines := lines_of(document):
        write_text(folder / ledger.FILE, ledger.format_ledger(lines))
    if len(configurations) == 1:
        write_text(folder / CONFIGURATION, configuration_toml(*configurations[0]))
    write_text(folder / ENVIRONMENT, as_json(describe_environment()))
    write_text(folder / COMMAND, question.command_line)
    render(folder, document, folder, counterexamples, tables)
    digests = {name: digest(folder / name) for name in files_of(folder)}
    write_text(folder / MANIFEST, as_json(make_manifest(digests, document, question)))


def make_manifest(digests: Mapping[str, str], document: Mapping[str, Any], question: BundleQuestion) -> dict[str, Any]:
    own = document.get("id") or f"nl-{question.digest.removeprefix('sha256:')[:16]}"
    return {"schema": SCHEMA, "id": own, "files": dict(sorted(digests.items()))}


def remove_earlier_bundle(folder: Path) -> None:
    """Remove an earlier bundle: its manifest first, then the files that it lists, and unfinished files.  A file that is not
    listed, or has another digest, stays: it is somebody else's, or was changed."""
    try:
        with (folder / MANIFEST).open("rb") as stream:
            listed = parse_json(stream.read(LARGEST_FILE).decode(), MANIFEST)["files"]
    except (OSError, InputError, ValueError, KeyError, TypeError):
        listed = {}
    (folder / MANIFEST).unlink(missing_ok=True)
    for name, known in listed.items() if isinstance(listed, dict) else ():
        path = folder / name
        if path.resolve() == folder.resolve() / name and path.is_file() and digest(path) == known:
            path.unlink()
            with suppress(OSError):  # a folder that has something else stays
                for each in (*path.relative_to(folder).parents,)[:-1]:
                    (folder / each).rmdir()
    clear_unfinished(folder)


def write_document(directory: str | os.PathLike[str], document: Mapping[str, Any]) -> None:
    write_text(Path(directory) / "result.json", as_json(document))


def write_traces(folder: Path, counterexamples: Mapping[str, Counterexample]) -> None:
    for name, each in counterexamples.items():
        write_text(folder / name, as_json(each.itf))


def render(
    folder: Path,
    document: Mapping[str, Any],
    place: Path,
    known: Mapping[str, Counterexample] | None = None,
    tables: Mapping[str, TableReport] | None = None,
) -> list[Path]:
    """Write into `place` what follows from a result and its traces: reports, gate files and, except for a sweep, pictures;
    return the reports' paths.  Traces are read from `folder` unless they are in `known`.  For a document without properties and
    cells only reports of tables are written, as `tables` says for its schema; without an entry there nothing."""
    from neverlost.reports.output.gate import write_gate
    from neverlost.reports.page.render import write_reports
    from neverlost.reports.page.tables import write_tables

    if "properties" not in document and "cells" not in document:
        report = (tables or {}).get(str(document.get("schema")))
        return [] if report is None else write_tables(document, place, report)
    traces = SavedCounterexamples(folder, known)
    written = write_reports(folder, document, place, traces)
    write_gate(folder, document, place)
    for cell in document.get("cells", [document]) if "matrix" not in document else ():
        for name in [each["trace"] for each in cell["properties"] if each.get("trace")]:
            for extension, picture in traces[name].pictures().items():
                write_text(place / f"{name.removesuffix(SUFFIX)}.{extension}", picture)
    return written


def render_again(directory: str, target: str | None, tables: Mapping[str, TableReport]) -> list[Path]:
    """Write the reports of a directory's result again, into `target` or, if it is None, into the directory, whose manifest is
    then updated; return their paths.  Errors: `InputError` where no result can be read, or there is no report for its kind."""
    folder = Path(directory)
    if not (folder / RESULT).exists():
        raise InputError(f"{directory!r} has no {RESULT}; name the --out directory of check or sweep")
    document = read_json(folder / RESULT)
    place = folder if target is None else Path(target)
    before = set(files_of(folder))
    try:
        reports = render(folder, document, place, tables=tables)
    except (KeyError, TypeError, AttributeError, IndexError, ValueError) as problem:
        raise InputError(f"{RESULT} of {directory!r} is not a result of ours: {describe_misreading(problem)}") from None
    if not reports:
        kind = str(document.get("schema")).partition(".")[2].partition("/")[0]
        raise InputError(f"{directory!r} has a result of kind {kind!r:.60}, of which no report is made; read its {RESULT}")
    if place == folder and (folder / MANIFEST).exists():
        manifest = read_json(folder / MANIFEST)
        written = set(files_of(folder)) - before | {name for name in before if (folder / name).suffix in RENDERED}
        manifest["files"] = dict(sorted((manifest["files"] | {name: digest(folder / name) for name in written}).items()))
        write_text(folder / MANIFEST, as_json(manifest))
    return reports
