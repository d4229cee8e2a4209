"""Evidence bundles: a directory with a result, everything that it rests on, and a digest of every file.

`seal` finishes a directory; `verify` checks one again, offline, with what this checkout has.
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

from checker import reachable
from checker.digest import model_digest
from checker.outcome import Outcome, Verdict
from checker.search import Options, explore
from checker.store import Store
from model.kernel import Configuration, Model
from model.system import System, bind
from reports.configuration import PREFIXED, Chosen, choose, read_text, read_toml
from reports.files import as_json, write_text
from reports.itf import read_itf
from reports.result import question_id, version
from reports.run import Request
from specs.errors import InputError
from specs.keys import KEYS, shown
from specs.property import Property, properties

SCHEMA = "neverlost.bundle/1"
MANIFEST = "manifest.json"
CERTIFICATE = "reachable.xz"
SMALL = 300_000
"""Up to so many states a bundle's counts are found again unless asked for everything."""

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
        "neverlost": version(),
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


def _files(directory: Path) -> list[str]:
    found = [each.relative_to(directory).as_posix() for each in directory.rglob("*") if each.is_file() or each.is_symlink()]
    return sorted(name for name in found if name != MANIFEST)


def seal(directory: str, document: Mapping[str, Any], configurations: Sequence[tuple[Model, Configuration]]) -> None:
    """Add configuration, environment, command and reports to a directory with a result, and the digests of it all."""
    from reports.page import write_reports

    folder = Path(directory)
    if len(configurations) == 1:
        write_text(folder / "config.toml", configuration_toml(*configurations[0]))
    write_text(folder / "environment.json", as_json(environment()))
    write_text(folder / "command.txt", command_line())
    write_reports(folder, document)
    manifest = {
        "schema": SCHEMA,
        "id": document.get("id"),
        "files": {name: digest(folder / name) for name in _files(folder)},
    }
    write_text(folder / MANIFEST, as_json(manifest))


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


def verify(directory: str, full: bool = False) -> list[str]:
    """What was confirmed, a sentence each.

    Errors: `InputError` naming every file that was altered, removed or added; what a trace, a count, a configuration or an
    id says wrongly.
    """
    folder = Path(directory)
    if not folder.is_dir():
        raise InputError(f"{directory!r} is not a directory; name the --out directory of check or sweep")
    confirmed = [_digests(folder, _parsed(folder / MANIFEST))]
    document = _parsed(folder / "result.json")
    try:
        cells = document.get("cells", [document])
        chosen = [_question(each, document) for each in cells]
    except (KeyError, TypeError, AttributeError) as problem:
        raise InputError(f"result.json of {directory!r} is not a result of ours: {type(problem).__name__} {problem}") from None
    confirmed.append(f"{len(cells)} question{'s' if len(cells) > 1 else ''}: model, configuration and properties match the id")
    if (folder / "config.toml").exists():
        _same_configuration(folder, chosen[0])
    confirmed.append(_traces(folder, cells, chosen))
    confirmed += _certificate(folder, chosen, cells)
    confirmed.append(_counts(document, cells, chosen, full))
    return confirmed


def _parsed(path: Path) -> dict[str, Any]:
    try:
        found = json.loads(read_text(path))
    except (json.JSONDecodeError, RecursionError) as problem:
        raise InputError(f"{str(path)!r} is not JSON: {problem}") from None
    if not isinstance(found, dict):
        raise InputError(f"{str(path)!r} is not a document of ours")
    return found


def _digests(folder: Path, manifest: dict[str, Any]) -> str:
    if manifest.get("schema") != SCHEMA or not isinstance(manifest.get("files"), dict):
        raise InputError(f"{str(folder / MANIFEST)!r} is not the manifest of a bundle")
    listed: dict[str, str] = manifest["files"]
    there = _files(folder)
    wrong = [f"{name} was removed" for name in listed if name not in there]
    wrong += [f"{name} was added" for name in there if name not in listed]
    wrong += [f"{name} was altered" for name in there if name in listed and digest(folder / name) != listed[name]]
    if wrong:
        raise InputError(f"bundle {str(folder)!r} is refused: " + "; ".join(wrong))
    return f"{len(listed)} files have the digests of the manifest"


def _question(cell: Mapping[str, Any], document: Mapping[str, Any]) -> Chosen:
    """A cell's model and configuration, after its id."""
    name = str(cell.get("model") or document["model"])
    given = {str(key): (value, "result.json") for key, value in (cell["config"] | cell["bounds"]).items() if value != ""}
    chosen = choose(given, name)
    stated = cell.get("model_digest") or document.get("model_digest") or document.get("model_digests", {}).get(name)
    if stated != model_digest(chosen.model):
        raise InputError(f"the bundle was made with another version of model {name} ({stated}); check out that version")
    expected = question_id(chosen.model, chosen.configuration, [each["name"] for each in cell["properties"]])
    if cell["id"] != expected:
        raise InputError(f"id {cell['id']} does not belong to its configuration: that is {expected}")
    return chosen


