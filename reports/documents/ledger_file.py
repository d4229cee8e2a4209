"""The ledger in a directory of results: one file, to which every run adds its lines."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from neverlost.checker.engine.evidence import ledger
from neverlost.checker.engine.evidence.ledger import LedgerLine
from neverlost.checker.engine.host.whole_files import write_text
from neverlost.specs.configuration.input import read_text


def read_ledger(directory: Path) -> list[LedgerLine]:
    """Return the lines of a directory's ledger; none where there is no ledger.

    Errors: `InputError` for a file that cannot be read, is too large, or is no ledger.
    """
    path = directory / ledger.FILE
    return ledger.parse_ledger(read_text(path), repr(str(path))) if path.exists() else []


def add_to_ledger(directory: Path, lines: Iterable[LedgerLine]) -> list[LedgerLine]:
    """Write the ledger of a directory again with these lines in it, whole or not at all; return all its lines."""
    all_lines = ledger.merge_lines(read_ledger(directory), lines)
    write_text(directory / ledger.FILE, ledger.format_ledger(all_lines))
    return all_lines
