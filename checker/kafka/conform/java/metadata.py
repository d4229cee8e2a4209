"""Builds the metadata log's values of a partition as the classes of every version take them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from neverlost.checker.kafka.conform.java.jvm import PACKAGE, has_class, int_array, java_class, kafka_class, new

REGISTRATION = PACKAGE + "metadata.PartitionRegistration"
BROKERS = ("Replicas", "Isr", "RemovingReplicas", "AddingReplicas")
ARGUMENTS = (*BROKERS, "Leader", "LeaderRecoveryState", "LeaderEpoch", "PartitionEpoch")
"""What its constructor took, before it had a builder."""


def metadata_version() -> Any:
    """Return the newest metadata version that may be used in production."""
    versions = kafka_class("server.common.MetadataVersion")
    return versions.latestProduction() if hasattr(versions, "latestProduction") else versions.latest()


def unassigned_directories(count: int) -> list[Any]:
    """Return `count` times the id of an unassigned directory; an empty list in a version without directories."""
    name = PACKAGE + "common.DirectoryId"
    return [java_class(name).UNASSIGNED] * count if has_class(name) else []


def partition_registration(parts: Mapping[str, Any]) -> Any:
    """Return a PartitionRegistration of `parts`, named as its setters (`Isr`); parts that this version lacks are left out."""
    recovered = kafka_class("metadata.LeaderRecoveryState").RECOVERED
    parts = {**{each: int_array(()) for each in BROKERS}, "LeaderRecoveryState": recovered, **parts}
    if not has_class(REGISTRATION + "$Builder"):
        return new(REGISTRATION, *[parts[each] for each in ARGUMENTS])
    made = java_class(REGISTRATION + "$Builder")()
    for name, value in parts.items():
        if hasattr(made, "set" + name):
            getattr(made, "set" + name)(value)
    return made.build()
