"""What a proof leaves in its directory: traces with pictures, certificates, the ledger and the result."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from os import PathLike
from pathlib import Path
from typing import Any

from neverlost.checker.digest import model_digest
from neverlost.checker.evidence import ledger
from neverlost.checker.prove import smtlib
from neverlost.checker.prove.bounded_search import Bounded
from neverlost.checker.prove.induction import Proof
from neverlost.reports.bundle.seal import write_document, write_pictures, write_traces
from neverlost.reports.counterexample.saved import SUFFIX, Counterexample
from neverlost.reports.documents.result import with_traces


def write(
    directory: str | PathLike[str],
    document: Mapping[str, Any],
    found: Bounded | Sequence[Proof],
    counterexamples: Sequence[Mapping[str, Counterexample]],
) -> dict[str, Any]:
    """Write everything; the document with the names of the traces.  Counterexamples are by property, for each configuration."""
    folder = Path(directory)
    lines = _of_bounded(found) if isinstance(found, Bounded) else _of_proofs(found)
    system = found.outcome.system if isinstance(found, Bounded) else found[0].system
    if not isinstance(found, Bounded):
        _write_certificates(folder, found)
    if not system.disabled:  # the ledger is about the protocol as it is
        ledger.record(folder, lines)
    if "cells" in document:
        pairs = enumerate(zip(document["cells"], counterexamples, strict=True), start=1)
        document = {**document, "cells": [_with_traces(folder, cell, known, f"{n:02}-") for n, (cell, known) in pairs]}
    else:
        document = _with_traces(folder, document, counterexamples[0], "")
    write_document(folder, document)
    return dict(document)


def _write_certificates(folder: Path, proofs: Sequence[Proof]) -> None:
    for proof in proofs:
        if proof.is_complete:
            smtlib.write(folder / "certificates" / proof.goal.name, proof.texts, proof.about)


def _of_bounded(bounded: Bounded) -> list[ledger.Line]:
    """What the ledger knows from a bounded search."""
    digest = model_digest(bounded.outcome.system.model)
    return ledger.lines_of(bounded.outcome, digest, f"{bounded.solver}, bounded", depth=bounded.depth)


def _of_proofs(proofs: Sequence[Proof]) -> list[ledger.Line]:
    """What the ledger knows from proofs by induction."""
    digest = model_digest(proofs[0].system.model)
    return [
        line
        for each in proofs
        for line in ledger.lines_of(
            each.outcome, digest, f"{each.solver}, {len(each.lemmas)} lemmas", unbounded=each.unbounded, proved=True
        )
    ]


def _with_traces(folder: Path, document: Mapping[str, Any], known: Mapping[str, Counterexample], prefix: str) -> dict[str, Any]:
    """Write the counterexamples of one configuration; its document with their names."""
    names = {name: f"{prefix}{name}{SUFFIX}" for name in known}
    write_traces(folder, {names[name]: each for name, each in known.items()})
    for name, each in known.items():
        write_pictures(folder, names[name], each)
    return with_traces(dict(document), names)
