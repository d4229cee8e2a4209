"""A forger: bundles of each kind, made once, and every way to change one value in them and to seal them again."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import chdir
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import neverlost
from neverlost.checker.engine.evidence import ledger
from neverlost.checker.engine.host.whole_files import as_json
from neverlost.reports.bundle.question import digest
from neverlost.reports.bundle.safe_paths import MANIFEST
from neverlost.reports.documents import ledger_lines
from neverlost.reports.documents import measurements as measured
from neverlost.reports.questions.roll import api as rolls
from neverlost.reports.questions.verify import verify
from neverlost.reports.questions.verify.derive import Derived, derive
from neverlost.specs.errors import InputError
from tests.support.program import DATA

Files = dict[str, bytes]
Path_ = tuple[str | int, ...]

MATRIX = """
says = "an example"
properties = ["acked-never-lost"]
symmetry = true
model = "kraft"
topic."replication.factor" = 2
topic."min.insync.replicas" = [1, 2]
topic."unclean.leader.election.enable" = false
producer.acks = ["1", "all"]
faults.crash = 1
bounds.records = 1
"""
TOPIC = (
    "Topic: {0}\tTopicId: AAAAAAAAAAAAAAAAAAAAA{1}\tPartitionCount: 1\tReplicationFactor: 2\tConfigs: min.insync.replicas={1}"
)
DESCRIBED = "".join(
    f"{TOPIC.format(name, least)}\n\tTopic: {name}\tPartition: 0\tLeader: 1\tReplicas: 1,2\tIsr: 1,2\n"
    for name, least in (("orders", 1), ("audit", 2))
)
KINDS = ("check", "sweep", "proof", "observation")
TABLES = ("tolerance", "roll", "nines")
"""Kinds that are looked up, of one topic."""
INDUCTION = "induction"
"""A proof with its obligations."""


@dataclass(frozen=True)
class Bundle:
    """A bundle that verifies, and what its question gives."""

    files: Files
    own: Derived


def write(kind: str, place: Path) -> None:
    """A small bundle of a kind, in `place`/bundle, of files that are named as they are called there."""
    out = place / "bundle"
    with chdir(place):
        if kind == "check":
            Path("topics.txt").write_text(DESCRIBED)
            keys = {"metadata.version": "3.9-IV0", "acks": "all", "faults.lossy_crash": 1, "bounds.records": 1}
            checked = ["acked-never-lost", "committed-never-lost"]
            neverlost.check(keys, describe="topics.txt", kafka_version="3.9", properties=checked, advise=False, out=out)
        elif kind == "sweep":
            Path("matrix.toml").write_text(MATRIX)
            neverlost.sweep("matrix.toml", out=out)
        elif kind == "proof":
            neverlost.prove({"model": "truncate-to-hw", "replication.factor": 2}, properties=["weak-isr"], depth=8, out=out)
        elif kind == INDUCTION:
            keys = {"model": "kip-320", "replication.factor": 2, "bounds.records": 1, "bounds.max_leader_epoch": 1}
            neverlost.prove(keys, method="induction", properties=["strong-isr"], out=out)
        elif kind in TABLES:
            Path("topics.txt").write_text("".join(DESCRIBED.splitlines(keepends=True)[:2]))
            asked: Any = {"files": {"describe": "topics.txt"}, "kafka_version": "3.9", "out": out}
            commands: dict[str, Any] = {"tolerance": neverlost.tolerance, "roll": rolls.roll, "nines": neverlost.nines}
            commands[kind]({"acks": "all", "metadata.version": "3.9-IV0"}, **asked)
        else:
            lines = (DATA / "observed" / "run-4.3.jsonl").read_text().splitlines()
            Path("history.jsonl").write_text("\n".join(lines[:60]) + "\n")
            neverlost.observe("history.jsonl", losses=False, out=out)


@cache
def bundle(kind: str, place: Path) -> Bundle:
    """A bundle of a kind with what its question gives, derived once."""
    place.mkdir()
    write(kind, place)
    files = dict(verify.open_bundle(str(place / "bundle")))
    return Bundle(files, derive(verify.question_of(files)))


def judged(files: Files, own: Derived) -> verify.BundleCheck:
    """What verify makes of files; a forged question is derived only where the result says that it answers it."""
    verify.question_of(files)
    return verify.compare_bundle(files, own)


def leaves(value: Any, path: Path_ = ()) -> Iterator[Path_]:
    """The places of all values that have none below them."""
    below = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    found = False
    for name, each in below:
        found = True
        yield from leaves(each, (*path, name))
    if not found:
        yield path


def changed(document: Any, path: Path_) -> Any:
    """The document with another value of the same kind in one place."""
    if path:
        head, *rest = path
        copy: Any = dict(document) if isinstance(document, dict) else list(document)
        copy[head] = changed(document[head], tuple(rest))
        return copy
    if isinstance(document, bool):
        return not document
    if isinstance(document, int | float):
        return document + 1
    if isinstance(document, str):
        return OTHER.get(document, document + "1")
    return (
        {"holds": "violated", None: 1}.get(document, 1) if document is None else [*document, 1] if document == [] else {"a": 1}
    )


OTHER = {"holds": "violated", "violated": "holds", "explained": "refused", "inconclusive": "holds", "refuted": "exhausted"}


def sealed(files: Files, **more: bytes) -> Files:
    """The files with a manifest that fits whatever is there."""
    found = {**files, **more}
    manifest = json.loads(files[MANIFEST])
    manifest["files"] = {name: digest(each) for name, each in sorted(found.items()) if name != MANIFEST}
    return found | {MANIFEST: as_json(manifest).encode()}


def rewritten(files: Files, name: str, change: Callable[[Any], Any]) -> Files:
    """The files with one document changed, as neverlost writes it, and sealed again."""
    document = change(json.loads(files[name]))
    if name == MANIFEST:
        return files | {name: as_json(document).encode()}
    return sealed(files) | sealed(files, **{name: written(name, document)})


def written(name: str, document: Any) -> bytes:
    """A document as neverlost writes it."""
    if name != ledger.FILE or not isinstance(document, dict) or document.keys() != {"schema", "lines"}:
        return as_json(document).encode()
    lines = ",\n".join(json.dumps(each) for each in document["lines"] or ())
    return f'{{"schema": {json.dumps(document["schema"])}, "lines": [\n{lines}\n]}}\n'.encode()


def with_ledger(files: Files) -> Files:
    """The files with the ledger that their result has."""
    lines = ledger_lines.lines_of(json.loads(files["result.json"]))
    return sealed(files, **{ledger.FILE: ledger.format_ledger(lines).encode()}) if lines else files


def is_measured(name: str, path: Path_) -> bool:
    """Whether a place is on the list of measured values."""
    return measured_place(name, path) is not None


def measured_place(name: str, path: Path_) -> str | None:
    """The line of the list of measured values that a place is of."""
    return next(
        (each for each in measured.MEASURED.get(name, ()) if _matches(each.split("."), [str(step) for step in path])), None
    )


def _matches(pattern: list[str], path: list[str]) -> bool:
    if not pattern or not path:
        return not pattern and not path
    return pattern[0] == "**" or (pattern[0] in ("*", path[0]) and _matches(pattern[1:], path[1:]))


def accepted(files: Files, own: Derived) -> str | None:
    """What verify says for a forged bundle if it does not refuse it: its verdict and what it did not check."""
    try:
        found = judged(files, own)
    except InputError:
        return None
    return " | ".join([found.verdict, *found.unchecked])


def refused(files: Files) -> str | None:
    """Why verify refuses a bundle, its question asked anew; None where it does not."""
    try:
        verify.compare_bundle(files, derive(verify.question_of(files)))
    except InputError as problem:
        return str(problem)
    return None


def asking(files: Files, change: Callable[[dict[str, Any]], Any], **contents: bytes) -> Files:
    """The files with another question, which the result is made to answer by name."""
    document = json.loads(files["question.json"])
    change(document)
    for each in document["files"]:
        each["digest"] = digest(contents.get(each["file"], files[each["file"]]))
    text = as_json(document).encode()
    result = json.loads(files["result.json"]) | {"question": digest(text)}
    return sealed(files, **contents, **{"question.json": text, "result.json": as_json(result).encode()})
