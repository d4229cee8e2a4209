"""What every test needs."""

import gc
import signal
from collections import defaultdict
from pathlib import Path

import pytest

# A shell without job control starts what runs in the background with Ctrl-C ignored, and children would inherit that.
signal.signal(signal.SIGINT, signal.default_int_handler)

LONG = {"slow": 7200, "kafka": 1800}
"""Seconds after which a row with this marker is taken to stand still; the others have `timeout` of pyproject.toml."""

TESTS = Path(__file__).parent

SLOW_ROWS: dict[str, list[str]] = defaultdict(list)
"""How the names of slow rows begin, by their file."""
for line in (TESTS / "slow_rows.txt").read_text(encoding="utf-8").splitlines():
    if not line.startswith("#"):
        file, _, name = line.partition(" ")
        SLOW_ROWS[file].append(name)


def pytest_collection_finish() -> None:
    """Let the garbage collector skip what is there by now, and run seldom: a search makes many objects and keeps them."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(100_000, 50, 100)


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark the rows that are listed as slow, and give rows that take minutes their time."""
    for item in items:
        if item.name.startswith(tuple(SLOW_ROWS.get(item.path.relative_to(TESTS).as_posix(), ()))):
            item.add_marker(pytest.mark.slow)
        for marker, seconds in LONG.items():
            if item.get_closest_marker(marker) is not None:
                item.add_marker(pytest.mark.timeout(seconds))
                break
