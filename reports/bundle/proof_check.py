"""The files that a proof leaves in its bundle beside the result: counterexamples and SMT-LIB obligations."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from neverlost.checker.engine.proof import smtlib
from neverlost.checker.engine.proof.induction import KINDS, Proof
from neverlost.reports.counterexample.saved import SUFFIX, Counterexample
from neverlost.reports.documents.result import with_traces

OBLIGATIONS = "obligations"


def obligation_files(proofs: Sequence[Proof]) -> dict[str, bytes]:
    """Return the contents of the SMT-LIB files of those proofs that are complete, by file name."""
    return {
        f"{OBLIGATIONS}/{proof.goal.name}/{name}": content
        for proof in proofs
        if proof.is_complete
        for name, content in smtlib.format_files(proof.texts, proof.about).items()
    }


def possible_obligation_files(proofs: Sequence[Proof]) -> set[str]:
    """Return all names that SMT-LIB files of these proofs, complete or not, may have: of each task and kind, and manifests."""
    found = {f"{proof.goal.name}/{smtlib.MANIFEST}" for proof in proofs}
    for proof in proofs:
        tasks = range(len({each.task for each in proof.answers}))
        found |= {f"{proof.goal.name}/{smtlib.name_file(number, kind)}" for number in tasks for kind in KINDS}
    return {f"{OBLIGATIONS}/{name}" for name in found}


def name_traces(
    document: dict[str, Any], known: Mapping[str, Counterexample]
) -> tuple[dict[str, Any], dict[str, Counterexample]]:
    """Return the document with the names of its trace files, and the counterexamples (`known`: by property) by these names."""
    names = {name: f"{name}{SUFFIX}" for name in known}
    return with_traces(document, names), {names[name]: each for name, each in known.items()}
