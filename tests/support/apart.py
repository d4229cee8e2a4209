"""A command with folders of its own: small ones in memory, mounted where it alone sees them."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from functools import cache

UNSHARE = (("unshare", "--mount"), ("unshare", "--user", "--map-root-user", "--mount"))
"""As root, and as any other user where the system allows it."""


@cache
def means() -> tuple[str, ...]:
    """How a process can get mounts of its own here; nothing where it cannot."""
    for each in UNSHARE if shutil.which("unshare") else ():
        tried = [*each, "mount", "-t", "tmpfs", "tmpfs", "/mnt"]
        if subprocess.run(tried, capture_output=True, timeout=60, check=False).returncode == 0:
            return each
    return ()


def with_folders(command: Sequence[str], sizes: Mapping[str | os.PathLike[str], str]) -> list[str]:
    """The command that runs a command with a folder in memory of this size at each place.

    Errors: `OSError` where this machine has no such thing.
    """
    if not means():
        raise OSError("no process can have mounts of its own here")
    mounts = [f'mount -t tmpfs -o size={size} tmpfs "{place}"' for place, size in sizes.items()]
    return [*means(), "sh", "-c", " && ".join([*mounts, 'exec "$@"']), "sh", *command]
