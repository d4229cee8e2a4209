"""A jar that a test needs beside Kafka's, fetched once with Maven into the cache."""

from __future__ import annotations

import subprocess
from pathlib import Path

from neverlost.checker.kafka.cluster.jars import PATIENCE, find_cache_folder


def fetched_jar(group: str, artifact: str, version: str) -> Path:
    """The jar of a released artifact."""
    place = find_cache_folder() / "test-jars"
    jar = place / f"{artifact}-{version}.jar"
    if not jar.exists():
        goal = [f"-Dartifact={group}:{artifact}:{version}", f"-DoutputDirectory={place}"]
        subprocess.run(["mvn", "-B", "-q", "dependency:copy", *goal], check=True, timeout=PATIENCE)
    return jar
