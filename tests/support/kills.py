"""Searches, sweeps and observations that are killed at moments that a seed draws, and gone on with: nothing is lost or broken.

`python -m tests.support.kills --count 200 --seed 1` runs many; each is compared with a run that was left alone.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.support import forger
from tests.support.program import DATA

SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGKILL)
SPACE = ("--set", "model=kip-320", "--set", "bounds.records=2", "--set", "bounds.max_leader_epoch=2", "--continue")
STATES = 737_794
"""Of that space, as TLC counted them."""


@dataclass(frozen=True)
class Work:
    """What is killed: the program's arguments; `goes_on` are added when it is started again."""

    name: str
    arguments: tuple[str, ...]
    goes_on: tuple[str, ...] = ()
    is_shared: bool = False
    """Whether it has processes of its own that may be killed."""


def works(place: Path) -> list[Work]:
    """Each kind of work, leaving everything in `place`."""
    (place / "matrix.toml").write_text(forger.MATRIX)
    history = str(DATA / "observed" / "run-4.3.jsonl")
    states, out = str(place / "states"), str(place / "out")
    return [
        Work("memory", ("check", *SPACE, "--out", out)),
        Work("stored", ("check", *SPACE, "--state-dir", states, "--out", out), ("--resume",)),
        Work("shared", ("check", *SPACE, "--state-dir", states, "--out", out, "--workers", "2"), ("--resume",), True),
        Work("sweep", ("sweep", str(place / "matrix.toml"), "--out", out)),
        Work("observe", ("observe", history, "--no-losses", "--out", out)),
    ]


def run(arguments: Sequence[str]) -> subprocess.Popen[bytes]:
    """The program, started."""
    command = [sys.executable, "-m", "neverlost", *arguments]
    return subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)


def answer(place: Path) -> Any:
    """What was found, without what was measured; the whole of the bundle has been compared by its digests."""
    found = json.loads((place / "out" / "result.json").read_text())
    for name in ("seconds", "peak_memory_bytes", "searches", "question"):
        found.pop(name, None)
    return found


def broken(place: Path) -> list[str]:
    """Files under a final name that are not whole: JSON that cannot be read, or a manifest that does not fit."""
    wrong = []
    for path in place.rglob("*.json"):
        try:
            json.loads(path.read_text() or "{}")
        except ValueError:
            wrong.append(str(path))
    manifest = place / "out" / "manifest.json"
    if manifest.exists():
        listed = json.loads(manifest.read_text())["files"]
        wrong += [each for each in listed if forger.digest((place / "out" / each).read_bytes()) != listed[each]]
    return wrong


def killed(work: Work, place: Path, drawn: random.Random, longest: float) -> list[str]:
    """Kill it once, go on with it until it ends by itself; what is wrong afterwards."""
    process = run(work.arguments)
    time.sleep(drawn.uniform(0, longest))
    sent = drawn.choice(SIGNALS)
    children = Path(f"/proc/{process.pid}/task/{process.pid}/children")
    victims = [int(each) for each in children.read_text().split()] if work.is_shared and children.exists() else []
    victim = drawn.choice([process.pid, *victims])
    if process.poll() is None:
        os.kill(victim, sent)
    said = (process.communicate()[1] or b"").decode()
    code = process.returncode
    wrong = (
        [f"status {code}: {said[-200:]}"] if code not in (0, 12, 20, -signal.SIGINT, -signal.SIGTERM, -signal.SIGKILL) else []
    )
    wrong += [f"traceback: {said[-300:]}"] if "Traceback" in said else []
    wrong += broken(place)
    has_begun = (place / "states" / "meta.json").exists()
    again = run([*work.arguments, *(work.goes_on if has_begun else ())])
    said = (again.communicate()[1] or b"").decode()
    if again.returncode not in (0, 12):
        wrong.append(f"gone on with, it ended with {again.returncode}: {said[-300:]}")
    return wrong + broken(place)


def main() -> None:
    """Run many, and say what was wrong."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--count", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", default="")
    asked = parser.parse_args()
    bad = 0
    with tempfile.TemporaryDirectory() as base:
        expected: dict[str, Any] = {}
        longest: dict[str, float] = {}
        names = [each.name for each in works(Path(base)) if asked.only in each.name]
        for number in range(-len(names), asked.count):
            place = Path(base, "tried")
            shutil.rmtree(place, ignore_errors=True)
            place.mkdir()
            work = next(each for each in works(place) if each.name == names[number % len(names)])
            if number < 0:
                started = time.monotonic()
                run(work.arguments).communicate()
                expected[work.name], longest[work.name] = answer(place), time.monotonic() - started
                continue
            wrong = killed(work, place, random.Random(f"{asked.seed} {number}"), longest[work.name])
            if not wrong and answer(place) != expected[work.name]:
                wrong = ["another answer than that of the run that was left alone"]
            bad += bool(wrong)
            print(f"{number} {work.name}: {'; '.join(wrong) or 'the same answer'}", flush=True)
    left = [each.name for each in Path(tempfile.gettempdir()).glob("neverlost-scratch-*")]
    print(f"{asked.count} kills, {bad} went wrong; left behind: {', '.join(left) or 'nothing'}")
    sys.exit(bool(bad))


if __name__ == "__main__":
    main()
