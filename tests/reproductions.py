"""Counterexamples on real clusters, several times each, with the evidence that `reports/published/reproductions/` shows.

    python tests/reproductions.py --times 5 --out reports/published/reproductions

Each case is a question for `neverlost check`, the Kafka that its counterexample is tried on, and what must come of it:
`reproduced`, or `parts`; and whether an acknowledged record is lost.  Needs Java, Maven and the `kafka` extra.
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

ROOT = Path(__file__).resolve().parent.parent
PROGRAM = f"import sys; sys.path.insert(0, {str(ROOT)!r}); from reports.cli import main; main()"
OLD, MIDDLE, NEW = "3.5", "3.9", "4.3"


@dataclass(frozen=True)
class Case:
    """One counterexample on one Kafka."""

    name: str
    question: str
    property: str
    kafka: str
    is_reproduced: bool
    is_lost: bool
    changed: str = ""


def about(version: str, settings: str) -> str:
    """A question in full."""
    return f"kafka.version={version} bounds.records=1 {settings}"


LAST_STANDING = "min.insync.replicas=2 faults.isr_shrink=2 faults.lossy_crash=1"
SHRUNK = "min.insync.replicas=1 faults.isr_shrink=2 faults.lossy_crash=1"
MOVED = "min.insync.replicas=2 acks=1 faults.leader_move=1"
UNCLEAN = "min.insync.replicas=1 unclean.leader.election.enable=true faults.isr_shrink=2 faults.crash=1"
STANDARD = "min.insync.replicas=2 faults.lossy_crash=1"
VISIBLE = (
    "replication.factor=2 min.insync.replicas=2 acks=1 unclean.leader.election.enable=true faults.isr_shrink=1 faults.crash=1"
)
THIN = "replication.factor=3 min.insync.replicas=2 faults.isr_shrink=1 faults.reassign=1"
RAISED = "replication.factor=2 min.insync.replicas=1 faults.min_isr_change=1 faults.isr_shrink=1 faults.crash=1"
READDED = "replication.factor=2 min.insync.replicas=2 faults.crash=2 faults.reassign=2"
RETURNING = "replication.factor=3 min.insync.replicas=2 faults.leader_move=3"
ACKED, COMMITTED, COPIES = "acked-never-lost", "committed-never-lost", "acked-on-min-isr"
OFFLINE = "unclean.leader.election.enable=false"

CASES = (
    Case("last-replica-standing-3.9", about(MIDDLE, LAST_STANDING), ACKED, MIDDLE, True, True),
    Case(
        "last-replica-standing-4.3-elr", about(MIDDLE, LAST_STANDING), ACKED, NEW, False, False, "eligible.leader.replicas=true"
    ),
    Case("raised-min-isr-4.3", about(NEW, RAISED), ACKED, NEW, True, True),
    Case("visible-under-min-isr-3.5", about(OLD, VISIBLE), COMMITTED, OLD, True, True),
    Case("visible-under-min-isr-3.9", about(OLD, VISIBLE), COMMITTED, MIDDLE, False, False),
    Case("min-isr-1-3.9", about(MIDDLE, SHRUNK), ACKED, MIDDLE, True, True),
    Case("min-isr-1-4.3", about(NEW, SHRUNK), ACKED, NEW, True, True),
    Case("acks-1-leader-move-3.9", about(MIDDLE, MOVED), ACKED, MIDDLE, True, True),
    Case("acks-1-leader-move-4.3", about(NEW, MOVED), ACKED, NEW, True, True),
    Case("unclean-election-3.9", about(MIDDLE, UNCLEAN), ACKED, MIDDLE, True, True),
    Case("unclean-election-4.3", about(NEW, UNCLEAN), ACKED, NEW, True, True),
    Case("no-unclean-election-3.9", about(MIDDLE, UNCLEAN), ACKED, MIDDLE, False, False, OFFLINE),
    Case("no-unclean-election-4.3", about(NEW, UNCLEAN), ACKED, NEW, False, False, OFFLINE),
    Case("standard-one-lossy-crash-3.9", about(MIDDLE, STANDARD), COPIES, MIDDLE, True, False),
    Case("standard-one-lossy-crash-4.3", about(NEW, STANDARD), COPIES, NEW, True, False),
    Case("thin-reassignment-3.5", about("3.7", THIN), COPIES, OLD, True, False),
    Case("thin-reassignment-3.9", about("3.7", THIN), COPIES, MIDDLE, False, False),
    Case("returning-leader-3.9", about(MIDDLE, RETURNING), ACKED, MIDDLE, True, True),
    Case("returning-leader-4.3", about(NEW, RETURNING), ACKED, NEW, True, True),
    Case("removed-replica-in-elr-4.2", about("4.2", READDED), ACKED, "4.2", True, True),
    Case("removed-replica-in-elr-4.3", about(NEW, READDED), ACKED, NEW, True, True),
)


def neverlost(*arguments: str) -> int:
    """Run a command of this checkout; its exit status.  Progress goes on to stderr, results are read from files."""
    return subprocess.run([sys.executable, "-c", PROGRAM, *arguments], stdout=subprocess.DEVNULL, check=False).returncode


def settings(text: str) -> list[str]:
    """Options `--set` for words KEY=VALUE."""
    return [part for each in text.split() for part in ("--set", each)]


def tried(case: Case, times: int, folder: Path) -> list[str]:
    """Run a case; what is not as expected, a sentence for each try."""
    found = folder / "check"
    if neverlost("check", *settings(case.question), "--property", case.property, "--out", str(found)) != 12:
        return [f"{case.name}: the model finds no counterexample"]
    trace, result = str(found / f"{case.property}.itf.json"), folder / "tries.json"
    common = ["--kafka-version", case.kafka, "--times", str(times), *settings(case.changed)]
    neverlost("reproduce", trace, *common, "--out", str(folder / "tries"), "--json", str(result))
    if not result.exists():
        return [f"{case.name}: the cluster could not be run"]
    document = json.loads(result.read_text())
    wrong = []
    for number, each in enumerate(document.get("tries", [document]), start=1):
        if (each["reproduced"], bool(each["lost"])) != (case.is_reproduced, case.is_lost):
            wrong.append(f"{case.name}, try {number}: reproduced {each['reproduced']}, lost {each['lost']}, {each['parted']}")
    return wrong


def publish(case: Case, folder: Path, out: Path) -> None:
    """Keep the first try's evidence and the outcome of all; the trace, which is of one version of the model, is found again."""
    place = out / case.name
    shutil.rmtree(place, ignore_errors=True)
    first = folder / "tries" / "1" if (folder / "tries" / "1").is_dir() else folder / "tries"
    shutil.copytree(first, place)
    (place / "reproduction.json").unlink()
    (place / "trace.itf.json").unlink()
    for log in place.glob("logs/*-*.log"):
        log.unlink()
    shutil.copy(folder / "tries.json", place / "tries.json")


def main() -> int:
    """Run the chosen cases; 1 when one of them is not as expected."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--times", type=int, default=1)
    parser.add_argument("--only", default="", help="cases whose name contains one of these, separated by commas")
    parser.add_argument("--out", type=Path)
    given = parser.parse_args()
    chosen = [case for case in CASES if any(part in case.name for part in given.only.split(","))]
    wrong: list[str] = []
    for case in chosen:
        with tempfile.TemporaryDirectory() as temporary:
            found = tried(case, given.times, Path(temporary))
            print(f"{case.name}: {'; '.join(found) or f'as expected, {given.times} of {given.times}'}", flush=True)
            wrong += found
            if given.out is not None and not found:
                publish(case, Path(temporary), given.out)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
