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
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from importlib import metadata
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import neverlost
from neverlost.checker.disk.levels import Store
from neverlost.checker.evidence import ledger
from neverlost.checker.evidence import reachable_states as reachable
from neverlost.checker.machine.whole_files import as_json, write_text
from neverlost.checker.outcome import Outcome, Verdict
from neverlost.model.kernel import Configuration, Model
from neverlost.reports.bundle import ledger_lines as known
from neverlost.reports.counterexample.itf import read_itf
from neverlost.reports.request import Request, pictures
from neverlost.specs.configuration.choose import PREFIXED
from neverlost.specs.configuration.input import read_json
from neverlost.specs.configuration.keys import KEYS, shown
from neverlost.specs.errors import InputError, misread

SCHEMA = "neverlost.bundle/1"
MANIFEST = "manifest.json"
CERTIFICATE = "reachable.xz"
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
    found = {}
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
    """The command that was given, to run again."""
    return shlex.join(["neverlost", *sys.argv[1:]]) + "\n"


def digest(path: Path) -> str:
    """SHA-256 of a file."""
    with path.open("rb") as stream:
        return "sha256:" + hashlib.file_digest(stream, "sha256").hexdigest()


def files_of(directory: Path) -> list[str]:
    """The files of a bundle but its manifest."""
    found = [each.relative_to(directory).as_posix() for each in directory.rglob("*") if each.is_file() or each.is_symlink()]
    return sorted(name for name in found if name != MANIFEST)


def seal(directory: str, document: Mapping[str, Any], configurations: Sequence[tuple[Model, Configuration]]) -> None:
    """Add ledger, configuration, environment, command and reports to a directory with a result, and the digests of it all."""
    folder = Path(directory)
    ledger.record(folder, known.lines_of(document))
    if len(configurations) == 1:
        write_text(folder / "config.toml", configuration_toml(*configurations[0]))
    write_text(folder / "environment.json", as_json(environment()))
    write_text(folder / "command.txt", command_line())
    render(folder, document, folder)
    manifest = {
        "schema": SCHEMA,
        "id": document.get("id"),
        "files": {name: digest(folder / name) for name in files_of(folder)},
    }
    write_text(folder / MANIFEST, as_json(manifest))


def render(folder: Path, document: Mapping[str, Any], place: Path) -> None:
    """Write everything that a result and its traces decide: reports, pictures, and the gate files of a sweep."""
    from neverlost.reports.ci.gate import write_gate
    from neverlost.reports.page.render import write_reports

    write_reports(folder, document, place)
    if "matrix" in document:
        write_gate(folder, document, place)
        return
    for cell in document.get("cells", [document]):
        for name in [each["trace"] for each in cell["properties"] if each.get("trace")]:
            for picture, extension in pictures(*read_itf(folder / name)):
                write_text(place / f"{name.removesuffix('.itf.json')}.{extension}", picture)


@contextmanager
def certified(request: Request, wanted: bool, total: int) -> Iterator[tuple[Request, Callable[[Outcome], None]]]:
    """The request with a place for its levels, and what writes them out as a certificate if everything holds.

    Errors: `InputError` where a certificate makes no sense.
    """
    if not wanted:
        yield request, lambda outcome: None
        return
    if request.out is None:
        raise InputError("--certificate needs --out DIR: the reachable states become a file of the bundle")
    if request.symmetry or total > 1:
        raise InputError("--certificate needs one configuration and --no-symmetry: it lists every state")
    with TemporaryDirectory(prefix="neverlost-levels-") as temporary:
        place = request.state_dir or str(Path(temporary, "levels"))

        def certify(outcome: Outcome) -> None:
            if outcome.verdict is not Verdict.HOLDS:
                return
            store = Store.attach(place)
            packed = [store.packed(file) for level in store.levels() for file in level.files]
            rows = (row for states in packed for row in states.T.tolist())
            reachable.write(Path(str(request.out), CERTIFICATE), outcome.system.words, rows)

        yield replace(request, state_dir=place), certify


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
