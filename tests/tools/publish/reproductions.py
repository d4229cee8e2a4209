"""Counterexamples on real clusters, several times each, with the evidence that `reports/published/reproductions/` shows.

    python -m tests.tools.publish.reproductions --times 5 --out reports/published/reproductions

Each case is a question for `neverlost check`, the Kafka that its counterexample is tried on, and what must come of it:
`reproduced`, or `diverges`; and whether an acknowledged record is lost.  Needs Java, Maven and the `kafka` extra.
The table in the folder's README is written again from the evidence that is there.
"""

from __future__ import annotations

import argparse
import json
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[3]
VIOLATED = (12, 13)
"""Exit statuses of `check`: a promise is broken, or availability."""

OLD, MIDDLE, NEW = "3.5", "3.9", "4.3"


@dataclass(frozen=True)
class Case:
    """One counterexample on one Kafka."""

    name: str
    says: str
    question: str
    property: str
    kafka: str
    is_reproduced: bool
    is_lost: bool
    changed: str = ""

    def is_expected(self, tried: dict[str, Any]) -> bool:
        """Whether a try came out as it must."""
        return (tried["reproduced"], bool(tried["lost"])) == (self.is_reproduced, self.is_lost)


def about(version: str, settings: str) -> str:
    """A question in full."""
    return f"kafka.version={version} bounds.records=1 {settings}"


LAST_STANDING = "min.insync.replicas=2 faults.isr_shrink=2 faults.lossy_crash=1"
SHRUNK = "min.insync.replicas=1 faults.isr_shrink=2 faults.lossy_crash=1"
MOVED = "min.insync.replicas=2 acks=1 faults.leader_move=1"
UNCLEAN = "min.insync.replicas=1 unclean.leader.election.enable=true faults.isr_shrink=2 faults.crash=1"
STANDARD = "min.insync.replicas=2 faults.isr_shrink=1 faults.lossy_crash=1"
IN_SYNC = "min.insync.replicas=3 faults.lossy_crash=1"
VISIBLE = (
    "replication.factor=2 min.insync.replicas=2 acks=1 unclean.leader.election.enable=true faults.isr_shrink=1 faults.crash=1"
)
THIN = "replication.factor=3 min.insync.replicas=2 faults.isr_shrink=1 faults.reassign=1"
RAISED = (
    "replication.factor=2 min.insync.replicas=1 faults.min_isr_change=1 faults.isr_shrink=1 faults.crash=1 "
    "mechanism.configuration-before-isr=on"
)
READDED = "replication.factor=2 min.insync.replicas=2 faults.crash=2 faults.reassign=2"
CRASHED = "replication.factor=2 min.insync.replicas=2 faults.crash=1 faults.lossy_crash=1"
CLEARED = "replication.factor=2 min.insync.replicas=1 faults.min_isr_change=1 faults.crash=2"
CANCELLED = "replication.factor=2 min.insync.replicas=2 faults.crash=1 faults.reassign=1"
TAKEN_OUT = "replication.factor=2 min.insync.replicas=2 faults.disk_loss=1 faults.fence=1"
ASSIGNED = "replication.factor=2 min.insync.replicas=2 faults.lossy_crash=1 faults.fence=1 eligible.leader.replicas=true"
LATE_RECORD = "replication.factor=3 min.insync.replicas=2 faults.isr_shrink=1 faults.leader_move=1"
REASSIGNED = "replication.factor=2 min.insync.replicas=2 faults.reassign=2 eligible.leader.replicas=false"
CONFIG_AFTER = (
    "replication.factor=2 min.insync.replicas=1 faults.min_isr_change=1 faults.isr_shrink=1 faults.clean_stop=1 "
    "mechanism.isr-answer-waits-for-config=on"
)
RETURNING = "replication.factor=3 min.insync.replicas=2 faults.leader_move=3"
ACKED, COMMITTED, COPIES, LED = "acked-never-lost", "committed-never-lost", "acked-on-min-isr", "led-when-all-run"
OFFLINE, ELR, TWO = "unclean.leader.election.enable=false", "eligible.leader.replicas=true", "min.insync.replicas=2"


def both(name: str, says: str, settings: str, *rest: Any) -> list[Case]:
    """A case on 3.9 and on the newest 4.x, each with its own defaults."""
    return [Case(f"{name}-{kafka}", says, about(kafka, settings), rest[0], kafka, *rest[1:]) for kafka in (MIDDLE, NEW)]


