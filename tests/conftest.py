"""What every test needs."""

import gc
import signal
from collections import Counter, defaultdict
from pathlib import Path

import pytest

# A shell without job control starts what runs in the background with Ctrl-C ignored, and children would inherit that.
signal.signal(signal.SIGINT, signal.default_int_handler)

LONG = {"slow": 7200, "kafka": 1800}
"""Seconds after which a row with this marker is taken to stand still; the others have `timeout` of pyproject.toml."""

TESTS = Path(__file__).parent

HALF = "half of "
SLOW_ROWS: dict[str, list[str]] = defaultdict(list)
"""How the names of slow rows begin, by their file."""
HALVED: dict[str, list[str]] = defaultdict(list)
"""Tests of which half of the rows is slow, by their file."""
for line in (TESTS / "slow_rows.txt").read_text(encoding="utf-8").splitlines():
    if not line.startswith("#"):
        file, _, name = line.removeprefix(HALF).partition(" ")
        (HALVED if line.startswith(HALF) else SLOW_ROWS)[file].append(name)


def pytest_collection_finish() -> None:
    """Let the garbage collector skip what is there by now, and run seldom: a search makes many objects and keeps them."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(100_000, 50, 100)


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark the rows that are listed as slow, and give rows that take minutes their time."""
    rows = Counter[tuple[str, str]]()
    for item in items:
        file, test = item.path.relative_to(TESTS).as_posix(), item.name.partition("[")[0]
        if item.name.startswith(tuple(SLOW_ROWS[file])):
            item.add_marker(pytest.mark.slow)
        elif test in HALVED[file] and item.get_closest_marker("slow") is None:
            rows[file, test] += 1
            if rows[file, test] % 4 in (2, 3):  # and not every second: many tables alternate
                item.add_marker(pytest.mark.slow)
        for marker, seconds in LONG.items():
            if item.get_closest_marker(marker) is not None:
                item.add_marker(pytest.mark.timeout(seconds))
                break
