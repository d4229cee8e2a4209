"""Checking an evidence bundle again, offline, with what this checkout has.

Everything that a result document says is rebuilt and compared: digests, ids, counterexamples, verdicts, counts, rules and the
rendered reports.  What is too large to explore again is sampled, and what was not checked is said; nothing else is verified.
"""

from __future__ import annotations

import random
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from neverlost.checker.campaign.sweep import Sweeper
from neverlost.checker.digest import model_digest
from neverlost.checker.evidence import ledger
from neverlost.checker.evidence import reachable_states as reachable
from neverlost.checker.outcome import Outcome, worst
from neverlost.checker.search.explore import explore
from neverlost.checker.search.options import Limits, Options
from neverlost.model.system import System, bind
from neverlost.reports.bundle import ledger_lines as known
from neverlost.reports.bundle import seal as bundle
from neverlost.reports.bundle.kept_levels import CERTIFICATE
from neverlost.reports.bundle.seal import MANIFEST, SCHEMA, digest
from neverlost.reports.counterexample.itf import read_itf
from neverlost.reports.documents import result
from neverlost.reports.documents import sweep as sweeping
from neverlost.reports.documents.merged_rows import many
from neverlost.reports.documents.result import question_id
from neverlost.specs.configuration.choose import Chosen, choose, chosen_of, is_release, read_toml
from neverlost.specs.configuration.input import read_json
from neverlost.specs.configuration.keys import GROWING
from neverlost.specs.configuration.matrix import Matrix, MatrixCell
from neverlost.specs.errors import InputError, misread
from neverlost.specs.property import properties

SMALL = 5_000_000
"""Up to so many states, by the bundle's own count, everything is explored again."""

SAMPLING_SECONDS = 20.0
"""How long a sample of the cells of a larger bundle is explored again."""

ABOUT = ("topics", "brokers", "kafka.version", "settings", "notices", "places", "remedy")
"""For whom a result speaks, and what it took from the user's files."""

PASSING = ("seconds", "peak_memory_bytes", "engine", "version", "trace", "changes", "forecast", *ABOUT)
"""What may differ between two runs of one question, or is checked by itself."""

Document = Mapping[str, Any]


@dataclass
class Verification:
    """What was confirmed and what was not checked, a sentence each; `stated` are the files that nothing can derive again."""

    confirmed: list[str] = field(default_factory=list)
    unchecked: list[str] = field(default_factory=list)
    stated: list[str] = field(default_factory=list)

    @property
    def is_complete(self) -> bool:
        return not self.unchecked

    @property
    def verdict(self) -> str:
        """In words."""
        return "verified" if self.is_complete else "partly verified"


def verify(directory: str, full: bool = False) -> Verification:
    """Check a bundle; `full` explores everything again, however large.

    Errors: `InputError` naming every file that was altered, removed or added, and whatever the result says wrongly.
    """
    folder = Path(directory)
    if not folder.is_dir():
        raise InputError(f"{directory!r} is not a directory; name the --out directory of check or sweep")
    if not (folder / MANIFEST).exists():
        raise InputError(f"{directory!r} has no {MANIFEST}; name the --out directory of check or sweep")
    found = Verification()
    found.confirmed.append(_digests(folder, read_json(folder / MANIFEST)))
    document = read_json(folder / "result.json")
    try:
        _verify(folder, document, full, found)
    except (KeyError, TypeError, AttributeError, IndexError) as problem:
        raise InputError(f"result.json of {directory!r} is not a result of ours: {misread(problem)}") from None
    return found


def _verify(folder: Path, document: Document, full: bool, found: Verification) -> None:
    cells: Sequence[Document] = document.get("cells", [document])
    chosen = [_question(each, document) for each in cells]
    found.confirmed.append(f"{many(len(cells), 'question')}: model, configuration and properties match the id")
    if (folder / "config.toml").exists():
        _same_configuration(folder, chosen[0])
    _consistent(document, cells)
    found.confirmed.append(_traces(folder, cells, chosen))
    certified = (folder / CERTIFICATE).exists()
    if certified:
        found.confirmed.append(_certificate(folder, chosen[0], cells[0]))
    _results(document, cells, chosen, full, certified, found)
    _ledger(folder, document, found)
    _rendered(folder, document, found)


