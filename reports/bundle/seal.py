"""Evidence bundles: a directory with a result, everything that it rests on, and a digest of every file.

`seal` finishes a directory; `neverlost.reports.bundle.verify` checks one again.
"""

from __future__ import annotations

import hashlib
import json
import os
import platform
import shlex
import sys
from collections.abc import Mapping, Sequence
from importlib import metadata
from pathlib import Path
from typing import Any

import neverlost
from neverlost.checker.evidence import ledger
from neverlost.checker.machine.whole_files import as_json, write_text
from neverlost.model.kernel import Configuration, Model
from neverlost.reports.bundle import ledger_lines as known
from neverlost.reports.counterexample.saved import SUFFIX, Counterexample, Saved
from neverlost.specs.configuration.choose import PREFIXED
from neverlost.specs.configuration.input import read_json
from neverlost.specs.configuration.keys import KEYS, shown
from neverlost.specs.errors import InputError, misread

SCHEMA = "neverlost.bundle/1"
MANIFEST = "manifest.json"
RENDERED = (".md", ".html", ".svg", ".mmd", ".xml", ".sarif")
"""What `render` writes."""

PACKAGES = ("numpy", "z3-solver", "pyarrow", "pyspark", "networkx")


def configuration_toml(model: Model, configuration: Configuration) -> str:
    """A configuration as the file that `neverlost check` reads."""
    tables: dict[str, list[str]] = {}
    for name, value in configuration.items():
        table = KEYS[name].table if name in KEYS else "mechanism"
        short = name.removeprefix(f"{table}.") if table in PREFIXED else name
        tables.setdefault(table, []).append(f"{short} = {json.dumps(shown(value))}")
    parts = [f"model = {json.dumps(model.name)}"]
    parts += [f"\n[{table}]\n" + "\n".join(lines) for table, lines in tables.items()]
    return "\n".join(parts) + "\n"


def environment() -> dict[str, Any]:
    """What the result was found with."""
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


def command_line() -> str:
    """The command that was given, to run again; a program that imports neverlost is named instead."""
    program = Path(sys.argv[0])
    is_ours = program.name == "neverlost" or program.parent == Path(str(neverlost.__file__)).parent
    name = ["neverlost"] if is_ours else ["python", program.name]
    return shlex.join([*name, *sys.argv[1:]]) + "\n"


def digest(path: Path) -> str:
    """SHA-256 of a file."""
    with path.open("rb") as stream:
        return "sha256:" + hashlib.file_digest(stream, "sha256").hexdigest()


def files_of(directory: Path) -> list[str]:
    """The files of a bundle but its manifest."""
    found = [each.relative_to(directory).as_posix() for each in directory.rglob("*") if each.is_file() or each.is_symlink()]
    return sorted(name for name in found if name != MANIFEST)


def write(
    directory: str | os.PathLike[str],
    document: Mapping[str, Any],
    configurations: Sequence[tuple[Model, Configuration]],
    counterexamples: Mapping[str, Counterexample],
) -> None:
    """A bundle: the result and its counterexamples first, then ledger, configuration, environment, command and reports, and at
    last the digests of it all."""
    folder = Path(directory)
    write_traces(folder, counterexamples)
    write_document(folder, document)
    ledger.record(folder, known.lines_of(document))
    if len(configurations) == 1:
        write_text(folder / "config.toml", configuration_toml(*configurations[0]))
    write_text(folder / "environment.json", as_json(environment()))
    write_text(folder / "command.txt", command_line())
    render(folder, document, folder, counterexamples)
    manifest = {
        "schema": SCHEMA,
        "id": document.get("id"),
        "files": {name: digest(folder / name) for name in files_of(folder)},
    }
    write_text(folder / MANIFEST, as_json(manifest))


def write_document(directory: str | os.PathLike[str], document: Mapping[str, Any]) -> None:
    """The result document of a directory."""
    write_text(Path(directory) / "result.json", as_json(document))


def write_traces(folder: Path, counterexamples: Mapping[str, Counterexample]) -> None:
    """Counterexamples as ITF."""
    for name, each in counterexamples.items():
        write_text(folder / name, as_json(each.itf))


def write_pictures(place: Path, name: str, counterexample: Counterexample) -> None:
    """SVG and Mermaid beside the place of a trace."""
    for extension, picture in counterexample.pictures().items():
        write_text(place / f"{name.removesuffix(SUFFIX)}.{extension}", picture)


def render(folder: Path, document: Mapping[str, Any], place: Path, known: Mapping[str, Counterexample] | None = None) -> None:
    """Write everything that a result and its traces decide: reports, pictures, and the gate files of a sweep.

    The traces are those of the folder; `known` ones need not be read again.
    """
    from neverlost.reports.ci.gate import write_gate
    from neverlost.reports.page.render import write_reports

    traces = Saved(folder, known)
    write_reports(folder, document, place, traces)
    if "matrix" in document:
        write_gate(folder, document, place)
        return
    for cell in document.get("cells", [document]):
        for name in [each["trace"] for each in cell["properties"] if each.get("trace")]:
            write_pictures(place, name, traces[name])


def rendered(directory: str, target: str | None) -> list[Path]:
    """Write the reports of a directory with a result again, into it or elsewhere; a bundle's manifest follows.

    Errors: `InputError` for a directory without a result that can be read.
    """
    folder = Path(directory)
    if not (folder / "result.json").exists():
        raise InputError(f"{directory!r} has no result.json; name the --out directory of check or sweep")
    document = read_json(folder / "result.json")
    place = folder if target is None else Path(target)
    before = set(files_of(folder))
    try:
        render(folder, document, place)
    except (KeyError, TypeError, AttributeError) as problem:
        raise InputError(f"result.json of {directory!r} is not a result of ours: {misread(problem)}") from None
    if place == folder and (folder / MANIFEST).exists():
        manifest = read_json(folder / MANIFEST)
        written = set(files_of(folder)) - before | {name for name in before if (folder / name).suffix in RENDERED}
        manifest["files"] |= {name: digest(folder / name) for name in written}
        write_text(folder / MANIFEST, as_json(manifest))
    return [place / "report.md", place / "report.html"]
