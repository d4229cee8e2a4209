"""A proof's obligations in a folder, written and answered again by a solver."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from neverlost.checker.engine.host.whole_files import write_text
from neverlost.checker.engine.proof.obligations import ProofTask
from neverlost.checker.engine.proof.smtlib import MANIFEST, Solve, format_files, solve_with_z3


def write(directory: Path, texts: Sequence[tuple[ProofTask, str]], about: dict[str, Any]) -> None:
    """Write the files of a proof."""
    directory.mkdir(parents=True, exist_ok=True)
    for name, content in format_files(texts, about).items():
        write_text(directory / name, content.decode())


def recheck(directory: Path, solve: Solve = solve_with_z3) -> list[str]:
    """What is wrong with a proof's obligations; nothing, if every file is as the manifest says and every check is unsat."""
    manifest = json.loads((directory / MANIFEST).read_text(encoding="utf-8"))
    listed = [(each["file"], each["sha256"], each["checks"]) for each in manifest["files"]]
    wrong: list[str] = []
    for name, digest, checks in listed:
        path = directory / Path(str(name)).name
        if not path.is_file():
            wrong.append(f"{name}: missing")
            continue
        text = path.read_text(encoding="utf-8")
        if hashlib.sha256(text.encode()).hexdigest() != digest:
            wrong.append(f"{name}: changed since it was written")
        answers = solve(text)
        if len(answers) != checks or set(answers) - {"unsat"}:
            wrong.append(f"{name}: answered {', '.join(sorted(set(answers))) or 'nothing'}, expected {checks} times unsat")
    return wrong