CASES = (
    Case("last-replica-standing-3.9", "last replica standing", about(MIDDLE, LAST_STANDING), ACKED, MIDDLE, True, True),
    Case("last-replica-standing-4.3-elr", "the same, with ELR", about(MIDDLE, LAST_STANDING), ACKED, NEW, False, False, ELR),
    *both("min-isr-1", "min ISR 1 with a shrunk ISR", SHRUNK, ACKED, True, True),
    *both("acks-1-leader-move", "acks=1 and a leader move", MOVED, ACKED, True, True),
    *both("unclean-election", "an unclean election", UNCLEAN, ACKED, True, True),
    *both("no-unclean-election", "the same without unclean elections", UNCLEAN, ACKED, False, False, OFFLINE),
    *both("standard-one-lossy-crash", "min ISR 2, one slow follower, the leader loses its log", STANDARD, COPIES, True, False),
    *both("standard-in-sync", "min ISR 2, all in sync, the leader loses its log", IN_SYNC, COPIES, True, False, TWO),
    Case("visible-under-min-isr-3.5", "read below min ISR (KAFKA-15583)", about(OLD, VISIBLE), COMMITTED, OLD, True, True),
    Case("visible-under-min-isr-3.9", "the same after the fix", about(OLD, VISIBLE), COMMITTED, MIDDLE, False, False),
    Case("thin-reassignment-3.5", "a thin reassignment (KAFKA-15665)", about("3.7", THIN), COPIES, OLD, True, False),
    Case("thin-reassignment-3.9", "the same after the fix", about("3.7", THIN), COPIES, MIDDLE, False, False),
    Case("raised-min-isr-4.3", "raised min ISR races an ISR change (F6)", about(NEW, RAISED), ACKED, NEW, True, True),
    Case("late-record-4.3", "a late record forgets a request (A)", about(NEW, LATE_RECORD), ACKED, NEW, True, True),
    Case("late-record-3.9", "the same", about(MIDDLE, LATE_RECORD), ACKED, MIDDLE, True, True),
    Case("two-reassignments-4.3", "the same by two reassignments alone", about(NEW, REASSIGNED), ACKED, NEW, True, True),
    Case("two-reassignments-3.9", "the same", about(MIDDLE, REASSIGNED), ACKED, MIDDLE, True, True),
    Case("configuration-after-topics-4.3", "configuration after topics (B)", about(NEW, CONFIG_AFTER), ACKED, NEW, True, True),
    Case("removed-replica-in-elr-4.2", "a removed replica in the ELR (F7)", about("4.2", READDED), ACKED, "4.2", True, True),
    Case("removed-replica-in-elr-4.3", "the same, by a shorter trace", about(NEW, READDED), ACKED, NEW, True, True),
    Case("lossy-and-other-crash-4.3", "a lossy and another crash with ELR (F3)", about(NEW, CRASHED), ACKED, NEW, True, True),
    Case("cleared-elr-4.3", "raised min ISR strands a partition (F8)", about(NEW, CLEARED), LED, NEW, True, False),
    Case("cancelled-reassignment-4.2", "cancelling leaves one copy (G3)", about("4.2", CANCELLED), COPIES, "4.2", True, False),
    Case("cancelled-reassignment-4.3", "the same trace", about("4.2", CANCELLED), COPIES, NEW, False, False),
    Case("taken-out-directory-4.3", "a clean return without a log directory", about(NEW, TAKEN_OUT), ACKED, NEW, True, True),
    Case("assigned-directory-4.1", "a directory assignment clears the ELR", about("4.1", ASSIGNED), ACKED, "4.1", True, True),
    *both("returning-leader", "a leader that returns", RETURNING, ACKED, True, True),
)


def neverlost(*arguments: str) -> int:
    """Run a command of this checkout; its exit status.  Progress goes on to stderr, results are read from files."""
    return subprocess.run([sys.executable, "-m", "neverlost", *arguments], stdout=subprocess.DEVNULL, check=False).returncode


def settings(text: str) -> list[str]:
    """Options `--set` for words KEY=VALUE."""
    return [part for each in text.split() for part in ("--set", each)]


