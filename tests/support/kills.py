"""Work that is killed at moments that a seed draws, and gone on with: nothing is lost, broken or left behind.

`python -m tests.support.kills --count 200` kills searches in memory, on disk and on Spark, sweeps
and observations; each is gone on with until it ends, and compared with one that was left alone.  `--first`
and `--count` are for a part of them, and so is `--only NAME`.  CI kills one of each that needs no Java, in
`tests/checker/test_kills.py`.
"""

from __future__ import annotations

import argparse
import contextlib
import ctypes
import json
import os
import random
import shutil
import signal
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from neverlost.checker.engine.engines import memory
from neverlost.checker.engine.host import scratch
from neverlost.reports.bundle import question
from neverlost.reports.bundle import safe_paths as contained
from neverlost.reports.documents import measurements as measured
from tests.support import apart, forger, forked
from tests.support.program import DATA

SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGKILL)
PATIENCE = 240.0
"""Seconds until a run that does not end is a failure."""

GONE = 60.0
"""Seconds until a process that outlives its parent is a failure: a Java takes some."""

SPACE = ("--set", "model=kip-320", "--set", "bounds.records=1", "--set", "bounds.max_leader_epoch=1", "--continue")
ON_SPARK = ("--master", "local[2]")
SMALL_TASKS = ("--spark-conf", "neverlost.driver.states=500", "--spark-conf", "neverlost.task.least=300")

MODULES = (
    "numpy",
    "pyarrow.parquet",
    *(f"neverlost.reports.questions.{each}.api" for each in ("check", "sweep", "observe")),
    "neverlost.checker.engine.engines.memory",
    "neverlost.checker.engine.disk.on_disk_search",
    "neverlost.reports.page.render",
    "neverlost.reports.output.gate",
    "neverlost.reports.terminal.results",
)
"""What the works import, so that their copies need not."""

Change = Callable[[], object]


@dataclass(frozen=True)
class Work:
    """What is killed, `times` of 200: the program's arguments; `goes_on` are added where its levels are there already.

    `has_more`: it has processes of its own that may be killed; `first` is done in its process before it begins.
    """

    name: str
    times: int
    arguments: tuple[str, ...]
    goes_on: tuple[str, ...] = ()
    has_more: bool = False
    first: Change = lambda: None


def works(place: Path) -> list[Work]:
    """Each kind of work, leaving everything in `place`."""
    states, out, history = str(place / "states"), str(place / "out"), DATA / "observed" / "run-4.3.jsonl"
    kept, resume = ("--state-dir", states), ("--resume",)
    check = ("check", *SPACE, "--out", out)
    spark = ("--engine", "spark", *ON_SPARK, *SMALL_TASKS)
    return [
        Work("memory", 40, (*check, "--workers", "1")),
        Work("machine code", 10, (*check, "--workers", "2"), (), True, _compiled_at_once),
        Work("stored", 60, (*check, *kept, "--workers", "1"), resume),
        Work("spark", 15, (*check, *kept, *spark), resume, True),
        Work("sweep", 30, ("sweep", str(place / "matrix.toml"), "--out", out), (), True),
        Work("observe", 15, ("observe", str(history), "--no-losses", "--out", out), (), True),
    ]


def _compiled_at_once() -> None:
    memory.WORTH_COMPILING = 1_000


def started(work: Work, place: Path, more: Sequence[str] = ()) -> int:
    """The work begins in a process of its own, with a folder for temporary files in `place`."""

    def first() -> None:
        (place / "temporary").mkdir(exist_ok=True)
        os.environ["TMPDIR"] = str(place / "temporary")
        work.first()

    return forked.started([*work.arguments, *more], place / "said", first)


def found(place: Path) -> dict[str, bytes]:
    """The results, by name."""
    return _files(place / "out")


def differences(expected: dict[str, bytes], there: dict[str, bytes]) -> list[str]:
    """What is not the same in two results, but for what was measured, and that one of them was gone on with."""
    wrong = [f"{name} in one of them only" for name in expected.keys() ^ there.keys()]
    for name in sorted(expected.keys() & there.keys()):
        if name.endswith(".json"):
            one, other = (_answered(json.loads(each[name])) for each in (expected, there))
            places = measured.differences(other, measured.take_measured_values(name, one, other))
            wrong += [f"{name}: {path}" for path, *_ in places]
        elif name.endswith(".parquet") and expected[name] != there[name]:
            wrong.append(f"{name} has other bytes")
    return wrong


