"""Finds Kafka's jars: in a folder that the user has, or downloaded once with Maven.  A home is a folder with `libs/*.jar`, as
in a Kafka distribution."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from neverlost.checker.engine.spark.java import find_java_home
from neverlost.checker.kafka.cluster.checksums import require_known
from neverlost.specs.errors import InputError

CORE = re.compile(r"kafka_2\.1[0-9]-(\d+)\.(\d+)\.(\d+)[^/]*\.jar$")
OLDEST = (3, 3)
"""The first version whose KRaft mode was declared ready for production."""

PATIENCE = 900
"""Seconds that Maven may take."""

SCALA = "2.13"
LOG4J_BINDING = ("org.apache.logging.log4j", "log4j-slf4j-impl", "2.24.3")
"""Kafka 4 writes logs through log4j 2, but its published dependencies leave out what binds it."""

WITH_TOOLS, WITHOUT_TOOLS = "kafka-", "classes-"
"""How the names of a cache's folders begin: of homes with the jars of Kafka's tools, and without."""

LEFT_OUT = (
    "<exclusions><exclusion><groupId>org.apache.kafka</groupId>"
    "<artifactId>kafka-tools-api</artifactId></exclusion></exclusions>"
)

POM = """<project xmlns="http://maven.apache.org/POM/4.0.0">
 <modelVersion>4.0.0</modelVersion><groupId>neverlost</groupId><artifactId>kafka-home</artifactId><version>1</version>
 <dependencies>
{dependencies}
 </dependencies>
</project>
"""


@dataclass(frozen=True)
class KafkaHome:
    """A folder with Kafka's jars in `libs`, their version, and the home of the Java that runs them."""

    folder: Path
    version: tuple[int, int, int]
    java: Path

    @property
    def minor(self) -> tuple[int, int]:
        """The first two numbers of the version, X and Y."""
        return self.version[:2]

    @property
    def shown(self) -> str:
        """The version as text: X.Y.Z."""
        return ".".join(map(str, self.version))


def find_kafka(
    home: str | None = None, version: str | None = None, environment: Mapping[str, str] = os.environ, trust: bool = False
) -> KafkaHome:
    """Return the requested Kafka: a folder as it is, or a version from the cache or from Maven, whose jars must have known
    checksums unless `trust` is true.  Errors: `InputError` for a folder without Kafka, an invalid version, a jar with another
    checksum, and a machine without Java or Maven."""
    require_one(home, version)
    java = find_java_home(environment, needed_by="a Kafka broker")
    folder = Path(home).expanduser().resolve() if home is not None else fetch_home(str(version), java, environment)
    if home is None and not trust:
        require_known(sorted(folder.glob("libs/*.jar")))
    return KafkaHome(folder, find_version(folder), java)


def require_one(home: str | None, version: str | None) -> None:
    """Raise `InputError` unless exactly one Kafka is named: by a folder, or by a version that `parse_version` takes."""
    if (home is None) == (version is None):
        raise InputError("say which Kafka: either --kafka-home DIR or --kafka-version X.Y")
    if version is not None:
        parse_version(version)


def find_version(folder: Path) -> tuple[int, int, int]:
    """Return the version of the jars in a home.  Errors: `InputError` if there are none, or they are too old."""
    found = [CORE.search(str(each)) for each in sorted(folder.glob("libs/*.jar"))]
    for match in found:
        if match is not None:
            version = (int(match[1]), int(match[2]), int(match[3]))
            return _check_version(version, f"{str(folder)!r}")
    raise InputError(f"{str(folder)!r} is no Kafka home: it has no libs/kafka_{SCALA}-X.Y.Z.jar")


def _check_version(version: tuple[int, ...], where: str) -> tuple[int, int, int]:
    if version[:2] < OLDEST:
        raise InputError(f"{where} is Kafka {'.'.join(map(str, version))}; clusters run without ZooKeeper from 3.3 on")
    return version  # type: ignore[return-value]


def find_cache_folder(environment: Mapping[str, str] = os.environ) -> Path:
    """Return the folder for downloaded jars: under XDG_CACHE_HOME, or ~/.cache."""
    base = environment.get("XDG_CACHE_HOME") or str(Path(environment.get("HOME", "~")).expanduser() / ".cache")
    return Path(base) / "neverlost"


