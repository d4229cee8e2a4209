"""neverlost: can this Kafka configuration lose an acknowledged message, and how?"""

from __future__ import annotations

__version__: str
"""The installed version; `0+source` where only the source is there."""


def __getattr__(name: str) -> str:
    if name != "__version__":
        raise AttributeError(f"module 'neverlost' has no attribute {name!r}")
    from importlib import metadata

    try:
        return metadata.version("neverlost")
    except metadata.PackageNotFoundError:
        return "0+source"