def _answered(document: Any) -> Any:
    """A document without digests of what was measured, and without where its levels are and whether they were there."""
    if isinstance(document, dict):
        return {name: _answered(each) for name, each in document.items() if name not in ("question", "resume", "files")}
    return [_answered(each) for each in document] if isinstance(document, list) else document


def broken(place: Path) -> list[str]:
    """Files under a final name that are not whole: JSON that cannot be read, a bundle that is not as its manifest lists."""
    wrong = []
    for path in (each for each in place.rglob("*.json") if not each.name.startswith(".") and each.name != "lock.json"):
        try:
            json.loads(path.read_text())
        except ValueError:
            wrong.append(f"{path} is broken")
    if (place / "out" / contained.MANIFEST).exists():
        listed = json.loads((place / "out" / contained.MANIFEST).read_text())["files"]
        there = {name: content for name, content in _files(place / "out").items() if name != contained.MANIFEST}
        wrong += [f"{each} is not as listed" for each in listed if question.digest(there.get(each, b"")) != listed[each]]
    return wrong


def _files(folder: Path) -> dict[str, bytes]:
    return {each.relative_to(folder).as_posix(): each.read_bytes() for each in folder.rglob("*") if each.is_file()}


def shared_memory() -> set[str]:
    """The names of shared memory that is ours: what others have is not seen apart, and is not looked for elsewhere."""
    return set(os.listdir(scratch.MEMORY)) if APART in os.environ else set()


def left_behind(place: Path, before: set[str]) -> list[str]:
    """Processes, temporary files and shared memory that are there after the work has ended."""
    deadline = time.monotonic() + GONE
    while (still := _reaped()) and time.monotonic() < deadline:
        time.sleep(0.02)
    wrong = [f"process {each} {_command(each)[:80]} is left" for each in still]
    for each in still:
        os.kill(each, signal.SIGKILL)
    left = [each for name in ("temporary", "states", "out") for each in (place / name).rglob("*")]
    wrong += [f"{each.relative_to(place)} is left" for each in left if _is_left(each, place)]
    return wrong + [f"shared memory {each} is left" for each in shared_memory() - before]


def _is_left(path: Path, place: Path) -> bool:
    return path.is_relative_to(place / "temporary") or path.name.startswith(".") or path.name == "lock.json"


def _reaped() -> list[int]:
    """Processes that have come to this one since their own parents ended; those that have ended are let go."""
    with contextlib.suppress(ChildProcessError):
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass
    return forked.family(os.getpid())[1:]


def _command(process: int) -> str:
    with contextlib.suppress(OSError):
        return Path(f"/proc/{process}/cmdline").read_text().replace("\0", " ")
    return ""


class Kill:
    """One kill, sent when a process and those below it have had a drawn share of the processor that the whole work takes."""

    def __init__(self, work: Work, drawn: random.Random, whole: int) -> None:
        self.has_more, self.share = work.has_more, drawn.random()
        self.ticks, self.drawn = self.share * whole, drawn
        self.signal = drawn.choice(SIGNALS)
        self.says = ""

    def look(self, process: int) -> None:
        """Send it if it is time."""
        family = forked.family(process)
        if self.says or forked.used(family) < self.ticks:
            return
        kinds: dict[str, list[int]] = {}
        for each in family if self.has_more else family[:1]:
            kind = "parent" if each == process else "java" if "java" in _command(each).partition(" ")[0] else "worker"
            kinds.setdefault(kind, []).append(each)
        kind = self.drawn.choice(sorted(kinds))
        self.says = f"{self.signal.name} to the {kind} after {self.share:.0%}"
        with contextlib.suppress(ProcessLookupError):
            os.kill(self.drawn.choice(kinds[kind]), self.signal)


