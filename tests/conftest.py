"""What every test needs."""

import signal

import pytest

# A shell without job control starts what runs in the background with Ctrl-C ignored, and children would inherit that.
signal.signal(signal.SIGINT, signal.default_int_handler)

LONG = {"slow": 7200, "kafka": 1800}
"""Seconds after which a row with this marker is taken to stand still; the others have `timeout` of pyproject.toml."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Give rows that take minutes their time."""
    for item in items:
        for marker, seconds in LONG.items():
            if item.get_closest_marker(marker) is not None:
                item.add_marker(pytest.mark.timeout(seconds))
                break
