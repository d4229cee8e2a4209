"""A configuration as JSON has it, and back: limits of faults as texts, lists of racks as lists."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from neverlost.model.any_number import AnyNumber, parse_limit
from neverlost.model.kernel import Configuration


def plain(configuration: Configuration) -> dict[str, Any]:
    """Return a configuration as JSON has it: tuples as lists, limits without a total as texts, `{"limit": "any:2"}`."""
    return {name: _plain(value) for name, value in configuration.items()}


def _plain(value: Any) -> Any:
    if isinstance(value, AnyNumber):
        return {"limit": str(value)}
    return list(value) if isinstance(value, tuple) else value


def restored(configuration: Mapping[str, Any]) -> dict[str, Any]:
    """Return the configuration, as a dictionary, of which `plain` made this."""
    return {name: _restored(value) for name, value in configuration.items()}


def _restored(value: Any) -> Any:
    if isinstance(value, dict):
        return parse_limit(value["limit"])
    return tuple(value) if isinstance(value, list) else value
