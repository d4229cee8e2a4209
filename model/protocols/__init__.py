"""One file per protocol version; each exports `MODEL` and holds only its difference."""

from __future__ import annotations

import importlib
import pkgutil
import re
from collections.abc import Iterator, Mapping
from functools import cache

from neverlost.model.kernel import Model


class _Models(Mapping[str, Model]):
    def __init__(self) -> None:
        files = [each.name for each in pkgutil.iter_modules(__path__)]
        self._files = {re.sub(r"(?<=\d)-(?=\d)", ".", re.sub("^kip", "kip-", each.replace("_", "-"))): each for each in files}

    def __getitem__(self, name: str) -> Model:
        found: Model = importlib.import_module(f"{__name__}.{self._files[name]}").MODEL
        return found

    def __iter__(self) -> Iterator[str]:
        return iter(sorted(self._files))

    def __len__(self) -> int:
        return len(self._files)


@cache
def models() -> Mapping[str, Model]:
    """Return every model, by the name that the command line uses; its file is imported when it is asked for."""
    return _Models()