def killed(work: Work, place: Path, kill: Kill) -> list[str]:
    """Kill it once, go on with it until it ends by itself; what is wrong afterwards."""
    before, said = shared_memory(), place / "said"
    process = started(work, place)
    code = forked.ended(process, PATIENCE, lambda: kill.look(process))
    if code is None:
        forked.end(process)
        return [f"it did not end in {PATIENCE:.0f} s"]
    wrong = [] if code in (0, 12, 20, -signal.SIGTERM, -signal.SIGKILL) else [f"status {code}"]
    wrong += broken(place)
    left_behind(place, before)  # whatever its parent's end takes some time to end
    has_begun = (place / "states" / "meta.json").exists()
    again = started(work, place, work.goes_on if has_begun else ())
    code = forked.ended(again, PATIENCE)
    if code is None:
        forked.end(again)
        return [*wrong, f"gone on with, it did not end in {PATIENCE:.0f} s"]
    wrong += [] if code in (0, 12) else [f"gone on with, it ended with {code}"]
    wrong += broken(place) + left_behind(place, before)
    words = said.read_text(errors="replace")
    return [*wrong, words[-900:]] if wrong or "Traceback" in words else []


def alone(work: Work, place: Path) -> tuple[dict[str, bytes], int]:
    """What work gives that is left alone, and what it uses of the processor.

    Errors: `AssertionError` where it does not end well.
    """
    most = 0

    def look() -> None:
        nonlocal most
        most = max(most, forked.used(forked.family(process)))

    process = started(work, place)
    code = forked.ended(process, PATIENCE, look)
    assert code in (0, 12), f"{work.name} ended with {code}: {(place / 'said').read_text()}"
    return found(place), most


@contextlib.contextmanager
def emptied(base: Path) -> Iterator[Path]:
    """A folder with the matrix that is swept, and with nothing else."""
    place = base / "tried"
    shutil.rmtree(place, ignore_errors=True)
    place.mkdir()
    (place / "matrix.toml").write_text(forger.MATRIX)
    yield place


def run(names: Sequence[str], seed: int, numbers: range, report: Callable[[str], object] = print) -> int:
    """Work by its names in turn, each killed once; how often something went wrong."""
    ctypes.CDLL(None).prctl(36, 1)  # processes whose parents ended are ours to wait for
    forked.prepare(*MODULES)
    known: dict[str, tuple[dict[str, bytes], int]] = {}
    bad = 0
    with tempfile.TemporaryDirectory() as base:
        for number in numbers:
            name = names[number % len(names)]
            with emptied(Path(base)) as place:
                work = next(each for each in works(place) if each.name == name)
                known[name] = known[name] if name in known else alone(work, place)
            expected, whole = known[name]
            drawn = random.Random(f"{seed} {number}")
            kill = Kill(work, drawn, whole)
            wrong: list[str] = []
            while not kill.says and not wrong:
                with emptied(Path(base)) as place:
                    wrong = killed(work, place, kill) or differences(expected, found(place))
                kill.ticks *= 0.8
            bad += bool(wrong)
            report(f"{number} {name}, {kill.says or 'not killed'}: {'; '.join(wrong) or 'the same answer'}")
    return bad


def drawn_names(seed: int) -> list[str]:
    """The names of 200 pieces of work in an order that the seed draws."""
    with tempfile.TemporaryDirectory() as place:
        names = [each.name for each in works(Path(place)) for _ in range(each.times)]
    random.Random(seed).shuffle(names)
    return names


def main() -> None:
    """Run many, and say what was wrong."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=200)
    parser.add_argument("--first", type=int, default=0, help="the number to go on with")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", default="", metavar="NAME[,NAME]", help="these in turn")
    asked = parser.parse_args()
    if apart.means() and APART not in os.environ:
        command = [sys.executable, "-m", "tests.support.kills", *sys.argv[1:]]
        os.environ[APART] = "1"
        os.execvp(apart.means()[0], apart.with_folders(command, {scratch.MEMORY: "2g"}))
    names = asked.only.split(",") if asked.only else drawn_names(asked.seed)
    print(f"seed {asked.seed}", flush=True)
    bad = run(names, asked.seed, range(asked.first, asked.count), lambda text: print(text, flush=True))
    print(f"{asked.count - asked.first} kills, {bad} went wrong")
    sys.exit(bool(bad))


APART = "NEVERLOST_KILLS_APART"
"""Set where this has shared memory of its own already."""


if __name__ == "__main__":
    main()
