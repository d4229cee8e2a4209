"""The rows that are listed as slow are there."""

from tests.conftest import HALVED, SLOW_ROWS, TESTS


def test_each_slow_row_is_a_test_that_is_there() -> None:
    listed = [(file, name) for rows in (SLOW_ROWS, HALVED) for file, names in rows.items() for name in names]
    gone = []
    for file, name in listed:
        text = (TESTS / file).read_text(encoding="utf-8") if (TESTS / file).exists() else ""
        if f"\ndef {name.partition('[')[0]}(" not in text:
            gone.append((file, name))
    assert len(listed) > 30 and gone == []
