"""Makes the page of proofs: `python -m tests.publish.proofs`; with `--second-solver` cvc5 answers every obligation again.

A row that was proved with the model, lemmas and solver of now is not proved again: `reports/published/proofs.json` has it, so
the command goes on where it was stopped.  `--rows TEXT` takes those rows only whose text contains it.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any

import neverlost
from neverlost.checker.digest import lemma_digest, model_digest, property_digest
from neverlost.checker.prove import smtlib
from neverlost.checker.prove.induction import Proof
from neverlost.model.catalogue import models
from neverlost.model.interpreters.terms import solver_name
from neverlost.specs.lemma import theories
from neverlost.specs.property import properties

KEPT = Path(__file__).resolve().parents[2] / "reports" / "published" / "proofs.json"
SECONDS = 900
"""How long one row may take."""

ANY = {
    f"faults.{each}": "any"
    for each in ("isr_shrink", "clean_stop", "kill", "fence", "leader_move", "lossy_crash", "disk_loss", "min_isr_change")
}
ALL_BUT_ONE = "all but reassignments; all replicas but one"
STOPS = "kills, leader moves; all replicas"
FLUSHED = "kills, leader moves, power losses with every record flushed; all replicas"
NOTHING = "elections, of any ISR member"


@dataclass(frozen=True)
class Row:
    """One proof: what is asked, of how many replicas, and what the row says of its faults and bounds."""

    model: str
    goal: str
    replicas: int
    records: int
    faults: str
    given: tuple[tuple[str, Any], ...] = ()
    unbounded: bool = False
    every_rf: bool = False

    @property
    def settings(self) -> dict[str, Any]:
        """The keys that are asked."""
        return {"model": self.model, "replication.factor": self.replicas, "bounds.records": self.records, **dict(self.given)}

    @property
    def text(self) -> str:
        """The row's first cells."""
        is_open = self.unbounded or self.every_rf
        bounds = "any number of records and epochs, 2 in a log" if is_open else _many(self.records, "record")
        if not is_open and self.model == "kip-320":
            bounds += f", epochs 0 to {dict(self.given)['bounds.max_leader_epoch']}"
        return f"| {self.model} | {self.goal} | {self.size} | {bounds} | {self.faults} |"

    @property
    def size(self) -> str:
        """Of how many replicas the row speaks."""
        return "every number" if self.every_rf else str(self.replicas)

    def stamp(self) -> str:
        """What its answer depends on."""
        lemmas = [lemma_digest(lemma) for each in theories() if self.model in each.models for lemma in each.lemmas]
        parts = [model_digest(models()[self.model]), property_digest(properties()[self.goal]), solver_name(), *lemmas]
        return sha256(json.dumps([*parts, self.settings, self.unbounded, *["every RF"] * self.every_rf]).encode()).hexdigest()[
            :16
        ]

    def proved(self, out: Path | None = None) -> Proof:
        """The proof, which may have stayed open."""
        asked = neverlost.prove(
            self.settings,
            method="induction",
            properties=[self.goal],
            unbounded=self.unbounded,
            every_rf=self.every_rf,
            time_limit=SECONDS,
            out=out,
        )
        return asked.inductions[0]


def _many(count: int, noun: str) -> str:
    return f"{count} {noun}{'s' * (count != 1)}"


def rows() -> Iterator[Row]:
    """Every row, by model."""
    for replicas in (2, 3, 4):
        yield Row("kip-320", "strong-isr", replicas, 2, NOTHING, (("bounds.log_size", 2), ("bounds.max_leader_epoch", 3)))
    for replicas in (2, 3):
        given = (("bounds.log_size", 2), ("bounds.max_leader_epoch", 1))
        yield Row("kip-320", "strong-isr", replicas, 2, NOTHING, given, unbounded=True)
    given = (("bounds.log_size", 2), ("bounds.max_leader_epoch", 1))
    yield Row("kip-320", "strong-isr", 3, 2, NOTHING, given, every_rf=True)
    for model in ("kraft", "kraft-elr"):
        for goal in ("acked-never-lost", "committed-never-lost"):
            for replicas in (2, 3, 4, 5):
                given = (("defects", "fixed"), ("min.insync.replicas", 2), ("faults.at_once", replicas - 1), *ANY.items())
                yield Row(model, goal, replicas, 2 if replicas < 5 else 1, ALL_BUT_ONE, given)
    stops = (("faults.kill", "any"), ("faults.leader_move", "any"))
    for goal in ("acked-never-lost", "committed-never-lost"):
        for replicas, records in ((3, 2), (5, 1)):
            yield Row("majority", goal, replicas, records, STOPS, stops)
        yield Row("majority", goal, 3, 2, FLUSHED, (*stops, ("faults.lossy_crash", "any"), ("flush.messages", "1")))


def answer(row: Row, proof: Proof) -> dict[str, Any]:
    """What became of a row."""
    return {
        "stamp": row.stamp(),
        "verdict": str(proof.verdict),
        "reason": proof.reason,
        "obligations": len(proof.answers),
        "open": len(proof.open),
        "lemmas": len(proof.lemmas),
        "seconds": round(proof.seconds),
    }