def _digests(folder: Path, manifest: Document) -> str:
    if manifest.get("schema") != SCHEMA or not isinstance(manifest.get("files"), dict):
        raise InputError(f"{str(folder / MANIFEST)!r} is not the manifest of a bundle")
    listed: dict[str, str] = manifest["files"]
    there = bundle.files_of(folder)
    wrong = [f"{name} was removed" for name in listed if name not in there]
    wrong += [f"{name} was added" for name in there if name not in listed]
    wrong += [f"{name} was altered" for name in there if name in listed and digest(folder / name) != listed[name]]
    if wrong:
        raise InputError(f"bundle {str(folder)!r} is refused: " + "; ".join(wrong))
    return f"{len(listed)} files have the digests of the manifest"


def _question(cell: Document, document: Document) -> Chosen:
    """A cell's model and configuration, after its id."""
    name = str(cell.get("model") or document["model"])
    chosen = chosen_of({**cell, "model": name})
    stated = known.digest_of(cell, document)
    if stated != model_digest(chosen.model):
        raise InputError(f"the bundle was made with another version of model {name} ({stated}); check out that version")
    release = cell.get("kafka.version")
    if release is not None and not is_release(str(release), chosen.model, chosen.configuration):
        raise InputError(f"{cell['id']} is not of Kafka {release}: that version has other mechanisms")
    expected = question_id(chosen.model, chosen.configuration, [each["name"] for each in cell["properties"]])
    if cell["id"] != expected:
        raise InputError(f"id {cell['id']} does not belong to its configuration: that is {expected}")
    return chosen


def _same_configuration(folder: Path, chosen: Chosen) -> None:
    found = choose(read_toml(folder / "config.toml"))
    if (found.model.name, found.configuration) != (chosen.model.name, chosen.configuration):
        raise InputError(f"config.toml of {str(folder)!r} is not the configuration of result.json")


def _consistent(document: Document, cells: Sequence[Document]) -> None:
    """The verdict on a cell, and on the whole, is the worst of its parts."""
    for whole, parts in [(document, cells), *((each, each["properties"]) for each in cells)]:
        if not parts:
            raise InputError(f"{whole.get('id') or 'result.json'} states the verdict {whole['verdict']!r} on nothing")
        expected = worst((each["verdict"] for each in parts), whole.get("reason"))
        if whole["verdict"] != expected:
            raise InputError(
                f"verdict {whole['verdict']!r} of {whole.get('id') or 'result.json'} is not that of its parts: '{expected}'"
            )


def _traces(folder: Path, cells: Sequence[Document], chosen: Sequence[Chosen]) -> str:
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
            system, broken, trace, _ = read_itf(path)
            about = (system.model.name, system.configurations[0], broken.name, len(trace.steps), trace.faults(system))
            if about != (asked.model.name, asked.configuration, each["name"], each["steps"], each["faults"]):
                raise InputError(f"{name} is not the counterexample that result.json describes for {cell['id']}")
            count += 1
    return f"{many(count, 'counterexample')} re-executed on the defining interpreter"


def _ledger(folder: Path, document: Document, found: Verification) -> None:
    own, others = known.confirmed(folder, document)
    found.confirmed.append(f"{many(own, 'line')} of the ledger derived from the result again")
    if others:
        found.unchecked.append(f"{ledger.FILE}: {others} of other runs into this directory, which nothing in it derives")


def _certificate(folder: Path, chosen: Chosen, cell: Document) -> str:
    holding = [properties()[each["name"]] for each in cell["properties"] if each["verdict"] == "holds"]
    count = reachable.verify(folder / CERTIFICATE, _system(chosen), holding)
    stated = cell["states"]["distinct"]
    if count != stated:
        raise InputError(f"{CERTIFICATE} lists {count} states, result.json says {stated}")
    return f"certificate: {count:,} states are closed under every action, and {', '.join(each.name for each in holding)} holds"


