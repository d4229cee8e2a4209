"""Damaged files are read or refused with one line, and nothing else; `python -m tests.support.fuzz` tries more."""

from tests.support.fuzz import fuzz


def test_damaged_files_are_read_or_refused() -> None:
    ends, wrong = fuzz(200, seed=7)
    assert wrong == []
    assert ends["refused"] > 20 and ends["read"] > 20
