"""Kafka's own sources: which parts of the comparison a change concerns, and what a checkout builds."""

from __future__ import annotations

import functools
import importlib.resources
import subprocess
import tomllib
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from fnmatch import fnmatchcase
from pathlib import Path

from neverlost.checker.engine.host import scratch
from neverlost.specs.errors import InputError

LIST = "sources.toml"
ALIKE = {"random": "leader", "entry-points": "controller leader"}
"""Parts that judge the same sources as others."""

BUILD = ("./gradlew", "--quiet", "jar", "core:copyDependantLibs")
"""What makes the jars of a checkout."""

LEFT_OUT = ("-sources.jar", "-test.jar", "-javadoc.jar", "-scaladoc.jar")


@functools.cache
def read_patterns() -> dict[str, tuple[str, ...]]:
    """Return for each part the paths of the sources that it compares."""
    listed = tomllib.loads(importlib.resources.files(__package__).joinpath(LIST).read_text())
    found = {part: tuple(paths) for part, paths in listed.items()}
    return found | {part: tuple(path for each in of.split() for path in found[each]) for part, of in ALIKE.items()}


def concerned_parts(changed: Iterable[str], parts: Sequence[str]) -> list[str]:
    """Return those of some parts that compare one of the changed files."""
    paths = [each.strip().removeprefix("./") for each in changed if each.strip()]
    return [part for part in parts if any(fnmatchcase(path, each) for path in paths for each in read_patterns()[part])]


def find_jars(checkout: Path) -> tuple[Path, ...]:
    """Return the jars that Gradle has built in a checkout, and the libraries beside them."""
    built = [*checkout.glob("*/build/libs/*.jar"), *checkout.glob("*/*/build/libs/*.jar")]
    return tuple(sorted(each for each in [*built, *checkout.glob("core/build/dependant-libs-*/*.jar")] if _is_wanted(each)))


def _is_wanted(jar: Path) -> bool:
    return not jar.name.endswith(LEFT_OUT)


def changed_files(checkout: Path, base: str, ref: str) -> list[str]:
    """Return the files that differ between `ref` and the commit at which it left `base`.  Errors: `InputError` for a folder
    that is no repository, and for what is no commit of it."""
    return _git(checkout, "diff", "--name-only", f"{base}...{ref}").splitlines()


@contextmanager
def build_commit(checkout: Path, ref: str) -> Iterator[Path]:
    """Build a commit with Gradle in a temporary work tree while the context is open; the checkout stays as it is.  Errors:
    `InputError` for what is no commit, and for one that does not build."""
    with scratch.hold_folder("kafka") as folder:
        place = Path(folder, "tree")
        _git(checkout, "worktree", "add", "--detach", str(place), ref)
        try:
            done = subprocess.run(BUILD, cwd=place, capture_output=True, text=True, check=False)
            if done.returncode:
                said = next((line for line in done.stderr.splitlines() if line.strip()), "no message")
                raise InputError(f"{ref!r} does not build with {' '.join(BUILD)}: {said[:200]}")
            yield place
        except OSError as problem:
            raise InputError(f"{ref!r} cannot be built with {BUILD[0]}: {problem.strerror}") from None
        finally:
            _git(checkout, "worktree", "remove", "--force", str(place))


def _git(checkout: Path, *arguments: str) -> str:
    done = subprocess.run(["git", "-C", str(checkout), *arguments], capture_output=True, text=True, check=False)
    if done.returncode:
        said = next((line for line in done.stderr.splitlines() if line.strip()), "no message")
        raise InputError(f"git {arguments[0]} in {str(checkout)!r}: {said[:200]}")
    return done.stdout