def _system(chosen: Chosen) -> System:
    return bind(chosen.model, chosen.configuration)


def _results(
    document: Document, cells: Sequence[Document], chosen: Sequence[Chosen], full: bool, certified: bool, found: Verification
) -> None:
    """Verdicts and counts: all of them for what is small, a sample of what is not."""
    cut = [each for each in document.get("searches", cells) if each.get("reason")]
    if "matrix" in document and not cut:
        if full or _states(document["searches"]) <= SMALL:
            _require_same(document, _swept(document, cells, chosen), "the sweep, run again, says")
            found.confirmed.append(f"all {len(cells)} cells decided again: every verdict, count and rule is the same")
            return
    elif not full and _states(cells) <= SMALL:
        full = True
    _one_by_one(document, cells, chosen, full, certified, found)


def _states(searches: Sequence[Document]) -> int:
    return sum(int(each["states"]["distinct"]) for each in searches)


def _swept(document: Document, cells: Sequence[Document], chosen: Sequence[Chosen]) -> dict[str, Any]:
    """The document of the same sweep, run now."""
    about = document["matrix"]
    shown = tuple(
        MatrixCell(
            each.model,
            each.configuration,
            {"model": each.model.name, **each.configuration}
            | {key: value for key, value in cell["cell"].items() if key not in (*each.configuration, "model")},
        )
        for each, cell in zip(chosen, cells, strict=True)
    )
    asked = [properties()[each["name"]] for each in cells[0]["properties"]]
    reduced = bool(document["symmetry"])
    matrix = Matrix(about["name"], about["says"], shown, tuple(about["varying"]), tuple(each.name for each in asked), reduced)
    sweep = Sweeper([(each.model, each.configuration) for each in shown], asked, Options(symmetry=reduced), GROWING).run()
    return sweeping.document(matrix, sweep, "memory", reduced)


def _require_same(stated: Any, now: Any, saying: str) -> None:
    """Errors: `InputError` with the first place in which two documents differ."""
    place = next(differences(stated, now), None)
    if place is not None:
        path, one, other = place
        raise InputError(f"result.json is refused: {path} is {one!r}; {saying} {other!r}")


def differences(stated: Any, now: Any, path: str = "") -> Iterator[tuple[str, Any, Any]]:
    """Where two documents differ; a list's elements are named by their id or name."""
    if isinstance(stated, Mapping) and isinstance(now, Mapping):
        for key in dict.fromkeys([*stated, *now]):
            if key not in PASSING:
                yield from differences(stated.get(key), now.get(key), f"{path}.{key}" if path else str(key))
    elif isinstance(stated, list) and isinstance(now, list) and len(stated) == len(now):
        for number, (one, other) in enumerate(zip(stated, now, strict=True)):
            named = (one.get("id") or one.get("name") or one.get("property")) if isinstance(one, Mapping) else None
            yield from differences(one, other, f"{path}[{named or number}]")
    elif stated != now or isinstance(stated, bool) != isinstance(now, bool):
        yield path or "the document", stated, now


def _one_by_one(
    document: Document, cells: Sequence[Document], chosen: Sequence[Chosen], full: bool, certified: bool, found: Verification
) -> None:
    """Cells explored each by itself: all, or as many as there is time for."""
    started = time.monotonic()
    asked = list(range(len(cells))) if full else list(_sampled(document, cells))
    seen: list[int] = []
    for number in asked:
        cell = cells[number]
        if _is_cut(cell, document) or ("states" in cell and not full and cell["states"]["distinct"] > SMALL):
            continue
        left = None if full else SAMPLING_SECONDS - (time.monotonic() - started)
        if left is not None and left <= 0:
            break
        if _explored(cell, chosen[number], document, left):
            seen.append(number)
    names = ", ".join(str(cells[number]["id"]) for number in seen[:8]) + (", …" if len(seen) > 8 else "")
    if seen:
        found.confirmed.append(f"{len(seen)} of {len(cells)} explored again, with the same verdicts and counts: {names}")
    rest = [cell for number, cell in enumerate(cells) if number not in seen]
    for verdict, says in (
        ("holds", "that nothing else is reachable was not checked again"),
        ("violated", "re-executed, but that it is the shortest and the counts were not checked again"),
        ("inconclusive", "nothing is claimed; the counts of a search that was cut short were not checked"),
    ):
        left_out = [cell for cell in rest if cell["verdict"] == verdict and not (certified and verdict == "holds")]
        if left_out:
            advice = "" if full or verdict == "inconclusive" else " (verify --full explores everything)"
            found.unchecked.append(f"{verdict}, {len(left_out)} of {len(cells)}: {says}{advice}")