def parse_version(version: str) -> tuple[int, ...]:
    """Parse X.Y or X.Y.Z as numbers.  Errors: `InputError` for anything else, and for a version before 3.3."""
    if not re.fullmatch(r"\d+\.\d+(\.\d+)?", version):
        raise InputError(f"bad value {version!r} for --kafka-version: write X.Y (its newest patch) or X.Y.Z")
    numbers = tuple(map(int, version.split(".")))
    if numbers[:2] < OLDEST:
        _check_version(numbers, "--kafka-version")
    return numbers


def fetch_home(version: str, java: Path, environment: Mapping[str, str] = os.environ, tools: bool = True) -> Path:
    """Return the home of a version in the cache (of X.Y its newest patch there), downloaded with Maven if none is.  Without
    `tools` it holds only what runs in a broker.  No checksum is verified.  Errors: `InputError` if it cannot be had."""
    numbers = parse_version(version)
    cache, prefix = find_cache_folder(environment), WITH_TOOLS if tools else WITHOUT_TOOLS
    there = find_cached(cache, numbers, prefix)
    if there is not None:
        return there
    maven = shutil.which("mvn", path=environment.get("PATH", ""))
    if maven is None:
        raise InputError(
            f"Kafka {version} is not in {str(cache)!r} and there is no Maven (mvn) to fetch it: "
            "install Maven, or give --kafka-home DIR"
        )
    cache.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="fetching-", dir=cache) as temporary:
        place = Path(temporary, "home")
        place.mkdir()
        _run_maven(maven, Path(temporary), format_pom(numbers, tools), dict(environment) | {"JAVA_HOME": str(java)})
        target = cache / f"{prefix}{'.'.join(map(str, find_version(place)))}"
        try:
            place.rename(target)
        except OSError:
            # another process was faster
            if not target.is_dir():
                raise
    return target


def find_cached(cache: Path, numbers: tuple[int, ...], prefix: str = WITH_TOOLS) -> Path | None:
    """Return, of the homes in a cache whose version begins with `numbers`, the newest; None if there is none."""
    named = ((re.fullmatch(r"(\d+)\.(\d+)\.(\d+)", each.name.removeprefix(prefix)), each) for each in cache.glob(f"{prefix}*"))
    homes = {tuple(map(int, release.groups())): each for release, each in named if release}
    fitting = [found for found in homes if found[: len(numbers)] == numbers]
    return homes[max(fitting)] if fitting else None


def format_pom(numbers: tuple[int, ...], tools: bool = True) -> str:
    """Return the text of a Maven project that depends on a Kafka, of X.Y on its newest patch; and with `tools` on its tools.
    Kafka 4.4.0 names a `kafka-tools-api` that does not exist, which is left out if the tools are not needed."""
    asked = ".".join(map(str, numbers))
    if len(numbers) == 2:
        asked = f"[{asked}.0,{numbers[0]}.{numbers[1] + 1}.0-alpha)"
    needed = [("org.apache.kafka", f"kafka_{SCALA}", asked)]
    needed += [("org.apache.kafka", "kafka-tools", asked)] if tools else []
    needed += [LOG4J_BINDING] if tools and numbers[0] >= 4 else []
    lines = [
        f"  <dependency><groupId>{group}</groupId><artifactId>{artifact}</artifactId><version>{version}</version>"
        f"{'' if tools else LEFT_OUT}</dependency>"
        for group, artifact, version in needed
    ]
    return POM.format(dependencies="\n".join(lines))


def _run_maven(maven: str, folder: Path, project: str, environment: dict[str, str]) -> None:
    (folder / "pom.xml").write_text(project)
    goal = ["dependency:copy-dependencies", "-DincludeScope=runtime", f"-DoutputDirectory={folder / 'home' / 'libs'}"]
    try:
        ran = subprocess.run(
            [maven, "-B", "-q", *goal],
            cwd=folder,
            env=environment,
            capture_output=True,
            text=True,
            timeout=PATIENCE,
            check=False,
        )
    except subprocess.TimeoutExpired:
        raise InputError(f"Maven did not fetch Kafka within {PATIENCE} s: try again, or give --kafka-home DIR") from None
    if ran.returncode != 0:
        said = next((line for line in ran.stdout.splitlines() if "[ERROR]" in line), ran.stdout.strip() or "no message")
        raise InputError(f"Maven cannot fetch Kafka: {said.replace('[ERROR] ', '')[:300]}")
