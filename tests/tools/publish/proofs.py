"""Makes the page of proofs: `python -m tests.tools.publish.proofs`; with `--second-solver` cvc5 answers every obligation again,
or z3 in another configuration where cvc5 does not; where cvc5 was the first solver, ethos checks its proofs.

A row that was proved with the model, lemmas and solver of now is not proved again: `reports/published/proofs.json` has it, so
the command goes on where it was stopped; `--again` asks all anew.  `--rows TEXT` takes those rows only whose text contains it.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict, dataclass, replace
from hashlib import sha256
from itertools import repeat
from pathlib import Path
from typing import Any

import neverlost
from neverlost.checker.engine.digest import lemma_digest, model_digest, property_digest
from neverlost.checker.engine.proof.induction import Proof
from neverlost.model.interpreters.otherwise import call_otherwise
from neverlost.model.interpreters.terms import name_solver
from neverlost.model.protocols import models
from neverlost.specs.any_log import open_logs
from neverlost.specs.any_replicas import SETS, open_replicas
from neverlost.specs.configuration.choose import choose
from neverlost.specs.every_size.any_log_lemmas import IN_CONDITIONS
from neverlost.specs.lemmas import find_lemmas
from neverlost.specs.properties import properties
from tests.tools.publish.proofs_again import Again, asked_of_row, missing_for_ethos, reading_of_row

KEPT = Path(__file__).resolve().parents[3] / "reports" / "published" / "proofs.json"
SECONDS = 3600
"""How long a row's proof may take."""

ANY = {
    f"faults.{each}": "any"
    for each in ("isr_shrink", "clean_stop", "kill", "fence", "leader_move", "lossy_crash", "disk_loss", "min_isr_change")
}
ALL_BUT_ONE = "all but reassignments; all replicas but one"
SAME_MINIMUM = "all but reassignments and changes of min.insync.replicas; all replicas but one"
FEW_LOSE = (
    "all but reassignments, changes of min.insync.replicas and unclean elections; all replicas, of which fewer than "
    "min.insync.replicas (2 or more) have been killed or have lost data"
)
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
        bounds = _many(self.records, "record")
        if self.every_rf and self.model == "kraft":
            bounds = "any number of records, logs of any length"
        elif self.unbounded or (self.every_rf and self.model == "kip-320"):
            bounds = f"any number of records and epochs, {'logs of any length' if self.every_rf else '2 in a log'}"
        elif self.model == "kip-320":
            bounds += f", epochs 0 to {dict(self.given)['bounds.max_leader_epoch']}"
        return f"| {self.model} | {self.goal} | {self.size} | {bounds} | {self.faults} |"

    @property
    def size(self) -> str:
        """Of how many replicas the row speaks."""
        return "every number" if self.every_rf else str(self.replicas)

    @property
    def second(self) -> str:
        """The row's first cells in the second table."""
        kind = ", without bounds" if self.unbounded else ", flushed" if self.faults == FLUSHED else ""
        return f"| {self.model} | {self.goal} | {self.size}{kind} |"

    def stamp(self) -> str:
        """What its answer depends on."""
        given = {key: (str(value), "the row") for key, value in self.settings.items()}
        system, model, goal = choose(given).system, models()[self.model], properties()[self.goal]
        lemmas = find_lemmas(system)
        if self.every_rf and self.model == "kip-320":
            opened, goal = open_logs(system, goal)
            model = opened.model
        elif self.every_rf:
            model, instead = open_replicas(system).model, SETS if self.model == "kraft-elr" else IN_CONDITIONS
            lemmas = tuple(replace(each, conjuncts=call_otherwise(each.conjuncts, instead)) for each in lemmas)
        parts = [model_digest(model), property_digest(goal), name_solver(), *map(lemma_digest, lemmas)]
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
                limits = (("defects", "fixed"), ("min.insync.replicas", 2), ("faults.at_once", replicas - 1), *ANY.items())
                yield Row(model, goal, replicas, 2 if replicas < 5 else 1, ALL_BUT_ONE, limits)
            if model == "kraft":
                kinds = [(fault, limit) for fault, limit in ANY.items() if fault != "faults.min_isr_change"]
                limits = (("defects", "fixed"), ("faults.at_once", 2), *kinds)
                yield Row(model, goal, 3, 2, SAME_MINIMUM, limits, every_rf=True)
    few = {"faults.data_loss": "any:1", "faults.kill": "any:data_loss"}
    free = {f"faults.{each}": "any" for each in ("isr_shrink", "clean_stop", "fence", "leader_move")}
    limits = (("defects", "fixed"), ("min.insync.replicas", 2), *few.items(), *free.items())
    yield Row("kraft-elr", "acked-never-lost", 3, 2, FEW_LOSE, limits, every_rf=True)
    stops = (("faults.kill", "any"), ("faults.leader_move", "any"))
    for goal in ("acked-never-lost", "committed-never-lost"):
        for replicas in (2, 3, 4, 5):
            yield Row("majority", goal, replicas, 2, STOPS, stops)
            # a kill that is free would take the place of each power loss: those are the kills here
            flushed = (("faults.leader_move", "any"), ("faults.lossy_crash", "any"), ("flush.messages", "1"))
            yield Row("majority", goal, replicas, 2, FLUSHED, flushed)


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
    """Keep an answer, or a part of one; what is empty is kept no longer."""
    kept = known()
    kept[text] = {key: value for key, value in {**kept.get(text, {}), **found}.items() if value != {}}
    KEPT.write_text(json.dumps(kept, indent=1, sort_keys=True) + "\n")