def _is_cut(cell: Document, document: Document) -> bool:
    """Whether a limit ended the search: its counts depend on the machine."""
    return bool(cell.get("reason") or document.get("reason")) or ("matrix" in document and cell["verdict"] == "inconclusive")


def _sampled(document: Document, cells: Sequence[Document]) -> Iterator[int]:
    """Cells in an order that cannot be foreseen: one of each verdict, then those at the boundary, then the others."""
    order = list(range(len(cells)))
    random.SystemRandom().shuffle(order)
    first = {cells[number]["verdict"]: number for number in order}
    edges = set(boundary_ids(cells))
    yield from dict.fromkeys([*first.values(), *(number for number in order if cells[number]["id"] in edges), *order])


def boundary_ids(cells: Sequence[Document]) -> Iterator[str]:
    """Each violated cell that is one setting away from a safe one, and that safe one."""
    for cell in cells:
        for sibling in [each["sibling"] for each in cell["properties"] if each.get("sibling")]:
            if len(sibling["changed"]) == 1:
                yield from (cell["id"], sibling["id"])


def _explored(cell: Document, asked: Chosen, document: Document, seconds: float | None) -> bool:
    """Explore a cell again and compare; False where the time did not suffice."""
    states = cell.get("states") or {}
    in_sweep = "matrix" in document
    options = Options(
        limits=Limits(seconds),
        symmetry=bool(cell.get("symmetry", document.get("symmetry"))),
        every_configuration=in_sweep,
        keep_going=not in_sweep and not states.get("left"),
    )
    outcome = explore(_system(asked), [properties()[each["name"]] for each in cell["properties"]], options)
    if outcome.reason is not None:
        return False
    stated = _essence(cell) if in_sweep else cell
    _require_same(stated, _cell_now(outcome, stated, in_sweep), f"{cell['id']}, explored again, says")
    return True


def _essence(cell: Document) -> dict[str, Any]:
    """What a sweep says of a cell that the cell alone must confirm: verdicts, and the states where all hold."""
    listed = [{"name": each["name"], "verdict": each["verdict"]} for each in cell["properties"]]
    return {"id": cell["id"], "verdict": cell["verdict"], "properties": listed, "states": cell.get("states")}


def _cell_now(outcome: Outcome, stated: Document, in_sweep: bool) -> dict[str, Any]:
    now = result.document(outcome)
    if not in_sweep:
        return now
    states = {"distinct": outcome.counts.distinct} if stated.get("states") else None
    return _essence(now) | {"states": states}


def _rendered(folder: Path, document: Document, found: Verification) -> None:
    """Reports, pictures and gate files are functions of the result and its traces: render them again and compare."""
    with TemporaryDirectory(prefix="neverlost-verify-") as place:
        bundle.render(folder, document, Path(place))
        again = {name: digest(Path(place, name)) for name in bundle.files_of(Path(place))}
    there = [name for name in bundle.files_of(folder) if name in again]
    other = [name for name in there if again[name] != digest(folder / name)]
    if len(there) > len(other):
        found.confirmed.append(f"{len(there) - len(other)} reports and pictures rendered again, byte for byte the same")
    if other:
        found.unchecked.append(
            f"{', '.join(other)}: not what this version renders from result.json (neverlost report BUNDLE renders it again)"
        )
    traces = {str(each.get("trace")) for cell in document.get("cells", [document]) for each in cell["properties"]}
    derived = {*there, *traces, "result.json", "config.toml", ledger.FILE, CERTIFICATE}
    found.stated += [name for name in bundle.files_of(folder) if name not in derived]