def known() -> dict[str, Any]:
    """The answers that are kept."""
    return json.loads(KEPT.read_text()) if KEPT.exists() else {}


def keep(text: str, found: dict[str, Any]) -> None:
    """Keep an answer, or a part of one."""
    kept = known()
    kept[text] = {**kept.get(text, {}), **found}
    KEPT.write_text(json.dumps(kept, indent=1, sort_keys=True) + "\n")


def checked_again(row: Row) -> dict[str, Any]:
    """What cvc5 says of every obligation of a row, and which steps can never be taken: their premises contradict each other."""
    with tempfile.TemporaryDirectory() as out:
        folder = Path(out, "proof")
        proof = row.proved(folder)
        directory = folder / "obligations" / row.goal
        wrong = smtlib.recheck(directory, smtlib.solve_with_cvc5)
        manifest = json.loads((directory / smtlib.MANIFEST).read_text())
        texts = [(each["label"], (directory / each["file"]).read_text()) for each in manifest["files"]]
    steps = [label.split("(")[0] for label, _ in texts]
    never = [label.split("(")[0] for label, text in texts if smtlib.solve_with_cvc5(smtlib.premises_of(text)) == ["unsat"]]
    impossible = [f"{name} ({never.count(name)} of {steps.count(name)})" for name in sorted(set(never))]
    return {"wrong": wrong, "checks": len(proof.answers), "impossible": impossible, "second_stamp": row.stamp()} | answer(
        row, proof
    )


def page() -> Iterator[str]:
    """The page, from the answers that are kept."""
    yield "# What is proved\n"
    yield "Made by `python -m tests.publish.proofs`; the second table by `python -m tests.publish.proofs --second-solver`."
    yield "A proof by induction speaks about every number of the faults that its row names, in every order. *All replicas but"
    yield "one*: a fault strikes only where one replica at least stays unimpaired (`faults.at_once`). *All but reassignments*:"
    yield "slow followers, clean stops, kills, fences, leader moves, power losses, disk losses, changes of min.insync.replicas"
    yield "(2 at first). `kraft` and `kraft-elr` are meant as designed (`defects=fixed`). Seconds are of two cores that"
    yield "other work shared.\n"
    yield "| model | property | replicas | bounds | faults, any number of; impaired at once | verdict | obligations | seconds |"
    yield "| --- | --- | --- | --- | --- | --- | --- | --- |"
    kept = known()
    for row in rows():
        found = kept.get(row.text)
        if found is None or found["stamp"] != row.stamp():
            yield f"{row.text} not asked yet | | |"
            continue
        said = "proved" if found["verdict"] == "holds" else f"{found['verdict']}: {found['reason']}"
        yield f"{row.text} {said} | {found['obligations']:,} | {found['seconds']} |"
    yield from second_opinions(kept)
    yield from not_had()


def second_opinions(kept: dict[str, Any]) -> Iterator[str]:
    """What the second solver said."""
    yield "\n## Asked again of cvc5\n"
    yield "Every obligation of these rows was written as SMT-LIB 2 and answered `unsat` by cvc5. Steps whose premises"
    yield "contradict each other can never be taken in that configuration; their obligations say nothing.\n"
    yield "| model | property | replicas | obligations | not confirmed | steps that can never be taken |"
    yield "| --- | --- | --- | --- | --- | --- |"
    for row in rows():
        found = kept.get(row.text, {})
        if found.get("second_stamp") == row.stamp():
            names = ", ".join(found["impossible"]) or "none"
            wrong = "; ".join(found["wrong"]) or "none"
            yield f"| {row.model} | {row.goal} | {row.replicas} | {found['checks']:,} | {wrong} | {names} |"


def not_had() -> Iterator[str]:
    """What there is no proof of, and why."""
    yield "\n## Not proved\n"
    yield "- Every replication factor of `kraft`, `kraft-elr` and `majority`: they count replicas (votes, the size of the ISR),"
    yield "  and their initial state has a first leader (decision 037). Each of their rows is about one number of replicas."
    yield "- Logs of any length in the modern models: records and offsets are enumerated."
    yield "- Reassignments: false under this limit, which does not count a replica before it has joined the ISR (decision 036)."
    yield "- A majority whose members lose data: one lost disk and one leader move lose a record in 6 steps."


def main() -> int:
    """Print the page, or ask the second solver."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", default="", metavar="TEXT", help="only rows that contain this text")
    parser.add_argument("--second-solver", action="store_true", help="have cvc5 answer every obligation of the rows")
    parser.add_argument("--kept", action="store_true", help="print the page from what is kept; prove nothing")
    given = parser.parse_args()
    for row in () if given.kept else rows():
        if given.rows not in row.text:
            continue
        field = "second_stamp" if given.second_solver else "stamp"
        if known().get(row.text, {}).get(field) != row.stamp():
            keep(row.text, checked_again(row) if given.second_solver else answer(row, row.proved()))
            print(f"{row.text} {known()[row.text]}", file=sys.stderr, flush=True)
    print("\n".join(page()))
    return 0


if __name__ == "__main__":
    sys.exit(main())
