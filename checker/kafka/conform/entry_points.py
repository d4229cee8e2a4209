"""Compares the entry points of Kafka's classes with a list that says which action of the model stands for each.  The methods
are read from the classes; a method that the list does not have is a difference."""

from __future__ import annotations

import functools
import importlib.resources
import tomllib
from typing import Any

from neverlost.checker.kafka.conform.cases.comparison import Difference, Tally
from neverlost.checker.kafka.conform.java.jvm import java_class
from neverlost.model.protocols import models

LIST = "entry_points.toml"


@functools.cache
def read_list() -> dict[str, Any]:
    """Return the list: per class, methods with the actions that stand for them, or why none does, and those that only read."""
    return tomllib.loads(importlib.resources.files(__package__).joinpath(LIST).read_text())


def methods(listed: dict[str, Any]) -> frozenset[str]:
    """Return the names of the public methods that a class itself declares or, if `listed` has `writes`, of those not private
    that can write such records; static methods are left out."""
    modifiers = java_class("java.lang.reflect.Modifier")
    found = set()
    for each in java_class(listed["class"]).class_.getDeclaredMethods():
        name, flags = str(each.getName()), each.getModifiers()
        if "$" in name or modifiers.isStatic(flags) or modifiers.isPrivate(flags):
            continue
        if _writes(each, listed["writes"]) if "writes" in listed else modifiers.isPublic(flags):
            found.add(name)
    return frozenset(found)


def _writes(method: Any, record: str) -> bool:
    """Return True if a method is named replay, returns a ControllerResult, or has `record` in the name of one of its types."""
    if str(method.getName()) == "replay" or str(method.getReturnType().getName()).endswith(".ControllerResult"):
        return True
    types = [*method.getGenericParameterTypes(), method.getGenericReturnType()]
    return any(record in str(each.toString()) for each in types)


def compare() -> Tally:
    """Compare this version's entry points with the list: one that the list lacks, and a listed action that no model has, is a
    difference; one with an action or a reason in the list that this version lacks is a gap."""
    tally = Tally("entry-points")
    known_actions = {each.name for model in ("kraft", "kraft-elr") for each in models()[model].actions}
    for listed in read_list().values():
        unchanging = {name for group in ("reads", "metrics") for name in listed.get(group, {}).get("names", ())}
        known = listed["actions"].keys() | listed["reasons"].keys() | unchanging
        found = methods(listed)
        tally.cases += len(found)
        name = listed["class"].rpartition(".")[2]
        tally.gaps += [f"{name}.{each}" for each in sorted((listed["actions"].keys() | listed["reasons"].keys()) - found)]
        for each in sorted(found - known):
            tally.differences.append(_unplaced(name, each, f"it is in no list of {LIST}"))
        for method, stands_for in listed["actions"].items():
            for action in sorted(set(stands_for) - known_actions):
                tally.differences.append(_unplaced(name, method, f"the model has no action {action}"))
    return tally


def _unplaced(name: str, method: str, why: str) -> Difference:
    return Difference("entry-points", f"{name}.{method}", "", f"{name}.{method}", ("can change a partition",), (why,))
