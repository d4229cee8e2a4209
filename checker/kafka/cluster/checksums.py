"""The checksums of Kafka's jars, which are verified whenever a jar is used, not only when it was downloaded."""

from __future__ import annotations

import functools
import hashlib
from collections.abc import Iterable
from pathlib import Path

from neverlost.model.toml_beside import read_toml_beside
from neverlost.specs.errors import InputError


@functools.cache
def load_checksums() -> dict[str, str]:
    """Return the SHA-512 of each jar that the supported versions need, by file name."""
    return {str(name): str(digest) for name, digest in read_toml_beside(__name__)["sha512"].items()}


def require_known(jars: Iterable[Path]) -> None:
    """Verify the checksums of jars.  Errors: `InputError` names the first jar that is unknown or whose checksum differs."""
    known = load_checksums()
    for each in jars:
        with each.open("rb") as stream:
            found = hashlib.file_digest(stream, "sha512").hexdigest()
        if known.get(each.name) != found:
            what = "has another SHA-512 than the released one" if each.name in known else "is not among the known jars"
            raise InputError(f"{str(each)!r} {what} ({found[:16]}...): delete it, or add --trust-maven")
