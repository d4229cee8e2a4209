"""Cells of a sweep, drawn at random, checked one by one: `python -m tests.tools.bench.sample RESULT.json [CELLS] [SEED]`.

Each is a `neverlost check` of its own with the cell's keys as `--set`; verdict, and the number of states of a cell that
holds, must be those of the sweep.  Exit status 1 where one differs.
"""

from __future__ import annotations

import json
import random
import subprocess
import sys
import time
from pathlib import Path
from typing import Any


def checked(cell: dict[str, Any], symmetry: bool) -> dict[str, Any]:
    """The document of `neverlost check` on one cell."""
    keys = {"model": cell["model"], **cell["config"], **cell["bounds"]}
    settings = [part for key, value in keys.items() if value != "" for part in ("--set", f"{key}={text(value)}")]
    asked = [part for each in cell["properties"] for part in ("--property", each["name"])]
    options = ["--symmetry" if symmetry else "--no-symmetry", "--json", "-"]
    command = [sys.executable, "-m", "neverlost", "check", *settings, *asked, *options]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if not done.stdout:
        raise SystemExit(done.stderr)
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def text(value: Any) -> str:
    """A value as `--set` takes it."""
    return str(value).lower() if isinstance(value, bool) else str(value)


def differs(cell: dict[str, Any], alone: dict[str, Any], is_same_model: bool) -> str:
    """What the cell says otherwise alone; empty if nothing.  The ids of another version of the model are others."""
    for one, other in zip(cell["properties"], alone["properties"], strict=True):
        if (one["name"], one["verdict"]) != (other["name"], other["verdict"]):
            return f"{one['name']}: {one['verdict']} in the sweep, {other['verdict']} alone"
    stated = (cell.get("states") or {}).get("distinct")
    if cell["verdict"] == "holds" and stated is not None and stated != alone["states"]["distinct"]:
        return f"{stated} states in the sweep, {alone['states']['distinct']} alone"
    return "" if cell["id"] == alone["id"] or not is_same_model else f"id {cell['id']} in the sweep, {alone['id']} alone"


def main() -> None:
    """Draw, check, and print a line each."""
    document = json.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))
    count, seed = (int(each) for each in (*sys.argv[2:4], *("30", "6")[len(sys.argv) - 2 :]))
    wrong = 0
    for cell in random.Random(seed).sample(document["cells"], count):
        started = time.monotonic()
        alone = checked(cell, bool(document["symmetry"]))
        problem = differs(cell, alone, document["model_digests"][cell["model"]] == alone["model_digest"])
        wrong += bool(problem)
        named = " ".join(f"{key}={text(value)}" for key, value in cell["cell"].items())
        states = f"{alone['states']['distinct']:,} states, {time.monotonic() - started:.0f} s"
        print(f"{'DIFFERS' if problem else 'agrees':8}{alone['verdict']:10}{named} ({states}) {problem}", flush=True)
    print(f"{count - wrong} of {count} agree (seed {seed})")
    raise SystemExit(1 if wrong else 0)


if __name__ == "__main__":
    main()