def tried(case: Case, times: int, folder: Path) -> list[str]:
    """Run a case; what is not as expected, a sentence for each try."""
    found = folder / "check"
    if neverlost("check", *settings(case.question), "--property", case.property, "--out", str(found)) not in VIOLATED:
        return [f"{case.name}: the model finds no counterexample"]
    trace, result = str(found / f"{case.property}.itf.json"), folder / "tries.json"
    common = ["--kafka-version", case.kafka, "--times", str(times), *settings(case.changed)]
    neverlost("reproduce", trace, *common, "--out", str(folder / "tries"), "--json", str(result))
    if not result.exists():
        return [f"{case.name}: the cluster could not be run"]
    wrong = []
    for number, each in enumerate(tries(result), start=1):
        if not case.is_expected(each):
            wrong.append(f"{case.name}, try {number}: reproduced {each['reproduced']}, lost {each['lost']}, {each['diverged']}")
    return wrong


def tries(path: Path) -> list[dict[str, Any]]:
    """What each try came to."""
    document = json.loads(path.read_text())
    found: list[dict[str, Any]] = document.get("tries", [document])
    return found


def publish(case: Case, folder: Path, out: Path) -> None:
    """Keep the outcome of all tries, and the evidence of the first that is as expected, else of the first.

    The trace, which is of one version of the model, is found again.
    """
    place, found = out / case.name, tries(folder / "tries.json")
    best = next((number for number, each in enumerate(found, start=1) if case.is_expected(each)), 1)
    shutil.rmtree(place, ignore_errors=True)
    shutil.copytree(folder / "tries" / str(best) if len(found) > 1 else folder / "tries", place)
    (place / "reproduction.json").unlink()
    (place / "trace.itf.json").unlink()
    for log in place.glob("logs/*-*.log"):
        log.unlink()
    shutil.copy(folder / "tries.json", place / "tries.json")


def table(out: Path) -> str:
    """What the evidence in a folder came to, a row for each case."""
    rows = ["| case | what it is | Kafka | as expected | what came of it |", "| --- | --- | --- | --- | --- |"]
    for case in CASES:
        path = out / case.name / "tries.json"
        if path.exists():
            found = tries(path)
            cells = [
                f"[{case.name}]({case.name}/reproduction.md)",
                case.says,
                found[0]["kafka"],
                f"{sum(map(case.is_expected, found))} of {len(found)}",
                outcome(next(filter(case.is_expected, found), found[0])),
            ]
            rows.append(f"| {' | '.join(cells)} |")
    return "\n".join(rows) + "\n"


def tabulate(out: Path) -> None:
    """Write the table of a folder's README again."""
    readme = out / "README.md"
    if readme.exists():
        before, *_ = readme.read_text().partition("| case |")
        readme.write_text(before + table(out))


def outcome(tried: dict[str, Any]) -> str:
    """A try in a few words."""
    lost = f"{', '.join(tried['lost'])} lost" if tried["lost"] else "nothing lost"
    if tried["reproduced"]:
        return f"reproduced, {lost}"
    if tried["diverged"] is None:
        return f"every step seen, {lost}"
    first, last = tried["diverged"]["steps"]
    where = f"step {first}" if first == last else f"steps {first} to {last}"
    return f"diverges at {where} ({tried['diverged']['seen'][0]}), {lost}"


def main() -> int:
    """Run the chosen cases; 1 when one of them is not as expected."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--times", type=int, default=1)
    parser.add_argument("--only", default="", help="cases whose name contains one of these, separated by commas")
    parser.add_argument("--out", type=Path)
    parser.add_argument("--keep", type=Path, help="where to keep everything of cases that did not come out as expected")
    given = parser.parse_args()
    chosen = [case for case in CASES if any(part in case.name for part in given.only.split(","))]
    wrong: list[str] = []
    for case in chosen:
        with tempfile.TemporaryDirectory() as temporary:
            found = tried(case, given.times, Path(temporary))
            print(f"{case.name}: {'; '.join(found) or f'as expected, {given.times} of {given.times}'}", flush=True)
            wrong += found
            if given.keep is not None and found:
                shutil.copytree(temporary, given.keep / case.name, dirs_exist_ok=True)
            if given.out is not None and Path(temporary, "tries.json").exists():
                publish(case, Path(temporary), given.out)
                tabulate(given.out)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