def checked_again(row: Row) -> dict[str, Any]:
    """What another solver, or a checker of proofs, says of every obligation of a row; and which steps can never be taken.

    What it said of each step is kept until all are asked.
    """
    asked = (tuple(sorted(row.settings.items())), row.goal, row.unbounded, row.every_rf)
    stamp, before = row.stamp(), known().get(row.text, {}).get("steps", {})
    said = before["said"] if before.get("stamp") == stamp else {}
    left = [each for each in range(len(reading_of_row(*asked).tasks())) if str(each) not in said]
    with ProcessPoolExecutor(2) as pool:
        for number, answered in zip(left, pool.map(asked_of_row, left, repeat(asked)), strict=True):
            said[str(number)] = asdict(answered)
            keep(row.text, {"steps": {"stamp": stamp, "said": said}})
    found = [Again(**each) for each in said.values()]
    steps, never = [each.step for each in found], [each.step for each in found if each.is_never]
    second = {
        "stamp": stamp,
        "checks": sum(each.checks for each in found),
        "cvc5": sum(each.cvc5 for each in found),
        "z3": sum(each.z3 for each in found),
        "checked": sum(each.checked for each in found),
        "wrong": sorted({each.step for each in found if each.is_wrong}),
        "impossible": [f"{name} ({never.count(name)} of {steps.count(name)})" for name in sorted(set(never))],
    }
    return {"second": second, "steps": {}}


def page() -> Iterator[str]:
    """The page, from the answers that are kept."""
    yield "# What is proved\n"
    yield "Made by `python -m tests.tools.publish.proofs`; the second table by the same command with `--second-solver`."
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
    yield from kernel(kept)
    yield from not_had()


def second_opinions(kept: dict[str, Any]) -> Iterator[str]:
    """What the second solver said."""
    yield "\n## Asked again\n"
    yield "Every obligation of these rows was written as SMT-LIB 2 and asked of cvc5; what cvc5 does not decide, of z3 in"
    yield "another configuration than the proof's (QF_BV, from the text). Steps whose premises contradict each other can"
    yield "never be taken in that configuration; their obligations say nothing. The rows of every number of replicas were"
    yield "proved by cvc5: there ethos, which is no solver, checks cvc5's proof of each obligation (decision 037).\n"
    yield "| model | property | replicas | obligations | cvc5 | z3 | counterexamples | steps that can never be taken |"
    yield "| --- | --- | --- | --- | --- | --- | --- | --- |"
    for row in rows():
        known_of_row = kept.get(row.text, {})
        if known_of_row.get("verdict") != "holds":
            continue
        found = known_of_row.get("second", {})
        if found.get("stamp") != row.stamp():
            yield f"{row.second} not asked yet | | | |"
            continue
        names = ", ".join(found["impossible"]) or "none"
        wrong = ", ".join(found["wrong"]) or "none"
        by = f"proofs checked: {found['checked']} |" if row.every_rf else f"{found['cvc5']:,} | {found['z3']:,}"
        yield f"{row.second} {found['checks']:,} | {by} | {wrong} | {names} |"


