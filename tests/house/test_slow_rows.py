"""The rows that are listed as slow are there."""

from tests.conftest import HALF, TESTS


def test_each_slow_row_is_a_test_that_is_there() -> None:
    listed = [each for each in (TESTS / "slow_rows.txt").read_text(encoding="utf-8").splitlines() if not each.startswith("#")]
    gone = []
    for each in listed:
        file, _, name = each.removeprefix(HALF).partition(" ")
        text = (TESTS / file).read_text(encoding="utf-8") if (TESTS / file).exists() else ""
        if f"\ndef {name.partition('[')[0]}(" not in text:
            gone.append(each)
    assert len(listed) > 30 and gone == []