def _same_configuration(folder: Path, chosen: Chosen) -> None:
    found = choose(read_toml(folder / "config.toml"))
    if (found.model.name, found.configuration) != (chosen.model.name, chosen.configuration):
        raise InputError(f"config.toml of {str(folder)!r} is not the configuration of result.json")


def _traces(folder: Path, cells: Sequence[Mapping[str, Any]], chosen: Sequence[Chosen]) -> str:
    count = 0
    for cell, asked in zip(cells, chosen, strict=True):
        for each in cell["properties"]:
            name = each.get("trace")
            if each["verdict"] == "violated" and not name:
                raise InputError(f"{each['name']} is said to be violated in {cell['id']}, but there is no trace")
            if not name:
                continue
            path = (folder / name).resolve()
            if not path.is_relative_to(folder.resolve()):
                raise InputError(f"trace {name!r} is outside the bundle")
            system, broken, trace = read_itf(path)
            about = (system.model.name, system.configurations[0], broken.name, len(trace.steps), trace.faults(system))
            if about != (asked.model.name, asked.configuration, each["name"], each["steps"], each["faults"]):
                raise InputError(f"{name} is not the counterexample that result.json describes for {cell['id']}")
            count += 1
    return f"{count} counterexample{'' if count == 1 else 's'} re-executed on the defining interpreter"


def _certificate(folder: Path, chosen: Sequence[Chosen], cells: Sequence[Mapping[str, Any]]) -> list[str]:
    path = folder / CERTIFICATE
    if not path.exists():
        return []
    holding = [properties()[each["name"]] for each in cells[0]["properties"] if each["verdict"] == "holds"]
    count = reachable.verify(path, _system(chosen[0]), holding)
    stated = cells[0]["states"]["distinct"]
    if count != stated:
        raise InputError(f"{CERTIFICATE} lists {count} states, result.json says {stated}")
    return [
        f"certificate: {count:,} states are closed under every action, and {', '.join(each.name for each in holding)} holds"
    ]


def _system(chosen: Chosen) -> System:
    return bind(chosen.model, chosen.configuration)


def _counts(document: Mapping[str, Any], cells: Sequence[Mapping[str, Any]], chosen: Sequence[Chosen], full: bool) -> str:
    """Explore again what is small, or everything."""
    again = 0
    left = 0
    for cell, asked in zip(cells, chosen, strict=True):
        distinct = (cell.get("states") or {}).get("distinct")
        if distinct is None and not full:
            distinct = 0 if cell["verdict"] == "violated" and len(cells) == 1 else SMALL + 1
        if not full and (again >= 20 or distinct > SMALL):
            left += 1
            continue
        _explored(cell, asked, bool(document.get("symmetry")), bool(document.get("reason")))
        again += 1
    rest = f"; {left} left out (--full explores them too)" if left else ""
    return f"{again} of {len(cells)} explored again, with the same verdicts and counts{rest}"


def _explored(cell: Mapping[str, Any], asked: Chosen, symmetry: bool, was_cut: bool) -> None:
    names = [each["name"] for each in cell["properties"]]
    if cell["verdict"] == "inconclusive" or was_cut:
        return
    wanted: list[Property] = [properties()[name] for name in names]
    outcome = explore(_system(asked), wanted, Options(symmetry=symmetry, every_configuration=True))
    found = {each.property.name: str(each.verdict) for each in outcome.findings}
    for each in cell["properties"]:
        if each["verdict"] == "inconclusive":
            continue
        if found[each["name"]] != each["verdict"]:
            raise InputError(f"{each['name']} of {cell['id']} is {found[each['name']]}, not {each['verdict']}")
    stated = cell.get("states") or {}
    if cell["verdict"] == "holds":
        counts = {"distinct": outcome.counts.distinct, "generated": outcome.counts.generated, "depth": outcome.counts.depth}
        for name, value in counts.items():
            if name in stated and stated[name] != value:
                raise InputError(f"{name} of {cell['id']} is {value}, not {stated[name]}")


def rendered(directory: str, target: str | None) -> list[Path]:
    """Write the reports of a directory with a result, into it or elsewhere; a bundle's manifest follows.

    Errors: `InputError` for a directory without a result that can be read.
    """
    from reports.page import write_reports

    folder = Path(directory)
    if not (folder / "result.json").exists():
        raise InputError(f"{directory!r} has no result.json; name the --out directory of check or sweep")
    document = _parsed(folder / "result.json")
    place = folder if target is None else Path(target)
    try:
        write_reports(folder, document, place)
    except (KeyError, TypeError, AttributeError) as problem:
        raise InputError(f"result.json of {directory!r} is not a result of ours: {type(problem).__name__} {problem}") from None
    if place == folder and (folder / MANIFEST).exists():
        manifest = _parsed(folder / MANIFEST)
        for name in ("report.md", "report.html"):
            manifest["files"][name] = digest(folder / name)
        write_text(folder / MANIFEST, as_json(manifest))
    return [place / "report.md", place / "report.html"]
