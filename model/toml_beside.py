"""Data of a module that lies beside it."""

from __future__ import annotations

import pkgutil
import tomllib
from typing import Any


def read_toml_beside(module: str) -> dict[str, Any]:
    """Return the tables of `NAME.toml`, which lies beside the module `PACKAGE.NAME`, also in the archive of a Spark executor.

    Errors: `OSError` where it cannot be read, `TOMLDecodeError` (a `ValueError`) where it is no TOML.
    """
    name = f"{module.rpartition('.')[2]}.toml"
    content = pkgutil.get_data(module, name)
    if content is None:
        raise FileNotFoundError(f"no {name} beside {module}")
    return tomllib.loads(content.decode())
