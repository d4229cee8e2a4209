"""Exported modules under TLC, whose command the environment variable TLC has: `TLC="java -cp OUT:JARS tlc2.TLC"`.

`python -m tests.support.tlc` counts every row of `tests/data/tlc_counts.toml` again and prints it with TLC's seconds.
"""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
import tempfile
import time
import tomllib
from pathlib import Path
from typing import Any

import neverlost

ROWS = Path(__file__).parents[1] / "data" / "tlc_counts.toml"
COUNTED = re.compile(r"([\d,]+) states generated, ([\d,]+) distinct states found, 0 states left.*?search is (\d+)\.", re.DOTALL)


def rows() -> list[dict[str, Any]]:
    """The recorded counts: a model, its settings, and what TLC counted."""
    found: list[dict[str, Any]] = tomllib.loads(ROWS.read_text())["count"]
    return found


def export(row: dict[str, Any], folder: Path) -> Path:
    """Export a row's model; return the module."""
    result = neverlost.export_tla(row["model"], row["settings"], out=folder)
    return Path(result.files[0])


def without_invariants(module: Path) -> None:
    """Leave counting to TLC: a violated invariant would end its search."""
    config = module.with_suffix(".cfg")
    config.write_text("".join(line for line in config.read_text().splitlines(True) if not line.startswith("INVARIANT")))


def run(module: Path) -> str:
    """What TLC prints of a module."""
    command = [*shlex.split(os.environ["TLC"]), "-workers", "1", "-config", module.with_suffix(".cfg").name, module.name]
    return subprocess.run(command, cwd=module.parent, capture_output=True, text=True, check=False).stdout


def count(module: Path) -> tuple[int, int, int]:
    """Distinct states, depth and generated states of a module, without its invariants."""
    without_invariants(module)
    text = run(module)
    found = COUNTED.search(text)
    assert found, text
    generated, distinct, depth = (int(each.replace(",", "")) for each in found.groups())
    return distinct, depth, generated


def main() -> None:
    """Print every row as TLC counts it now."""
    for row in rows():
        with tempfile.TemporaryDirectory() as folder:
            begin = time.monotonic()
            distinct, depth, generated = count(export(row, Path(folder)))
        settings = [f'settings."{key}" = {json.dumps(value)}' for key, value in row["settings"].items()] or ["settings = {}"]
        seconds = round(time.monotonic() - begin)
        counted = {"distinct": distinct, "depth": depth, "generated": generated, "seconds": seconds}
        lines = ["[[count]]", f'model = "{row["model"]}"', *settings, *(f"{name} = {value}" for name, value in counted.items())]
        print("\n".join(lines) + "\n", flush=True)


if __name__ == "__main__":
    main()
