"""Checks an evidence bundle again, offline: derives the whole bundle from its question, and compares.  The bundle decides the
question, and nothing else: no count, reason, name or id in it switches a check off.  Measured values are a closed list
(`measurements`).  If the search would take longer than the reader wants to wait, what was not derived is named, place by
place, and the bundle is verified in part only."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Any

from neverlost.checker.engine.compiled.code_cache import compile_afresh
from neverlost.checker.engine.evidence import ledger
from neverlost.checker.engine.host.whole_files import as_json
from neverlost.checker.questions.atlas.index import without_answers
from neverlost.reports.bundle import proof_check, safe_paths, seal
from neverlost.reports.bundle.question import FILE, BundleQuestion, commit_of_checkout, digest
from neverlost.reports.bundle.safe_paths import MANIFEST
from neverlost.reports.bundle.seal import ENVIRONMENT, RESULT
from neverlost.reports.counterexample.saved import SUFFIX
from neverlost.reports.documents import ledger_lines, measurements
from neverlost.reports.questions.verify import solvers, undecided, unverified_claims
from neverlost.reports.questions.verify.derive import Derived, derive
from neverlost.reports.wording.merged_rows import pluralize
from neverlost.specs.configuration.input import Contents
from neverlost.specs.errors import InputError, describe_misreading
from neverlost.specs.strict_json import parse_json

SECONDS = 120.0
"""How long the searches of a bundle may take before only a part of them is made again."""

HOW = frozenset({"source", "engine", "states", "levels", "fired", "seconds", "peak_memory_bytes"})
"""The fields that say how an answer was found, and not what it is."""

NAMES = re.compile(
    r"(question|result|environment|manifest|ledger)\.json|command\.txt|config\.toml|reachable\.xz|history\.jsonl"
    r"|question/[0-9]{2,4}|obligations/[a-z-]{1,60}/([0-9]{3,5}-[a-z-]{1,40}\.smt2|obligations\.json)"
    r"|(traces/)?([0-9]{2,5}-)?[a-z-]{1,60}\.(itf\.json|svg)|(report|summary|nines)\.(md|html)"
    r"|verdicts\.csv|changes\.sh|annotations\.log|junit\.xml|results\.sarif"
)
"""What a file of some bundle may be called: any other is refused before anything is derived."""

Document = Mapping[str, Any]


class OpenStatus(StrEnum):
    """Why a place of a bundle stays open, which the verifier alone decides: what the bundle says of itself opens nothing."""

    NOT_DECIDED = "not decided here"
    NOT_CHECKABLE = "not checkable here"


@dataclass(frozen=True)
class OpenPlace:
    """A place of a bundle that was not checked: it would take longer, or nothing here derives it."""

    status: OpenStatus
    says: str


@dataclass
class BundleCheck:
    """What was confirmed, a sentence each, and what was not checked."""

    confirmed: list[str] = field(default_factory=list)
    open_places: list[OpenPlace] = field(default_factory=list)

    def leave(self, status: OpenStatus, *sentences: str) -> None:
        """Note places that stay open, a sentence each, and why."""
        self.open_places += [OpenPlace(status, each) for each in sentences]

    @property
    def unchecked(self) -> list[str]:
        """A sentence for each place that was not checked."""
        return [each.says for each in self.open_places]

    @property
    def is_complete(self) -> bool:
        return not self.open_places

    @property
    def verdict(self) -> str:
        return "verified" if self.is_complete else "partly verified"


def verify_bundle(directory: str, full: bool = False, seed: int | None = None, seconds: float = SECONDS) -> BundleCheck:
    """Check a bundle; `full` searches all again, else searches end after `seconds` and `seed` draws cells of a sweep.  Errors:
    `InputError` naming every file that was altered, removed or added, or the first thing that the bundle says wrongly."""
    files = open_bundle(directory)
    with compile_afresh():
        own = derive(question_of(files), None if full else seconds)
        found = compare_bundle(files, own, seed, None if full else seconds)
        looks_up = own.question.command in undecided.MAIN or b'"engine": "atlas"' in own.files[RESULT]
        if full and looks_up:
            _decide_again(own)
            found.confirmed.append("every answer that was looked up, decided again by search: the same")
        return found


def _decide_again(own: Derived) -> None:
    """Decide a question without the file of answers.  Errors: `InputError` where a search says something else."""
    with without_answers():
        again = derive(own.question).document(RESULT)
    for path, known, found in measurements.differences(own.document(RESULT), again):
        if HOW.isdisjoint(re.split(r"[.\[\]]", path)):
            raise InputError(
                f"the answers of this installation are wrong: {path} is {_short(known)}; by search {_short(found)}"
            )


def question_of(files: Contents) -> BundleQuestion:
    """Return the question of a bundle.  Errors: `InputError` if the result does not answer it (by its digest)."""
    question = BundleQuestion.of(files)
    answered = _parsed(RESULT, files)
    if not isinstance(answered, dict) or answered.get("question") != question.digest:
        raise InputError(f"{RESULT} is refused: it does not answer {FILE}, whose digest is {question.digest}")
    return question


def open_bundle(directory: str) -> Contents:
    """Read the files of a bundle.  Errors: `InputError` for a folder that is not a bundle, and naming every file that differs
    from its manifest."""
    folder = Path(directory)
    if not folder.is_dir():
        raise InputError(f"{directory!r} is not a directory; name the --out directory of a command")
    if not (folder / MANIFEST).exists():
        raise InputError(f"{directory!r} has no {MANIFEST}; name the --out directory of a command")
    files = safe_paths.read_files(folder)
    listed = safe_paths.read_manifest(folder, files)
    wrong = [f"{name} was removed" for name in listed if name not in files]
    wrong += [f"{name} was added" for name in files if name not in listed and name != MANIFEST]
    wrong += [f"{name} was altered" for name, known in listed.items() if name in files and digest(files[name]) != known]
    wrong += [f"{name} is no file of a bundle" for name in files if not NAMES.fullmatch(name)]
    if wrong:
        raise InputError(f"bundle {directory!r} is refused: " + "; ".join(wrong))
    return files


def compare_bundle(files: Contents, own: Derived, seed: int | None = None, seconds: float | None = SECONDS) -> BundleCheck:
    """Compare a bundle's files with those that its question has.  Errors: `InputError` for the first difference, with its
    place and both values."""
    found = BundleCheck()
    result, open_places = unverified_claims.complete(files, own, seed, SECONDS if seconds is None else seconds)
    found.leave(OpenStatus.NOT_DECIDED, *open_places)
    documents = {
        RESULT: _require_same(RESULT, files, measurements.take_measured_values(RESULT, result, _parsed(RESULT, files)))
    }
    same = "what was decided here is the same" if open_places else "every field is the same"
    asked = f"the question (neverlost {own.question.command}, {pluralize(len(own.question.contents), 'file')} of the user's)"
    found.confirmed.append(f"{asked}, and the answer derived from it again: {same}")
    documents |= _check_traces(files, own, result)
    counterexamples = sum(name.endswith(SUFFIX) for name in documents)
    if counterexamples:
        found.confirmed.append(f"{pluralize(counterexamples, 'counterexample')} re-executed on the defining interpreter")
    documents |= _check_ledger(files, _parsed(RESULT, files), found)
    measured = measurements.take_measured_values(ENVIRONMENT, own.document(ENVIRONMENT), _parsed(ENVIRONMENT, files))
    _require_same(ENVIRONMENT, files, measured)
    _check_other_files(files, own, documents, found)
    if obligations := {name: each.decode() for name, each in own.files.items() if name.endswith(solvers.SUFFIX)}:
        confirmed, unchecked = solvers.solve_again(obligations, seconds)
        found.confirmed += confirmed
        found.leave(OpenStatus.NOT_DECIDED, *unchecked)
    digests = {name: digest(each) for name, each in files.items() if name != MANIFEST}
    _require_same(MANIFEST, files, seal.make_manifest(digests, result, own.question))
    found.confirmed.append(f"{len(files)} files, none besides; {measurements.SAYS}")
    return found


def _parsed(name: str, files: Contents) -> Any:
    if name not in files:
        raise InputError(f"the bundle is refused: it lacks {name}")
    return parse_json(files[name].decode("utf-8", "replace"), name)


def _require_same(name: str, files: Contents, expected: Document) -> bytes:
    """Return the content that a file must have.  Errors: `InputError` with the first place at which the file differs."""
    place = next(measurements.differences(_parsed(name, files), expected), None)
    if place is not None:
        path, one, other = place
        raise InputError(f"{name} is refused: {path} is {_short(one)}; derived from {FILE} it is {_short(other)}{_hint(files)}")
    content = as_json(expected).encode()
    if files[name] != content:
        raise InputError(f"{name} is refused: it says what follows from {FILE}, but is not written as neverlost writes it")
    return content


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 120 else f"{text[:117]}..."


def _hint(files: Contents) -> str:
    """Return a hint about the commit, if another commit wrote the bundle; else an empty text."""
    wrote = _parsed(FILE, files).get("commit")
    return f" (commit {wrote} wrote it; this is {commit_of_checkout()})" if wrote != commit_of_checkout() else ""


def _check_traces(files: Contents, own: Derived, result: Document) -> dict[str, bytes]:
    """Return the counterexamples that the result names: equal to derived ones, or re-executed if a solver chose them or they
    were not derived.  Errors: `InputError` for one that is missing or differs."""
    found = {}
    for cell in result.get("cells", [result]):
        for each in cell.get("properties", ()):
            name = each.get("trace")
            if not name:
                continue
            expected = own.files.get(name)
            if name not in files:
                raise InputError(f"the bundle is refused: it lacks {name}")
            if expected == files[name]:
                found[name] = expected
            elif expected is None or unverified_claims.is_any_witness_accepted(own):
                found[name] = as_json(
                    unverified_claims.read_witness(files, name, {**result, **cell}, each["name"], own).itf
                ).encode()
            else:
                found[name] = _require_same(name, files, own.document(name))
    return found


def _check_ledger(files: Contents, result: Document, found: BundleCheck) -> dict[str, bytes]:
    lines = ledger_lines.lines_of(result)
    if not lines:
        return {}
    if ledger.FILE not in files:
        raise InputError(f"the bundle is refused: it lacks {ledger.FILE}")
    text = ledger.format_ledger(lines).encode()
    if files[ledger.FILE] != text:
        raise InputError(f"{ledger.FILE} is refused: it is not what follows from {RESULT}")
    found.confirmed.append(f"{pluralize(len(lines), 'line')} of the ledger derived from the result again")
    return {ledger.FILE: text}


def _check_other_files(files: Contents, own: Derived, documents: dict[str, bytes], found: BundleCheck) -> None:
    """Compare every file that has no check of its own: what the question alone decides must be the same; reports, pictures and
    gate files, which follow from the documents, may be rendered by another version; any other file is refused."""
    result = _parsed(RESULT, files)
    try:
        rendered = own.rendered(documents, RESULT)
    except (KeyError, TypeError, AttributeError, ValueError, IndexError) as problem:
        raise InputError(f"{RESULT} is refused: {describe_misreading(problem)}") from None
    checked = {*documents, ENVIRONMENT, MANIFEST}
    required = {name: content for name, content in own.files.items() if not _is_decided(name) and name not in checked}
    unbuilt = _unbuilt_obligations(files, own, result)
    found.leave(
        OpenStatus.NOT_DECIDED, *[f"{each}: not built from the model again; {unverified_claims.AGAIN}" for each in unbuilt]
    )
    known = checked | required.keys() | rendered.keys() | set(unbuilt)
    wrong = [f"{name} is missing" for name in required if name not in files]
    wrong += [f"nothing gives {name}" for name in files if name not in known]
    wrong += [f"{name} is not what follows" for name, content in required.items() if files.get(name, content) != content]
    if wrong:
        raise InputError(f"the bundle is refused: {'; '.join(wrong)}{_hint(files)}")
    other = [name for name in rendered if files.get(name) != rendered[name]]
    if len(rendered) > len(other):
        found.confirmed.append(f"{len(rendered) - len(other)} reports and pictures rendered again, byte for byte the same")
    says = "not what this version renders (neverlost report BUNDLE renders it again)"
    found.leave(OpenStatus.NOT_CHECKABLE, *[f"{name}: {says}" for name in other])


def _unbuilt_obligations(files: Contents, own: Derived, result: Document) -> list[str]:
    """Return the SMT-LIB files of properties that hold as stated and whose proof was cut short here."""
    if own.question.command != "prove":
        return []
    holding = {each["name"] for each in result.get("properties", ()) if each["verdict"] == "holds"}
    cut = [each for each in own.answer.inductions if each.goal.name in holding and not each.is_complete]
    return sorted(proof_check.possible_obligation_files(cut) & files.keys())


def _is_decided(name: str) -> bool:
    """Return True if a file of the derived bundle follows from its documents: a report, picture, trace or ledger."""
    return Path(name).suffix in seal.RENDERED or name.endswith(SUFFIX) or name == ledger.FILE
