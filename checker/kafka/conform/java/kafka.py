"""Finds the Kafka to compare with: the jars of a version with known checksums, or a given folder."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from neverlost.checker.engine.spark.java import find_java_home
from neverlost.checker.kafka.cluster.checksums import load_checksums, require_known
from neverlost.checker.kafka.cluster.jars import CORE, fetch_home, parse_version
from neverlost.checker.kafka.conform.java.jvm import require_bridge
from neverlost.specs.errors import InputError

LEFT_OUT = ("-sources.jar", "-test.jar", "-javadoc.jar", "-scaladoc.jar")
"""Jars of a build that no class is loaded from."""


@dataclass(frozen=True)
class Kafka:
    """A Kafka version as X.Y.Z, its jars, and the home of the Java that loads them."""

    version: str
    jars: tuple[Path, ...]
    java: Path

    @property
    def minor(self) -> str:
        """The version as X.Y, which configurations use."""
        return ".".join(self.version.split(".")[:2])

    @property
    def has_released_elr(self) -> bool:
        """Whether eligible leader replicas can be switched on without unstable features."""
        return tuple(map(int, self.minor.split("."))) >= (4, 0)


def supported_versions() -> dict[str, str]:
    """Return the patch that stands for each version: X.Y to X.Y.Z."""
    found = (CORE.search(name) for name in load_checksums())
    return {f"{each[1]}.{each[2]}": f"{each[1]}.{each[2]}.{each[3]}" for each in found if each}


def kafka_of_version(version: str, trust: bool = False, environment: Mapping[str, str] = os.environ) -> Kafka:
    """Return a released Kafka, downloaded with Maven if it is not in the cache.  X.Y stands for the patch with known
    checksums; with `trust` for the newest one in the cache, else that there is, unchecked.  Errors: `InputError` for an
    invalid or unknown version, a jar with another checksum, no Java, no Maven, no JPype."""
    numbers = parse_version(version)
    known = supported_versions()
    if not trust:
        if version not in known and version not in known.values():
            raise InputError(
                f"Kafka {version} has no checksums here (there are: {', '.join(sorted(known.values()))}): "
                "name one of those, or add --trust-maven"
            )
        version = known.get(version, version)
    elif len(numbers) == 2:
        version = ".".join(map(str, numbers))
    require_bridge()
    java = find_java_home(environment, needed_by="a comparison with Kafka's classes")
    jars = tuple(sorted((fetch_home(version, java, environment, tools=False) / "libs").glob("*.jar")))
    if not trust:
        require_known(jars)
    return Kafka(_version(jars, version), jars, java)


def kafka_of_folder(folder: str, environment: Mapping[str, str] = os.environ) -> Kafka:
    """Return the Kafka whose jars are in a folder, its `libs`, or a checkout that Gradle has built, unchecked: a committer's
    build.  Errors: `InputError` for a folder without Kafka's core jar, no Java, no JPype."""
    place = Path(folder).expanduser()
    jars = tuple(sorted([*place.glob("*.jar"), *place.glob("libs/*.jar")])) or built_jars(place)
    if not any(CORE.search(str(each)) for each in jars):
        raise InputError(
            f"{folder!r} has no kafka_2.13-X.Y.Z.jar, nor has its 'libs' or a build: name a folder with Kafka's jars"
        )
    require_bridge()
    return Kafka(_version(jars, folder), jars, find_java_home(environment, needed_by="a comparison with Kafka's classes"))


def built_jars(checkout: Path) -> tuple[Path, ...]:
    """Return the jars that Gradle has built in a checkout, and the libraries beside them, without sources, tests and docs."""
    built = [*checkout.glob("*/build/libs/*.jar"), *checkout.glob("*/*/build/libs/*.jar")]
    every = [*built, *checkout.glob("core/build/dependant-libs-*/*.jar")]
    return tuple(sorted(each for each in every if not each.name.endswith(LEFT_OUT)))


def _version(jars: tuple[Path, ...], asked: str) -> str:
    for each in jars:
        match = CORE.search(str(each))
        if match:
            return f"{match[1]}.{match[2]}.{match[3]}"
    raise InputError(f"the jars of Kafka {asked} have no core jar: delete the folder {str(jars[0].parent) if jars else ''!r}")