def central() -> Row:
    """The row whose proof a kernel checks (`tests/tools/publish/proofs_kernel.py`)."""
    asked = ("kraft-elr", "acked-never-lost", 3)
    return next(each for each in rows() if (each.model, each.goal, each.replicas) == asked)


def kernel(kept: dict[str, Any]) -> Iterator[str]:
    """What a kernel that is no solver said."""
    yield "\n## Checked by a kernel\n"
    row = central()
    found = kept.get(row.text, {}).get("kernel", {})
    if found.get("stamp") != row.stamp():
        yield f"{row.second} not asked yet: `python -m tests.tools.publish.proofs_kernel` |"
        return
    obligations, clauses, steps = (f"{found[each]:,}" for each in ("obligations", "clauses", "steps"))
    yield f"`{row.model}`, {row.goal}, {row.replicas} replicas: {obligations} obligations as {found['questions']} questions in"
    yield f"{clauses} clauses. Another solver (varisat) refutes each with a proof, its checker confirms the proof, and its"
    yield f"{steps} steps are checked once more by a function that only propagates units ({found['seconds']} s,"
    yield "`python -m tests.tools.publish.proofs_kernel`). What is left to trust is the reading of the actions as terms, which"
    yield "tests compare with ints, and z3's translation of terms into clauses."


def not_had() -> Iterator[str]:
    """What there is no proof of, and why."""
    yield "\n## Not proved\n"
    yield "- Every replication factor of `majority`, which counts votes, and of `kraft-elr` while all replicas but one are"
    yield "  impaired (decisions 037 and 111). Each of these rows is about one number of replicas."
    yield "- Logs of any length of `kraft-elr`, also for every number of replicas, and of `majority`: their records and offsets"
    yield "  are enumerated (decision 112)."
    yield "- `weak-isr` of `kip-320` for every number: what `become_leader` must show to exist is not found (decision 037)."
    yield "- Reassignments: false under this limit, which does not count a replica before it has joined the ISR: two replicas"
    yield "  lose an acknowledged record in 16 steps while one at most is impaired (decision 036)."
    yield "- A majority whose members lose data: one lost disk and one leader move lose a record in 6 steps."


def is_published(row: Row) -> bool:
    """Whether a row is proved as it is now."""
    found = known().get(row.text, {})
    return bool(found.get("stamp") == row.stamp() and found["verdict"] == "holds")


def is_asked_again(row: Row) -> bool:
    """Whether a row's obligations, as they are now, were asked again."""
    return bool(known().get(row.text, {}).get("second", {}).get("stamp") == row.stamp())


def main() -> int:
    """Print the page, or ask the second solver."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", default="", metavar="TEXT", help="only rows that contain this text")
    parser.add_argument("--second-solver", action="store_true", help="have cvc5 answer every obligation of the rows")
    parser.add_argument("--again", action="store_true", help="ask also what was asked before and has an answer")
    parser.add_argument("--kept", action="store_true", help="print the page from what is kept; prove nothing")
    given = parser.parse_args()
    for row in () if given.kept else rows():
        if given.rows not in row.text or (given.second_solver and not is_published(row)):
            continue
        if given.again or not (is_asked_again if given.second_solver else is_published)(row):
            if given.second_solver and row.every_rf and (missing := missing_for_ethos()):
                print(f"{row.second} {missing}", file=sys.stderr)
                continue
            keep(row.text, checked_again(row) if given.second_solver else answer(row, row.proved()))
            print(f"{row.text} {known()[row.text]}", file=sys.stderr, flush=True)
    print("\n".join(page()))
    return 0


if __name__ == "__main__":
    sys.exit(main())
